//! Latencies that somebody allows a CPU at most, and which of its states they forbid.

use crate::snapshot::Snapshot;

/// `pm_qos_resume_latency_us` of a CPU (drivers/base/power/sysfs.c, 6.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLimit {
    /// Line of the text, from 1.
    pub line: u64,
    /// The CPU.
    pub cpu: u32,
    /// us; of `n/a` it is 0, which allows polling alone.
    pub us: u64,
}

impl CpuLimit {
    /// What a file of the folder of `cpu` says; nothing of 0, which is no limit.
    pub fn of(line: u64, cpu: u32, value: &str) -> Option<CpuLimit> {
        let us = match value {
            "n/a" => 0,
            value => value.parse().ok().filter(|us| *us > 0)?,
        };
        Some(CpuLimit { line, cpu, us })
    }

    /// The shallowest state that takes longer to leave, with how long, us: governors pass over
    /// it and what is deeper (drivers/cpuidle/governor.c:cpuidle_governor_latency_req).
    pub fn forbids<'a>(&self, snapshots: &'a [Snapshot]) -> Option<(&'a str, u64)> {
        let own = snapshots.iter().find_map(|s| s.cpus.get(&self.cpu));
        let states = own.or_else(|| snapshots.iter().find_map(|s| s.cpus.values().next()))?;
        let over = |s: &'a crate::snapshot::StateSeen| {
            Some((s.name.as_deref()?, s.latency.filter(|l| *l > self.us)?))
        };
        states.values().find_map(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::StateSeen;
    use std::collections::BTreeMap;

    #[test]
    fn a_limit_forbids_what_takes_longer_to_leave() {
        let state = |(i, (name, us)): (u32, (&str, u64))| {
            (i, StateSeen { name: Some(name.into()), latency: Some(us), ..StateSeen::default() })
        };
        let states = (0..).zip([("WFI", 1), ("core", 90), ("cluster", 700)]).map(state).collect();
        let dump = [Snapshot { cpus: BTreeMap::from([(3, states)]), ..Snapshot::default() }];
        let of = |v| CpuLimit::of(1, 3, v);
        assert_eq!(of("100").expect("a limit").forbids(&dump), Some(("cluster", 700)));
        assert_eq!(of("n/a").expect("a limit").forbids(&dump), Some(("WFI", 1)));
        assert_eq!(of("900").expect("a limit").forbids(&dump), None);
        assert_eq!(of("0"), None);
    }
}
