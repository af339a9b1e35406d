//! Long waits: gaps between phases, gaps on a critical path, and times when the
//! main thread stood still inside a phase.

use super::PhaseView;
use super::path::Reason;
use super::rows::{Rows, What};
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// Shorter ones are not worth a line.
pub const AT_LEAST: Ns = Ns(1_000_000);

/// Where a wait is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between two phases.
    Between {
        /// Before the gap.
        after: Option<Phase>,
        /// After the gap.
        before: Option<Phase>,
    },
    /// On the critical path of a phase: between two callbacks of it.
    OnPath {
        /// The phase.
        phase: Phase,
        /// What started after the gap; `None` at the end of the phase.
        next: Option<DeviceId>,
    },
    /// The main thread ran no callback and then ran one.
    MainThread {
        /// The phase.
        phase: Phase,
        /// The callback before the gap.
        after: Option<DeviceId>,
        /// The callback after it.
        next: DeviceId,
    },
}

/// A long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Where.
    pub place: Place,
    /// Which half.
    pub direction: Direction,
    /// Begin.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// Why, as far as the log shows; `None` between phases.
    pub reason: Option<Reason>,
    /// The device waited for.
    pub waited_for: Option<DeviceId>,
}

impl Stall {
    /// How long it is.
    pub fn duration(&self) -> Ns {
        self.end.since(self.start)
    }
}

/// All waits of at least [`AT_LEAST`], longest first.
pub fn find(cycle: &Cycle, rows: &Rows, phases: &[PhaseView], mains: &[bool]) -> Vec<Stall> {
    let mut out = Vec::new();
    for r in &rows.list {
        // A gap between nothing and nothing is all of a cycle without phases.
        if let What::Gap { after, before } = r.what
            && r.counted >= AT_LEAST
            && (after.is_some() || before.is_some())
        {
            out.push(Stall {
                place: Place::Between { after, before },
                direction: r.direction,
                start: r.start,
                end: r.end,
                reason: None,
                waited_for: None,
            });
        }
    }
    for (span, view) in cycle.phases.iter().zip(phases) {
        // A phase of which the source shows no callback is a row, and no wait.
        if !span.phase.has_devices() || view.callbacks.is_empty() {
            continue;
        }
        let direction = span.phase.direction();
        for (i, s) in view.path.iter().enumerate() {
            if s.is_gap() && s.duration() >= AT_LEAST {
                let next = view.path[i + 1..].iter().find_map(|s| s.device);
                out.push(Stall {
                    place: Place::OnPath { phase: span.phase, next },
                    direction,
                    start: s.start,
                    end: s.end,
                    reason: Some(s.reason),
                    waited_for: None,
                });
            }
        }
        main_thread(cycle, view, mains, span.phase, span.start, &mut out);
    }
    out.sort_by_key(|s| (std::cmp::Reverse(s.duration()), s.start));
    out
}

/// Times when the main thread waited for async devices.
fn main_thread(
    cycle: &Cycle,
    view: &PhaseView,
    mains: &[bool],
    phase: Phase,
    start: Ns,
    out: &mut Vec<Stall>,
) {
    if !phase.may_be_async() {
        return;
    }
    let is_main = |t: u16| mains.get(usize::from(t)).copied().unwrap_or(false);
    // What ended last before the main thread went on.
    let mut ends: Vec<(Ns, DeviceId)> = view
        .callbacks
        .iter()
        .map(|&c| &cycle.callbacks[c as usize])
        .filter(|cb| !is_main(cb.thread.0))
        .map(|cb| (cb.end, cb.device))
        .collect();
    ends.sort_unstable();
    let mut at = start;
    let mut after = None;
    for &c in &view.callbacks {
        let cb = &cycle.callbacks[c as usize];
        if !is_main(cb.thread.0) {
            continue;
        }
        if cb.start.since(at) >= AT_LEAST {
            let k = ends.partition_point(|e| e.0 <= cb.start);
            let last = k.checked_sub(1).map(|k| ends[k]);
            let just = last.filter(|e| cb.start.since(e.0) <= super::structure::JUST);
            out.push(Stall {
                place: Place::MainThread { phase, after, next: cb.device },
                direction: phase.direction(),
                start: at,
                end: cb.start,
                reason: just.is_none().then_some(Reason::Unexplained),
                waited_for: just.map(|e| e.1),
            });
        }
        at = at.max(cb.end);
        after = Some(cb.device);
    }
}
