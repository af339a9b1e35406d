//! What happened in a cycle, and why it took as long as it did.
//!
//! [`explain`] takes a capture apart in three steps. [`rows`] cuts each half of
//! a cycle into phases and gaps that add up to the total. [`structure`] builds,
//! for each phase, what had to happen before what: the waits for superiors and
//! subordinates, and the order of the main thread. [`path`] follows that
//! structure from the end of the phase back to its start, and [`gain`] asks it
//! how much shorter the phase would be without one device. The rest sums up:
//! [`rank`], [`stall`], [`count`], [`answer`] for one cycle, [`spread`] for many.
//!
//! Everything is linear in callbacks, devices and links, but for sorting.

pub mod answer;
pub mod count;
pub mod decode;
pub mod gain;
pub mod inside;
pub mod local;
pub mod path;
mod phase_view;
pub mod printing;
pub mod rank;
pub mod rows;
mod share;
pub mod spread;
pub mod stall;
pub mod start;
pub mod structure;

pub use phase_view::PhaseView;
pub use share::per_mille;

use crate::simulate::Policy;
use crate::simulate::kernel::rules;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;

/// Everything there is to say about one cycle.
#[derive(Clone, Debug)]
pub struct CycleView {
    /// Phases and gaps that add up to the total.
    pub rows: rows::Rows,
    /// One entry a phase span, parallel to [`Cycle::phases`].
    pub phases: Vec<PhaseView>,
    /// Devices by time and by share of the critical path.
    pub ranking: rank::Ranking,
    /// Long waits.
    pub stalls: Vec<stall::Stall>,
    /// Counts behind the times.
    pub counts: count::Tally,
    /// What would shorten each half.
    pub answer: answer::Answer,
}

/// Explains every cycle of `capture` by the rules of the kernel that it names.
pub fn explain(capture: &Capture) -> Vec<CycleView> {
    Explainer::new(capture).all()
}

/// Explains every cycle of `capture` by the rules of one kernel.
pub(crate) fn explain_by(capture: &Capture, policy: &'static Policy) -> Vec<CycleView> {
    Explainer { policy: Some(policy), ..Explainer::new(capture) }.all()
}

/// Explains cycles of a capture. No cycle needs the views of another, so a
/// caller with threads may hand out parts.
pub struct Explainer<'a> {
    capture: &'a Capture,
    known: count::Known,
    /// `None`: that of the kernel which each cycle names.
    policy: Option<&'static Policy>,
}

impl<'a> Explainer<'a> {
    /// By the rules of the kernel that `capture` names.
    pub fn new(capture: &'a Capture) -> Explainer<'a> {
        Explainer { capture, known: count::known_callbacks(capture), policy: None }
    }

    /// The views of these cycles, which must be some of the capture's.
    pub fn explain(&self, cycles: &[Cycle]) -> Vec<CycleView> {
        let mut scratch = Scratch::default();
        let one = |c: &Cycle| {
            let named = || rules(self.capture.names.get(c.kernel));
            let policy = self.policy.or_else(named);
            explain_cycle(self.capture, c, policy, &self.known, &mut scratch)
        };
        cycles.iter().map(one).collect()
    }

    fn all(&self) -> Vec<CycleView> {
        self.explain(&self.capture.cycles)
    }
}

/// Memory that one cycle after another is explained in.
#[derive(Default)]
struct Scratch {
    local: local::Scratch,
    structure: structure::Room,
    gain: gain::Room,
}

fn explain_cycle(
    capture: &Capture,
    cycle: &Cycle,
    rules: Option<&'static Policy>,
    known: &count::Known,
    scratch: &mut Scratch,
) -> CycleView {
    let local = local::Local::of(&capture.graph, cycle, &mut scratch.local);
    let mains = structure::main_threads(cycle);
    let seen = structure::Seen { capture, cycle, local: &local, mains: &mains, rules };
    let mut phases = assign(cycle);
    let mut ranks = rank::Builder::new(&local);
    for (i, view) in phases.iter_mut().enumerate() {
        let span = &cycle.phases[i];
        if span.phase.has_devices() {
            let room = &mut scratch.structure;
            let s = structure::Structure::of(&seen, span, &view.callbacks, room);
            let critical = s.critical_nodes();
            view.path = path::segments(cycle, span, &s, &critical);
            view.contradictions = s.contradictions;
            view.waits = s.waits(cycle);
            view.workers_at_once = count::workers_at_once(cycle, &view.callbacks, &mains);
            let gains = gain::gains(&s, &critical, span.end, &mut scratch.gain);
            view.rival = rival(&s, &critical, &gains);
            ranks.add(cycle, span, view, &s, &critical, &gains);
            scratch.gain.reuse(gains);
            scratch.structure.reuse(s);
        } else if span.phase != Phase::Asleep {
            view.path = path::whole(span);
        }
    }
    let ranking = ranks.finish(cycle);
    let rows = rows::Rows::of(cycle);
    let stalls = stall::find(cycle, &rows, &phases, &mains);
    let counts = count::Tally::of(capture, cycle, &phases, &local, &mains, known);
    let answer = answer::Answer::of(cycle, &rows, &phases, &ranking);
    CycleView { rows, phases, ranking, stalls, counts, answer }
}

fn rival(
    s: &structure::Structure,
    critical: &[u32],
    gains: &gain::Gains,
) -> Option<(DeviceId, DeviceId)> {
    let saving = |i: &usize| {
        let node = &s.nodes[critical[*i] as usize];
        (gains.each.get(*i).copied(), node.end.since(node.start), std::cmp::Reverse(*i))
    };
    let place = (0..critical.len()).max_by_key(saving)?;
    let device = s.nodes[critical[place] as usize].device?;
    let rival = s.nodes[gains.rival(s, critical, place)? as usize].device?;
    Some((device, rival))
}

/// Gives every callback to the phase span that it started in. Both lists are in
/// order of start, so one pointer a phase is enough.
fn assign(cycle: &Cycle) -> Vec<PhaseView> {
    let mut views: Vec<PhaseView> = Vec::new();
    views.resize_with(cycle.phases.len(), PhaseView::default);
    let mut spans: [Vec<u32>; Phase::ALL.len()] = Default::default();
    for (i, p) in cycle.phases.iter().enumerate() {
        spans[p.phase as usize].push(i as u32);
    }
    let mut at = [0usize; Phase::ALL.len()];
    for (i, cb) in cycle.callbacks.iter().enumerate() {
        let list = &spans[cb.phase as usize];
        let at = &mut at[cb.phase as usize];
        while *at + 1 < list.len() && starts_by(cycle, list[*at + 1], cb) {
            *at += 1;
        }
        if let Some(&s) = list.get(*at) {
            let view = &mut views[s as usize];
            view.callbacks.push(i as u32);
            view.completed += u32::from(cb.complete);
        }
    }
    views
}

fn starts_by(cycle: &Cycle, span: u32, cb: &Callback) -> bool {
    cycle.phases[span as usize].start <= cb.start
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
