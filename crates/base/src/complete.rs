//! Whether a source tells all of a phase. A prediction from a part of a phase
//! would take the part for the whole.

use crate::cycle::Cycle;
pub use crate::lost::{Lost, LostKind};
use crate::phase::{Direction, Phase};

/// How one end of a phase is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The source says when.
    Said,
    /// The source does not say when, but it shows what lies beyond, so nothing
    /// of the phase is cut off there.
    Shown,
    /// The source begins or ends inside the phase.
    Missing,
}

/// What is known of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completeness {
    /// Its begin.
    pub begin: Edge,
    /// Its end.
    pub end: Edge,
    /// Callbacks that began and whose end is missing.
    pub unfinished: u64,
    /// Callbacks that ended and whose begin is missing.
    pub unstarted: u64,
    /// Lines that are torn, messages dropped and places left out in it or at
    /// an unknown place of the cycle.
    pub lost: u64,
    /// Holes of the log among those.
    pub holes: u64,
}

impl Completeness {
    /// Begin and end are known and nothing is missing between.
    pub fn is_complete(&self) -> bool {
        self.begin != Edge::Missing
            && self.end != Edge::Missing
            && self.unfinished + self.unstarted + self.lost == 0
    }
}

impl Cycle {
    /// What is known of the phase with index `span` of [`Cycle::phases`].
    pub fn completeness(&self, span: usize) -> Completeness {
        let p = &self.phases[span];
        let edge = |shown: bool| match (p.complete, shown) {
            (true, _) => Edge::Said,
            (false, true) => Edge::Shown,
            (false, false) => Edge::Missing,
        };
        let of_phase = |l: &&Lost| l.phase.is_none_or(|phase| phase == p.phase);
        let count = |starts: bool| {
            let list = self.lost.iter().filter(of_phase).filter(|l| l.kind != LostKind::Order);
            list.filter(|l| (l.kind == LostKind::Starts) == starts).map(|l| l.count).sum()
        };
        let holes = self.lost.iter().filter(of_phase).filter(|l| l.kind == LostKind::Holes);
        // They stand by their start.
        let first = self.callbacks.partition_point(|c| c.start < p.start);
        let within = self.callbacks[first..].iter().take_while(|c| c.start <= p.end);
        let open = within.filter(|c| !c.complete && c.phase == p.phase);
        Completeness {
            begin: edge(span > 0),
            end: edge(span + 1 < self.phases.len()),
            unfinished: open.count() as u64,
            unstarted: count(true),
            lost: count(false),
            holes: holes.map(|l| l.count).sum(),
        }
    }

    /// Whether some of `direction` is lost where the source has a hole: which rows
    /// are missing there, nobody knows.
    pub fn has_hole(&self, direction: Direction) -> bool {
        let holes = self.lost.iter().filter(|l| l.kind == LostKind::Holes);
        { holes }.any(|hole| {
            let Some(phase) = hole.phase else { return true };
            // The hole ends where the next phase that is shown begins, or later.
            let next =
                self.phases.iter().filter(|p| p.phase > phase).find(|p| p.phase.has_devices());
            let (from, to) = (phase.direction(), next.map(|p| p.phase.direction()));
            from == direction || to == Some(direction)
        })
    }

    /// Counts one more loss.
    pub fn lose(&mut self, phase: Option<Phase>, kind: LostKind, count: u64) {
        match self.lost.iter_mut().find(|l| l.phase == phase && l.kind == kind) {
            Some(l) => l.count = l.count.saturating_add(count),
            None => self.lost.push(Lost { phase, kind, count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::PhaseSpan;
    use crate::phase::PmEvent;
    use crate::time::Ns;

    fn span(phase: Phase, ms: i64, complete: bool) -> PhaseSpan {
        PhaseSpan {
            phase,
            event: PmEvent::Suspend,
            start: Ns::from_ms(ms),
            end: Ns::from_ms(ms + 1),
            cpu: 0,
            complete,
            printed: None,
        }
    }

    #[test]
    fn a_phase_is_whole_if_both_ends_are_known_and_nothing_is_lost() {
        let phases = vec![
            span(Phase::Suspend, 0, false),
            span(Phase::Late, 1, false),
            span(Phase::Noirq, 2, true),
        ];
        let mut cycle = Cycle { phases, ..Cycle::default() };
        let edges = |c: &Cycle, i| (c.completeness(i).begin, c.completeness(i).end);
        assert_eq!(edges(&cycle, 0), (Edge::Missing, Edge::Shown));
        assert_eq!(edges(&cycle, 1), (Edge::Shown, Edge::Shown));
        assert_eq!(edges(&cycle, 2), (Edge::Said, Edge::Said));
        let whole = |c: &Cycle| [0, 1, 2].map(|i| c.completeness(i).is_complete());
        assert_eq!(whole(&cycle), [false, true, true]);
        cycle.lose(Some(Phase::Late), LostKind::Lines, 1);
        assert_eq!(whole(&cycle), [false, false, true]);
        cycle.lose(None, LostKind::Messages, 3);
        cycle.lose(None, LostKind::Messages, 4);
        assert_eq!(cycle.lost.len(), 2);
        assert_eq!(cycle.completeness(2).lost, 7);
        assert_eq!(whole(&cycle), [false, false, false]);
    }
}
