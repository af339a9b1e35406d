//! Why one side is slower: the difference taken apart along the critical paths.
//!
//! The segments of a critical path partition its phase, and phases and gaps
//! partition the total. So the mean time of each kind of segment over the
//! cycles of a side adds up to that side's mean total, and the differences of
//! these means add up to the difference of the totals: nothing is left over,
//! nothing is counted twice.

use super::seen::{DeviceName, Seen, device_names};
use crate::analyse::path::Reason;
use crate::analyse::rows::What;
use dormouse_base::cycle::Mode;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// A kind of time on the way down or up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause<'a> {
    /// A device's callback on the critical path of a phase.
    Device(Phase, DeviceName<'a>),
    /// Time of the critical path in which none of its callbacks ran.
    Wait(Phase, Reason),
    /// A phase without devices.
    Step(Phase),
    /// Between phases.
    Between,
}

/// How a cause's time differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'a> {
    /// What.
    pub cause: Cause<'a>,
    /// Mean time a cycle on the first side, nanoseconds.
    pub before: f64,
    /// Mean time a cycle on the other side.
    pub after: f64,
    /// For a device: how its own callback time changed (mean), whether it lies
    /// on the path or not. A device can come onto the path without changing.
    pub own: Option<f64>,
}

impl Part<'_> {
    /// Other side minus first.
    pub fn difference(&self) -> f64 {
        self.after - self.before
    }
}

/// The difference of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Why<'a> {
    /// Down or up.
    pub direction: Direction,
    /// Mean total of the first side, nanoseconds.
    pub before: f64,
    /// Mean total of the other side.
    pub after: f64,
    /// Every cause, largest difference first; the differences add up to
    /// `after - before`.
    pub parts: Vec<Part<'a>>,
    /// The device with the longest time on the critical path of each side, if
    /// any, with its share of the total in percent: what bounds the direction
    /// whatever the difference is.
    pub bound: Option<(DeviceName<'a>, f64, f64)>,
    /// The gap between phases that differs most, if one does.
    pub gap: Option<Between>,
}

/// A gap between two phases, on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// How the machine slept.
    pub mode: Mode,
    /// The phases before and after it.
    pub phases: (Option<Phase>, Option<Phase>),
    /// Median of the first side, nanoseconds; a cycle without it has zero.
    pub before: f64,
    /// Median of the other side.
    pub after: f64,
    /// In every cycle of one side it is longer than in any of the other.
    pub always: bool,
}

impl Between {
    /// Other side minus first.
    pub fn difference(&self) -> f64 {
        self.after - self.before
    }
}

/// Gaps of one cycle by the phases around them, ns.
type Gaps = BTreeMap<(Option<Phase>, Option<Phase>), i64>;

/// The gap of `direction` that differs most.
fn between(direction: Direction, a: &[Seen<'_>], b: &[Seen<'_>]) -> Option<Between> {
    let gaps = |side: &[Seen<'_>]| -> Vec<Gaps> {
        let of = |seen: &Seen<'_>| {
            let mut found = Gaps::new();
            for row in seen.view.rows.list.iter().filter(|r| r.direction == direction) {
                if let What::Gap { after, before } = row.what {
                    *found.entry((after, before)).or_insert(0) += row.counted.0;
                }
            }
            found
        };
        side.iter().map(of).collect()
    };
    let (a_gaps, b_gaps) = (gaps(a), gaps(b));
    let mode = b.first().or(a.first())?.cycle.mode;
    let keys: BTreeSet<_> = a_gaps.iter().chain(&b_gaps).flat_map(|m| m.keys().copied()).collect();
    let all = keys.into_iter().filter_map(|phases| {
        let times = |side: &[Gaps]| -> Vec<Ns> {
            let mut t: Vec<Ns> =
                side.iter().map(|m| Ns(m.get(&phases).copied().unwrap_or(0))).collect();
            t.sort_unstable();
            t
        };
        let (mut x, mut y) = (times(&a_gaps), times(&b_gaps));
        let always = x.last()? < y.first()? || y.last()? < x.first()?;
        let before = middle(&mut x, Ns::mean)?.0 as f64;
        let after = middle(&mut y, Ns::mean)?.0 as f64;
        Some(Between { mode, phases, before, after, always })
    });
    all.max_by(|x, y| libm::fabs(x.difference()).total_cmp(&libm::fabs(y.difference())))
}

/// Takes the difference of two sides apart.
pub fn explain<'a>(direction: Direction, a: &[Seen<'a>], b: &[Seen<'a>]) -> Why<'a> {
    let (on_path_a, own_a) = means(direction, a);
    let (on_path_b, own_b) = means(direction, b);
    let before: f64 = on_path_a.values().sum();
    let after: f64 = on_path_b.values().sum();
    let causes: BTreeSet<Cause<'a>> = on_path_a.keys().chain(on_path_b.keys()).copied().collect();
    let at = |m: &BTreeMap<Cause<'a>, f64>, c: &Cause<'a>| m.get(c).copied().unwrap_or(0.0);
    let mut parts: Vec<Part<'a>> = causes
        .into_iter()
        .map(|cause| Part {
            cause,
            before: at(&on_path_a, &cause),
            after: at(&on_path_b, &cause),
            own: matches!(cause, Cause::Device(..))
                .then(|| at(&own_b, &cause) - at(&own_a, &cause)),
        })
        .collect();
    parts.sort_by(|x, y| {
        libm::fabs(y.difference())
            .total_cmp(&libm::fabs(x.difference()))
            .then(x.cause.cmp(&y.cause))
    });
    let bound = longest(&on_path_a).and_then(|(device, time)| {
        let share_b = 100.0 * by_device(&on_path_b).get(&device).copied().unwrap_or(0.0) / after;
        (before > 0.0 && after > 0.0).then_some((device, 100.0 * time / before, share_b))
    });
    let gap = between(direction, a, b);
    Why { direction, before, after, parts, bound, gap }
}

fn by_device<'a>(means: &BTreeMap<Cause<'a>, f64>) -> BTreeMap<DeviceName<'a>, f64> {
    let mut out = BTreeMap::new();
    for (cause, time) in means {
        if let Cause::Device(_, device) = cause {
            *out.entry(*device).or_insert(0.0) += time;
        }
    }
    out
}

fn longest<'a>(means: &BTreeMap<Cause<'a>, f64>) -> Option<(DeviceName<'a>, f64)> {
    by_device(means).into_iter().max_by(|x, y| x.1.total_cmp(&y.1).then(y.0.cmp(&x.0)))
}

type Means<'a> = BTreeMap<Cause<'a>, f64>;

/// Mean time a cycle by cause, and mean own time of every device.
fn means<'a>(direction: Direction, side: &[Seen<'a>]) -> (Means<'a>, Means<'a>) {
    let mut on_path: BTreeMap<Cause<'a>, i64> = BTreeMap::new();
    let mut own: BTreeMap<Cause<'a>, i64> = BTreeMap::new();
    let mut names: Vec<DeviceName<'a>> = Vec::new();
    let mut of_capture = usize::MAX;
    for seen in side {
        if of_capture != seen.nth_capture {
            names = device_names(seen.capture);
            of_capture = seen.nth_capture;
        }
        for cb in seen.cycle.callbacks.iter().filter(|cb| cb.phase.direction() == direction) {
            if let Some(&name) = names.get(cb.device.index()) {
                *own.entry(Cause::Device(cb.phase, name)).or_default() += cb.duration().0;
            }
        }
        let mut explained = 0;
        for (span, view) in seen.cycle.phases.iter().zip(&seen.view.phases) {
            if span.phase.direction() != direction || span.phase == Phase::Asleep {
                continue;
            }
            for s in &view.path {
                let cause = match s.device.and_then(|d| names.get(d.index())) {
                    Some(&name) => Cause::Device(span.phase, name),
                    None if span.phase.has_devices() => Cause::Wait(span.phase, s.reason),
                    None => Cause::Step(span.phase),
                };
                *on_path.entry(cause).or_default() += s.duration().0;
                explained += s.duration().0;
            }
        }
        // Gaps between phases, less what nested brackets count twice.
        let total: Ns = seen.view.rows.counted(direction);
        *on_path.entry(Cause::Between).or_default() += total.0 - explained;
    }
    let n = side.len().max(1) as f64;
    let mean =
        |m: BTreeMap<Cause<'a>, i64>| m.into_iter().map(|(k, v)| (k, v as f64 / n)).collect();
    (mean(on_path), mean(own))
}
