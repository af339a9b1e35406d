//! Attempts to probe that ended badly or cost time.

use super::found;
use crate::fact::{Fact, Finding};
use crate::probe::Outcome;
use crate::{Case, Report};
use dormouse_base::finding::{Confidence, Level};
use std::collections::{BTreeMap, BTreeSet};

/// An attempt that the core stops takes 2 us; one that switches a domain for nothing
/// takes milliseconds.
const COSTLY_US: u64 = 1_000;

pub fn judge(case: &Case, _: &Report, out: &mut Vec<Finding>) {
    let of = |o: fn(Outcome) -> bool| case.probes.iter().filter(move |p| o(p.outcome));
    let mut seen = BTreeSet::new();
    let (mut devices, mut evidence) = (Vec::new(), Vec::new());
    for p in of(|o| o == Outcome::GaveUp).filter(|p| seen.insert(p.device.as_str())) {
        devices.push(p.device.clone());
        if evidence.len() < 3 {
            evidence.push(p.evidence.clone());
        }
    }
    if !devices.is_empty() {
        let failed: BTreeSet<&str> =
            of(|o| o == Outcome::Failed(-110)).map(|p| p.device.as_str()).collect();
        let failed = seen.intersection(&failed).count();
        let level = if failed > 0 { Level::Broken } else { Level::Risk };
        let fact = Fact::GaveUp { devices, failed };
        out.push(found("provider-missing", level, Confidence::Certain, fact, evidence));
    }
    costly(case, out);
}

fn costly(case: &Case, out: &mut Vec<Finding>) {
    let mut by: BTreeMap<&str, (usize, u64, usize)> = BTreeMap::new();
    for (i, p) in case.probes.iter().enumerate() {
        if let (Outcome::Deferred, Some(us)) = (p.outcome, p.took_us) {
            let (n, sum, _) = by.entry(&p.device).or_insert((0, 0, i));
            *n += 1;
            *sum = sum.saturating_add(us);
        }
    }
    let mut costly: Vec<_> = by.into_iter().filter(|(_, (_, us, _))| *us >= COSTLY_US).collect();
    costly.sort_by_key(|(_, (_, us, _))| std::cmp::Reverse(*us));
    for (device, (attempts, us, first)) in costly.into_iter().take(3) {
        let fact = Fact::CostlyAttempts { device: device.to_string(), attempts, us };
        let evidence = [case.probes[first].evidence.clone()].into();
        out.push(found("attempts-costly", Level::Slow, Confidence::Certain, fact, evidence));
    }
}
