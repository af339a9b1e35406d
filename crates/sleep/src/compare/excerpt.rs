//! Excerpts beside each other: inputs that show no whole cycle have no total to compare, and
//! the callbacks and phases that both of them show are compared all the same.

use super::Subject;
use super::account::{Account, accounts};
use super::figure::Figure;
use super::seen::{DeviceName, Seen, device_names};
use crate::analyse::CycleView;
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::median;
use std::collections::{BTreeMap, BTreeSet};

/// What two inputs without a whole cycle both show.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpts<'a> {
    /// Runs of each side: cycles that are shown in part, or lists of ends of callbacks.
    pub runs: [usize; 2],
    /// Callbacks of both sides, largest change first.
    pub both: Vec<Pair<'a>>,
    /// Callbacks that one side alone has, longest first.
    pub alone: [Vec<(Called<'a>, f64)>; 2],
    /// Phases of which both sides show begin and end, or a duration that the kernel printed:
    /// medians, in the order of a cycle.
    pub phases: Vec<(Phase, f64, f64)>,
    /// Phases whose callbacks are the same on both sides, from the first that is shown to the
    /// last, taken apart.
    pub accounts: Vec<Account<'a>>,
}

/// A callback as it is recognised in an excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Called<'a> {
    /// Its device.
    pub device: &'a str,
    /// Its function; the phase where the source names none.
    pub function: &'a str,
    /// Which of those that are named alike in one run, from 1.
    pub nth: u32,
}

/// A callback of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<'a> {
    /// Which.
    pub called: Called<'a>,
    /// Median over the runs of the first side, nanoseconds.
    pub before: f64,
    /// Median of the other side.
    pub after: f64,
}

impl Pair<'_> {
    /// Other side minus first.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }
}

/// A run's callbacks with what each took.
type Took<'a> = BTreeMap<Called<'a>, f64>;

/// Compares the callbacks of two sides that show no whole cycle; `None` if no callback stands
/// in both.
pub fn excerpts<'a>(a: &Subject<'a>, b: &Subject<'a>) -> Option<Excerpts<'a>> {
    let sides = [runs(a), runs(b)];
    let medians = [0, 1].map(|i: usize| -> Took<'a> {
        let mut samples: BTreeMap<Called<'a>, Vec<f64>> = BTreeMap::new();
        for (called, took) in sides[i].iter().flatten() {
            samples.entry(*called).or_default().push(*took);
        }
        samples.into_iter().map(|(called, s)| (called, median(&s))).collect()
    });
    let mut both: Vec<Pair<'a>> = medians[0]
        .iter()
        .filter_map(|(called, before)| {
            let after = *medians[1].get(called)?;
            Some(Pair { called: *called, before: *before, after })
        })
        .collect();
    let (of_a, of_b) = (shown(a), shown(b));
    let phases = phases(&of_a, &of_b);
    if both.is_empty() && phases.is_empty() {
        return None;
    }
    both.sort_by(|x, y| {
        let size = |p: &Pair<'_>| libm::fabs(p.change());
        size(y).total_cmp(&size(x)).then(x.called.cmp(&y.called))
    });
    let alone = [0, 1].map(|i: usize| {
        let mut list: Vec<(Called<'a>, f64)> = medians[i]
            .iter()
            .filter(|(called, _)| !medians[1 - i].contains_key(called))
            .map(|(called, took)| (*called, *took))
            .collect();
        list.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        list
    });
    let same = |account: &Account<'_>| ran(&of_a, account.phase) == ran(&of_b, account.phase);
    let accounts = accounts(&of_a, &of_b).into_iter().filter(same).collect();
    Some(Excerpts { runs: sides.map(|s| s.len()), both, alone, phases, accounts })
}

/// Phases that both sides show from begin to end.
fn phases(a: &[Seen<'_>], b: &[Seen<'_>]) -> Vec<(Phase, f64, f64)> {
    let of = |side: &[Seen<'_>]| -> BTreeMap<Phase, Vec<f64>> {
        let mut out: BTreeMap<Phase, Vec<f64>> = BTreeMap::new();
        for seen in side {
            let spans = &seen.cycle.phases;
            let whole: BTreeSet<Phase> = spans.iter().map(|p| p.phase).collect();
            for phase in whole.into_iter().filter(|&p| p != Phase::Asleep) {
                let mut of_phase = spans.iter().filter(|p| p.phase == phase);
                if of_phase.all(|p| p.complete || p.printed.is_some())
                    && let Some(time) = Figure::Phase(phase).value(seen)
                {
                    out.entry(phase).or_default().push(time);
                }
            }
        }
        out
    };
    let (a, b) = (of(a), of(b));
    let both = a.iter().filter_map(|(phase, before)| Some((*phase, before, b.get(phase)?)));
    both.map(|(phase, before, after)| (phase, median(before), median(after))).collect()
}

/// Devices that ran in a phase.
fn ran<'a>(side: &[Seen<'a>], phase: Phase) -> BTreeSet<DeviceName<'a>> {
    let of = |s: &Seen<'a>| {
        let names = device_names(s.capture);
        let all = s.cycle.callbacks.iter().filter(|cb| cb.phase == phase);
        all.filter_map(|cb| names.get(cb.device.index()).copied()).collect::<Vec<_>>()
    };
    side.iter().flat_map(of).collect()
}

/// Every cycle of a subject, whole or not.
fn shown<'a>(subject: &Subject<'a>) -> Vec<Seen<'a>> {
    let of = |(nth_capture, &(capture, views)): (usize, &(&'a Capture, &'a [CycleView]))| {
        let cycles = capture.cycles.iter().zip(views);
        cycles.map(|(cycle, view)| Seen { capture, nth_capture, cycle, view }).collect::<Vec<_>>()
    };
    subject.captures.iter().enumerate().flat_map(of).collect()
}

/// What callbacks took in each cycle and in each list of ends.
fn runs<'a>(subject: &Subject<'a>) -> Vec<Took<'a>> {
    let mut out = Vec::new();
    for &(capture, _) in &subject.captures {
        let name = |id: DeviceId| {
            let device = capture.graph.devices.get(id.index());
            device.map_or("", |d| capture.names.get(d.name))
        };
        for cycle in &capture.cycles {
            let complete = cycle.callbacks.iter().filter(|cb| cb.complete);
            out.push(took(complete.map(|cb| {
                let function = capture.names.get(cb.function);
                let function = if function.is_empty() { cb.phase.name() } else { function };
                (name(cb.device), function, cb.duration().0)
            })));
        }
        for list in &capture.ranked {
            let rows =
                list.rows.iter().map(|r| (name(r.device), capture.names.get(r.function), r.took.0));
            out.push(took(rows));
        }
    }
    out.retain(|run| !run.is_empty());
    out
}

fn took<'a>(all: impl Iterator<Item = (&'a str, &'a str, i64)>) -> Took<'a> {
    let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut out = Took::new();
    for (device, function, ns) in all {
        let nth = seen.entry((device, function)).or_default();
        *nth += 1;
        out.insert(Called { device, function, nth: *nth }, ns as f64);
    }
    out
}
