//! What inputs say of CPU idle states.

use crate::failure::{Nothing, Usage};
use anyhow::Result;
use dormouse_idle::energy::Powers;
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::predict::{Account, Setup, Spent, Timers, replay};
use dormouse_idle::snapshot::Snapshot;
use dormouse_idle::wake::wakes;
use dormouse_model::loss::Losses;
use dormouse_read::idle::{IdleReading, Keep, read, tables};
use dormouse_read::{Input, Options};
use dormouse_write::text::safe;
use std::path::PathBuf;

/// Exit latency that no limit excludes, ns: what the kernel hands a governor
/// when nobody asks for less (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, 2,000 s).
const UNLIMITED: i64 = 2_000_000_000_000;

/// Inputs, read.
#[derive(Clone, Debug)]
pub struct Shown {
    /// All that was read.
    pub reading: IdleReading,
    /// What was counted between the two snapshots, if there are two and the
    /// second is the later one of the same machine.
    pub difference: Option<Snapshot>,
}

/// Reads what `inputs` say of idle states.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none speaks of idle states.
pub fn show(inputs: &[PathBuf]) -> Result<Shown> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let reading = read(&list, &Options::default(), Keep::Counts)?;
    if reading.snapshots.is_empty() && reading.traces.iter().all(|t| t.tally.sleeps() == 0) {
        let mut why = String::from("no idle states in the input");
        for l in &reading.losses.list {
            why += &format!("\n  {}: {}", l.severity.name(), safe(&l.advice));
        }
        return Err(Nothing(why).into());
    }
    let difference = match &reading.snapshots[..] {
        // Counters that ran backwards are of another boot or another machine.
        [before, after] => {
            after.since(before).ok().filter(|(_, backwards)| *backwards == 0).map(|(d, _)| d)
        }
        _ => None,
    };
    Ok(Shown { reading, difference })
}

/// What to change, and what is so now.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Governor of the recording; that of the dump if absent.
    pub from_governor: Option<Kind>,
    /// Its version.
    pub from_version: Version,
    /// Governor then; as now if absent.
    pub governor: Option<Kind>,
    /// Version then; as now if absent.
    pub version: Option<Version>,
    /// Largest exit latency allowed then, ns; no limit if absent.
    pub limit: Option<i64>,
    /// States that are disabled then, by name, beside those that are so now.
    pub disable: Vec<String>,
    /// Ticks a second.
    pub hz: u32,
}

/// What sleeps would become.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Names of states by number; a number where CPUs name it differently.
    pub states: Vec<String>,
    /// As recorded.
    pub recorded: Vec<Spent>,
    /// Governors, now and then.
    pub governors: [(Kind, Version); 2],
    /// As the model makes the present, and the change: with timers as recorded.
    pub accounts: [Account; 2],
    /// The same with every wake-up foreseen, and with none.
    pub bounds: [[Account; 2]; 2],
    /// Wake-ups replayed.
    pub wakes: u64,
    /// Those that a timer caused, as far as the trace says.
    pub timers: u64,
    /// CPUs.
    pub cpus: usize,
    /// Losses of reading.
    pub losses: Losses,
    /// Something was changed at all.
    pub changed: bool,
}

impl Prediction {
    /// How far the model of the present is from the recording: the state with
    /// the largest difference in its share of idle time, in thousandths.
    pub fn error(&self) -> Option<(usize, u64)> {
        let share = |s: &[Spent], i: usize| {
            let all: i128 = s.iter().map(|s| i128::from(s.time)).sum();
            let one = s.get(i).map_or(0, |s| i128::from(s.time));
            if all > 0 { one * 1_000 / all } else { 0 }
        };
        let apart = |i: usize| {
            (share(&self.recorded, i) - share(&self.accounts[0].states, i)).unsigned_abs() as u64
        };
        (0..self.states.len()).map(|i| (i, apart(i))).max_by_key(|e| (e.1, std::cmp::Reverse(e.0)))
    }
}

/// Replays the wake-ups of a trace with the table of a dump.
///
/// # Errors
/// If an input cannot be read, [`Nothing`] without a trace and its table, or
/// [`Usage`] for what cannot be asked.
pub fn predict(inputs: &[PathBuf], asked: &Asked) -> Result<Prediction> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let reading = read(&list, &Options::default(), Keep::Episodes)?;
    let tables = tables(&reading.snapshots);
    let Some(sleeps) = reading.traces.iter().find(|t| !t.episodes.is_empty()) else {
        let why = "no sleeps to replay: give a trace with the event cpu_idle";
        return Err(Nothing(why.into()).into());
    };
    let said = || reading.snapshots.iter().find_map(|s| Kind::named(s.governor.as_deref()?));
    let Some(now) = asked.from_governor.or_else(said) else {
        let why = "the input does not say which governor was in use: give --from-governor";
        return Err(Usage(why.into()).into());
    };
    let governors = [
        (now, asked.from_version),
        (asked.governor.unwrap_or(now), asked.version.unwrap_or(asked.from_version)),
    ];
    let tick = 1_000_000_000 / i64::from(asked.hz.max(1));
    let mut out = Prediction {
        states: Vec::new(),
        recorded: Vec::new(),
        governors,
        accounts: Default::default(),
        bounds: Default::default(),
        wakes: 0,
        timers: 0,
        cpus: 0,
        losses: reading.losses.clone(),
        changed: governors[0] != governors[1] || asked.limit.is_some() || !asked.disable.is_empty(),
    };
    let mut unknown: Vec<&String> = asked.disable.iter().collect();
    for (cpu, episodes) in &sleeps.episodes {
        let Some((table, disabled)) = tables.get(cpu) else { continue };
        if governors.iter().any(|g| g.0 == Kind::Haltpoll) && table.states().len() != 2 {
            let why = "haltpoll knows two states, to poll and to halt; this machine has others";
            return Err(Usage(why.into()).into());
        }
        let wakes = wakes(episodes, table);
        let powers = Powers::assumed(table);
        let mut then = *disabled;
        for (i, s) in table.states().iter().enumerate() {
            if asked.disable.contains(&s.name) {
                then = then.with(i);
                unknown.retain(|n| **n != s.name);
            }
            match out.states.get_mut(i) {
                None => out.states.push(s.name.clone()),
                Some(n) if *n != s.name => *n = format!("state {i}"),
                Some(_) => {}
            }
        }
        let limit = asked.limit.unwrap_or(UNLIMITED);
        let sides = [(governors[0], *disabled, UNLIMITED), (governors[1], then, limit)];
        for (side, ((kind, version), disabled, limit)) in sides.into_iter().enumerate() {
            let setup = Setup { table, disabled, limit, tick, kind, version };
            let run = |timers| replay(&wakes, &setup, timers, &powers);
            out.accounts[side].add(&run(Timers::Recorded));
            out.bounds[side][0].add(&run(Timers::Foreseen));
            out.bounds[side][1].add(&run(Timers::Unforeseen));
        }
        for e in episodes {
            let i = e.state as usize;
            out.recorded.resize(out.recorded.len().max(i + 1), Spent::default());
            out.recorded[i].sleeps += 1;
            out.recorded[i].time += e.exit - e.enter;
        }
        out.wakes += wakes.list.len() as u64;
        out.timers += wakes.list.iter().filter(|w| w.timer).count() as u64;
        out.cpus += 1;
    }
    if out.cpus == 0 {
        let why = "no table of the traced CPUs: give a dump of the machine too \
                   (grep -r . /sys/devices/system/cpu/cpu*/cpuidle)";
        return Err(Nothing(why.into()).into());
    }
    if let Some(name) = unknown.first() {
        return Err(Usage(format!("no state is called {name}: {}", out.states.join(", "))).into());
    }
    Ok(out)
}
