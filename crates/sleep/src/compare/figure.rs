//! The figures of a cycle that are compared: totals, phases, counts, devices.

use super::seen::{DeviceName, Seen, device_names};
use crate::analyse::rows::{Row, What};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// A count that says what a patch did where times cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Count {
    /// Callbacks that ended.
    Callbacks,
    /// Callbacks that failed.
    Failed,
    /// Worker threads that ran callbacks.
    Workers,
    /// Most workers that ran callbacks at once.
    WorkersAtOnce,
    /// Callbacks that started just after something they depend on.
    Waits,
    /// Worker threads created.
    WorkersCreated,
    /// Most workers parked at once.
    ParkedAtOnce,
    /// Waits that blocked.
    BlockedWaits,
    /// Wake-ups.
    Wakeups,
    /// Context switches.
    ContextSwitches,
    /// Devices that returned at once.
    EarlyReturns,
}

impl Count {
    /// Every count in the order of output.
    pub const ALL: [Count; 11] = [
        Count::Callbacks,
        Count::Failed,
        Count::Workers,
        Count::WorkersAtOnce,
        Count::Waits,
        Count::WorkersCreated,
        Count::ParkedAtOnce,
        Count::BlockedWaits,
        Count::Wakeups,
        Count::ContextSwitches,
        Count::EarlyReturns,
    ];

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Count::Callbacks => "callbacks",
            Count::Failed => "failed_callbacks",
            Count::Workers => "workers",
            Count::WorkersAtOnce => "workers_at_once",
            Count::Waits => "waits",
            Count::WorkersCreated => "workers_created",
            Count::ParkedAtOnce => "parked_at_once",
            Count::BlockedWaits => "blocked_waits",
            Count::Wakeups => "wakeups",
            Count::ContextSwitches => "context_switches",
            Count::EarlyReturns => "early_returns",
        }
    }
}

/// One figure of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// All of the way down or up, in nanoseconds.
    Total(Direction),
    /// What one phase adds to its total, its spans added up, in nanoseconds.
    Phase(Phase),
    /// All gaps between the phases of one direction, in nanoseconds: with them
    /// the phases add up to the total.
    Gaps(Direction),
    /// A count.
    Count(Count),
}

impl Figure {
    /// Whether the value is a duration in nanoseconds (else a count).
    pub fn is_time(self) -> bool {
        !matches!(self, Figure::Count(_))
    }

    /// The value in one cycle; `None` if the cycle does not have it.
    pub fn value(self, seen: &Seen<'_>) -> Option<f64> {
        let some = |n: Option<u64>| n.map(|n| n as f64);
        let counts = &seen.cycle.counts;
        let tally = &seen.view.counts;
        match self {
            Figure::Total(d) => Some(seen.view.rows.counted(d).0 as f64).filter(|&v| v > 0.0),
            Figure::Phase(phase) => {
                let of = |r: &&Row| match r.what {
                    What::Phase(i) => seen.cycle.phases[i as usize].phase == phase,
                    _ => false,
                };
                let mut rows = seen.view.rows.list.iter().filter(of).peekable();
                rows.peek()?;
                Some(rows.map(|r| r.counted).sum::<Ns>().0 as f64)
            }
            Figure::Gaps(d) => {
                let of = |r: &&Row| r.direction == d && matches!(r.what, What::Gap { .. });
                let gaps: Ns = seen.view.rows.list.iter().filter(of).map(|r| r.counted).sum();
                seen.view.rows.half(d).map(|_| gaps.0 as f64)
            }
            Figure::Count(c) => match c {
                Count::Callbacks => Some(f64::from(tally.callbacks)),
                Count::Failed => Some(f64::from(tally.failed)),
                Count::Workers => Some(f64::from(tally.workers)),
                Count::WorkersAtOnce => Some(f64::from(tally.workers_at_once)),
                Count::Waits => Some(f64::from(tally.waits)),
                Count::WorkersCreated => some(counts.workers_created),
                Count::ParkedAtOnce => some(counts.parked_at_once),
                Count::BlockedWaits => some(counts.blocked_waits),
                Count::Wakeups => some(counts.wakeups),
                Count::ContextSwitches => some(counts.context_switches),
                Count::EarlyReturns => some(counts.early_returns),
            },
        }
    }
}

/// Every figure that at least one cycle of each side has, in order: totals,
/// phases, counts. Counts that are zero everywhere are left out.
pub fn figures(sides: &[Vec<Seen<'_>>]) -> Vec<Figure> {
    let mut all = vec![Figure::Total(Direction::Suspend), Figure::Total(Direction::Resume)];
    let phases: BTreeSet<Phase> = sides
        .iter()
        .flatten()
        .flat_map(|s| s.cycle.phases.iter().map(|p| p.phase))
        .filter(|&p| p != Phase::Asleep)
        .collect();
    all.extend(phases.into_iter().map(Figure::Phase));
    all.extend([Figure::Gaps(Direction::Suspend), Figure::Gaps(Direction::Resume)]);
    all.extend(Count::ALL.into_iter().map(Figure::Count));
    all.retain(|f| {
        let known = |side: &Vec<Seen<'_>>| side.iter().any(|s| f.value(s).is_some());
        let zero = || sides.iter().flatten().all(|s| f.value(s) == Some(0.0));
        let count = matches!(f, Figure::Count(_) | Figure::Gaps(_));
        sides.iter().all(known) && (!count || !zero())
    });
    all
}

/// One device in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceFigure<'a> {
    /// The phase.
    pub phase: Phase,
    /// The device.
    pub device: DeviceName<'a>,
}

/// The callback time of every device in every phase, a value a cycle in which
/// it ran, in nanoseconds.
pub(crate) fn device_samples<'a>(side: &[Seen<'a>]) -> BTreeMap<DeviceFigure<'a>, Vec<f64>> {
    let mut out: BTreeMap<DeviceFigure<'a>, Vec<f64>> = BTreeMap::new();
    let mut names: Vec<DeviceName<'a>> = Vec::new();
    let mut of_capture = usize::MAX;
    for seen in side {
        if of_capture != seen.nth_capture {
            names = device_names(seen.capture);
            of_capture = seen.nth_capture;
        }
        let mut times: BTreeMap<(Phase, u32), i64> = BTreeMap::new();
        for cb in seen.cycle.callbacks.iter().filter(|cb| cb.complete) {
            *times.entry((cb.phase, cb.device.0)).or_default() += cb.duration().0;
        }
        for ((phase, device), time) in times {
            if let Some(&device) = names.get(device as usize) {
                out.entry(DeviceFigure { phase, device }).or_default().push(time as f64);
            }
        }
    }
    out
}
