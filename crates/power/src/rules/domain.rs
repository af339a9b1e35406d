//! Domains that are on, and why (drivers/pmdomain/core.c:genpd_power_off, 6.12).
//!
//! A device without runtime power management never lets its domain go; that is
//! often meant so. A domain whose devices are all suspended, or whose children are
//! all off, has no reason in the table: `stay_on` until sync_state (6.17 on), a
//! flag, a child that is not in its deepest state, or the user of a moment ago.

use crate::case::Case;
use crate::domain::{Dump, Status};
use crate::fact::{Fact, Finding};
use crate::report::Report;
use dormouse_base::finding::{Confidence, Evidence, Level};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    on(case, report, out);
    differs(case, out);
    for a in &case.attachments {
        let fact = Fact::AttachFailed {
            device: a.device.clone(),
            domain: a.domain.clone(),
            error: a.error.clone(),
        };
        let evidence = [a.evidence.clone()].into();
        out.push(Finding::new("domain-attach", Level::Broken, Confidence::Certain, fact, evidence));
    }
    let mut told = BTreeSet::new();
    for u in &case.unswitched {
        if told.insert((&u.device, &u.domain)) {
            let fact = Fact::Unswitched { device: u.device.clone(), domain: u.domain.clone() };
            let evidence = [u.evidence.clone()].into();
            out.push(Finding::new(
                "domain-irq-safe",
                Level::Risk,
                Confidence::Certain,
                fact,
                evidence,
            ));
        }
    }
    for t in case.states.iter().filter(|t| t.shallow_only()) {
        let fact = Fact::ShallowOnly { domain: t.domain.clone(), states: t.states.len() };
        let line = Evidence { line: t.line, time: None, text: t.text.clone(), doubtful: false };
        let evidence = [line].into();
        out.push(Finding::new("domain-shallow", Level::Risk, Confidence::Likely, fact, evidence));
    }
    let mut told = BTreeSet::new();
    for (what, evidence) in &case.ignored {
        if told.insert(*what) {
            let evidence = [evidence.clone()].into();
            let fact = Fact::LeftOn { what: *what };
            out.push(Finding::new("left-on", Level::Note, Confidence::Certain, fact, evidence));
        }
    }
    latencies(case, out);
}

fn on(case: &Case, report: &Report, out: &mut Vec<Finding>) {
    let off_at_last: BTreeSet<&str> = case.dumps.last().map_or(BTreeSet::new(), |d| {
        let off = d.domains.iter().filter(|d| d.status != Status::On);
        off.map(|d| d.name.as_str()).collect()
    });
    let mut told = BTreeSet::new();
    let (mut empty, mut empty_lines) = (Vec::new(), Vec::new());
    let (mut never, mut never_lines) = (Vec::new(), Vec::new());
    for (dump, held) in case.dumps.iter().zip(&report.held) {
        for (d, held) in dump.domains.iter().zip(held) {
            if d.status != Status::On || !told.insert(d.name.as_str()) {
                continue;
            }
            for &i in &held.failed {
                let device = d.devices[i].name().to_string();
                let fact = Fact::DeviceError { domain: d.name.clone(), device };
                let evidence = [d.evidence()].into();
                out.push(Finding::new(
                    "device-error",
                    Level::Risk,
                    Confidence::Certain,
                    fact,
                    evidence,
                ));
            }
            if held.only_unsupported() {
                let names =
                    held.unsupported.iter().map(|&i| d.devices[i].name().to_string()).collect();
                never.push((d.name.clone(), names));
                never_lines.push(d.evidence());
            } else if held.explained() || held.unseen {
                // Somebody uses it, or what would tell is not shown.
            } else if d.devices.is_empty() && d.children.is_empty() {
                empty.push(d.name.clone());
                empty_lines.push(d.evidence());
            } else {
                let fact = Fact::OnUnused {
                    domain: d.name.clone(),
                    devices: d.devices.len(),
                    children: d.children.clone(),
                    later_off: off_at_last.contains(d.name.as_str()),
                };
                let evidence = [d.evidence()].into();
                out.push(Finding::new(
                    "domain-unused",
                    Level::Risk,
                    Confidence::Certain,
                    fact,
                    evidence,
                ));
            }
        }
        for d in dump.domains.iter().filter(|d| d.status != Status::On) {
            use crate::domain::Runtime::Error;
            for device in d.devices.iter().filter(|device| device.runtime == Error) {
                if !told.insert(device.name()) {
                    continue;
                }
                let device = device.name().to_string();
                let fact = Fact::DeviceError { domain: d.name.clone(), device };
                let evidence = [d.evidence()].into();
                out.push(Finding::new(
                    "device-error",
                    Level::Risk,
                    Confidence::Certain,
                    fact,
                    evidence,
                ));
            }
        }
    }
    if !never.is_empty() {
        never_lines.truncate(3);
        let fact = Fact::NeverSuspends { domains: never };
        out.push(Finding::new(
            "domain-never-suspends",
            Level::Note,
            Confidence::Certain,
            fact,
            never_lines,
        ));
    }
    if !empty.is_empty() {
        empty_lines.truncate(3);
        let fact = Fact::OnEmpty { domains: empty };
        out.push(Finding::new("domain-empty", Level::Note, Confidence::Guess, fact, empty_lines));
    }
}

fn words(status: Status) -> String {
    match status {
        Status::On => "on".into(),
        Status::Off(None) => "off".into(),
        Status::Off(Some(state)) => format!("off-{state}"),
    }
}

/// Two tables are of one machine if most of their domains have the same names.
fn alike(a: &Dump, b: &Dump) -> bool {
    let names: BTreeSet<&str> = a.domains.iter().map(|d| d.name.as_str()).collect();
    let common = b.domains.iter().filter(|d| names.contains(d.name.as_str())).count();
    common * 2 > names.len().max(b.domains.len())
}

/// What changed from the first table to the last.
fn differs(case: &Case, out: &mut Vec<Finding>) {
    let [first, .., last] = case.dumps.as_slice() else { return };
    if !alike(first, last) {
        return;
    }
    let before: BTreeMap<&str, usize> =
        first.domains.iter().enumerate().map(|(i, d)| (d.name.as_str(), i)).collect();
    let (mut changes, mut evidence) = (Vec::new(), Vec::new());
    for d in &last.domains {
        let Some(&was) = before.get(d.name.as_str()) else { continue };
        let was = &first.domains[was];
        if was.status != d.status {
            changes.push((d.name.clone(), words(was.status), words(d.status)));
            if evidence.len() < 4 {
                evidence.extend([was.evidence(), d.evidence()]);
            }
        }
    }
    if !changes.is_empty() {
        let fact = Fact::Differs { changes };
        out.push(Finding::new("tables-differ", Level::Note, Confidence::Certain, fact, evidence));
    }
}

fn latencies(case: &Case, out: &mut Vec<Finding>) {
    let mut last = BTreeMap::new();
    for l in &case.latencies {
        last.insert((l.domain.as_str(), l.off), l.took);
    }
    let Some(first) = case.latencies.first() else { return };
    let switches = last.into_iter().map(|((d, off), t)| (d.to_string(), off, t)).collect();
    let fact = Fact::LatencyExceeded { switches };
    let evidence = [first.evidence.clone()].into();
    out.push(Finding::new("domain-latency", Level::Note, Confidence::Certain, fact, evidence));
}
