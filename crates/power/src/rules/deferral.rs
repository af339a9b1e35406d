//! Devices that do not probe, by what holds them up in the end.

use super::found::{Found, found};
use crate::case::Case;
use crate::deferral::{Need, Source};
use crate::report::Report;
use crate::root::{Cause, Fate, Root};
use crate::say::{cause, verb};
use dormouse_base::finding::{Area, Confidence, Finding, Level};
use dormouse_base::say::names;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Found>) {
    let of = report.roots.iter().map(Root::weight).fold(0, u64::saturating_add);
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
        let finding = Finding::new((id, Area::Probe, level), confidence)
            .says(waits(r, of))
            .look(advice(&r.cause))
            .shown_by(r.evidence.clone());
        let is_failure =
            matches!(r.cause, Cause::Device { fate: Fate::Failed(_), .. } | Cause::Brother { .. });
        out.push(Found { finding, is_failure, weight: r.weight() });
    }
    probing(case, report, out);
    one_try(case, report, out);
}

/// Who waits for it, of so many waits in all.
fn waits(root: &Root, of: u64) -> String {
    if root.times > 0 && root.at.is_empty() {
        return format!("{} of {of} counted waits are for {}.", root.times, cause(&root.cause));
    }
    let n = root.at.len();
    let wait = match root.attempts_only {
        true => verb(n, "was turned away and waited", "were turned away and waited"),
        false => verb(n, "waits", "wait"),
    };
    let behind = match root.behind.len() {
        0 => String::new(),
        n => format!(" {} more {} for those.", n, verb(n, "waits", "wait")),
    };
    format!("{} {wait} for {}.{behind}", names(&root.at), cause(&root.cause))
}

fn advice(cause: &Cause) -> String {
    match cause {
        Cause::Device { fate: Fate::Failed(_), .. } => {
            "Mend the supplier: its error stands in the log.".into()
        }
        Cause::Device { name, .. } => format!(
            "See that the driver of {name} is built and in the image: cat /sys/devices/…/{name}/modalias."
        ),
        Cause::Node { .. } => "See which driver should make a device of that node, and whether one \
                               should: a part of another device (a partition, a group of pins) never \
                               becomes one."
            .into(),
        Cause::Lost => "Give /sys/kernel/debug/devices_deferred as it is: the line ends before the \
                        name."
            .into(),
        Cause::Own { .. } => "Search the driver for that text: the line before it asks for what is \
                              missing."
            .into(),
        Cause::Parts { .. } => "Look at the parts first: this is a consequence.".into(),
        Cause::Brother { name, .. } => format!(
            "See why {name} failed: its error stands in the log, and its brothers ask for the same."
        ),
        Cause::Unsaid { .. } => "Look in the log for what its driver says before: it gives the core no \
                                 reason (dev_err_probe would).".into(),
        Cause::Loop | Cause::Part { .. } => {
            "No kernel parameter helps: make one need optional, or split a provider.".into()
        }
    }
}

fn lives(case: &Case) -> BTreeMap<&str, usize> {
    case.lives.iter().enumerate().map(|(i, l)| (l.device.as_str(), i)).collect()
}

/// Suppliers that were asked for while their own probe ran: their driver had
/// spoken, and no probe of theirs had ended. Usually a child needs its parent.
fn probing(case: &Case, report: &Report, out: &mut Vec<Found>) {
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
        let rest = match devices.iter().filter(|d| waiting.contains(*d)).count() {
            0 => " All of them were seen with a driver later.".to_string(),
            n => format!(" No driver was seen for {n} of them later."),
        };
        let devices: Vec<String> = devices.into_iter().map(str::to_string).collect();
        let f = Finding::new(("supplier-probing", Area::Probe, Level::Risk), Confidence::Likely)
            .says(format!(
                "{} asked for {name} while its driver {} was still probing: perhaps they are its \
                 own children.{rest}",
                names(&devices),
                life.driver
            ))
            .look(
                "A child that needs what its parent offers (an interrupt, a clock) can only probe \
                 when the parent's probe is over: the parent has to add its children last.",
            )
            .shown_by(evidence.chain(lines));
        out.push(found(f));
    }
}

/// A device that was turned away once for a supplier that a driver took later, and
/// of which no line speaks again: its driver may only try once
/// (drivers/base/platform.c:__platform_driver_probe).
fn one_try(case: &Case, report: &Report, out: &mut Vec<Found>) {
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
        let (n, devices) = (devices.len(), names(&devices));
        let f = Finding::new(("one-try", Area::Probe, Level::Risk), Confidence::Guess)
            .says(format!(
                "{devices} {} turned away once for {name}, which came later, and {} not seen again: \
                 a driver that only tries once would do that.",
                verb(n, "was", "were"),
                verb(n, "was", "were"),
            ))
            .look(
                "See whether its driver is registered with builtin_platform_driver_probe or __init \
                 probe: such a driver cannot wait.",
            )
            .shown_by(r.evidence.iter().cloned().chain(spoke));
        out.push(found(f));
    }
}
