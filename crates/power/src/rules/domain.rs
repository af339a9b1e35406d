//! Domains that are on, and why (drivers/pmdomain/core.c:genpd_power_off, 6.12).
//!
//! A device without runtime power management never lets its domain go; that is
//! often meant so. A domain whose devices are all suspended, or whose children are
//! all off, has no reason in the table: `stay_on` until sync_state (6.17 on), a
//! flag, a child that is not in its deepest state, or the user of a moment ago.

use super::found::{Found, found};
use crate::case::Case;
use crate::domain::{Domain, Dump, Status, Stuck};
use crate::probe::Outcome;
use crate::report::Report;
use crate::say::{error, verb};
use crate::state::Table;
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_base::say::{self, ms, names, plural};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Found>) {
    on(case, report, out);
    stuck(case, out);
    differs(case, out);
    for a in &case.attachments {
        let f = Finding::new(("domain-attach", Area::Domain, Level::Broken), Confidence::Certain)
            .says(format!(
                "{} could not be put into {}{}.",
                a.device,
                if a.domain.is_empty() { "its domain".into() } else { format!("domain {}", a.domain) },
                if a.error.is_empty() { String::new() } else { format!(": error {}", a.error) },
            ))
            .look(
                "The error is of the provider's attach callback: see which clock or resource of the \
                 device it asks for.",
            )
            .shown_by([a.evidence.clone()]);
        out.push(found(f));
    }
    let mut told = BTreeSet::new();
    for u in &case.unswitched {
        if told.insert((&u.device, &u.domain)) {
            let f =
                Finding::new(("domain-irq-safe", Area::Domain, Level::Risk), Confidence::Certain)
                    .says(format!(
                        "Domain {} stays on while {} is in it: the device is switched with \
                         interrupts off, which the domain cannot be.",
                        u.domain, u.device
                    ))
                    .look(
                        "Where the provider can switch with interrupts off, give its domain \
                         GENPD_FLAG_IRQ_SAFE; else take pm_runtime_irq_safe() out of the driver.",
                    )
                    .shown_by([u.evidence.clone()]);
            out.push(found(f));
        }
    }
    for t in &case.states {
        out.extend(refused(t).map(found));
    }
    for t in case.states.iter().filter(|t| t.shallow_only()) {
        let domain = if t.domain.is_empty() { "A domain" } else { &t.domain };
        let line = Evidence { line: t.line, time: None, text: t.text.clone(), doubtful: false };
        let f = Finding::new(("domain-shallow", Area::Domain, Level::Risk), Confidence::Likely)
            .says(format!(
                "{domain} has {} idle states and only went into the first.",
                t.states.len()
            ))
            .shown_by([line]);
        out.push(found(f));
    }
    let mut told = BTreeSet::new();
    for (what, evidence) in &case.ignored {
        if told.insert(*what) {
            let f = Finding::new(("left-on", Area::Domain, Level::Note), Confidence::Certain)
                .says(format!("The kernel was told to leave unused {} on.", what.name()))
                .shown_by([evidence.clone()]);
            out.push(found(f));
        }
    }
    latencies(case, out);
}

fn on(case: &Case, report: &Report, out: &mut Vec<Found>) {
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
                out.push(device_error(d, d.devices[i].name()));
            }
            if held.only_unsupported() {
                let by = held.unsupported.iter().map(|&i| d.devices[i].name().to_string());
                never.push(format!("{} ({})", d.name, names(&by.collect::<Vec<_>>())));
                never_lines.push(d.evidence());
            } else if held.explained() || held.unseen {
                // Somebody uses it, or what would tell is not shown.
            } else if d.devices.is_empty() && d.children.is_empty() {
                empty.push(d.name.clone());
                empty_lines.push(d.evidence());
            } else {
                out.push(unused(d, off_at_last.contains(d.name.as_str())));
            }
        }
        for d in dump.domains.iter().filter(|d| d.status != Status::On) {
            use crate::domain::Runtime::Error;
            for device in d.devices.iter().filter(|device| device.runtime == Error) {
                if told.insert(device.name()) {
                    out.push(device_error(d, device.name()));
                }
            }
        }
    }
    if !never.is_empty() {
        never_lines.truncate(3);
        let more = match never.len().saturating_sub(3) {
            0 => String::new(),
            n => format!(" and {}", plural(n, "more domain")),
        };
        never.truncate(3);
        let id = "domain-never-suspends";
        let f = Finding::new((id, Area::Domain, Level::Note), Confidence::Certain)
            .says(format!(
                "Devices without runtime power management alone keep on: {}{more}. That is often \
                 meant so.",
                never.join(", ")
            ))
            .shown_by(never_lines);
        out.push(found(f));
    }
    if !empty.is_empty() {
        empty_lines.truncate(3);
        let f = Finding::new(("domain-empty", Area::Domain, Level::Note), Confidence::Guess)
            .says(format!(
                "{} {} on and {} neither devices nor domains inside.",
                names(&empty),
                verb(empty.len(), "is", "are"),
                verb(empty.len(), "has", "have"),
            ))
            .shown_by(empty_lines);
        out.push(found(f));
    }
}

/// What did not switch, each by its name once. Who says so without a name speaks of the same:
/// a controller reports, then the core, then the driver of a device inside.
fn stuck(case: &Case, out: &mut Vec<Found>) {
    let mut by: BTreeMap<(&str, Option<bool>), Vec<&Stuck>> = BTreeMap::new();
    for s in &case.stuck {
        by.entry((&s.name, s.on)).or_default().push(s);
    }
    let named = by.keys().filter(|(name, _)| !name.is_empty()).count();
    let nameless: Vec<&Stuck> = case.stuck.iter().filter(|s| s.name.is_empty()).collect();
    for ((name, on), mut lines) in by {
        if name.is_empty() && named > 0 {
            continue;
        }
        if named == 1 {
            lines.extend(&nameless);
            lines.sort_by_key(|s| s.evidence.line);
        }
        let kind = if lines[0].clock { "clock" } else { "power domain" };
        let what = match name {
            "" => format!("A {kind}"),
            name => format!("The {kind} {name}"),
        };
        let way = match on {
            Some(true) => "on",
            Some(false) => "off",
            None => "as it was told",
        };
        let said = lines.iter().find_map(|s| s.error);
        let said = said.map_or(String::new(), |e| format!(": error {}", error(e)));
        let failed = |device: &str| {
            let ended = |p: &crate::probe::Probe| matches!(p.outcome, Outcome::Failed(_));
            case.probes.iter().any(|p| p.device == device && ended(p))
        };
        let mut without: Vec<String> = lines.iter().map(|s| s.device.clone()).collect();
        without.retain(|d| failed(d));
        without.dedup();
        let without = match without.len() {
            0 => String::new(),
            _ => format!(" {} failed to probe over it.", names(&without)),
        };
        let told = lines.iter().all(|s| s.told);
        let level = match on {
            _ if told => Level::Note,
            Some(false) => Level::Risk,
            _ => Level::Broken,
        };
        let says = match told {
            true => format!(
                "The text tells that {} did not switch {way}{said}: a sentence says so, and no line of a log.",
                what.replacen("The ", "the ", 1).replacen("A ", "a ", 1)
            ),
            false => format!("{what} did not switch {way}{said}.{without}"),
        };
        let f = Finding::new(("domain-stuck", Area::Domain, level), Confidence::Certain)
            .says(says)
            .look(match told {
                true => "Give the lines of the log: what a sentence tells may be over, or of another machine.",
                false => "See which clock, supply or reset its switch needs and whether firmware allows it: what is inside cannot work before.",
            })
            .shown_by(lines.iter().take(4).map(|s| s.evidence.clone()));
        out.push(Found { finding: f, is_failure: true, weight: u64::MAX });
    }
}

fn device_error(d: &Domain, device: &str) -> Found {
    let f = Finding::new(("device-error", Area::Domain, Level::Risk), Confidence::Certain)
        .says(format!(
            "Runtime power management of {device} in domain {} is in an error state.",
            d.name
        ))
        .look("Look for the first error of its driver in the kernel log.")
        .shown_by([d.evidence()]);
    found(f)
}

/// A domain whose states are refused more often than entered: its power_off callback says no
/// (drivers/pmdomain/core.c:genpd_power_off, 6.12).
fn refused(t: &Table) -> Option<Finding> {
    let (n, s) = t.states.iter().enumerate().find(|(_, s)| s.rejected > s.usage)?;
    let domain = if t.domain.is_empty() { "A domain" } else { &t.domain };
    let times = |n: u64| say::once(usize::try_from(n).unwrap_or(usize::MAX));
    let entered = match s.usage {
        0 => "never entered".to_string(),
        n => format!("entered {}", times(n)),
    };
    let line = Evidence { line: t.line, time: None, text: t.text.clone(), doubtful: false };
    Some(
        Finding::new(("domain-refused", Area::Domain, Level::Risk), Confidence::Certain)
            .says(format!("{domain} was refused its idle state S{n} {}; it was {entered}.", times(s.rejected)))
            .look(
                "The callback that switches it off says no: firmware (PSCI in OS-initiated mode), or a \
                 driver that asks for a shorter latency. See its error by tracing the domain's provider.",
            )
            .shown_by([line]),
    )
}

/// On, and nothing that the table shows uses it. What a later table says of it.
fn unused(d: &Domain, later_off: bool) -> Found {
    let mut why = Vec::new();
    match d.devices.len() {
        0 => {}
        1 => why.push("its device is suspended".to_string()),
        n => why.push(format!("its {n} devices are suspended")),
    }
    if !d.children.is_empty() {
        let is = verb(d.children.len(), "domain inside it is", "domains inside it are");
        why.push(format!("the {is} off ({})", names(&d.children)));
    }
    let later = if later_off {
        " In the last table, of a later moment or of another kernel, it is off."
    } else {
        ""
    };
    let f = Finding::new(("domain-unused", Area::Domain, Level::Risk), Confidence::Certain)
        .says(format!(
            "{} is on though nothing in the table uses it: {}.{later}",
            d.name,
            why.join(", ")
        ))
        .look(
            "Read state_synced of its provider: from 6.17 on a domain that was on at boot stays on \
             until sync_state. Else it has an always-on flag, or a domain inside it is not in its \
             deepest state (idle_states in its folder of debugfs).",
        )
        .shown_by([d.evidence()]);
    found(f)
}

/// Two tables are of one machine if most of their domains have the same names.
fn alike(a: &Dump, b: &Dump) -> bool {
    let names: BTreeSet<&str> = a.domains.iter().map(|d| d.name.as_str()).collect();
    let common = b.domains.iter().filter(|d| names.contains(d.name.as_str())).count();
    common * 2 > names.len().max(b.domains.len())
}

/// What changed from the first table to the last.
fn differs(case: &Case, out: &mut Vec<Found>) {
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
            changes.push(format!("{} {} and {}", d.name, was.status.told(), d.status.told()));
            if evidence.len() < 4 {
                evidence.extend([was.evidence(), d.evidence()]);
            }
        }
    }
    if !changes.is_empty() {
        let n = match changes.len() {
            1 => "One domain differs".to_string(),
            n => format!("{n} domains differ"),
        };
        changes.truncate(4);
        let f = Finding::new(("tables-differ", Area::Domain, Level::Note), Confidence::Certain)
            .says(format!(
                "{n} in the first table and in the last: {}. They may be of two moments, or of two \
                 kernels.",
                changes.join("; ")
            ))
            .shown_by(evidence);
        out.push(found(f));
    }
}

fn latencies(case: &Case, out: &mut Vec<Found>) {
    let mut last = BTreeMap::new();
    for l in &case.latencies {
        last.insert((l.domain.as_str(), l.off), l.took);
    }
    let Some(first) = case.latencies.first() else { return };
    let one = |((d, off), t): ((&str, bool), _)| {
        format!("{d} {} {} ms", if off { "off" } else { "on" }, ms(t))
    };
    let switches: Vec<String> = last.into_iter().take(4).map(one).collect();
    let f = Finding::new(("domain-latency", Area::Domain, Level::Note), Confidence::Certain)
        .says(format!("Switching took longer than the kernel knew: {}.", switches.join(", ")))
        .shown_by([first.evidence.clone()]);
    out.push(found(f));
}
