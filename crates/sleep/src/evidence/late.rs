//! Callbacks that began later than anything known explains.

use super::expected::{Expected, Recorded, active, expected};
use crate::simulate::Topology;
use crate::simulate::policy::Policy;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// In which phase.
    pub phase: Phase,
    /// Number on the board.
    pub device: u32,
    /// When it began, relative to the phase.
    pub begin: Ns,
    /// How much later than explained; negative if it began before it could.
    pub by: Ns,
    /// What explains the rest, a number on the board; `u32::MAX` if that is the
    /// begin of the phase.
    pub after: u32,
    /// It ran on the main thread.
    pub main: bool,
}

/// Callbacks of `cycle` that began at least `least` later, or earlier, than
/// explained, phase by phase in order of time. `line` is what the lines of a
/// kernel log cost before each ([`dormouse_board::printing`]).
pub fn late(
    cycle: &Cycle,
    derived: &Derived,
    policy: &Policy,
    line: &[Ns; 8],
    least: Ns,
) -> Vec<Late> {
    let mut list = Vec::new();
    each_phase(cycle, derived, policy, &mut |r, e| {
        let line = r.phase.device_index().map_or(Ns::ZERO, |i| line[i]);
        let from = list.len();
        for (d, s) in r.seen.iter().enumerate() {
            let (Some(s), Some(begin)) = (s, e.begin[d]) else { continue };
            let by = s.start - begin;
            let by = if by > Ns::ZERO { (by - line).max(Ns::ZERO) } else { by };
            if by >= least || by <= -least {
                let (phase, after) = (r.phase, e.held_by[d]);
                let device = d as u32;
                list.push(Late { phase, device, begin: s.start, by, after, main: s.main });
            }
        }
        list[from..].sort_by_key(|l: &Late| (l.begin, l.device));
    });
    list
}

/// Calls `see` with each device phase of `cycle` and what could be expected of
/// it.
pub(super) fn each_phase(
    cycle: &Cycle,
    derived: &Derived,
    policy: &Policy,
    see: &mut dyn FnMut(&Recorded, &Expected),
) {
    let Ok(t) = Topology::new(&derived.board) else { return };
    let active = active(&t);
    for span in cycle.phases.iter().filter(|s| s.phase.may_be_async()) {
        let r = Recorded::of(cycle, span, derived);
        if r.seen.iter().any(Option::is_some) {
            let e = expected(&t, &active, policy, derived.board.pm_async, &r);
            see(&r, &e);
        }
    }
}
