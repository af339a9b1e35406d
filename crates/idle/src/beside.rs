//! Two measurements of one kind beside each other, and what changed most.

use crate::section::{Section, of_snapshot};
use crate::snapshot::Snapshot;
use crate::tally::Sleeps;
use crate::turbostat::Run;
use serde::Serialize;

/// How a machine spent its time, whatever counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// What it is called.
    pub label: String,
    /// Parts of the time by name, thousandths of a per cent.
    pub shares: Vec<(String, i64)>,
    /// Mean power of the package, thousandths of a watt.
    pub power: Option<i64>,
    /// Marks of a mail before it: somebody wrote it whom this mail quotes.
    pub quotes: usize,
    /// The machine, if a prompt names it.
    pub host: Option<String>,
}

/// A part of the time that two measurements have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// What: `work`, a state.
    pub name: String,
    /// In the first and in the second, thousandths of a per cent.
    #[serde(rename = "thousandths")]
    pub shares: [i64; 2],
}

impl Moved {
    /// The second less the first.
    pub fn change(&self) -> i64 {
        self.shares[1] - self.shares[0]
    }
}

/// Two measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// What they are called.
    pub labels: [String; 2],
    /// Parts of the time that both have, what changed most first.
    pub moved: Vec<Moved>,
    /// Mean power of the package, thousandths of a watt, where both report it.
    #[serde(rename = "power_thousandths")]
    pub power: Option<[i64; 2]>,
    /// Parts of the time that one of them alone has.
    pub alone: Vec<String>,
    /// One stands deeper in a mail's quotes than the other: two people wrote them, and nothing
    /// says that they are of one machine.
    pub of_two_writers: bool,
    /// Prompts name two machines: they are no before and after.
    pub of_two_machines: bool,
    /// They are dumps of two tables or of CPUs that are not the same: no before and after.
    #[serde(skip)]
    pub of_two_tables: bool,
}

/// A change that somebody sees, thousandths of a per cent. Ours.
const SEEN: i64 = 20_000;

/// Shares that differ by no more than this are alike, thousandths of a per cent. Ours.
const ALIKE: i64 = 2_000;

impl Beside {
    fn of(&self, name: &str) -> Option<&Moved> {
        self.moved.iter().find(|m| m.name == name)
    }

    /// The work of both, if it alone can explain what differs.
    pub fn load(&self) -> Option<&Moved> {
        self.of("work").filter(|m| m.change().abs() >= SEEN)
    }

    /// The state of cores that stayed as it was while the package's changed: no CPU keeps it.
    pub fn not_by_cpus(&self) -> Option<&Moved> {
        let package = |m: &&Moved| m.name.starts_with("Pk") && m.change().abs() >= SEEN;
        let cores = self.moved.iter().filter(|m| m.name.starts_with("CPU%c"));
        let deepest = cores.max_by_key(|m| m.shares[0])?;
        let still = |m: &Moved| m.change().abs() <= ALIKE;
        let worked = self.of("work").is_none_or(still);
        (self.moved.iter().any(|m| package(&m)) && still(deepest) && worked).then_some(deepest)
    }
}

/// What `a` and `b` say, what changed most first; nothing if they have no share in
/// common.
pub fn beside(a: &Measurement, b: &Measurement) -> Option<Beside> {
    let of = |m: &Measurement, name: &str| m.shares.iter().find(|s| s.0 == name).map(|s| s.1);
    let both = |(name, was): &(String, i64)| {
        Some(Moved { name: name.clone(), shares: [*was, of(b, name)?] })
    };
    let mut moved: Vec<Moved> = a.shares.iter().filter_map(both).collect();
    if moved.is_empty() {
        return None;
    }
    // Between equals the order of the table stays.
    moved.sort_by_key(|m| std::cmp::Reverse(m.change().abs()));
    let lacks = |m: &Measurement, s: &&(String, i64)| of(m, &s.0).is_none();
    let alone = a.shares.iter().filter(|s| lacks(b, s));
    let alone = alone.chain(b.shares.iter().filter(|s| lacks(a, s))).map(|s| s.0.clone());
    Some(Beside {
        labels: [a.label.clone(), b.label.clone()],
        moved,
        power: a.power.zip(b.power).map(|(a, b)| [a, b]),
        alone: alone.collect(),
        of_two_writers: a.quotes != b.quotes,
        of_two_machines: a.host.as_ref().zip(b.host.as_ref()).is_some_and(|(a, b)| a != b),
        of_two_tables: false,
    })
}

/// Two measurements of one kind, where there are just two: tables of turbostat,
/// traces, or dumps that are no pair.
pub fn just_two(runs: &[Run], traces: &[Sleeps], dumps: &[Snapshot], pair: bool) -> Option<Beside> {
    let of: Vec<Measurement> = match (runs, traces, dumps) {
        ([_, _], ..) => runs.iter().map(Measurement::of_run).collect(),
        (_, [_, _], _) => traces.iter().map(Measurement::of_trace).collect(),
        (_, [], [_, _]) if !pair => dumps.iter().map(Measurement::of_snapshot).collect(),
        _ => return None,
    };
    let dumped = runs.len() != 2 && traces.is_empty();
    let of_two_tables = dumped && dumps[1].since(&dumps[0]).is_err();
    Some(Beside { of_two_tables, ..beside(&of[0], &of[1])? })
}

/// A part of the whole, thousandths of a per cent, rounded.
fn share(part: i128, whole: i128) -> i64 {
    let n = (part * 200_000 + whole) / (2 * whole.max(1));
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Measurement {
    /// Means of a table of turbostat.
    pub fn of_run(run: &Run) -> Measurement {
        let mut shares: Vec<(String, i64)> = Vec::new();
        shares.extend(run.work().map(|w| ("work".into(), w)));
        let hardware = run.columns.iter().filter(|c| c.starts_with("CPU%c")).map(String::as_str);
        let kernel = run.states();
        let package = run.package_states().into_iter().chain(run.platform_states());
        for c in kernel.iter().copied().chain(hardware).chain(package) {
            let name = if kernel.contains(&c) { c.trim_end_matches('%') } else { c };
            shares.extend(run.mean(c).map(|m| (name.into(), m)));
        }
        let label = run.caption.as_ref().unwrap_or(&run.label).clone();
        let host = run.host.clone();
        Measurement { label, shares, power: run.power(), quotes: run.quotes, host }
    }

    /// Shares of idle time that counters say.
    pub fn of_snapshot(s: &Snapshot) -> Measurement {
        let sections = of_snapshot(s);
        let rows = || sections.iter().flat_map(|s| &s.states);
        let all: i128 = rows().filter_map(|r| r.time_ns).map(i128::from).sum();
        let mut shares: Vec<(String, i64)> = Vec::new();
        // A share needs all rows of its table.
        for r in rows().filter(|_| all > 0 && sections.iter().all(Section::has_all_times)) {
            let (Some(name), Some(time)) = (&r.name, r.time_ns) else { continue };
            let part = share(i128::from(time), all);
            match shares.iter_mut().find(|s| s.0 == *name) {
                Some(s) => s.1 += part,
                None => shares.push((name.clone(), part)),
            }
        }
        Measurement { label: s.label.clone(), shares, ..Measurement::default() }
    }

    /// Shares of the time of all CPUs of a trace.
    pub fn of_trace(t: &Sleeps) -> Measurement {
        let span = t.tally.span.map_or(0, |(a, b)| i128::from(b) - i128::from(a));
        let all = span * t.tally.cpus.len() as i128;
        let mut shares: Vec<(String, i64)> = Vec::new();
        for s in crate::section::of_trace(t).iter().flat_map(|s| &s.states) {
            let name = s.name.clone().unwrap_or_else(|| format!("state {}", s.state));
            let part = share(i128::from(s.time_ns.unwrap_or(0)), all);
            match shares.iter_mut().find(|s| s.0 == name) {
                Some(s) => s.1 += part,
                None => shares.push((name, part)),
            }
        }
        let shares = if all > 0 { shares } else { Vec::new() };
        Measurement { label: t.name.clone(), shares, ..Measurement::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_most_comes_first() {
        let m = |label: &str, shares: &[(&str, i64)], power| Measurement {
            label: label.into(),
            shares: shares.iter().map(|s| (s.0.into(), s.1)).collect(),
            power,
            ..Measurement::default()
        };
        let a = m("a", &[("work", 2_000), ("C1", 30_000), ("C6", 68_000)], Some(900));
        let b = m("b", &[("work", 3_000), ("C6", 60_000), ("C8", 37_000)], None);
        let found = beside(&a, &b).expect("two shares in common");
        let order: Vec<_> = found.moved.iter().map(|m| (m.name.as_str(), m.change())).collect();
        assert_eq!(order, [("C6", -8_000), ("work", 1_000)]);
        assert_eq!((found.power, found.alone), (None, vec!["C1".into(), "C8".to_owned()]));
        assert_eq!(beside(&a, &m("c", &[("C9", 1)], Some(1))), None);
    }
}
