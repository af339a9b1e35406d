//! Whether recorded cycles meet a budget of time.
//!
//! Every cycle is judged as it was recorded: a first one after boot too, because
//! someone waited for it. Nothing is assumed of a cycle whose half the source does
//! not show whole: it can break a budget, if what is shown does, but not meet one.

use crate::analyse::CycleView;
use crate::analyse::answer::Known;
use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::gate::{self, Figure, Gate, Unit};
use dormouse_base::phase::Direction;
use dormouse_base::say::{capital, names, plural};
use dormouse_base::stats::describe::median;
use dormouse_base::time::Ns;
use serde::Serialize;

/// What each half may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// All of suspend, but time asleep.
    pub suspend: Option<Ns>,
    /// All of resume.
    pub resume: Option<Ns>,
}

/// What became of the budgets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Budgeted {
    /// Of suspend, where that was asked for.
    pub suspend: Option<Half>,
    /// Of resume.
    pub resume: Option<Half>,
    /// A first sleep after boot is among the cycles.
    #[serde(skip)]
    pub after_boot: bool,
}

/// What became of everything that a check was asked.
#[derive(Clone, Debug, Serialize)]
pub struct Gated {
    /// The budgets of time, cycle by cycle.
    #[serde(flatten)]
    pub budgets: Budgeted,
    /// Every gate that was asked for, those of time first.
    pub gates: Vec<Gate>,
    /// What all gates together come to.
    pub verdict: gate::Verdict,
}

impl Gated {
    /// Of budgets, and of what other subjects judged.
    pub fn new(budgets: Budgeted, others: impl IntoIterator<Item = Gate>) -> Gated {
        let gates: Vec<Gate> = budgets.gates().chain(others).collect();
        Gated { budgets, verdict: gate::whole(&gates), gates }
    }
}

/// One budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Half {
    /// What it may take.
    pub budget_ns: Ns,
    /// Whether it holds.
    pub verdict: Verdict,
    /// How many cycles could be judged.
    pub judged: usize,
    /// Median of those that are known whole; `None` without one.
    pub median_ns: Option<Ns>,
    /// The slowest cycle that was judged.
    pub slowest: Option<Took>,
    /// Those that take longer, slowest first.
    pub over: Vec<Took>,
    /// Those that could not be judged, in order.
    pub open: Vec<Open>,
}

/// Whether a budget holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No cycle that could be judged takes longer.
    Met,
    /// At least one does.
    Over,
    /// No cycle could be judged.
    Unknown,
}

/// A cycle and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Took {
    /// Its number, from 1.
    pub cycle: usize,
    /// How long it took.
    pub took_ns: Ns,
    /// The source shows only part of it: it took longer.
    pub at_least: bool,
}

/// A cycle that could not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Open {
    /// Its number, from 1.
    pub cycle: usize,
    /// Why.
    pub why: Why,
}

/// Why a cycle cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The sleep failed or was ended: this is no time of a sleep.
    DidNotSleep,
    /// The source shows nothing of this half.
    NotShown,
    /// No phase of it can be timed.
    NotTimed,
    /// The source shows only part of it, and that part is within the budget.
    Part,
}

/// Judges cycles, each with its number, in order.
pub fn judge<'a>(
    cycles: impl Iterator<Item = (usize, &'a Cycle, &'a CycleView)> + Clone,
    budgets: Budgets,
) -> Budgeted {
    let half = |direction, budget: Option<Ns>| {
        budget.map(|budget| half(cycles.clone(), direction, budget))
    };
    Budgeted {
        suspend: half(Direction::Suspend, budgets.suspend),
        resume: half(Direction::Resume, budgets.resume),
        after_boot: cycles.clone().any(|(_, c, _)| c.first_after_boot),
    }
}

impl Budgeted {
    /// The halves that were asked for.
    pub fn halves(&self) -> impl Iterator<Item = (Direction, &Half)> {
        let suspend = self.suspend.iter().map(|h| (Direction::Suspend, h));
        suspend.chain(self.resume.iter().map(|h| (Direction::Resume, h)))
    }

    /// The same as gates.
    fn gates(&self) -> impl Iterator<Item = Gate> {
        self.halves().map(|(direction, h)| {
            let verdict = match h.verdict {
                Verdict::Met => gate::Verdict::Met,
                Verdict::Over => gate::Verdict::Missed,
                Verdict::Unknown => gate::Verdict::Unknown,
            };
            let slowest = h.slowest.map(|t| Figure { nano: t.took_ns.0, unit: Unit::Seconds });
            Gate::new(direction.name(), h.budget_ns.to_string())
                .found(verdict, slowest)
                .says(answer(direction, h))
                .but(open(direction, h))
        })
    }
}

/// What became of a budget, as a sentence.
fn answer(direction: Direction, h: &Half) -> String {
    let (half, budget) = (capital(direction.name()), h.budget_ns);
    let cycles = plural(h.judged, "cycle");
    let slowest = h.slowest.as_ref().map(took).unwrap_or_default();
    let median = h.median_ns.filter(|_| h.judged > 1);
    let median = median.map_or(String::new(), |m| format!(", the median {m}"));
    match h.verdict {
        Verdict::Over => {
            let n = h.over.len();
            let take = if n == 1 { "takes" } else { "take" };
            format!(
                "{half} is over its budget: {n} of {cycles} {take} more than {budget}; the \
                 slowest, {slowest}{median}."
            )
        }
        Verdict::Met if h.judged == 1 => {
            format!("{half} meets its budget of {budget}: {slowest}.")
        }
        Verdict::Met => format!(
            "{half} meets its budget of {budget} in all {cycles}: the slowest, {slowest}{median}."
        ),
        Verdict::Unknown => format!(
            "Whether {} meets {budget} is not known: no cycle can be judged.",
            direction.name()
        ),
    }
}

/// `cycle 4, takes 1.25 s`.
fn took(t: &Took) -> String {
    let more = if t.at_least { "more than " } else { "" };
    format!("cycle {}, takes {more}{}", t.cycle, t.took_ns)
}

/// Which cycles were not judged, and why; empty if all were.
fn open(direction: Direction, h: &Half) -> String {
    let mut kinds: Vec<Why> = h.open.iter().map(|o| o.why).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let each = |why: &Why| {
        let of: Vec<String> =
            h.open.iter().filter(|o| o.why == *why).map(|o| o.cycle.to_string()).collect();
        let s = if of.len() == 1 { "" } else { "s" };
        let of = match of.len() {
            0..=3 => names(&of),
            n => format!("{}, {} and {} more", of[0], of[1], n - 2),
        };
        let why = match why {
            Why::DidNotSleep => "did not sleep".to_string(),
            Why::NotShown => format!("no {} is in the input", direction.name()),
            Why::NotTimed => "no phase of it can be timed".into(),
            Why::Part => format!("only part of {} is in the input", direction.name()),
        };
        format!("cycle{s} {of} ({why})")
    };
    let list: Vec<String> = kinds.iter().map(each).collect();
    match list.is_empty() {
        true => String::new(),
        false => format!("Not judged by {}: {}.", direction.name(), list.join(", ")),
    }
}

fn half<'a>(
    cycles: impl Iterator<Item = (usize, &'a Cycle, &'a CycleView)>,
    direction: Direction,
    budget: Ns,
) -> Half {
    let (mut took, mut open) = (Vec::new(), Vec::new());
    for (number, cycle, view) in cycles {
        match time(cycle, view, direction, budget) {
            Ok((took_ns, at_least)) => took.push(Took { cycle: number, took_ns, at_least }),
            Err(why) => open.push(Open { cycle: number, why }),
        }
    }
    let judged = took.len();
    let whole: Vec<f64> = took.iter().filter(|t| !t.at_least).map(|t| t.took_ns.0 as f64).collect();
    took.sort_by_key(|t| (std::cmp::Reverse(t.took_ns), t.cycle));
    let slowest = took.first().copied();
    took.retain(|t| t.took_ns > budget);
    Half {
        budget_ns: budget,
        verdict: match (took.is_empty(), judged) {
            (false, _) => Verdict::Over,
            (true, 0) => Verdict::Unknown,
            (true, _) => Verdict::Met,
        },
        judged,
        median_ns: (!whole.is_empty()).then(|| Ns(median(&whole).round() as i64)),
        slowest,
        over: took,
        open,
    }
}

/// How long a half took, and whether it took longer.
fn time(
    cycle: &Cycle,
    view: &CycleView,
    direction: Direction,
    budget: Ns,
) -> Result<(Ns, bool), Why> {
    if !matches!(cycle.outcome, Outcome::Slept | Outcome::Partial) {
        return Err(Why::DidNotSleep);
    }
    if view.rows.total == Ns::ZERO {
        return Err(Why::NotTimed);
    }
    let total = view.rows.half(direction).filter(|t| *t > Ns::ZERO).ok_or(Why::NotShown)?;
    let known = view.answer.halves().find(|h| h.direction == direction).map(|h| h.known);
    match known.ok_or(Why::NotShown)? {
        Known::Whole => Ok((total, false)),
        // An open callback may end anywhere; only what is shown of the rest counts.
        Known::Not { .. } => Err(Why::Part),
        Known::AtLeast | Known::WithoutDevices if total > budget => Ok((total, true)),
        Known::AtLeast | Known::WithoutDevices => Err(Why::Part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::explain;
    use dormouse_base::capture::Capture;
    use dormouse_base::cycle::PhaseSpan;
    use dormouse_base::phase::{Phase, PmEvent};

    /// A cycle that suspends and resumes for so many milliseconds.
    fn slept(suspend: i64, resume: i64) -> Cycle {
        let span = |phase, event, start: i64, end: i64| PhaseSpan {
            phase,
            event,
            start: Ns::from_ms(start),
            end: Ns::from_ms(end),
            cpu: 0,
            complete: true,
            printed: None,
        };
        Cycle {
            start: Ns::ZERO,
            end: Ns::from_ms(suspend + 10 + resume),
            phases: vec![
                span(Phase::Suspend, PmEvent::Suspend, 0, suspend),
                span(Phase::Resume, PmEvent::Resume, suspend + 10, suspend + 10 + resume),
            ],
            asleep: Some((Ns::from_ms(suspend), Ns::from_ms(suspend + 10))),
            outcome: Outcome::Slept,
            ..Cycle::default()
        }
    }

    fn judged(cycles: Vec<Cycle>, resume: i64) -> Half {
        let capture = Capture { cycles, ..Capture::default() };
        let views = explain(&capture);
        let all = capture.cycles.iter().zip(&views).enumerate().map(|(i, (c, v))| (i + 1, c, v));
        let budgets = Budgets { suspend: None, resume: Some(Ns::from_ms(resume)) };
        let answer = judge(all, budgets);
        assert_eq!(answer.suspend, None);
        answer.resume.expect("asked for")
    }

    #[test]
    fn one_cycle_that_takes_longer_breaks_a_budget() {
        let cycles = || vec![slept(5, 80), slept(5, 120), slept(5, 90)];
        let half = judged(cycles(), 100);
        assert_eq!((half.verdict, half.judged), (Verdict::Over, 3));
        let over = Took { cycle: 2, took_ns: Ns::from_ms(120), at_least: false };
        assert_eq!((half.over, half.slowest), (vec![over], Some(over)));
        assert_eq!(half.median_ns, Some(Ns::from_ms(90)));
        // What it may take, it may take.
        assert_eq!(judged(cycles(), 120).verdict, Verdict::Met);
    }

    #[test]
    fn what_did_not_sleep_neither_meets_a_budget_nor_breaks_it() {
        let failed = Cycle { outcome: Outcome::AbortedByWakeup, ..slept(5, 500) };
        let half = judged(vec![failed.clone()], 100);
        assert_eq!((half.verdict, half.judged), (Verdict::Unknown, 0));
        assert_eq!(half.open, [Open { cycle: 1, why: Why::DidNotSleep }]);
        assert_eq!(judged(vec![failed, slept(5, 50)], 100).verdict, Verdict::Met);
    }

    #[test]
    fn part_of_a_half_can_break_a_budget_but_not_meet_it() {
        let part = Cycle { outcome: Outcome::Partial, ..slept(5, 70) };
        assert_eq!(judged(vec![part.clone()], 100).open, [Open { cycle: 1, why: Why::Part }]);
        let half = judged(vec![part], 60);
        assert_eq!(half.over, [Took { cycle: 1, took_ns: Ns::from_ms(70), at_least: true }]);
        let mut down = slept(5, 0);
        down.phases.truncate(1);
        assert_eq!(judged(vec![down], 60).open[0].why, Why::NotShown);
    }
}
