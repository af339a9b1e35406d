//! Devices that do not probe, by what holds them up in the end.

use crate::case::Case;
use crate::deferral::{Need, Source};
use crate::fact::{Fact, Finding};
use crate::report::Report;
use crate::root::{Cause, Fate, Root};
use dormouse_base::finding::{Confidence, Level};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    let of = report.roots.iter().map(Root::weight).fold(0, u64::saturating_add);
    let pending = case.deferrals.iter().rev().find(|d| d.source == Source::Pending);
    let at = pending.and_then(|d| d.evidence.time);
    let most = report.roots.iter().map(|r| r.times).max().unwrap_or(0);
    for r in &report.roots {
        let (id, mut confidence) = match &r.cause {
            Cause::Device { fate: Fate::Failed(_), .. } => ("supplier-failed", Confidence::Certain),
            Cause::Device { .. } => ("supplier-missing", Confidence::Certain),
            Cause::Node { .. } => ("supplier-no-device", Confidence::Certain),
            Cause::Lost => ("supplier-unnamed", Confidence::Certain),
            Cause::Own { .. } => ("probe-waits", Confidence::Certain),
            Cause::Parts { .. } => ("card-waits", Confidence::Likely),
            Cause::Brother { .. } => ("brother-failed", Confidence::Likely),
            Cause::Unsaid { hint: Some(_) } => ("probe-failure-near", Confidence::Likely),
            Cause::Unsaid { hint: None } => ("probe-waits-unsaid", Confidence::Certain),
            Cause::Loop => ("probe-loop", Confidence::Certain),
            Cause::Part { .. } => ("probe-loop", Confidence::Likely),
        };
        let mut level = Level::Broken;
        if r.attempts_only && r.times == 0 {
            // The log may end, or be cut, before the attempt that succeeded. What a driver
            // says once or twice in words of its own is part of every boot.
            let tries = |d: &String| case.deferrals.iter().filter(|x| x.device == *d).count();
            let usual = matches!(r.cause, Cause::Own { .. }) && r.at.iter().all(|d| tries(d) < 3);
            level = if usual { Level::Note } else { Level::Risk };
            confidence = Confidence::Guess;
        } else if r.times > 0 {
            confidence = Confidence::Likely;
            // Beside one that explains ten times as much, it is one of its victims.
            if r.at.is_empty() && r.times.saturating_mul(10) <= most {
                (level, confidence) = (Level::Note, Confidence::Guess);
            }
        }
        if matches!(r.cause, Cause::Parts { .. }) {
            level = Level::Risk;
        }
        let fact = Fact::Waits { root: r.clone(), of, at };
        out.push(Finding::new(id, level, confidence, fact, r.evidence.clone()));
    }
    probing(case, report, out);
    one_try(case, report, out);
}

fn lives(case: &Case) -> BTreeMap<&str, usize> {
    case.lives.iter().enumerate().map(|(i, l)| (l.device.as_str(), i)).collect()
}

/// Suppliers that were asked for while their own probe ran: their driver had
/// spoken, and no probe of theirs had ended. Usually a child needs its parent.
fn probing(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    let lives = lives(case);
    let mut deferred: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for d in &case.deferrals {
        deferred.entry(&d.device).or_default().push(d.evidence.line);
    }
    let ended: BTreeSet<&str> = case.probes.iter().map(|p| p.device.as_str()).collect();
    let waiting: BTreeSet<&str> = report
        .roots
        .iter()
        .flat_map(|r| r.at.iter().chain(&r.behind))
        .map(String::as_str)
        .collect();
    let mut by: BTreeMap<&str, (Vec<usize>, BTreeSet<&str>)> = BTreeMap::new();
    for (i, d) in case.deferrals.iter().enumerate() {
        let (Source::Attempt, Some(Need::Device(name))) = (d.source, d.need()) else { continue };
        let Some(life) = lives.get(name).map(|&i| &case.lives[i]) else { continue };
        let asked = d.evidence.line;
        // A probe that was deferred itself had spoken too, and ran no longer.
        let back =
            deferred.get(name).is_some_and(|l| l.iter().any(|&l| l > life.first && l < asked));
        if life.first < asked && !back && !ended.contains(name) {
            let (places, devices) = by.entry(name).or_default();
            places.push(i);
            devices.insert(&d.device);
        }
    }
    for (name, (places, devices)) in by {
        let life = &case.lives[lives[name]];
        let evidence = [life.evidence.clone()].into_iter();
        let lines = places.iter().take(3).map(|&i| case.deferrals[i].evidence.clone());
        let fact = Fact::BehindProbing {
            supplier: name.to_string(),
            driver: life.driver.clone(),
            waiting: devices.iter().filter(|d| waiting.contains(*d)).count(),
            devices: devices.into_iter().map(str::to_string).collect(),
        };
        let evidence = evidence.chain(lines).collect();
        out.push(Finding::new("supplier-probing", Level::Risk, Confidence::Likely, fact, evidence));
    }
}

/// A device that was turned away once for a supplier that a driver took later, and
/// of which no line speaks again: its driver may only try once
/// (drivers/base/platform.c:__platform_driver_probe).
fn one_try(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    let lives = lives(case);
    let mut tries: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, d) in case.deferrals.iter().enumerate().filter(|(_, d)| d.source == Source::Attempt) {
        tries.entry(&d.device).or_default().push(i);
    }
    for r in &report.roots {
        let Cause::Device { name, fate: Fate::Later(_) } = &r.cause else { continue };
        let once = |d: &&String| tries.get(d.as_str()).is_some_and(|t| t.len() == 1);
        let devices: Vec<String> = r.at.iter().filter(once).cloned().collect();
        if devices.is_empty() || !r.attempts_only {
            continue;
        }
        let spoke = lives.get(name.as_str()).map(|&i| case.lives[i].evidence.clone());
        let evidence = r.evidence.iter().cloned().chain(spoke).collect();
        let fact = Fact::OneTry { devices, supplier: name.clone() };
        out.push(Finding::new("one-try", Level::Risk, Confidence::Guess, fact, evidence));
    }
}
