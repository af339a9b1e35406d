//! Where the change of one phase comes from.
//!
//! The median of a phase is one cycle's value, or the mean of two. Their critical paths
//! partition their phases, so what the path of the one side holds and that of the other
//! does not adds up to the difference of the two medians: nothing is left over that has no
//! row, and the row without a cause is a row like the others.

use super::figure::Figure;
use super::seen::{DeviceName, Seen, device_names};
use crate::analyse::path::Reason;
use dormouse_base::phase::Phase;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of a difference below this share of the total are not worth a sentence: cycles of
/// one machine differ by as much.
pub const WORTH_SAYING: f64 = 0.005;

/// A difference below this is no news, whatever the test says, nanoseconds.
pub const NEWS: f64 = 100_000.0;

/// What a share of a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source<'a> {
    /// A device of the critical path whose own callbacks are longer or shorter.
    Device(DeviceName<'a>),
    /// A device that came onto the critical path or left it, for as long as its callbacks
    /// take on both sides: something else runs beside it, or before it.
    Order(DeviceName<'a>),
    /// Time of the path in which none of its callbacks ran.
    Wait(Reason),
    /// Time that the recording does not explain.
    Unexplained,
}

impl Source<'_> {
    /// The word of JSON: `device`, `order`, `wait` or `unexplained`.
    pub fn name(&self) -> &'static str {
        match self {
            Source::Device(_) => "device",
            Source::Order(_) => "order",
            Source::Wait(_) => "wait",
            Source::Unexplained => "unexplained",
        }
    }
}

/// A share of the change of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share<'a> {
    /// What it comes from.
    pub source: Source<'a>,
    /// Nanoseconds, other side minus first.
    pub change: f64,
}

/// The change of one phase, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Account<'a> {
    /// The phase.
    pub phase: Phase,
    /// Median of the first side, nanoseconds.
    pub before: f64,
    /// Median of the other side.
    pub after: f64,
    /// Largest change first; they add up to `after - before`. One that is zero is not here.
    pub shares: Vec<Share<'a>>,
}

impl Account<'_> {
    /// Other side minus first.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// What all shares of a kind add up to, by the word of [`Source::name`].
    pub fn of_kind(&self, kind: &str) -> f64 {
        self.shares.iter().filter(|s| s.source.name() == kind).map(|s| s.change).sum()
    }
}

/// Accounts of the phases of devices that cycles of both sides have, in the order of a cycle.
pub fn accounts<'a>(a: &[Seen<'a>], b: &[Seen<'a>]) -> Vec<Account<'a>> {
    let phases = |side: &[Seen<'a>]| -> BTreeSet<Phase> {
        let spans = side.iter().flat_map(|s| &s.cycle.phases);
        spans.map(|p| p.phase).filter(|p| p.has_devices()).collect()
    };
    let both: Vec<Phase> = phases(a).intersection(&phases(b)).copied().collect();
    both.into_iter().filter_map(|phase| account(phase, a, b)).collect()
}

fn account<'a>(phase: Phase, a: &[Seen<'a>], b: &[Seen<'a>]) -> Option<Account<'a>> {
    let (was, is) = (Middle::of(phase, a)?, Middle::of(phase, b)?);
    let mut change: BTreeMap<Source<'a>, f64> = BTreeMap::new();
    let devices: BTreeSet<DeviceName<'a>> =
        was.path.keys().chain(is.path.keys()).copied().collect();
    let at = |m: &BTreeMap<DeviceName<'a>, f64>, d| m.get(d).copied().unwrap_or(0.0);
    for device in &devices {
        let own = at(&is.own, device) - at(&was.own, device);
        let on_path = at(&is.path, device) - at(&was.path, device);
        change.insert(Source::Device(*device), own);
        change.insert(Source::Order(*device), on_path - own);
    }
    for (sign, side) in [(-1.0, &was), (1.0, &is)] {
        for (reason, time) in &side.waits {
            let source = match reason {
                Reason::Unexplained => Source::Unexplained,
                reason => Source::Wait(*reason),
            };
            *change.entry(source).or_default() += sign * time;
        }
    }
    let (before, after) = (was.value, is.value);
    // Spans that lie in one another are counted once in the phase, and their paths are not.
    let told: f64 = change.values().sum();
    *change.entry(Source::Unexplained).or_default() += (after - before) - told;
    let mut shares: Vec<Share<'a>> = change
        .into_iter()
        .filter(|(_, change)| *change != 0.0)
        .map(|(source, change)| Share { source, change })
        .collect();
    shares.sort_by(|x, y| {
        let size = |s: &Share<'_>| libm::fabs(s.change);
        size(y).total_cmp(&size(x)).then(x.source.cmp(&y.source))
    });
    Some(Account { phase, before, after, shares })
}

/// The cycle in the middle of a side, or the mean of the two: its phase, and what the
/// critical path of that holds, in nanoseconds.
#[derive(Default)]
struct Middle<'a> {
    value: f64,
    path: BTreeMap<DeviceName<'a>, f64>,
    own: BTreeMap<DeviceName<'a>, f64>,
    waits: BTreeMap<Reason, f64>,
}

impl<'a> Middle<'a> {
    fn of(phase: Phase, side: &[Seen<'a>]) -> Option<Middle<'a>> {
        let value = |s: &Seen<'a>| Figure::Phase(phase).value(s);
        let mut cycles: Vec<(f64, &Seen<'a>)> =
            side.iter().filter_map(|s| Some((value(s)?, s))).collect();
        cycles.sort_by(|x, y| x.0.total_cmp(&y.0));
        let last = cycles.len().checked_sub(1)?;
        let chosen = &cycles[last / 2..=last.div_ceil(2)];
        let weight = 1.0 / chosen.len() as f64;
        let mut middle = Middle::default();
        for (value, seen) in chosen {
            middle.value += value * weight;
            middle.add(phase, seen, weight);
        }
        Some(middle)
    }

    fn add(&mut self, phase: Phase, seen: &Seen<'a>, weight: f64) {
        let names = device_names(seen.capture);
        for cb in seen.cycle.callbacks.iter().filter(|cb| cb.phase == phase) {
            if let Some(&name) = names.get(cb.device.index()) {
                *self.own.entry(name).or_default() += cb.duration().0 as f64 * weight;
            }
        }
        for (_, view) in
            seen.cycle.phases.iter().zip(&seen.view.phases).filter(|(p, _)| p.phase == phase)
        {
            for s in &view.path {
                let time = s.duration().0 as f64 * weight;
                match s.device.and_then(|d| names.get(d.index())) {
                    Some(&name) => *self.path.entry(name).or_default() += time,
                    None => *self.waits.entry(s.reason).or_default() += time,
                }
            }
        }
    }
}
