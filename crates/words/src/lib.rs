//! Writers of every output format. They compute nothing. All wording lives in
//! [`wording`].
//!
//! [`text`] is for a terminal, [`json`] and [`csv`] for programs, [`markdown`]
//! for a report; [`perfetto`] and `parquet` (a feature) for other tools. All take
//! what [`dormouse_sleep::analyse`] found.

pub mod board;
pub mod boot;
pub mod budget;
pub mod clocks;
pub mod comparison;
pub mod csv;
pub mod decision;
pub mod doctor;
pub mod document;
pub mod domains;
pub mod evaluation;
pub mod fidelity;
mod finding;
pub mod gate;
pub mod history;
pub mod idle;
pub mod json;
pub mod lab;
pub mod links;
pub mod markdown;
pub mod modes;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
pub mod prediction;
pub mod presync;
pub mod recorded;
pub mod storage;
pub mod text;
pub mod wording;

use dormouse_base::capture::Capture;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_doctor::finding::Finding;
use dormouse_doctor::waits::Wait;
use dormouse_doctor::whole::WholeWay;
use dormouse_sleep::analyse::CycleView;
use std::sync::Arc;

/// A capture with what was understood of it.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What was read.
    pub capture: Arc<Capture>,
    /// One view a cycle.
    pub views: Vec<CycleView>,
    /// What is wrong, worst first: what the doctor says of the same input.
    pub findings: Vec<Finding>,
    /// Sleeps as a whole, by the lines of services of the same input.
    pub ways: Vec<WholeWay>,
    /// Devices that the log's own lines say were waited for, by cycle: of cycles without
    /// callbacks, whose devices nothing else names. As long as `views`, or empty.
    pub waits: Vec<Vec<Wait>>,
}

impl Explained {
    /// Those of a cycle.
    pub fn waits_of(&self, cycle: usize) -> &[Wait] {
        self.waits.get(cycle).map_or(&[], Vec::as_slice)
    }

    /// The whole way of its one cycle: lines of services do not say of which cycle they are.
    pub fn way(&self) -> &[WholeWay] {
        if self.views.len() == 1 { &self.ways } else { &[] }
    }

    /// Those that may be of a cycle.
    pub fn findings_of(&self, cycle: usize) -> impl Iterator<Item = &Finding> {
        let c = &self.capture.cycles[cycle];
        let end = c.exit.unwrap_or(c.end).max(c.end);
        let only = self.views.len() == 1;
        self.findings.iter().filter(move |f| only || is_of(f, c.start, end))
    }

    /// The finding that answers for a cycle whose log times no device.
    pub fn answer_of(&self, cycle: usize) -> Option<&Finding> {
        let c = &self.capture.cycles[cycle];
        if !c.callbacks.is_empty() {
            return None;
        }
        let waited = !self.waits_of(cycle).is_empty();
        let found = dormouse_doctor::answer(self.findings_of(cycle), waited, self.longest_end());
        let bare = c.times_tasks_alone();
        found.or_else(|| {
            dormouse_doctor::told_of_sleep(self.findings_of(cycle).filter(|_| bare && !waited))
        })
    }

    /// The finding that doubts what a log says of a cycle that failed.
    pub(crate) fn doubt_of(&self, cycle: usize) -> Option<&Finding> {
        dormouse_doctor::doubt(self.findings_of(cycle))
    }

    /// The finding that the machine did not come back from a cycle, the last of its log, of which
    /// no other finding answers.
    pub(crate) fn no_return_of(&self, cycle: usize) -> Option<&Finding> {
        let c = &self.capture.cycles[cycle];
        let open = c.exit.is_none() && cycle + 1 == self.capture.cycles.len();
        let found = dormouse_doctor::no_return(self.findings_of(cycle).filter(|_| open))?;
        self.answer_of(cycle).is_none_or(|a| a.id != found.id).then_some(found)
    }

    /// The crash of the kernel that ended a cycle whose callbacks are known, which answers
    /// before their times.
    pub fn crash_of(&self, cycle: usize) -> Option<&Finding> {
        let timed = !self.capture.cycles[cycle].callbacks.is_empty();
        self.findings_of(cycle).find(|f| timed && dormouse_doctor::is_crash(f))
    }

    /// The longest of the callbacks whose ends stand alone, which may name who took most.
    pub(crate) fn longest_end(&self) -> Option<Ns> {
        self.capture.ranked.iter().flat_map(|r| r.devices()).map(|d| d.1).max()
    }
}

/// Whether `f` may be of the cycle between these times: it shows a line of then, or none
/// with a time.
fn is_of(f: &Finding, from: Ns, to: Ns) -> bool {
    let mut times = f.evidence.iter().filter_map(|e| e.time).peekable();
    times.peek().is_none() || times.any(|t| from <= t && t <= to)
}

/// What to write.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Most entries in a list.
    pub top: usize,
    /// Only these phases in detail; empty for those that matter.
    pub phases: Vec<Phase>,
    /// Only this cycle, counted from 1 over all captures.
    pub cycle: Option<usize>,
    /// The inputs as they were typed, for the next command; none if nobody did.
    pub typed: Vec<String>,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection { top: 8, phases: Vec::new(), cycle: None, typed: Vec::new() }
    }
}

impl Selection {
    /// The phases called `text`: a name such as `resume`, which may stand for
    /// both directions (`noirq`), or with one (`resume:noirq`).
    pub fn phases_called(text: &str) -> Vec<Phase> {
        let (direction, name) = match text.split_once(':') {
            Some((d, name)) => (Some(d), name),
            None => (None, text),
        };
        [Direction::Suspend, Direction::Resume]
            .into_iter()
            .filter(|d| direction.is_none_or(|text| d.name() == text))
            .filter_map(|d| Phase::find(name, d))
            .collect()
    }

    /// The chosen cycles with their numbers, from 1 over all captures.
    pub fn cycles<'a>(
        &self,
        all: &'a [Explained],
    ) -> impl Iterator<Item = (usize, &'a Explained, usize)> + use<'a> {
        let only = self.cycle;
        all.iter()
            .flat_map(|e| (0..e.views.len()).map(move |i| (e, i)))
            .enumerate()
            .map(|(n, (e, i))| (n + 1, e, i))
            .filter(move |(n, ..)| only.is_none_or(|o| o == *n))
    }
}
