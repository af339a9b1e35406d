//! A recorded machine whose wake-ups can be replayed.

use crate::failure::{Nothing, Usage};
use anyhow::Result;
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::predict::Spent;
use dormouse_idle::state::{StateSet, Table};
use dormouse_idle::wake::{Wakes, wakes};
use dormouse_model::loss::Losses;
use dormouse_read::idle::{Keep, read, tables};
use dormouse_read::{Input, Options};
use std::path::PathBuf;

/// How the machine was run when it was recorded, as far as the caller knows.
#[derive(Clone, Debug)]
pub struct Present {
    /// Governor; that of the dump if absent.
    pub governor: Option<Kind>,
    /// Its version.
    pub version: Version,
    /// Ticks a second.
    pub hz: u32,
}

/// One CPU of it.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// Its states.
    pub table: Table,
    /// Those that were disabled.
    pub disabled: StateSet,
    /// What woke it.
    pub wakes: Wakes,
}

/// A recorded machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// CPUs whose table is known, by number.
    pub cpus: Vec<Cpu>,
    /// Names of states by number; a number where CPUs name it differently.
    pub states: Vec<String>,
    /// Sleeps as recorded, by number of the state.
    pub recorded: Vec<Spent>,
    /// The governor that decided.
    pub governor: (Kind, Version),
    /// Governors that this kernel has; empty if the input does not say.
    pub available: Vec<Kind>,
    /// The driver, if said.
    pub driver: Option<String>,
    /// Length of a tick, ns.
    pub tick: i64,
    /// Length of the recording, ns.
    pub span: i64,
    /// Losses of reading.
    pub losses: Losses,
}

impl Machine {
    /// Reads a trace and the dump that belongs to it.
    ///
    /// # Errors
    /// If an input cannot be read, [`Nothing`] without a trace and its table, or
    /// [`Usage`] if nobody says which governor decided.
    pub fn open(inputs: &[PathBuf], present: &Present) -> Result<Machine> {
        let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
        let reading = read(&list, &Options::default(), Keep::Episodes)?;
        let tables = tables(&reading.snapshots);
        let Some(sleeps) = reading.traces.iter().find(|t| !t.episodes.is_empty()) else {
            let why = "no sleeps to replay: give a trace with the event cpu_idle";
            return Err(Nothing(why.into()).into());
        };
        let said = || reading.snapshots.iter().find_map(|s| Kind::named(s.governor.as_deref()?));
        let Some(governor) = present.governor.or_else(said) else {
            let why = "the input does not say which governor was in use: give --from-governor";
            return Err(Usage(why.into()).into());
        };
        let mut out = Machine {
            cpus: Vec::new(),
            states: Vec::new(),
            recorded: Vec::new(),
            governor: (governor, present.version),
            available: Vec::new(),
            driver: reading.snapshots.iter().find_map(|s| s.driver.clone()),
            tick: 1_000_000_000 / i64::from(present.hz.max(1)),
            span: sleeps.tally.span.map_or(0, |(a, b)| b.saturating_sub(a)),
            losses: reading.losses.clone(),
        };
        let known = reading.snapshots.iter().flat_map(|s| &s.governors);
        for kind in known.filter_map(|name| Kind::named(name)) {
            if !out.available.contains(&kind) {
                out.available.push(kind);
            }
        }
        for (&number, episodes) in &sleeps.episodes {
            let Some((table, disabled)) = tables.get(&number) else { continue };
            for (i, s) in table.states().iter().enumerate() {
                match out.states.get_mut(i) {
                    None => out.states.push(s.name.clone()),
                    Some(n) if *n != s.name => *n = format!("state {i}"),
                    Some(_) => {}
                }
            }
            for e in episodes {
                let i = e.state as usize;
                out.recorded.resize(out.recorded.len().max(i + 1), Spent::default());
                out.recorded[i].sleeps += 1;
                out.recorded[i].time = out.recorded[i].time.saturating_add(e.exit - e.enter);
            }
            let (table, disabled) = (table.clone(), *disabled);
            let wakes = wakes(episodes, &table);
            out.cpus.push(Cpu { number, table, disabled, wakes });
        }
        if out.cpus.is_empty() {
            let why = "no table of the traced CPUs: give a dump of the machine too \
                       (grep -r . /sys/devices/system/cpu/cpu*/cpuidle)";
            return Err(Nothing(why.into()).into());
        }
        Ok(out)
    }

    /// Wake-ups of all CPUs.
    pub fn wakes(&self) -> u64 {
        self.cpus.iter().map(|c| c.wakes.list.len() as u64).sum()
    }

    /// Those that a timer caused, as far as the trace says.
    pub fn timers(&self) -> u64 {
        let timers = |c: &Cpu| c.wakes.list.iter().filter(|w| w.timer).count() as u64;
        self.cpus.iter().map(timers).sum()
    }

    /// # Errors
    /// [`Usage`] if `kind` cannot be asked about these states.
    pub fn allows(&self, kind: Kind) -> Result<()> {
        if kind == Kind::Haltpoll && self.cpus.iter().any(|c| c.table.states().len() != 2) {
            let why = "haltpoll knows two states, to poll and to halt; this machine has others";
            return Err(Usage(why.into()).into());
        }
        Ok(())
    }

    /// # Errors
    /// [`Usage`] if no CPU has a state of this name.
    pub fn has_state(&self, name: &str) -> Result<()> {
        let mut states = self.cpus.iter().flat_map(|c| c.table.states());
        if states.any(|s| s.name == name) {
            return Ok(());
        }
        Err(Usage(format!("no state is called {name}: {}", self.states.join(", "))).into())
    }
}
