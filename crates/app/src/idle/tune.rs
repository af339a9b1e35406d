//! The setting that meets a budget at least cost.

use super::machine::{Cpu, Machine, Present};
use super::predict::{
    FEW_STATES, Limit, Setting, error, limits, masks, names, of_cpu, of_machine, powers,
};
use super::watts::Watts;
use crate::failure::Usage;
use anyhow::Result;
use dormouse_idle::governors::Kind;
use dormouse_idle::knob::UNLIMITED;
use dormouse_idle::predict::{Account, Timers};
use dormouse_idle::state::State;
use dormouse_idle::tune::{Choice, NoAnswer, cheapest};
use dormouse_read::Given;
use rayon::prelude::*;

/// What must be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// The 99th percentile of wake-up delays, ns, at least energy.
    P99(i64),
    /// Mean power, microwatts, at the least delay.
    Power(i64),
}

/// What is wished for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// How it was recorded.
    pub present: Present,
    /// What must be met.
    pub budget: Budget,
    /// Governors to try; those that the input says the kernel has, if empty.
    pub governors: Vec<Kind>,
    /// Also try what needs a restart.
    pub boot: bool,
    /// Power by state.
    pub watts: Option<Watts>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// What was recorded.
    pub machine: Machine,
    /// How far the model of the present is from the recording: state, and
    /// thousandths of idle time.
    pub error: Option<(usize, u64)>,
    /// The present, as the model makes it.
    pub present: Account,
    /// The cheapest setting that meets the budget; if none does, the one that
    /// comes nearest.
    pub setting: Setting,
    /// What follows of it.
    pub account: Account,
    /// The budget is met.
    pub met: bool,
    /// It is met too if every wake-up is foreseen, and if none is.
    pub holds: [bool; 2],
    /// Settings tried, each on one CPU.
    pub tried: usize,
    /// Sets of disabled states were left out, because there are too many.
    pub some_masks: bool,
    /// Mean power of present and setting, microwatts, if watts are given, those
    /// of work too.
    pub power: Option<[i64; 2]>,
    /// Where power is from.
    pub watts: Option<Watts>,
}

/// Most decisions that a search may make.
const MOST_DECISIONS: u64 = 3_000_000_000;

/// Everything that is not a limit.
type Frame = Setting;

/// Searches.
///
/// # Errors
/// As [`Machine::open`]; [`Usage`] for what cannot be asked.
pub fn tune(given: &Given, wish: &Wish) -> Result<Tuned> {
    let machine = Machine::open(given, &wish.present)?;
    if matches!(wish.budget, Budget::Power(_)) {
        // Work without a power would count as none, and any budget be met.
        let why = match &wish.watts {
            None => "--power needs the power of each state: --watts POLL=3W,C1=800mW,active=4W,...",
            Some(w) if w.active().is_none() => {
                "--power counts work too: add active=, the power of a CPU at work, to --watts"
            }
            Some(_) => "",
        };
        if !why.is_empty() {
            return Err(Usage(why.into()).into());
        }
    }
    let powers = powers(&machine, wish.watts.as_ref())?;
    let limits = limits(&machine, machine.governor.1);
    let (frames, some_masks) = frames(&machine, wish, limits.len())?;
    // For each frame and CPU what every limit leads to.
    let pairs: Vec<(usize, usize)> =
        (0..frames.len()).flat_map(|f| (0..machine.cpus.len()).map(move |c| (f, c))).collect();
    let accounts: Vec<Vec<Account>> = pairs
        .par_iter()
        .map(|&(f, c)| {
            let run = |&ns: &i64| {
                let all = Limit { ns, cpus: Vec::new() };
                let s = Setting { limits: vec![all], ..frames[f].clone() };
                of_cpu(&machine, &machine.cpus[c], &s, Timers::Recorded, &powers[c])
            };
            limits.iter().map(run).collect()
        })
        .collect();
    let tried = pairs.len() * limits.len();
    let grids: Vec<&[Vec<Account>]> = accounts.chunks(machine.cpus.len()).collect();
    let space = Space { machine: &machine, wish, limits: &limits, frames: &frames, grids: &grids };
    let (setting, met) = space.search()?;
    let present = Setting::present(&machine);
    let run = |s: &Setting, timers| of_machine(&machine, s, timers, &powers);
    let present = run(&present, Timers::Recorded);
    let account = run(&setting, Timers::Recorded);
    let holds = [Timers::Foreseen, Timers::Unforeseen]
        .map(|timers| meets(&machine, wish, &run(&setting, timers)));
    // Without the power of work the mean is that of sleep alone, and misleads.
    let known = wish.watts.as_ref().filter(|w| w.active().is_some());
    let power = known.map(|w| [&present, &account].map(|a| mean_power(&machine, w, a)));
    let error = error(&machine, &present);
    let watts = wish.watts.clone();
    Ok(Tuned {
        machine,
        error,
        present,
        setting,
        account,
        met,
        holds,
        tried,
        some_masks,
        power,
        watts,
    })
}

/// Mean power over the recording, microwatts: idle states, work if its power is
/// given, and what is no CPU.
pub(crate) fn mean_power(m: &Machine, watts: &Watts, a: &Account) -> i64 {
    let active = i128::from(watts.active().unwrap_or(0)) * i128::from(a.work);
    let sum = (a.energy + active) / i128::from(m.span.max(1));
    watts.base().saturating_add(i64::try_from(sum).unwrap_or(i64::MAX))
}

fn meets(m: &Machine, wish: &Wish, a: &Account) -> bool {
    match (wish.budget, &wish.watts) {
        (Budget::P99(ns), _) => over(a, ns) <= 0,
        (Budget::Power(uw), Some(w)) => mean_power(m, w, a) <= uw,
        (Budget::Power(_), None) => false,
    }
}

/// How far the 99th percentile is over `ns`: 0 or less if it is not, so that
/// sums over CPUs say the same of all their wake-ups together.
fn over(a: &Account, ns: i64) -> i64 {
    let all: u64 = a.delays.values().sum();
    1_000 * a.later_than(ns) as i64 - 10 * all as i64
}

/// Everything to try apart from limits, the least change first.
fn frames(m: &Machine, wish: &Wish, limits: usize) -> Result<(Vec<Frame>, bool)> {
    let present = Setting::present(m);
    let mut kinds = vec![m.governor.0];
    let wished = if wish.governors.is_empty() { &m.available } else { &wish.governors };
    for &kind in wished {
        if wish.governors.is_empty() && m.allows(kind).is_err() {
            continue;
        }
        m.allows(kind)?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut boots = vec![(None, false)];
    if wish.boot {
        let deepest = m.cpus.iter().map(|c| c.table.deepest()).max().unwrap_or(0);
        // Only this driver has the option, and 0 would hand over to another.
        if m.driver.as_deref() == Some("intel_idle") {
            boots.extend((1..deepest).map(|n| (Some(n), false)));
        }
        boots.push((None, true));
    }
    let mut masks = masks(&names(m));
    masks.sort_by_key(Vec::len);
    let each = m.wakes().saturating_mul((limits * kinds.len() * boots.len()) as u64).max(1);
    let room = (MOST_DECISIONS / each).max(1) as usize;
    let some_masks = masks.len() > room || names(m).len() > FEW_STATES;
    masks.truncate(room);
    let mut out = Vec::new();
    for &(max_cstate, periodic) in &boots {
        for &kind in &kinds {
            for disable in &masks {
                out.push(Setting {
                    governor: (kind, m.governor.1),
                    disable: disable.clone(),
                    max_cstate,
                    periodic,
                    ..present.clone()
                });
            }
        }
    }
    Ok((out, some_masks))
}

struct Space<'a> {
    machine: &'a Machine,
    wish: &'a Wish,
    limits: &'a [i64],
    frames: &'a [Frame],
    grids: &'a [&'a [Vec<Account>]],
}

impl Space<'_> {
    /// The best setting, and whether it meets the budget.
    fn search(&self) -> Result<(Setting, bool)> {
        match self.wish.budget {
            Budget::P99(ns) => Ok(match self.least_energy(ns, None)? {
                Some(found) => (found, true),
                None => (self.tightest(), false),
            }),
            Budget::Power(uw) => {
                let most = self.most_energy(uw);
                for &ns in self.limits.iter().filter(|&&l| l < UNLIMITED) {
                    if let Some(found) = self.least_energy(ns, Some(most))? {
                        return Ok((found, true));
                    }
                }
                // Whatever the delay.
                if let Some(found) = self.least_energy(i64::MAX, Some(most))? {
                    return Ok((found, true));
                }
                let nearest = self.least_energy(i64::MAX, None)?;
                Ok((nearest.unwrap_or_else(|| self.tightest()), false))
            }
        }
    }

    /// Idle energy that leaves the mean power within the budget.
    fn most_energy(&self, uw: i64) -> i128 {
        let Some(w) = &self.wish.watts else { return 0 };
        let work: i128 = self.machine.cpus.iter().map(work).sum();
        let span = i128::from(self.machine.span.max(1));
        // One more microwatt is not reached: mean power is cut off, not rounded.
        i128::from(uw.saturating_sub(w.base()).saturating_add(1)) * span
            - 1
            - i128::from(w.active().unwrap_or(0)) * work
    }

    /// The setting with least energy whose p99 is at most `ns`; of equals the one
    /// that changes least.
    fn least_energy(&self, ns: i64, most: Option<i128>) -> Result<Option<Setting>> {
        let mut best: Option<(i128, usize, Setting)> = None;
        for (frame, grid) in self.frames.iter().zip(self.grids) {
            let groups: Vec<Vec<Choice>> = grid
                .iter()
                .map(|accounts| {
                    // The loosest limit first: of equals it changes least.
                    let choice = |a: &Account| Choice { cost: a.energy, over: over(a, ns) };
                    accounts.iter().rev().map(choice).collect()
                })
                .collect();
            let chosen = match cheapest(&groups) {
                Ok(chosen) => chosen,
                Err(NoAnswer::NotPossible) => continue,
                Err(NoAnswer::TooMany) => {
                    let why = "too many combinations of limits for an exact search: give a trace \
                               of fewer CPUs";
                    return Err(Usage(why.into()).into());
                }
            };
            let cost =
                |at: &[usize]| -> i128 { at.iter().zip(&groups).map(|(&i, g)| g[i].cost).sum() };
            let energy = cost(&chosen);
            if most.is_some_and(|most| energy > most) {
                continue;
            }
            // One limit for all, if it is as good.
            let same = (0..self.limits.len()).map(|i| vec![i; groups.len()]).find(|all| {
                cost(all) == energy
                    && all.iter().zip(&groups).map(|(&i, g)| g[i].over).sum::<i64>() <= 0
            });
            let setting = self.with_limits(frame, &same.unwrap_or(chosen));
            let changes = self.changes(&setting);
            if best.as_ref().is_none_or(|b| (energy, changes) < (b.0, b.1)) {
                best = Some((energy, changes, setting));
            }
        }
        Ok(best.map(|b| b.2))
    }

    /// A frame with the limit of each CPU, counted from the loosest.
    fn with_limits(&self, frame: &Frame, chosen: &[usize]) -> Setting {
        let ns = |i: usize| self.limits[self.limits.len() - 1 - i];
        let mut out: Vec<Limit> = Vec::new();
        for (cpu, &i) in self.machine.cpus.iter().zip(chosen) {
            if ns(i) >= UNLIMITED || !binds(frame, cpu, ns(i)) {
                continue;
            }
            let ns = same(frame, cpu, ns(i));
            match out.iter_mut().find(|l| l.ns == ns) {
                Some(l) => l.cpus.push(cpu.number),
                None => out.push(Limit { ns, cpus: vec![cpu.number] }),
            }
        }
        if let [one] = &mut out[..]
            && one.cpus.len() == self.machine.cpus.len()
        {
            one.cpus.clear();
        }
        Setting { limits: out, ..frame.clone() }
    }

    /// How much a setting changes; what needs a restart counts most.
    fn changes(&self, s: &Setting) -> usize {
        let limits: usize = s.limits.iter().map(|l| l.cpus.len().max(1)).sum();
        limits
            + 2 * s.disable.len()
            + 3 * usize::from(s.governor.0 != self.machine.governor.0)
            + 100 * (usize::from(s.max_cstate.is_some()) + usize::from(s.periodic))
    }

    /// The shallowest state alone.
    fn tightest(&self) -> Setting {
        let all = Limit { ns: 0, cpus: Vec::new() };
        Setting { limits: vec![all], ..Setting::present(self.machine) }
    }
}

/// Whether a limit keeps a CPU from a state that it could be in otherwise. The state
/// that only suspend-to-idle enters has the longest residency there is
/// (`dt_init_idle_driver` reads it, drivers/cpuidle/dt_idle_states.c, 6.12).
fn binds(frame: &Frame, cpu: &Cpu, ns: i64) -> bool {
    const NEVER: i64 = u32::MAX as i64 * 1_000;
    let (table, disabled) = frame.table(cpu);
    let used = |(i, s): (usize, &State)| i > 0 && !disabled.has(i) && s.residency < NEVER;
    table.states().iter().enumerate().any(|(i, s)| used((i, s)) && s.latency > ns)
}

/// The tightest limit that allows the same states as `ns`: what it names is then the
/// exit latency of a state that may be entered.
fn same(frame: &Frame, cpu: &Cpu, ns: i64) -> i64 {
    let (table, disabled) = frame.table(cpu);
    let all = table.states().iter().enumerate().filter(|(i, _)| !disabled.has(*i));
    let allowed = all.map(|(_, s)| s.latency).filter(|l| *l > 0 && *l <= ns);
    allowed.max().unwrap_or(ns)
}

/// Work of a CPU, ns.
fn work(cpu: &Cpu) -> i128 {
    cpu.wakes.list.iter().map(|w| i128::from(w.work)).sum()
}
