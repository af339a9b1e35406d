//! What sleeps would become under another setting.

use super::machine::{Cpu, Machine, Present};
use super::recorded::{recorded, recorded_energy, span};
use super::watts::Watts;
use crate::failure::Usage;
use anyhow::Result;
use dormouse_idle::energy::Powers;
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::knob::{MaxCstate, UNLIMITED, max_cstate};
use dormouse_idle::predict::{Account, Setup, Timers, replay};
use dormouse_idle::state::{StateSet, Table};
use dormouse_idle::trust::Measured;
use dormouse_read::Given;
use rayon::prelude::*;

/// A largest exit latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// In ns; 0 allows state 0 alone.
    pub ns: i64,
    /// CPUs that it holds for; all of them if empty.
    pub cpus: Vec<u32>,
}

/// What decides how a machine sleeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Governor and its version.
    pub governor: (Kind, Version),
    /// Limits; the smallest that holds for a CPU counts.
    pub limits: Vec<Limit>,
    /// States that are disabled beside those that are so in the recording.
    pub disable: Vec<String>,
    /// `intel_idle.max_cstate`.
    pub max_cstate: Option<usize>,
    /// The tick is never stopped.
    pub periodic: bool,
}

impl Setting {
    /// As the machine was recorded.
    pub fn present(machine: &Machine) -> Setting {
        Setting {
            governor: machine.governor,
            limits: Vec::new(),
            disable: Vec::new(),
            max_cstate: None,
            periodic: false,
        }
    }

    /// The limit of one CPU, ns.
    pub fn limit(&self, cpu: u32) -> i64 {
        let mine = self.limits.iter().filter(|l| l.cpus.is_empty() || l.cpus.contains(&cpu));
        mine.map(|l| l.ns).min().unwrap_or(UNLIMITED)
    }

    /// Table of a CPU and what is disabled of it.
    pub(super) fn table(&self, cpu: &Cpu) -> (Table, StateSet) {
        let mut table = cpu.table.clone();
        if let Some(MaxCstate::Deepest(n)) = self.max_cstate.map(max_cstate) {
            let kept: Vec<_> = table.states().iter().take(n + 1).cloned().collect();
            table = Table::new(kept).unwrap_or(table);
        }
        let mut disabled = cpu.disabled;
        for (i, s) in table.states().iter().enumerate() {
            if self.disable.contains(&s.name) {
                disabled = disabled.with(i);
            }
        }
        (table, disabled)
    }
}

/// What becomes of one CPU; without [`Account::oracles`].
pub(crate) fn of_cpu(
    m: &Machine,
    cpu: &Cpu,
    s: &Setting,
    timers: Timers,
    powers: &Powers,
) -> Account {
    run_cpu(m, cpu, s, timers, powers, (false, 0))
}

fn run_cpu(
    m: &Machine,
    cpu: &Cpu,
    s: &Setting,
    timers: Timers,
    powers: &Powers,
    (oracles, draw): (bool, u64),
) -> Account {
    let (table, disabled) = s.table(cpu);
    let setup = Setup {
        table: &table,
        disabled,
        limit: s.limit(cpu.number),
        tick: m.tick,
        kind: s.governor.0,
        version: s.governor.1,
        periodic: s.periodic,
        oracles,
        draw,
    };
    replay(&cpu.wakes, &setup, timers, powers)
}

/// What becomes of the machine; without [`Account::oracles`].
pub(crate) fn of_machine(m: &Machine, s: &Setting, timers: Timers, powers: &[Powers]) -> Account {
    run_machine(m, s, timers, powers, (false, 0))
}

/// The same, with exit latencies in another order for each `draw`.
pub(crate) fn of_draw(m: &Machine, s: &Setting, powers: &[Powers], draw: u64) -> Account {
    run_machine(m, s, Timers::Recorded, powers, (false, draw))
}

fn run_machine(
    m: &Machine,
    s: &Setting,
    timers: Timers,
    powers: &[Powers],
    how: (bool, u64),
) -> Account {
    let cpus: Vec<(&Cpu, &Powers)> = m.cpus.iter().zip(powers).collect();
    let each: Vec<Account> =
        cpus.into_par_iter().map(|(c, p)| run_cpu(m, c, s, timers, p, how)).collect();
    let mut out = Account::default();
    for a in &each {
        out.add(a);
    }
    out
}

/// Power of each CPU's states: as given, or assumed.
pub(super) fn powers(m: &Machine, watts: Option<&Watts>) -> Result<Vec<Powers>> {
    let one = |cpu: &Cpu| match watts {
        Some(w) => w.of(cpu.number, &cpu.table),
        None => Ok(Powers::assumed(&cpu.table, cpu.disabled)),
    };
    m.cpus.iter().map(one).collect()
}

/// Every limit that leads to something else than the one before it: exit
/// latencies are compared with, and 7.5 us by teo of 7.2. Limits are whole
/// microseconds.
pub(super) fn limits(m: &Machine, version: Version) -> Vec<i64> {
    let mut out: Vec<i64> = vec![0, 1_000, UNLIMITED];
    if version == Version::V7_2 {
        out.extend([7_000, 8_000]);
    }
    for s in m.cpus.iter().flat_map(|c| c.table.states()) {
        out.push(s.latency);
    }
    out.retain(|&l| l == UNLIMITED || l % 1_000 == 0);
    out.sort_unstable();
    out.dedup();
    out
}

/// What to change.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How it was recorded.
    pub present: Present,
    /// Governor then; as now if absent.
    pub governor: Option<Kind>,
    /// Version then; as now if absent.
    pub version: Option<Version>,
    /// Limits then.
    pub limits: Vec<Limit>,
    /// States that are disabled then.
    pub disable: Vec<String>,
    /// `intel_idle.max_cstate` then.
    pub max_cstate: Option<usize>,
    /// The tick is never stopped then.
    pub periodic: bool,
    /// Power by state.
    pub watts: Option<Watts>,
}

/// One setting and what follows of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What decides.
    pub setting: Setting,
    /// What follows.
    pub account: Account,
}

/// What sleeps would become.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// What was recorded.
    pub machine: Machine,
    /// What decides now, and then.
    pub settings: [Setting; 2],
    /// As the model makes the present, and the change: with timers as recorded.
    pub accounts: [Account; 2],
    /// The same with every wake-up foreseen, and with none.
    pub bounds: [[Account; 2]; 2],
    /// The one limit, or set of disabled states, that costs least energy.
    pub best: Outcome,
    /// Where power is from; none if it is assumed.
    pub watts: Option<Watts>,
}

impl Prediction {
    /// What the recording says itself.
    pub fn measured(&self) -> Option<Measured> {
        let m = &self.machine;
        let powers = powers(m, self.watts.as_ref()).ok()?;
        let energy = recorded_energy(m, &powers);
        // Delays, and how much of it is replayed, only where it tells when events came.
        let delays = m.cpus.iter().any(|c| !c.wakes.delays.is_empty());
        let span = if delays { span(m) } else { 0 };
        let p99 = delays.then(|| recorded(m, &powers).p99);
        Some(Measured { p99, energy, span })
    }

    /// Something was changed at all.
    pub fn changed(&self) -> bool {
        self.settings[0] != self.settings[1]
    }

    /// How far the model of the present is from the recording.
    pub fn error(&self) -> Option<(usize, u64)> {
        error(&self.machine, &self.accounts[0])
    }
}

/// How far a model of the present is from the recording: the state with the
/// largest difference in its share of idle time, in thousandths.
pub(super) fn error(machine: &Machine, model: &Account) -> Option<(usize, u64)> {
    use dormouse_idle::predict::Spent;
    let share = |s: &[Spent], i: usize| {
        let all: i128 = s.iter().map(|s| i128::from(s.time)).sum();
        let one = s.get(i).map_or(0, |s| i128::from(s.time));
        if all > 0 { one * 1_000 / all } else { 0 }
    };
    let apart =
        |i: usize| (share(&machine.recorded, i) - share(&model.states, i)).unsigned_abs() as u64;
    (0..machine.states.len()).map(|i| (i, apart(i))).max_by_key(|e| (e.1, std::cmp::Reverse(e.0)))
}

/// The setting that is asked for.
fn setting(m: &Machine, asked: &Asked) -> Result<Setting> {
    let governor = asked.governor.unwrap_or(m.governor.0);
    m.allows(m.governor.0)?;
    m.allows(governor)?;
    for name in &asked.disable {
        m.has_state(name)?;
    }
    for cpu in asked.limits.iter().flat_map(|l| &l.cpus) {
        if !m.cpus.iter().any(|c| c.number == *cpu) {
            let why = format!("--latency-limit: CPU {cpu} is not in the trace with its table");
            return Err(Usage(why).into());
        }
    }
    if asked.max_cstate.map(max_cstate) == Some(MaxCstate::HandsOver) {
        let why = "--max-cstate 0 stops intel_idle and hands over to acpi_idle, whose table is not \
                   in the input: boot so, and give a dump of that";
        return Err(Usage(why.into()).into());
    }
    Ok(Setting {
        governor: (governor, asked.version.unwrap_or(m.governor.1)),
        limits: asked.limits.clone(),
        disable: asked.disable.clone(),
        max_cstate: asked.max_cstate,
        periodic: asked.periodic,
    })
}

/// With more states than this only one of them is tried disabled.
pub(crate) const FEW_STATES: usize = 7;

/// Sets of states that could be disabled, the empty one first; state 0 never is.
/// All of them if there are few states.
pub(crate) fn masks(names: &[String]) -> Vec<Vec<String>> {
    let deeper = names.get(1..).unwrap_or_default();
    let sets: Vec<u32> = if names.len() <= FEW_STATES {
        (0..1 << deeper.len()).collect()
    } else {
        std::iter::once(0).chain((0..deeper.len()).map(|i| 1 << i)).collect()
    };
    let set = |bits: u32| {
        let chosen = deeper.iter().enumerate().filter(|(i, _)| bits & 1 << i != 0);
        chosen.map(|(_, n)| n.clone()).collect()
    };
    sets.into_iter().map(set).collect()
}

/// Names of all states, shallowest first, each once.
pub(super) fn names(m: &Machine) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let deepest = m.cpus.iter().map(|c| c.table.states().len()).max().unwrap_or(0);
    for i in 0..deepest {
        for s in m.cpus.iter().filter_map(|c| c.table.states().get(i)) {
            if !out.contains(&s.name) {
                out.push(s.name.clone());
            }
        }
    }
    out
}

/// Replays the wake-ups of a trace with the table of a dump.
///
/// # Errors
/// As [`Machine::open`], or [`Usage`] for what cannot be asked.
pub fn predict(given: &Given, asked: &Asked) -> Result<Prediction> {
    Ok(predict_and_limits(given, asked)?.0)
}

/// The same, with the account of every limit that makes a difference.
fn predict_and_limits(given: &Given, asked: &Asked) -> Result<(Prediction, Vec<(i64, Account)>)> {
    let machine = Machine::open(given, &asked.present)?;
    let then = setting(&machine, asked)?;
    let powers = powers(&machine, asked.watts.as_ref())?;
    let settings = [Setting::present(&machine), then];
    let run = |s: &Setting, timers| of_machine(&machine, s, timers, &powers);
    let with_oracles = |s: &Setting, timers| run_machine(&machine, s, timers, &powers, (true, 0));
    let accounts = [&settings[0], &settings[1]].map(|s| with_oracles(s, Timers::Recorded));
    let bounds = [&settings[0], &settings[1]]
        .map(|s| [Timers::Foreseen, Timers::Unforeseen].map(|timers| with_oracles(s, timers)));
    let limited =
        |ns| Setting { limits: vec![Limit { ns, cpus: Vec::new() }], ..settings[1].clone() };
    let by_limit: Vec<(i64, Account)> = limits(&machine, settings[1].governor.1)
        .into_iter()
        .map(|ns| (ns, run(&limited(ns), Timers::Recorded)))
        .collect();
    // What is best must obey what was asked for: a limit that holds for all CPUs
    // and is wider than the one asked for is none, and one for some of them is kept.
    let asked_for = settings[1].limits.clone();
    let widest = asked_for.iter().filter(|l| l.cpus.is_empty()).map(|l| l.ns).min();
    let mut tried: Vec<(Account, Setting)> = Vec::new();
    for (ns, account) in by_limit.iter().filter(|(ns, _)| widest.is_none_or(|w| *ns < w)) {
        let mut s = limited(*ns);
        if asked_for.iter().any(|l| !l.cpus.is_empty()) {
            s.limits.extend(asked_for.iter().filter(|l| !l.cpus.is_empty()).cloned());
            tried.push((run(&s, Timers::Recorded), s));
        } else {
            tried.push((account.clone(), s));
        }
    }
    for mut disable in masks(&names(&machine)) {
        let asked = settings[1].disable.iter().filter(|d| !disable.contains(d));
        let asked: Vec<String> = asked.cloned().collect();
        disable.extend(asked);
        let s = Setting { disable, ..settings[1].clone() };
        tried.push((run(&s, Timers::Recorded), s));
    }
    let least = tried.into_iter().min_by_key(|(a, _)| (a.energy, a.waited()));
    let (account, best) = least.unwrap_or_else(|| (accounts[1].clone(), settings[1].clone()));
    let best = Outcome { setting: best, account };
    let watts = asked.watts.clone();
    Ok((Prediction { machine, settings, accounts, bounds, best, watts }, by_limit))
}

/// Latency against energy for every limit that makes a difference.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What was recorded, and what decides apart from the limit.
    pub prediction: Prediction,
    /// Limit in ns, and what follows; the tightest first.
    pub points: Vec<(i64, Account)>,
}

/// Tries every limit.
///
/// # Errors
/// As [`predict`].
pub fn sweep(given: &Given, asked: &Asked) -> Result<Sweep> {
    let (prediction, by_limit) = predict_and_limits(given, asked)?;
    let mut points: Vec<(i64, Account)> = Vec::new();
    for (ns, account) in by_limit {
        // Where nothing changes the looser of two limits says more.
        if points.last().is_some_and(|(_, before)| *before == account) {
            points.pop();
        }
        points.push((ns, account));
    }
    Ok(Sweep { prediction, points })
}
