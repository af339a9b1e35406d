//! Ways down and up inside one cycle.
//!
//! A suspend goes down once and comes up once. A hibernation does so several
//! times, each time with callbacks of another family (kernel/power/hibernate.c,
//! `hibernation_snapshot`, `hibernation_platform_enter` and
//! `hibernation_restore`, 4.6 to 7.3):
//!
//! | trip | down | up | between |
//! |---|---|---|---|
//! | making the image | freeze | thaw | the memory is copied |
//! | powering off | poweroff | none | the image was written before |
//! | loading, by the kernel that boots | quiesce | none | the image was read before |
//! | as the restored kernel saw it | freeze | restore | it was off |
//!
//! The restored kernel's trace and log are those of the moment when the image was
//! made: they know nothing of thaw and of poweroff.

use crate::cycle::Cycle;
use crate::phase::{Direction, PmEvent};
use crate::time::Ns;

/// Which families of callbacks a way down and the way up after it call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// On the way down.
    pub down: PmEvent,
    /// On the way up; `None` if the trip ends below.
    pub up: Option<PmEvent>,
}

impl Default for Trip {
    fn default() -> Trip {
        Trip { down: PmEvent::Suspend, up: Some(PmEvent::Resume) }
    }
}

impl Trip {
    /// `suspend and resume`, `freeze and thaw`, `hibernate`.
    pub fn name(&self) -> String {
        match self.up {
            Some(up) => format!("{} and {}", self.down.name(), up.name()),
            None => self.down.name().to_string(),
        }
    }

    /// The event of its phases in `direction`. Where a trip that ends below fails,
    /// the kernel recovers.
    pub fn event(&self, direction: Direction) -> PmEvent {
        match direction {
            Direction::Suspend => self.down,
            Direction::Resume => self.up.unwrap_or(PmEvent::Recover),
        }
    }

    /// Part of a hibernation.
    pub fn hibernates(&self) -> bool {
        self.down != PmEvent::Suspend
    }
}

/// Where each trip of `cycle` begins, in order of time; one for a cycle that has
/// no device phase. A way down with another event, or after a way up with
/// another event than it had, is the begin of a trip.
fn begins(cycle: &Cycle) -> Vec<(Ns, Trip)> {
    let mut trips: Vec<(Ns, Trip)> = Vec::new();
    let mut rising = false;
    for span in cycle.phases.iter().filter(|p| p.phase.has_devices()) {
        match span.phase.direction() {
            Direction::Suspend => {
                let same = trips.last().is_some_and(|t| t.1.down == span.event);
                // The loop of suspend-to-idle goes down again and again.
                if !same || rising && span.event != PmEvent::Suspend {
                    trips.push((span.start, Trip { down: span.event, up: None }));
                }
                rising = false;
            }
            Direction::Resume => {
                let up = span.event;
                if trips.is_empty() {
                    trips.push((cycle.start, Trip { up: None, ..Trip::default() }));
                }
                if let Some((_, t)) = trips.last_mut() {
                    t.up.get_or_insert(up);
                }
                rising = true;
            }
        }
    }
    if trips.is_empty() {
        trips.push((cycle.start, Trip::default()));
    }
    if let Some(first) = trips.first_mut() {
        first.0 = cycle.start;
    }
    trips
}

/// The first trip of `cycle`, that of a suspend if it goes down for none.
pub fn first(cycle: &Cycle) -> Trip {
    begins(cycle).first().map(|t| t.1).unwrap_or_default()
}

/// How many trips `cycle` has, at least one.
pub fn count(cycle: &Cycle) -> usize {
    begins(cycle).len()
}

/// Each trip of `cycle` as a cycle of its own. What has no trip (the sync of
/// file systems, the image that is written) belongs to the trip before it, and
/// what came first to the first.
pub fn split(cycle: &Cycle) -> Vec<(Trip, Cycle)> {
    let begins = begins(cycle);
    if let [(_, trip)] = begins[..] {
        return std::vec![(trip, cycle.clone())];
    }
    let last = begins.len() - 1;
    let ends = begins.iter().skip(1).map(|b| b.0).chain([Ns::MAX]);
    let parts = begins.iter().zip(ends).enumerate();
    parts
        .map(|(i, (&(from, trip), to))| {
            let inside = |at: Ns| (at >= from || i == 0) && at < to;
            let mut part = cycle.clone();
            part.phases.retain(|p| inside(p.start));
            part.callbacks.retain(|c| inside(c.start));
            part.events.retain(|e| inside(e.time));
            part.image.retain(|s| inside(s.start));
            part.asleep = cycle.asleep.filter(|a| inside(a.0));
            part.start = if i == 0 { cycle.start } else { from };
            if i != last {
                let end = part.phases.iter().map(|p| p.end).max();
                part.end = end.unwrap_or(to);
            }
            (trip, part)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::PhaseSpan;
    use crate::phase::Phase;

    fn cycle(spans: &[(Phase, PmEvent)]) -> Cycle {
        let mut cycle = Cycle::default();
        for (i, &(phase, event)) in (0i64..).zip(spans) {
            let (start, end) = (Ns(i * 10), Ns(i * 10 + 5));
            let (cpu, complete, printed) = (0, true, None);
            cycle.phases.push(PhaseSpan { phase, event, start, end, cpu, complete, printed });
            cycle.end = end;
        }
        cycle
    }

    fn names(cycle: &Cycle) -> Vec<String> {
        split(cycle).iter().map(|(t, _)| t.name()).collect()
    }

    #[test]
    fn a_whole_hibernation_has_two_trips_and_the_restored_kernel_knows_one() {
        use Phase::*;
        use PmEvent::{Freeze as F, Hibernate as H, Thaw as T};
        let whole = cycle(&[
            (Prepare, F),
            (Suspend, F),
            (Late, F),
            (Noirq, F),
            (ResumeNoirq, T),
            (ResumeEarly, T),
            (Resume, T),
            (Complete, T),
            (Prepare, H),
            (Suspend, H),
            (Late, H),
            (Noirq, H),
        ]);
        assert_eq!(names(&whole), ["freeze and thaw", "hibernate"]);
        let parts = split(&whole);
        assert_eq!(parts[0].1.phases.len(), 8);
        assert_eq!(parts[1].1.phases.len(), 4);
        assert_eq!((parts[0].1.end, parts[1].1.start), (Ns(75), Ns(80)));
        let restored = cycle(&[(Prepare, F), (Suspend, F), (Resume, PmEvent::Restore)]);
        assert_eq!(names(&restored), ["freeze and restore"]);
    }

    #[test]
    fn suspend_to_idle_that_turns_again_is_one_trip() {
        use Phase::*;
        use PmEvent::{Resume as R, Suspend as S};
        let turns = [(Suspend, S), (Noirq, S), (ResumeNoirq, R), (Noirq, S), (ResumeNoirq, R)];
        assert_eq!(names(&cycle(&turns)), ["suspend and resume"]);
        assert_eq!(names(&cycle(&[])), ["suspend and resume"]);
    }

    #[test]
    fn a_way_up_alone_is_a_trip() {
        let up = cycle(&[(Phase::Resume, PmEvent::Restore)]);
        assert_eq!(first(&up), Trip { up: Some(PmEvent::Restore), ..Trip::default() });
    }
}
