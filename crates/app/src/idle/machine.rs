//! A recorded machine whose wake-ups can be replayed.

use crate::failure::{Nothing, Usage};
use anyhow::Result;
use dormouse_base::loss::Losses;
use dormouse_idle::decided::{Again, Rules, again};
use dormouse_idle::exits::FEW;
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::predict::Spent;
use dormouse_idle::state::{StateSet, Table};
use dormouse_idle::wake::{Wakes, wakes};
use dormouse_read::Given;
use dormouse_read::idle::Keep;

/// How the machine was run when it was recorded, as far as the caller knows.
#[derive(Clone, Debug)]
pub struct Present {
    /// Governor; that of the dump if absent.
    pub governor: Option<Kind>,
    /// Its version; that of the recorded kernel if absent.
    pub version: Option<Version>,
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
    /// Sleeps as recorded, by number of the state.
    pub recorded: Vec<Spent>,
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
    /// The kernel's release, if said.
    pub release: Option<String>,
    /// The driver, if said.
    pub driver: Option<String>,
    /// Length of a tick, ns.
    pub tick: i64,
    /// Length of the recording, ns.
    pub span: i64,
    /// Decisions that were recorded with what the governor was told, made again.
    pub again: Again,
    /// Losses of reading.
    pub losses: Losses,
}

/// CPUs that hardly entered a state take its exit latencies from those with the
/// same table: a governor that prefers it would meet them.
fn share_exits(cpus: &mut [Cpu]) {
    let pooled = |pick: fn(&Wakes) -> &Vec<Vec<i64>>, table: &Table| -> Vec<Vec<i64>> {
        let mut out: Vec<Vec<i64>> = Vec::new();
        for cpu in cpus.iter().filter(|c| c.table == *table) {
            let lists = pick(&cpu.wakes);
            out.resize(out.len().max(lists.len()), Vec::new());
            for (all, own) in out.iter_mut().zip(lists) {
                all.extend(own);
            }
        }
        for list in &mut out {
            list.sort_unstable();
        }
        out
    };
    let all: Vec<[Vec<Vec<i64>>; 2]> = cpus
        .iter()
        .map(|c| [pooled(|w| &w.exits, &c.table), pooled(|w| &w.tick_exits, &c.table)])
        .collect();
    for (cpu, [events, ticks]) in cpus.iter_mut().zip(all) {
        for (own, all) in [(&mut cpu.wakes.exits, events), (&mut cpu.wakes.tick_exits, ticks)] {
            own.resize(own.len().max(all.len()), Vec::new());
            for (own, all) in own.iter_mut().zip(all) {
                if own.len() < FEW {
                    *own = all;
                }
            }
        }
    }
}

impl Machine {
    /// Reads a trace and the dump that belongs to it.
    ///
    /// # Errors
    /// If an input cannot be read, [`Nothing`] without a trace and its table, or
    /// [`Usage`] if nobody says which governor decided.
    pub fn open(given: &Given, present: &Present) -> Result<Machine> {
        let reading = given.idle(Keep::Episodes)?;
        let Some(sleeps) = reading.traces.iter().find(|t| !t.episodes.is_empty()) else {
            let why = "no sleeps to replay: give a trace with the event cpu_idle";
            return Err(Nothing(why.into()).into());
        };
        // Those that can be of the machine of the trace.
        let tables = sleeps.tally.tables();
        // Without a table nothing can be replayed, whoever decided.
        if !sleeps.episodes.keys().any(|cpu| tables.contains_key(cpu)) {
            let why = "no table of the traced CPUs: give a dump of the machine too \
                       (grep -r . /sys/devices/system/cpu/cpu*/cpuidle > states.txt)";
            return Err(Nothing(why.into()).into());
        }
        let said = || reading.snapshots.iter().find_map(|s| Kind::named(s.governor.as_deref()?));
        let Some(governor) = present.governor.or_else(said) else {
            let why = "the input does not say which governor was in use: give --from-governor \
                       menu, teo, ladder or haltpoll";
            return Err(Usage(why.into()).into());
        };
        let release = || Version::nearest(reading.release.as_deref().unwrap_or(""));
        let mut out = Machine {
            cpus: Vec::new(),
            states: Vec::new(),
            recorded: Vec::new(),
            governor: (governor, present.version.unwrap_or_else(release)),
            release: reading.release.clone(),
            available: Vec::new(),
            driver: reading.snapshots.iter().find_map(|s| s.driver.clone()),
            tick: 1_000_000_000 / i64::from(present.hz.max(1)),
            span: sleeps.tally.span.map_or(0, |(a, b)| b.saturating_sub(a)),
            again: Again::default(),
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
            let mut recorded = Vec::new();
            for e in episodes {
                for list in [&mut recorded, &mut out.recorded] {
                    let i = e.state as usize;
                    list.resize(list.len().max(i + 1), Spent::default());
                    list[i].sleeps += 1;
                    list[i].time = list[i].time.saturating_add(e.exit - e.enter);
                }
            }
            let (table, disabled) = (table.clone(), *disabled);
            let known = sleeps.wakes.get(&number).cloned();
            let wakes = known.unwrap_or_else(|| wakes(episodes, &table));
            out.cpus.push(Cpu { number, table, disabled, wakes, recorded });
        }
        share_exits(&mut out.cpus);
        let rules = Rules { kind: out.governor.0, version: out.governor.1, tick: out.tick, tables };
        out.again = again(&sleeps.steps, &rules);
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
    pub(crate) fn allows(&self, kind: Kind) -> Result<()> {
        if kind == Kind::Haltpoll && self.cpus.iter().any(|c| c.table.states().len() != 2) {
            let why = "haltpoll knows two states, to poll and to halt; this machine has others";
            return Err(Usage(why.into()).into());
        }
        Ok(())
    }

    /// # Errors
    /// [`Usage`] if no CPU has a state of this name.
    pub(crate) fn has_state(&self, name: &str) -> Result<()> {
        let mut states = self.cpus.iter().flat_map(|c| c.table.states());
        if states.any(|s| s.name == name) {
            return Ok(());
        }
        Err(Usage(format!("no state is called {name}: {}", self.states.join(", "))).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_idle::state::State;

    #[test]
    fn a_cpu_that_never_entered_a_state_learns_its_exits_from_others() {
        let state = |latency| State { latency, residency: latency, ..State::default() };
        let table = |deepest| Table::new(vec![state(0), state(deepest)]).expect("two states");
        let cpu = |number, table, exits: Vec<i64>| Cpu {
            number,
            table,
            disabled: StateSet::NONE,
            wakes: Wakes { exits: vec![vec![], exits], ..Wakes::default() },
            recorded: Vec::new(),
        };
        let many: Vec<i64> = (100..120).collect();
        let mut cpus = [
            cpu(0, table(100), many.clone()),
            cpu(1, table(100), vec![]),
            cpu(2, table(900), vec![]),
        ];
        share_exits(&mut cpus);
        assert_eq!(cpus[1].wakes.exits[1], many);
        assert!(cpus[2].wakes.exits.iter().all(Vec::is_empty), "another table");
    }
}
