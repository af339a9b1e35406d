//! What a machine says of its idle states at one moment: tables and counters,
//! as sysfs, cpupower and others print them. Any figure may be missing.

use std::collections::BTreeMap;

/// One state of one CPU. Times are in microseconds, as the kernel prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSeen {
    /// Name that the driver gave.
    pub name: Option<String>,
    /// The driver's description.
    pub desc: Option<String>,
    /// Exit latency, us.
    pub latency: Option<u64>,
    /// Target residency, us.
    pub residency: Option<u64>,
    /// Disabled, by the user or the driver.
    pub disabled: Option<bool>,
    /// Counters since the driver was registered, or between two snapshots.
    pub counters: Counters,
}

/// Counters of a state (`struct cpuidle_state_usage`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times entered.
    pub usage: Option<u64>,
    /// Time in it, us.
    pub time: Option<u64>,
    /// Times that the sleep was shorter than the target residency (too deep).
    pub above: Option<u64>,
    /// Times that the next deeper state would have paid (too shallow).
    pub below: Option<u64>,
    /// Times that the driver or the firmware refused it.
    pub rejected: Option<u64>,
    /// Times entered by suspend-to-idle.
    pub s2idle_usage: Option<u64>,
    /// Time in it by suspend-to-idle, us.
    pub s2idle_time: Option<u64>,
}

impl Counters {
    fn each(&mut self) -> [&mut Option<u64>; 7] {
        [
            &mut self.usage,
            &mut self.time,
            &mut self.above,
            &mut self.below,
            &mut self.rejected,
            &mut self.s2idle_usage,
            &mut self.s2idle_time,
        ]
    }

    /// Adds what `other` counted; unknown stays unknown only if both are.
    pub fn add(&mut self, mut other: Counters) {
        for (a, b) in self.each().into_iter().zip(other.each()) {
            if let Some(b) = *b {
                *a = Some(a.unwrap_or(0).saturating_add(b));
            }
        }
    }

    /// What was counted after `before`. A counter that ran backwards is
    /// unknown, and `backwards` counts it.
    fn since(mut self, mut before: Counters, backwards: &mut u64) -> Counters {
        for (a, b) in self.each().into_iter().zip(before.each()) {
            *a = match (*a, *b) {
                (Some(after), Some(before)) => {
                    let grown = after.checked_sub(before);
                    *backwards += u64::from(grown.is_none());
                    grown
                }
                _ => None,
            };
        }
        self
    }
}

/// The states of every CPU that a text speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// What it is called: a file, a machine, a moment.
    pub label: String,
    /// The cpuidle driver.
    pub driver: Option<String>,
    /// The governor in use.
    pub governor: Option<String>,
    /// Governors that this kernel has; empty if not said.
    pub governors: Vec<String>,
    /// States by number, by CPU.
    pub cpus: BTreeMap<u32, BTreeMap<u32, StateSeen>>,
    /// How many CPUs the figures of an entry stand for; 0 if each for one.
    pub sum_of: u32,
    /// The counters are the kernel's own, which begin at boot; else the source does
    /// not say since when it counts.
    pub since_boot: bool,
    /// The text itself lists the states of each CPU, so a state that is not here does not exist.
    pub whole: bool,
}

/// Why two snapshots have no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAPair {
    /// They name different drivers.
    Driver(String, String),
    /// No CPU is in both.
    NoCommonCpu,
    /// A state of this number has another name: another table.
    Table(u32),
    /// One has states that the other has not.
    States,
    /// Neither counts anything.
    NoCounters,
}

impl Snapshot {
    /// What was counted between `before` and `self`, and how many counters ran
    /// backwards (a driver that was registered again starts at zero).
    pub fn since(&self, before: &Snapshot) -> Result<(Snapshot, u64), NotAPair> {
        if let (Some(a), Some(b)) = (&before.driver, &self.driver)
            && a != b
        {
            return Err(NotAPair::Driver(a.clone(), b.clone()));
        }
        let mut backwards = 0;
        let mut out = Snapshot { cpus: BTreeMap::new(), ..self.clone() };
        for (cpu, states) in &self.cpus {
            let Some(old) = before.cpus.get(cpu) else { continue };
            let mut left = BTreeMap::new();
            for (i, s) in states {
                let Some(o) = old.get(i) else {
                    left.insert(*i, StateSeen { counters: Counters::default(), ..s.clone() });
                    continue;
                };
                if let (Some(a), Some(b)) = (&o.name, &s.name)
                    && a != b
                {
                    return Err(NotAPair::Table(*i));
                }
                let counters = s.counters.since(o.counters, &mut backwards);
                left.insert(*i, StateSeen { counters, ..s.clone() });
            }
            out.cpus.insert(*cpu, left);
        }
        if out.cpus.is_empty() {
            return Err(NotAPair::NoCommonCpu);
        }
        let [had, has] = before.only_in(&out);
        if !had.is_empty() || !has.is_empty() {
            return Err(NotAPair::States);
        }
        let mut states = out.cpus.values().flat_map(BTreeMap::values);
        if states.all(|s| s.counters == Counters::default()) && backwards == 0 {
            return Err(NotAPair::NoCounters);
        }
        Ok((out, backwards))
    }

    /// Names of all states of some CPUs, in the order of the tables; none if one of them has no
    /// name.
    fn names(&self, of: impl Fn(&u32) -> bool) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        let cpus = self.cpus.iter().filter(|c| of(c.0));
        for s in cpus.flat_map(|c| c.1.values()) {
            match s.name.as_deref() {
                Some(n) if out.contains(&n) => {}
                Some(n) => out.push(n),
                None => return Vec::new(),
            }
        }
        out
    }

    /// States that only one of two dumps has, by name: of `self`, of `other`. Where both show the
    /// same CPUs, of those.
    pub fn only_in<'a>(&'a self, other: &'a Snapshot) -> [Vec<&'a str>; 2] {
        let common = |cpu: &u32| self.cpus.contains_key(cpu) && other.cpus.contains_key(cpu);
        let any = self.cpus.keys().any(common);
        let [mine, theirs] = [self, other].map(|s| s.names(|cpu| !any || common(cpu)));
        if mine.is_empty() || theirs.is_empty() {
            return Default::default();
        }
        let not_in = |a: &[&'a str], b: &[&'a str]| {
            a.iter().filter(|n| !b.contains(n)).copied().collect::<Vec<_>>()
        };
        [not_in(&mine, &theirs), not_in(&theirs, &mine)]
    }

    /// CPUs with the same table, in order of the first of them: the classes of
    /// a machine with cores of several kinds.
    pub fn classes(&self) -> Vec<Class> {
        let mut out: Vec<Class> = Vec::new();
        for (&cpu, states) in &self.cpus {
            let shape = |s: &StateSeen| (s.name.clone(), s.latency, s.residency);
            let same = |c: &&mut Class| {
                c.states.len() == states.len()
                    && c.states
                        .iter()
                        .zip(states)
                        .all(|(a, b)| a.0 == b.0 && shape(a.1) == shape(b.1))
            };
            match out.iter_mut().find(same) {
                Some(class) => {
                    class.cpus.push(cpu);
                    for (i, s) in states {
                        let Some(kept) = class.states.get_mut(i) else { continue };
                        kept.counters.add(s.counters);
                        class.disabled_on[*i as usize % 64] += u32::from(s.disabled == Some(true));
                    }
                }
                None => {
                    let mut disabled_on = [0; 64];
                    for (i, s) in states {
                        disabled_on[*i as usize % 64] += u32::from(s.disabled == Some(true));
                    }
                    out.push(Class { cpus: Vec::from([cpu]), states: states.clone(), disabled_on });
                }
            }
        }
        out
    }

    /// Entries of CPUs and states.
    pub fn entries(&self) -> usize {
        self.cpus.values().map(BTreeMap::len).sum()
    }
}

/// CPUs with one table, their counters added up.
#[derive(Clone, Debug)]
pub struct Class {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// Their states with the sum of their counters.
    pub states: BTreeMap<u32, StateSeen>,
    /// On how many CPUs each state is disabled.
    pub disabled_on: [u32; 64],
}
