//! Attempts to probe that ended badly or cost time.

use crate::case::Case;
use crate::fact::{Fact, Finding};
use crate::name::provides;
use crate::probe::{Outcome, Provider};
use crate::report::Report;
use crate::root::Cause;
use dormouse_base::finding::{Confidence, Level};
use std::collections::{BTreeMap, BTreeSet};

/// An attempt that the core stops takes 2 us; one that switches a domain for nothing
/// takes milliseconds.
const COSTLY_US: u64 = 1_000;

/// `-ETIMEDOUT`: the device did not answer, or its provider never came.
const TIMED_OUT: i32 = -110;

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    gave_up(case, out);
    failed(case, report, out);
    costly(case, out);
}

/// Attempts that gave up on a provider, by what the stack says that it is.
fn gave_up(case: &Case, out: &mut Vec<Finding>) {
    let timed_out: BTreeSet<&str> = case
        .probes
        .iter()
        .filter(|p| p.outcome == Outcome::Failed(TIMED_OUT))
        .map(|p| p.device.as_str())
        .collect();
    let mut seen = BTreeSet::new();
    let mut by: BTreeMap<Option<Provider>, Vec<usize>> = BTreeMap::new();
    for (i, p) in case.probes.iter().enumerate().filter(|(_, p)| p.outcome == Outcome::GaveUp) {
        if seen.insert(p.device.as_str()) {
            by.entry(p.asked.as_ref().map(|(p, _)| *p)).or_default().push(i);
        }
    }
    for places in by.values() {
        let probes = || places.iter().map(|&i| &case.probes[i]);
        let devices: Vec<String> = probes().map(|p| p.device.clone()).collect();
        let failed = devices.iter().filter(|d| timed_out.contains(d.as_str())).count();
        let level = if failed > 0 { Level::Broken } else { Level::Risk };
        let on = case.probes[places[0]].asked.clone();
        let fact = Fact::GaveUp { devices, failed, on };
        let evidence = probes().take(3).map(|p| p.evidence.clone()).collect();
        out.push(Finding::new("provider-missing", level, Confidence::Certain, fact, evidence));
    }
}

/// Probes that failed for good, beside those that a waiting device names: a time-out, a
/// part that its whole could not bind, and a provider before devices that wait without a
/// reason. Other errors may mean that a part is not fitted.
fn failed(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    let told: BTreeSet<&str> = report
        .roots
        .iter()
        .filter_map(|r| match &r.cause {
            Cause::Device { name, .. } | Cause::Brother { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .chain(case.probes.iter().filter(|p| p.outcome == Outcome::GaveUp).map(|p| &*p.device))
        .collect();
    let unsaid = report.roots.iter().filter(|r| matches!(r.cause, Cause::Unsaid { hint: None }));
    let waiting: usize = unsaid.map(|r| r.at.len() + r.behind.len()).sum();
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, p) in case.probes.iter().enumerate() {
        match p.outcome {
            Outcome::Failed(_) => drop(last.insert(&p.device, i)),
            Outcome::Bound => drop(last.remove(p.device.as_str())),
            _ => {}
        }
    }
    let mut places: Vec<usize> = last.into_values().collect();
    places.sort_unstable();
    for p in places.into_iter().map(|i| &case.probes[i]).filter(|p| !told.contains(&*p.device)) {
        let Outcome::Failed(error) = p.outcome else { continue };
        let needed = provides(&p.device) && waiting > 0;
        let confidence = match error {
            TIMED_OUT => Confidence::Certain,
            _ if p.part_of.is_some() => Confidence::Certain,
            _ if needed => Confidence::Likely,
            _ => continue,
        };
        let fact = Fact::ProbeFailed {
            device: p.device.clone(),
            driver: p.driver.clone(),
            error,
            part_of: p.part_of.clone(),
            waiting,
        };
        let own = case.lives.iter().find(|l| l.device == p.device).and_then(|l| l.failure.clone());
        let own = own.filter(|e| e.line != p.evidence.line);
        let evidence = [p.evidence.clone()].into_iter().chain(own).collect();
        out.push(Finding::new("probe-failed", Level::Broken, confidence, fact, evidence));
    }
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
        out.push(Finding::new("attempts-costly", Level::Slow, Confidence::Certain, fact, evidence));
    }
}
