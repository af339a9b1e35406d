//! What to show of counters or of a trace: a row for each state, and what of it
//! is worth attacking.

use crate::doubt::{Doubt, doubts};
use crate::snapshot::{Class, Snapshot};
use crate::state::ONLY_S2IDLE;
use crate::tally::{CpuTally, Histogram, Quantile, Sleeps};
use serde::Serialize;
use std::collections::BTreeMap;

/// Less than this part of idle time, in thousandths, is not worth a finding.
pub(crate) const LITTLE: u64 = 10;

/// One state of CPUs with one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Number of the state.
    pub state: u32,
    /// Its name, if said.
    pub name: Option<String>,
    /// Exit latency.
    pub exit_latency_us: Option<u64>,
    /// Target residency.
    pub target_residency_us: Option<u64>,
    /// Sleeps in it.
    pub sleeps: Option<u64>,
    /// Time in it.
    pub time_ns: Option<u64>,
    /// Sleeps that ended before the target residency (the kernel's `above`).
    pub too_deep: Option<u64>,
    /// Sleeps in which the next deeper state would have paid (`below`).
    pub too_shallow: Option<u64>,
    /// How long the sleeps were that were too deep, too shallow, ns, where each was
    /// measured; counters only say how many they were.
    #[serde(skip)]
    pub missed_time: Option<[u64; 2]>,
    /// Entries that the driver or firmware refused.
    pub rejected: Option<u64>,
    /// CPUs on which it is disabled.
    pub disabled_on_cpus: u32,
    /// Median and 99th percentile of residencies in a trace.
    #[serde(skip)]
    pub residencies: Option<(Quantile, Quantile)>,
}

impl Row {
    /// Adds the length of sleeps that were too deep, too shallow, ns.
    fn measured(&mut self, times: [i64; 2]) {
        let sum = self.missed_time.get_or_insert([0; 2]);
        for (sum, ns) in sum.iter_mut().zip(times) {
            *sum = sum.saturating_add(ns.max(0).unsigned_abs());
        }
    }
}

/// CPUs with one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// States, shallowest first.
    pub states: Vec<Row>,
    /// What spoils conclusions from the table.
    pub doubts: Vec<Doubt>,
}

impl Section {
    /// The next deeper state than that of a row, if it is disabled on every CPU: then CPUs
    /// could not go where it would have paid.
    pub fn disabled_below(&self, row: usize) -> Option<&Row> {
        let all = u32::try_from(self.cpus.len()).unwrap_or(u32::MAX);
        self.states.get(row + 1).filter(|r| all > 0 && r.disabled_on_cpus >= all)
    }

    /// Whether each state that was entered has its time, so that one is a share of all.
    pub fn has_all_times(&self) -> bool {
        let rows = || self.states.iter();
        rows().all(|r| r.time_ns.is_some() || r.sleeps == Some(0))
            || rows().all(|r| r.time_ns.is_none())
    }

    /// Whether states of a lower number are not in the table, so that no time is a share of all:
    /// Linux counts them from 0 (drivers/cpuidle/sysfs.c:cpuidle_add_state_sysfs, 6.12).
    pub fn lacks_lower(&self) -> bool {
        self.states.iter().zip(0..).any(|(r, i)| r.state != i)
    }

    /// The one state of the table, if it is one in which a CPU stays awake in a loop:
    /// drivers/cpuidle/poll_state.c calls it POLL, cpuidle-powernv.c and cpuidle-pseries.c call it
    /// snooze (6.12).
    pub fn only_polls(&self) -> Option<&Row> {
        let polls = |r: &&Row| matches!(r.name.as_deref(), Some("POLL" | "snooze"));
        match &self.states[..] {
            [one] => Some(one).filter(polls),
            _ => None,
        }
    }

    /// Place of the deepest state that CPUs awake may enter.
    pub(crate) fn deepest(&self) -> Option<usize> {
        let awake = |r: &Row| r.target_residency_us.is_none_or(|us| us < ONLY_S2IDLE);
        self.states.iter().rposition(awake).filter(|at| *at > 0)
    }

    /// The same, if it is disabled on all CPUs of the table.
    pub fn deepest_disabled(&self) -> Option<usize> {
        let all = u32::try_from(self.cpus.len()).unwrap_or(u32::MAX);
        self.deepest().filter(|at| self.states[*at].disabled_on_cpus >= all)
    }
}

/// What is worth attacking first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Sleeps in this row ended before it paid.
    TooDeep {
        /// Section and row.
        at: (usize, usize),
        /// Such sleeps.
        count: u64,
        /// Sleeps in the state.
        of: u64,
        /// About how long such sleeps lasted, ns.
        time: u64,
    },
    /// Sleeps in this row would have paid in a deeper state.
    TooShallow {
        /// Section and row.
        at: (usize, usize),
        /// Such sleeps.
        count: u64,
        /// Sleeps in the state.
        of: u64,
        /// About how long such sleeps lasted, ns.
        time: u64,
    },
    /// Firmware or driver refuse this state.
    Rejected {
        /// Section and row.
        at: (usize, usize),
        /// Refused entries.
        count: u64,
        /// Entries that were not refused.
        of: u64,
        /// Further states that were refused more often than entered.
        others: usize,
    },
    /// The deepest state may be entered by no CPU, and nothing else stands out.
    Disabled {
        /// Section and row.
        at: (usize, usize),
    },
    /// Misses of this row are counted, the most of all, and neither its sleeps nor their time.
    Counted {
        /// Section and row.
        at: (usize, usize),
        /// Sleeps that ended before it paid.
        too_deep: u64,
        /// Sleeps in which a deeper state would have paid.
        too_shallow: u64,
    },
    /// Misses are counted and few.
    Fits,
    /// The input counts no misses.
    Unknown,
}

/// Sums over sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sleeps.
    pub sleeps: u64,
    /// Their time, ns.
    pub time: u64,
    /// Too deep.
    pub too_deep: u64,
    /// Too shallow.
    pub too_shallow: u64,
}

/// Sections of a snapshot.
pub fn of_snapshot(snapshot: &Snapshot) -> Vec<Section> {
    snapshot.classes().iter().map(of_class).collect()
}

fn of_class(class: &Class) -> Section {
    let row = |(&state, s): (&u32, &crate::snapshot::StateSeen)| Row {
        state,
        name: s.name.clone(),
        exit_latency_us: s.latency,
        target_residency_us: s.residency,
        sleeps: s.counters.usage,
        time_ns: s.counters.time.map(|us| us.saturating_mul(1_000)),
        too_deep: s.counters.above,
        too_shallow: s.counters.below,
        missed_time: None,
        rejected: s.counters.rejected,
        disabled_on_cpus: class.disabled_on[state as usize % 64],
        residencies: None,
    };
    Section {
        cpus: class.cpus.clone(),
        states: class.states.iter().map(row).collect(),
        doubts: doubts(&class.states),
    }
}

/// Sections of a trace: CPUs with one table together, those without a table
/// together.
pub fn of_trace(sleeps: &Sleeps) -> Vec<Section> {
    let mut groups: Vec<(Vec<u32>, Vec<&CpuTally>)> = Vec::new();
    for (&cpu, c) in &sleeps.tally.cpus {
        let table = sleeps.tally.table(cpu);
        match groups.iter_mut().find(|g| sleeps.tally.table(g.0[0]) == table) {
            Some(g) => {
                g.0.push(cpu);
                g.1.push(c);
            }
            None => groups.push((Vec::from([cpu]), Vec::from([c]))),
        }
    }
    groups.into_iter().map(|(cpus, tallies)| of_cpus(sleeps, cpus, &tallies)).collect()
}

fn of_cpus(sleeps: &Sleeps, cpus: Vec<u32>, tallies: &[&CpuTally]) -> Section {
    let table = sleeps.tally.table(cpus[0]);
    let mut sums: BTreeMap<u32, (Row, Histogram)> = BTreeMap::new();
    for (&state, s) in tallies.iter().flat_map(|c| &c.states) {
        let (row, residencies) = sums.entry(state).or_default();
        let add = |to: &mut Option<u64>, n: u64| *to = Some(to.unwrap_or(0).saturating_add(n));
        add(&mut row.sleeps, s.entries);
        add(&mut row.time_ns, s.time.max(0) as u64);
        // The kernel's own word is better than time stamps around the sleep.
        if sleeps.has_misses {
            add(&mut row.too_deep, s.said_above);
            add(&mut row.too_shallow, s.said_below);
            row.measured(s.said_time);
        } else if table.is_some() {
            add(&mut row.too_deep, s.above);
            add(&mut row.too_shallow, s.below);
            row.measured(s.time_of);
        }
        residencies.merge(&s.residencies);
    }
    let finish = |(state, (mut row, residencies)): (u32, (Row, Histogram))| {
        row.state = state;
        row.residencies = residencies.quantile(500).zip(residencies.quantile(990));
        if let Some((table, disabled)) = table
            && let Some(s) = table.states().get(state as usize)
        {
            row.name = Some(s.name.clone()).filter(|n| !n.is_empty());
            row.exit_latency_us = u64::try_from(s.latency / 1_000).ok();
            row.target_residency_us = u64::try_from(s.residency / 1_000).ok();
            row.disabled_on_cpus = if disabled.has(state as usize) { cpus.len() as u32 } else { 0 };
        }
        row
    };
    let rows = sums.into_iter().map(finish).collect();
    Section { cpus, states: rows, doubts: Vec::new() }
}

/// Sums over sections.
pub fn totals(sections: &[Section]) -> Totals {
    let mut t = Totals::default();
    for r in sections.iter().flat_map(|s| &s.states) {
        t.sleeps = t.sleeps.saturating_add(r.sleeps.unwrap_or(0));
        t.time = t.time.saturating_add(r.time_ns.unwrap_or(0));
        t.too_deep = t.too_deep.saturating_add(r.too_deep.unwrap_or(0));
        t.too_shallow = t.too_shallow.saturating_add(r.too_shallow.unwrap_or(0));
    }
    t
}

/// What to attack first: the state whose misses lasted longest, or where some are
/// refused more often than entered, the one refused most often for each of its CPUs.
///
/// Sleeps of a trace are taken by their own lengths. Counters do not say them: a sleep
/// that was too deep was shorter than the target residency, and those that were too
/// shallow are taken to last as long as the others in the state, which is too little.
pub fn finding(sections: &[Section]) -> Finding {
    let found = by_counters(sections);
    let shut = |(i, s): (usize, &Section)| s.deepest_disabled().map(|at| (i, at));
    match (&found, sections.iter().enumerate().find_map(shut)) {
        (Finding::Fits | Finding::Unknown, Some(at)) => Finding::Disabled { at },
        _ => found,
    }
}

fn by_counters(sections: &[Section]) -> Finding {
    let all = totals(sections).time;
    let rows = || {
        sections
            .iter()
            .enumerate()
            .flat_map(|(i, s)| s.states.iter().enumerate().map(move |(j, r)| ((i, j), r)))
    };
    let refused = |r: &Row| (r.rejected.unwrap_or(0), r.sleeps.unwrap_or(0));
    let of_a_cpu = |(at, r): &((usize, usize), &Row)| {
        let cpus = sections[at.0].cpus.len().max(1) as u64;
        (refused(r).0 / cpus, refused(r).0)
    };
    let shut = || rows().filter(|(_, r)| refused(r).0 > refused(r).1);
    // Between equals the first stays.
    let worst = shut().reduce(|a, b| if of_a_cpu(&b) > of_a_cpu(&a) { b } else { a });
    if let Some((at, r)) = worst {
        let (count, of) = refused(r);
        return Finding::Rejected { at, count, of, others: shut().count() - 1 };
    }
    if rows().all(|(_, r)| r.too_deep.is_none() && r.too_shallow.is_none()) {
        return Finding::Unknown;
    }
    if rows().all(|(_, r)| r.sleeps.is_none() && r.missed_time.is_none()) {
        let missed = |r: &Row| (r.too_deep.unwrap_or(0), r.too_shallow.unwrap_or(0));
        let sum = |r: &Row| missed(r).0.saturating_add(missed(r).1);
        let most = rows().reduce(|a, b| if sum(b.1) > sum(a.1) { b } else { a });
        return most.map_or(Finding::Unknown, |(at, r)| {
            let (too_deep, too_shallow) = missed(r);
            Finding::Counted { at, too_deep, too_shallow }
        });
    }
    let mut best = (0, Finding::Fits);
    for (at, r) in rows() {
        let (of, spent) = (r.sleeps.unwrap_or(0), r.time_ns.unwrap_or(0));
        let part = |count: u64| {
            (u128::from(spent) * u128::from(count.min(of)) / u128::from(of.max(1))) as u64
        };
        let (deep, shallow) = (r.too_deep.unwrap_or(0), r.too_shallow.unwrap_or(0));
        let short = r.target_residency_us.map_or(u64::MAX, |us| us.saturating_mul(1_000));
        let time = match r.missed_time {
            Some([time, _]) => time,
            None => short.saturating_mul(deep).min(part(deep)),
        };
        if time > best.0 {
            best = (time, Finding::TooDeep { at, count: deep, of, time });
        }
        let time = r.missed_time.map_or_else(|| part(shallow), |t| t[1]);
        if time > best.0 {
            best = (time, Finding::TooShallow { at, count: shallow, of, time });
        }
    }
    if u128::from(best.0) * 1_000 < u128::from(all) * u128::from(LITTLE) || best.0 == 0 {
        return untimed(sections).unwrap_or(Finding::Fits);
    }
    best.1
}

/// Of states whose time nobody counted, the one with the most misses: no share of idle time is
/// known of them, and none is next to nothing for that.
fn untimed(sections: &[Section]) -> Option<Finding> {
    let mut most: Option<(u64, Finding)> = None;
    for (i, s) in sections.iter().enumerate() {
        for (j, r) in s.states.iter().enumerate() {
            let of = r.sleeps.unwrap_or(0);
            if of == 0 || r.time_ns.is_some() || r.missed_time.is_some() {
                continue;
            }
            let (at, time) = ((i, j), 0);
            let count = r.too_deep.unwrap_or(0);
            let deep = (count, Finding::TooDeep { at, count, of, time });
            let count = r.too_shallow.unwrap_or(0);
            let shallow = (count, Finding::TooShallow { at, count, of, time });
            for one in [deep, shallow] {
                if one.0 > most.as_ref().map_or(0, |m| m.0) {
                    most = Some(one);
                }
            }
        }
    }
    most.map(|m| m.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_times_misses_are_judged_by_their_number() {
        let row = |state: u32, sleeps: u64, missed: [u64; 2], us: Option<u64>| Row {
            state,
            sleeps: Some(sleeps),
            too_deep: Some(missed[0]),
            too_shallow: Some(missed[1]),
            time_ns: us.map(|us| us * 1_000),
            ..Row::default()
        };
        let of = |us: Option<u64>, deep: u64| {
            let states = Vec::from([row(0, 900, [0, 30], us), row(1, 640, [deep, 0], us)]);
            finding(&[Section { cpus: Vec::from([3]), states, doubts: Vec::new() }])
        };
        let found = Finding::TooDeep { at: (0, 1), count: 480, of: 640, time: 0 };
        assert_eq!(of(None, 480), found);
        let found = Finding::TooShallow { at: (0, 0), count: 30, of: 900, time: 0 };
        assert_eq!(of(None, 4), found);
        assert!(matches!(of(Some(9_000_000), 480), Finding::TooDeep { time: 1.., .. }));
    }
}
