//! The delay before storage falls asleep that meets a budget at least cost.

use super::show::Shown;
use super::sleeper::{Asked, Sleeper, latency};
use crate::failure::Nothing;
use anyhow::Result;
use dormouse_storage::request::Disk;
use dormouse_storage::summary::Latency;
use dormouse_storage::trust::is_worth;
use dormouse_storage::tune::{Found, Terms, cheapest, delays, foresight, of};

/// What must be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// 99 of 100 requests take at most this, ns, at least energy.
    P99(i64),
    /// Least energy.
    Energy,
}

/// What is wished for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Which sleep; the one that requests waited for longest if absent.
    pub asked: Option<Asked>,
    /// What must be met.
    pub budget: Budget,
    /// The time asleep that saves as much as one wake-up costs, ns; what a wake-up
    /// takes if absent.
    pub break_even: Option<i64>,
    /// The disk; the one that waited most if absent.
    pub disk: Option<Disk>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The recording.
    pub sleeper: Sleeper,
    /// The time asleep that saves as much as one wake-up costs, ns.
    pub break_even: i64,
    /// It was given.
    pub given: bool,
    /// The delay in force, as the model takes it.
    pub now: (Latency, Found),
    /// What it costs at least with a delay that may be in force.
    pub least: i128,
    /// The delay chosen: the cheapest that meets the budget, or the nearest.
    pub chosen: (Latency, Found),
    /// The budget is met.
    pub met: bool,
    /// As long as breaks even: at most twice the cost of the best, whatever comes.
    pub rule: (Latency, Found),
    /// What nobody undercuts, ns awake.
    pub best: i128,
    /// Delays tried, and whether these are all that differ.
    pub tried: (usize, bool),
}

/// Steps of the model that a search may make.
const MOST_STEPS: usize = 400_000_000;

/// Searches.
///
/// # Errors
/// As [`Sleeper::of`].
pub fn tune(shown: &Shown, wish: &Wish) -> Result<Tuned> {
    let sleeper = match wish.asked {
        Some(asked) => Sleeper::of(shown, asked, wish.disk)?,
        None => longest(shown, wish.disk)?,
    };
    let wake = sleeper.wake;
    let even = wish.break_even.unwrap_or(wake);
    let terms = Terms { wake, break_even: even, until: sleeper.until };
    let a = &sleeper.arrivals;
    let (list, all) = delays(a, wake, MOST_STEPS / a.len().max(1));
    let p99 = match wish.budget {
        Budget::P99(ns) => Some(ns),
        Budget::Energy => None,
    };
    let Some((chosen, met)) = cheapest(a, &list, terms, p99) else {
        return Err(Nothing("no request to choose a delay for".into()).into());
    };
    let with = |f: Found| (latency(&f.again), f);
    let now = with(of(a, Some(sleeper.taken), terms));
    let chosen = with(chosen);
    // What is in force is kept unless another is better beyond the model's error.
    // Against a bound nothing is saved: of the delays that may be in force the cheapest
    // counts.
    let least = match sleeper.known {
        true => now.1.cost,
        false => now.1.cost.min(of(a, Some(sleeper.present.0.saturating_add(1)), terms).cost),
    };
    let in_budget = met && p99.is_none_or(|ns| now.0.p99 <= ns);
    let chosen = if in_budget && !is_worth(least, chosen.1.cost) { now.clone() } else { chosen };
    Ok(Tuned {
        best: foresight(a, even),
        now,
        least,
        chosen,
        met,
        rule: with(of(a, Some(even), terms)),
        break_even: even,
        given: wish.break_even.is_some(),
        tried: (list.len(), all),
        sleeper,
    })
}

/// The sleep that requests waited for longest.
fn longest(shown: &Shown, disk: Option<Disk>) -> Result<Sleeper> {
    let both = [Asked::Gate, Asked::Autosuspend].map(|a| Sleeper::of(shown, a, disk));
    let cost = |s: &Sleeper| s.arrivals.iter().map(|a| a.waited).sum::<i64>();
    match both {
        [Ok(gate), Ok(suspend)] => Ok(if cost(&suspend) > cost(&gate) { suspend } else { gate }),
        [Ok(s), Err(_)] | [Err(_), Ok(s)] => Ok(s),
        // The second says the same of most recordings; a refusal says more.
        [Err(a), Err(b)] => Err(if b.is::<Nothing>() { a } else { b }),
    }
}
