//! What to attack first.

use super::PhaseView;
use super::path::{Reason, Segment};
use super::rank::Ranking;
use super::rows::{Rows, What};
use dormouse_model::cycle::Cycle;
use dormouse_model::device::DeviceId;
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;

/// The largest single thing in one half of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A device's callback on the critical path.
    Device {
        /// The device.
        device: DeviceId,
        /// The phase of its longest piece of the path.
        phase: Phase,
        /// Its time on critical paths of this half.
        on_path: Ns,
        /// What the half would gain without it.
        gain: Ns,
        /// What waited for it, and how: the next callback of the path.
        waiter: Option<(DeviceId, Reason)>,
        /// How long after the begin of the phase it started.
        delay: Ns,
        /// Its longest piece of the path: index into the path of its phase's
        /// view, and the view's index.
        segment: (u32, u32),
    },
    /// A gap between phases.
    Gap {
        /// Before it.
        after: Option<Phase>,
        /// After it.
        before: Option<Phase>,
        /// How long.
        time: Ns,
    },
    /// A phase without devices (sync, freeze, CPUs, thaw).
    Phase {
        /// Which.
        phase: Phase,
        /// How long, all spans of it together.
        time: Ns,
    },
    /// Time inside a phase that no callback of this log explains.
    Unexplained {
        /// Which phase.
        phase: Phase,
        /// How long.
        time: Ns,
    },
}

impl Target {
    /// How much of the half it is.
    pub fn time(&self) -> Ns {
        match *self {
            Target::Device { on_path, .. } => on_path,
            Target::Gap { time, .. }
            | Target::Phase { time, .. }
            | Target::Unexplained { time, .. } => time,
        }
    }
}

/// One half of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Which half.
    pub direction: Direction,
    /// What its rows add up to.
    pub total: Ns,
    /// The largest thing in it.
    pub largest: Target,
    /// The device to attack first, where that is something else.
    pub device: Option<Target>,
}

/// What to attack first, for each half that took time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// On the way down.
    pub suspend: Option<Half>,
    /// On the way up.
    pub resume: Option<Half>,
}

impl Answer {
    /// Chooses by time; between equals, what comes first.
    pub fn of(cycle: &Cycle, rows: &Rows, phases: &[PhaseView], ranking: &Ranking) -> Answer {
        let half = |d| half(cycle, rows, phases, ranking, d);
        Answer { suspend: half(Direction::Suspend), resume: half(Direction::Resume) }
    }

    /// Of both halves' devices the one that would gain most: what to attack
    /// first, in the half that it belongs to.
    pub fn first(&self) -> Option<(&Half, &Target)> {
        let device = |h: &'_ Option<Half>| {
            let h = h.as_ref()?;
            let t = h.device.as_ref().unwrap_or(&h.largest);
            match *t {
                Target::Device { gain, on_path, .. } => Some((gain, on_path)),
                _ => None,
            }
        };
        let half = match (device(&self.suspend), device(&self.resume)) {
            (None, None) => return None,
            (s, r) if r > s => self.resume.as_ref(),
            _ => self.suspend.as_ref(),
        }?;
        Some((half, half.device.as_ref().unwrap_or(&half.largest)))
    }

    /// The half with the larger target.
    pub fn worst(&self) -> Option<&Half> {
        match (&self.suspend, &self.resume) {
            (Some(s), Some(r)) if r.largest.time() > s.largest.time() => Some(r),
            (Some(s), _) => Some(s),
            (None, r) => r.as_ref(),
        }
    }
}

fn half(
    cycle: &Cycle,
    rows: &Rows,
    phases: &[PhaseView],
    ranking: &Ranking,
    direction: Direction,
) -> Option<Half> {
    let total = rows.counted(direction);
    if total == Ns::ZERO {
        return None;
    }
    let device = device(cycle, phases, ranking, direction);
    let mut largest = device;
    let mut offer = |t: Target| {
        if t.time() > Ns::ZERO && largest.is_none_or(|l| t.time() > l.time()) {
            largest = Some(t);
        }
    };
    let mut plain = [Ns::ZERO; Phase::ALL.len()];
    for r in rows.list.iter().filter(|r| r.direction == direction) {
        match r.what {
            What::Gap { after, before } => offer(Target::Gap { after, before, time: r.counted }),
            What::Phase(i) => {
                let phase = cycle.phases[i as usize].phase;
                let view = &phases[i as usize];
                if !phase.has_devices() {
                    plain[phase as usize] += r.counted;
                } else if let Some(s) = longest_unexplained(view) {
                    // Brackets without any device event count as a phase.
                    let time = s.duration().min(r.counted);
                    offer(Target::Unexplained { phase, time });
                }
            }
            What::Asleep { .. } | What::Turn => {}
        }
    }
    for p in Phase::ALL {
        offer(Target::Phase { phase: p, time: plain[p as usize] });
    }
    let largest = largest?;
    let device = device.filter(|_| !matches!(largest, Target::Device { .. }));
    Some(Half { direction, total, largest, device })
}

fn longest_unexplained(view: &PhaseView) -> Option<&Segment> {
    view.path
        .iter()
        .filter(|s| s.reason == Reason::Unexplained)
        .max_by_key(|s| (s.duration(), core::cmp::Reverse(s.start)))
}

fn device(
    cycle: &Cycle,
    phases: &[PhaseView],
    ranking: &Ranking,
    direction: Direction,
) -> Option<Target> {
    let half = direction as usize;
    let best = ranking
        .devices
        .iter()
        .filter(|d| d.on_path[half] > Ns::ZERO)
        .max_by_key(|d| (d.on_path[half], core::cmp::Reverse(d.device)))?;
    let mut place: Option<(Ns, (u32, u32))> = None;
    for (p, (span, view)) in cycle.phases.iter().zip(phases).enumerate() {
        if span.phase.direction() != direction {
            continue;
        }
        for (i, s) in view.path.iter().enumerate() {
            if s.device == Some(best.device) && place.is_none_or(|p| s.duration() > p.0) {
                place = Some((s.duration(), (p as u32, i as u32)));
            }
        }
    }
    let (_, (p, i)) = place?;
    let path = &phases[p as usize].path;
    let span = &cycle.phases[p as usize];
    let next = path[i as usize + 1..].iter().find(|s| s.device.is_some());
    let waiter = next.and_then(|n| n.device.map(|d| (d, n.reason)));
    Some(Target::Device {
        device: best.device,
        phase: span.phase,
        on_path: best.on_path[half],
        gain: best.gain[half],
        waiter,
        delay: path[i as usize].start.since(span.start),
        segment: (p, i),
    })
}
