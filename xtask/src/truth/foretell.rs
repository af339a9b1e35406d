//! What a reduced recording alone foretells of a change, beside what the kernel
//! then did.

use super::graph::{Key, key};
use super::log::log;
use anyhow::{Context, Result, bail};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_read::Options;
use dormouse_sleep::evidence::fidelity::{Fidelity, Verdict};
use dormouse_sleep::evidence::{Doubt, machine};
use dormouse_sleep::simulate::change::{Change, apply};
use dormouse_sleep::simulate::kernel::{Kernel, choose};
use dormouse_sleep::simulate::predict::{Outlook, Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use std::collections::BTreeSet;

/// A prediction is right if it is apart by at most so many percent …
pub(crate) const PERCENT: i64 = 5;

/// … or by at most this.
pub(crate) const FLOOR: Ns = Ns(100_000);

/// How the second recording differs from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// `/sys/power/pm_async` is now so.
    PmAsync(bool),
    /// Another release.
    Kernel(String),
    /// These are gone.
    Without(Vec<String>),
}

impl Question {
    /// In words, for a table.
    pub(crate) fn words(&self) -> String {
        match self {
            Question::PmAsync(on) => format!("pm_async {} to {}", i32::from(!on), i32::from(*on)),
            Question::Kernel(release) => format!("kernel {release}"),
            Question::Without(names) => format!("without {}", names.join(", ")),
        }
    }
}

/// One phase foretold, and what came.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub told: Told,
    /// What the kernel then did, and how far its cycles were apart.
    pub then: Ns,
    pub spread: Ns,
}

impl Row {
    /// How far the prediction is from what came.
    pub(crate) fn apart(&self) -> Ns {
        Ns((self.told.foretold - self.then).0.abs())
    }

    /// Right enough.
    pub(crate) fn right(&self) -> bool {
        self.apart() <= tolerance(self.then)
    }
}

/// Reads the kernel log of a recording as if it had come by mail.
pub(crate) fn reduced(capture: &Capture, keep: impl Fn(usize) -> bool) -> Result<Capture> {
    let text = log(capture, keep);
    let reading = dormouse_read::read_bytes("reduced.dmesg", text.as_bytes(), &Options::default())?;
    reading.captures.into_iter().next().context("the reduced log has no cycle")
}

/// What changed from `before` to `after`, found by comparing the recordings.
pub(crate) fn question(before: &Capture, after: &Capture) -> Result<Question> {
    let release = |c: &Capture| {
        c.cycles.first().map(|y| c.names.get(y.kernel).to_owned()).unwrap_or_default()
    };
    if before.machine.pm_async != after.machine.pm_async {
        return Ok(Question::PmAsync(after.machine.pm_async == Some(true)));
    }
    if release(before) != release(after) {
        return Ok(Question::Kernel(release(after)));
    }
    let left: BTreeSet<Key> = after.graph.devices.iter().map(|d| key(&after.names, d)).collect();
    let gone: Vec<bool> =
        before.graph.devices.iter().map(|d| !left.contains(&key(&before.names, d))).collect();
    // Only the topmost: what depends on it goes with it. Of that, what a log names.
    let top = before.graph.ids().filter(|id| gone[id.index()]).filter(|id| {
        let parent = before.graph.get(*id).parent.is_some_and(|p| gone[p.index()]);
        let mut links = before.graph.links.iter().filter(|l| l.consumer == *id);
        !parent && !links.any(|l| gone[l.supplier.index()])
    });
    let called = |id: DeviceId| {
        before
            .cycles
            .iter()
            .flat_map(|c| &c.callbacks)
            .any(|c| c.device == id && c.phase.may_be_async())
    };
    let names: Vec<String> = top
        .filter(|id| !before.graph.get(*id).facts.no_pm && called(*id))
        .map(|id| before.names.get(before.graph.get(id).name).to_owned())
        .collect();
    if names.is_empty() {
        bail!("the two recordings are of the same machine under the same kernel");
    }
    Ok(Question::Without(names))
}

/// The cycles that both sides are judged by: all but the first after boot, if
/// there are others.
pub(crate) fn warm(capture: &Capture) -> Vec<&Cycle> {
    let warm: Vec<&Cycle> = capture.cycles.iter().filter(|c| !c.first_after_boot).collect();
    if warm.is_empty() { capture.cycles.iter().collect() } else { warm }
}

/// Median and distance of the outermost of what `phase` took.
fn times(cycles: &[&Cycle], phase: Phase) -> Option<(Ns, Ns)> {
    let spans = cycles.iter().filter_map(|c| c.phase(phase)).filter(|p| p.complete);
    let mut all: Vec<Ns> = spans.map(|p| p.duration()).collect();
    all.sort_unstable();
    let (&first, &last) = (all.first()?, all.last()?);
    Some((all[all.len() / 2], last - first))
}

/// What the log of `before` alone says of one phase.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub phase: Phase,
    pub now: Ns,
    pub simulated: Ns,
    pub foretold: Ns,
    pub refused: Option<Refusal>,
}

/// Why nothing is claimed of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Without workers nothing says which devices are asynchronous. The shortest
    /// and the longest answer if none or all are.
    Flags(Ns, Ns),
    /// The phase is not reproduced as it was.
    Missed(Ns, Ns),
    /// Machines that explain the recording answer differently.
    Machines {
        /// So many.
        count: usize,
        /// The shortest and the longest answer, as the user is told.
        range: (Ns, Ns),
        /// The same of machines in which each callback begins when it did.
        witnessed: Option<(Ns, Ns)>,
    },
}

impl Refusal {
    /// For the table.
    pub(crate) fn words(&self) -> String {
        match self {
            Refusal::Flags(..) => {
                "nothing in the log says which devices are asynchronous".to_owned()
            }
            Refusal::Missed(was, is) => format!("took {was} and is simulated as {is}"),
            Refusal::Machines { count, range: (low, high), .. } => {
                format!("{count} machines say {low} to {high}")
            }
        }
    }

    /// The answers that the user is given in place of one.
    pub(crate) fn range(&self) -> Option<(Ns, Ns)> {
        match self {
            Refusal::Machines { range, .. } => Some(*range),
            _ => None,
        }
    }

    /// Whether no answer can be right: machines of which the log is the same one
    /// do what no single figure is right for. `came` is what one of them does.
    pub(crate) fn is_unanswerable(&self, came: Ns) -> bool {
        let (low, high) = match *self {
            Refusal::Flags(low, high) => (low.min(came), high.max(came)),
            Refusal::Machines { witnessed: Some(all), .. } => all,
            _ => return false,
        };
        low + tolerance(low) < high - tolerance(high)
    }
}

/// So far from `came` a prediction may be.
pub(crate) fn tolerance(came: Ns) -> Ns {
    Ns((came.0 * PERCENT / 100).max(FLOOR.0))
}

/// The rules of a release.
pub(crate) fn scheduler(release: &str) -> Result<Scheduler> {
    let (policy, kernel): (_, Option<Kernel>) =
        choose(release).map_err(|e| anyhow::anyhow!("{e}"))?;
    Ok(Scheduler { policy, kernel })
}

/// The rules and changes that `question` asks about, of a machine that runs `now`.
pub(crate) fn asked(question: &Question, now: Scheduler) -> Result<(Scheduler, Vec<Change>)> {
    Ok(match question {
        Question::PmAsync(on) => (now, vec![Change::PmAsync(*on)]),
        Question::Kernel(release) => (scheduler(release)?, Vec::new()),
        Question::Without(names) => (now, names.iter().cloned().map(Change::Without).collect()),
    })
}

/// Answers `question` from the log of `before` alone.
pub(crate) fn tell(
    before: &Capture,
    question: &Question,
    keep: impl Fn(usize) -> bool,
    costs: &Profile,
) -> Result<Vec<Told>> {
    tell_of(&reduced(before, keep)?, question, costs)
}

/// Answers `question` from `seen`.
pub(crate) fn tell_of(seen: &Capture, question: &Question, costs: &Profile) -> Result<Vec<Told>> {
    let machine = machine(seen, None).map_err(anyhow::Error::msg)?;
    let (derived, now) = (&machine.derived, scheduler(&machine.release)?);
    let (then, changes) = asked(question, now)?;
    let settings = Settings { profile: costs.clone(), pm_async: None, wakeup_at: None };
    let fidelity = machine.check(seen, &settings);
    let simulated = outlook(&derived.board, now, &settings)?;
    let changed = apply(&derived.board, &changes).map_err(anyhow::Error::msg)?;
    let foretold = outlook(&changed.board, then, &settings)?;
    let mut all = changed.board.clone();
    all.graph.devices.iter_mut().for_each(|d| d.async_flag = Some(true));
    let parallel = outlook(&all, then, &settings)?;
    let doubt = machine.doubt(seen, then, &changes, &settings);
    let cycles: Vec<&Cycle> = seen.cycles.iter().collect();
    let mut told = Vec::new();
    for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
        let Some((now, _)) = times(&cycles, phase) else { continue };
        let simulated = simulated.phase(phase);
        // What nothing explains stays as it was.
        let after = |o: &Outlook| now + (o.phase(phase) - simulated);
        let flags = [after(&foretold), after(&parallel)];
        told.push(Told {
            phase,
            now,
            simulated,
            foretold: after(&foretold) + doubt.shift(phase),
            refused: refusal(&fidelity, &doubt, phase, question, flags),
        });
    }
    Ok(told)
}

/// The cycles `keep` of `before` with all that was recorded of them, as
/// `dormouse record` does.
pub(crate) fn whole(before: &Capture, keep: impl Fn(usize) -> bool) -> Capture {
    let mut whole = before.clone();
    let mut number = 0..;
    whole.cycles.retain(|_| number.next().is_some_and(&keep));
    whole
}

/// The question that two recordings ask.
pub(crate) struct Asked {
    pub question: Question,
    /// Answered from the log of the first alone.
    pub rows: Vec<Row>,
    /// Answered from all that was recorded of the same cycles.
    pub whole: Vec<Row>,
}

/// Answers the question that the two recordings ask.
pub(crate) fn foretell(
    before: &Capture,
    after: &Capture,
    keep: impl Fn(usize) -> bool,
    costs: &Profile,
) -> Result<Asked> {
    let question = question(before, after)?;
    let held = |told: Vec<Told>| -> Vec<Row> {
        let came = |t: &Told| times(&warm(after), t.phase);
        told.into_iter()
            .filter_map(|told| came(&told).map(|(then, spread)| Row { told, then, spread }))
            .collect()
    };
    let rows = held(tell(before, &question, &keep, costs)?);
    let whole = held(tell_of(&whole(before, &keep), &question, costs)?);
    Ok(Asked { question, rows, whole })
}

/// As `dormouse predict` refuses: nothing is claimed of a phase that is not
/// reproduced as it was, nor of flags that a log without workers cannot show.
fn refusal(
    fidelity: &Fidelity,
    doubt: &Doubt,
    phase: Phase,
    question: &Question,
    [none, all]: [Ns; 2],
) -> Option<Refusal> {
    if fidelity.blind && *question == Question::PmAsync(true) {
        return Some(Refusal::Flags(none.min(all), none.max(all)));
    }
    let check = fidelity.phase(phase)?;
    if check.verdict == Verdict::NotReproduced {
        return Some(Refusal::Missed(check.recorded, check.simulated));
    }
    let index = phase.device_index().filter(|_| !doubt.agrees(phase))?;
    let (count, witnessed) = (doubt.machines, doubt.witnessed[index]);
    doubt.range[index].map(|range| Refusal::Machines { count, range, witnessed })
}
