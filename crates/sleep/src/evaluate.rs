//! How good the model is on one machine: its recorded cycles, predicted.
//!
//! Each cycle is predicted twice: from its own callback times, which tests the
//! scheduling model alone, and from the medians of the other cycles, which is what
//! a prediction for tomorrow starts from. The structure (links, locks, flags) is
//! that of all cycles.

use crate::evidence::fidelity::refused;
use crate::simulate::Settings;
use crate::simulate::predict::{Outlook, Scheduler, outlook};
use crate::tolerance::RIGHT;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::derive::{Derived, chosen_cycles};

/// Starts closer than this have no order.
pub const TIE: Ns = Ns(50_000);

/// How far predictions of one phase are from what was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// How far apart, one a cycle, in ascending order.
    pub apart: Vec<Ns>,
    /// The same in millionths of the recorded time, in ascending order.
    pub relative: Vec<i64>,
    /// How many could be wrong: the phase, or the prediction, is longer than the floor of
    /// [`RIGHT`].
    pub judged: u64,
    /// How many of these are right.
    pub right: u64,
}

impl Errors {
    fn add(&mut self, predicted: Ns, recorded: Ns) {
        let apart = (predicted - recorded).0.abs();
        if recorded > RIGHT.floor || predicted > RIGHT.floor {
            self.judged += 1;
            self.right += u64::from(RIGHT.allows(Ns(apart), recorded));
        }
        self.apart.push(Ns(apart));
        self.relative.push(apart.saturating_mul(1_000_000) / recorded.0.max(1));
    }

    fn sort(&mut self) {
        self.apart.sort_unstable();
        self.relative.sort_unstable();
    }

    /// The error that `percent` of the cycles do not exceed, in millionths;
    /// `None` without cycles.
    pub fn quantile(&self, percent: usize) -> Option<i64> {
        let last = self.relative.len().checked_sub(1)?;
        self.relative.get(last * percent.min(100) / 100).copied()
    }
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseError {
    /// Which.
    pub phase: Phase,
    /// How long it took, one a cycle, in ascending order.
    pub recorded: Vec<Ns>,
    /// Predicted from the cycle's own callback times.
    pub own: Errors,
    /// Predicted from the medians of the other cycles; empty with one cycle.
    pub others: Errors,
}

/// Order of starts in the six phases that may run in worker threads, from the
/// own times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Neighbours in the recorded order of start that are no tie.
    pub pairs: u64,
    /// Of these the prediction has so many the other way round.
    pub wrong: u64,
    /// How far each start is off, in ascending order.
    pub starts: Vec<Ns>,
}

/// How good the model is on the machine of one recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// Cycles that were predicted.
    pub cycles: usize,
    /// Phases in the order in which they run.
    pub phases: Vec<PhaseError>,
    /// Which device begins when.
    pub order: Order,
}

impl Evaluation {
    /// Predictions of phases so short that none can be wrong: from the own times, and
    /// from the other cycles.
    pub fn short(&self) -> [u64; 2] {
        let sum = |of: fn(&PhaseError) -> &Errors| {
            self.phases.iter().map(of).map(|e| e.relative.len() as u64 - e.judged).sum()
        };
        [sum(|p| &p.own), sum(|p| &p.others)]
    }

    /// Right and all predictions that could be wrong, from the own times; from the other
    /// cycles.
    pub fn right(&self) -> [(u64, u64); 2] {
        let sum = |of: fn(&PhaseError) -> &Errors| {
            self.phases
                .iter()
                .map(of)
                .fold((0, 0), |(right, all), e| (right + e.right, all + e.judged))
        };
        [sum(|p| &p.own), sum(|p| &p.others)]
    }

    /// The lower share of right predictions in whole percent, rounded down; 0
    /// without any.
    pub fn percent(&self) -> u64 {
        let shares = self.right();
        let judged = shares.iter().filter(|s| s.1 > 0);
        judged.map(|(right, all)| right * 100 / all).min().unwrap_or(0)
    }
}

/// Predicts every cycle that `derived` was made of; `derived` is the machine of
/// `capture`, and `by` the kernel that it ran.
///
/// # Errors
/// A sentence, if the board has no schedule.
pub fn evaluate(
    capture: &Capture,
    derived: &Derived,
    by: Scheduler,
    settings: &Settings,
) -> Result<Evaluation, String> {
    let cycles = chosen_cycles(capture);
    let none = |phase| PhaseError {
        phase,
        recorded: Vec::new(),
        own: Errors::default(),
        others: Errors::default(),
    };
    let mut phases: Vec<PhaseError> = Phase::DEVICE.into_iter().map(none).collect();
    let mut order = Order::default();
    for (i, cycle) in cycles.iter().enumerate().take(derived.cycles.len()) {
        let run = |board: &Board| outlook(board, by, settings).map_err(|e| e.to_string());
        let own = run(&derived.with_cycles(|| i))?;
        let others = if derived.cycles.len() > 1 { Some(run(&without(derived, i))?) } else { None };
        for (phase, p) in Phase::DEVICE.into_iter().zip(&mut phases) {
            let Some(place) = cycle.phases.iter().position(|s| s.phase == phase) else { continue };
            // What the self-check does not believe says nothing of the model.
            let span = &cycle.phases[place];
            let (took, jumped) = span.measured();
            if !span.complete || phase.may_be_async() && refused(cycle, place) {
                continue;
            }
            p.recorded.push(took);
            p.own.add(own.phase(phase), took);
            if let Some(others) = &others {
                p.others.add(others.phase(phase), took);
            }
            if phase.may_be_async() && !jumped {
                starts(&own, derived, cycle, span, &mut order);
            }
        }
    }
    for p in &mut phases {
        p.recorded.sort_unstable();
        p.own.sort();
        p.others.sort();
    }
    order.starts.sort_unstable();
    phases.retain(|p| !p.recorded.is_empty());
    Ok(Evaluation { cycles: cycles.len(), phases, order })
}

/// The board with the medians of all cycles but one.
fn without(derived: &Derived, left_out: usize) -> Board {
    let mut board = derived.board.clone();
    let mut seen: Vec<Ns> = Vec::with_capacity(derived.cycles.len());
    for (d, device) in board.devices.iter_mut().enumerate() {
        for (index, work) in device.work.iter_mut().enumerate() {
            let Some(work) = work else { continue };
            let others = derived.cycles.iter().enumerate().filter(|(i, _)| *i != left_out);
            seen.clear();
            seen.extend(others.filter_map(|(_, c)| c[d][index]));
            work.sleep = middle(&mut seen, Ns::mean).unwrap_or(work.sleep);
        }
    }
    board
}

/// Neighbours in the recorded order of starts that the prediction has the other
/// way round, and how far starts are off.
fn starts(o: &Outlook, derived: &Derived, cycle: &Cycle, span: &PhaseSpan, order: &mut Order) {
    let Some(simulated) = o.run.cycle.phase(span.phase) else { return };
    let mut at: Vec<Option<Ns>> = vec![None; derived.board.devices.len()];
    for c in o.run.cycle.callbacks.iter().filter(|c| c.phase == span.phase) {
        at[c.device.index()] = Some(c.start - simulated.start);
    }
    let mut last: Option<(Ns, Ns)> = None;
    for c in cycle.callbacks.iter().filter(|c| c.phase == span.phase) {
        let Some(&d) = derived.place.get(c.device.index()) else { continue };
        let Some(predicted) = at[d as usize].take() else { continue };
        let seen = c.start - span.start;
        order.starts.push(Ns((predicted - seen).0.abs()));
        if let Some((seen_before, predicted_before)) = last
            && seen - seen_before > TIE
        {
            order.pairs += 1;
            order.wrong += u64::from(predicted_before - predicted > TIE);
        }
        last = Some((seen, predicted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_wrong_is_not_right() {
        let mut e = Errors::default();
        e.add(Ns::from_us(100), Ns::from_us(900));
        assert_eq!((e.judged, e.right), (0, 0));
        // Far too long a prediction of a short phase is wrong.
        e.add(Ns::from_ms(5), Ns::from_us(900));
        assert_eq!((e.judged, e.right), (1, 0));
        e.add(Ns::from_ms(100), Ns::from_ms(101));
        assert_eq!((e.judged, e.right), (2, 1));
    }
}
