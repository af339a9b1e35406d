//! The chip as a whole: how much of each kind is on, what each device holds, power
//! resources of ACPI, and rails in sleep.

use super::subject::{Subject, list, times};
use crate::text::page::Page;
use crate::wording::number::{names, plural};
use dormouse_power::acpi::Needed;
use dormouse_power::domain::Status;
use dormouse_power::rail::{Asked, MODES, Rail};
use dormouse_power::say::named;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A line for each kind, where there is more than one.
pub(super) fn counts(s: &Subject<'_>) -> Vec<String> {
    let case = s.case;
    let mut out = Vec::new();
    if let (Some(d), Some(held)) = (case.dumps.last(), s.report.held.last()) {
        let on = d.domains.iter().zip(held).filter(|(d, _)| d.status == Status::On);
        let unused = on.clone().filter(|(_, h)| !h.explained() && !h.unseen).count();
        out.push(format!(
            "{} of {} on, {unused} without a user in the table",
            on.count(),
            plural(d.domains.len(), "domain")
        ));
    }
    if let Some(t) = case.clocks.last() {
        let unasked = match t.running() {
            Some(_) => format!("; nobody asked for {} of these", t.unasked().len()),
            None => String::new(),
        };
        out.push(format!("{}{unasked}", clocks_on(t)));
    }
    if let Some(t) = case.regulators.last() {
        let held = t.held();
        let unsaid = |i: &usize| t.regulators[*i].consumers.iter().any(|(_, n)| n.is_none());
        let nobody =
            |(i, feeds): &&(usize, Vec<usize>)| users(t, *i, feeds).is_empty() && !unsaid(i);
        let nobody = held.iter().filter(nobody).count();
        let nobody = match t.cut {
            true => " (rows are left out)".to_string(),
            false => format!(", {nobody} without a user in the table"),
        };
        let of = plural(t.regulators.len(), "regulator");
        out.push(format!("{} of {of} enabled{nobody}", held.len()));
    }
    if case.acpi.resources.values().any(|r| r.in_use.is_some()) {
        let on = case.acpi.resources.values().filter(|r| r.in_use == Some(true)).count();
        out.push(format!("{on} of {} on", plural(case.acpi.resources.len(), "power resource")));
    }
    for (m, (mode, _)) in MODES.iter().enumerate() {
        let with = |on| case.rails.iter().filter(|r| r.asked[m].on == Some(on)).count();
        if with(true) + with(false) > 0 {
            out.push(format!(
                "{} of the device tree in {mode}: {} stay on, {} go off",
                plural(case.rails.len(), "regulator"),
                with(true),
                with(false)
            ));
        }
    }
    if out.len() < 2 { Vec::new() } else { out }
}

/// ` that the text shows`, of a table with rows left out.
pub(super) fn left_out(cut: bool) -> &'static str {
    if cut { " that the text shows (rows are left out)" } else { "" }
}

/// `2 of 6 clocks are enabled and 4 may run`.
pub(crate) fn clocks_on(t: &dormouse_power::clock::Table) -> String {
    let of = plural(t.clocks.len(), "clock");
    let cut = left_out(t.cut);
    match t.running() {
        Some(n) => format!("{} of {of}{cut} are enabled and {n} may run", t.enabled()),
        None => format!("{} of {of}{cut} are enabled", t.enabled()),
    }
}

/// Who has a regulator enabled: consumers, and regulators that it feeds.
pub(crate) fn users(
    t: &dormouse_power::regulator::Table,
    i: usize,
    feeds: &[usize],
) -> Vec<String> {
    let on = |n: &Option<u64>| n.is_some_and(|n| n > 0);
    let on = t.regulators[i].consumers.iter().filter(|(_, n)| on(n)).map(|(c, _)| c.clone());
    on.chain(feeds.iter().map(|&f| t.regulators[f].name.clone())).collect()
}

/// Devices of the last tables that hold more than one kind of thing, with what they
/// hold.
pub(crate) fn holders(s: &Subject<'_>) -> Vec<(String, Vec<String>)> {
    let mut by: BTreeMap<&str, [Vec<String>; 3]> = BTreeMap::new();
    for d in s.case.dumps.last().iter().flat_map(|d| &d.domains) {
        for x in &d.devices {
            let held = format!("domain {} ({})", d.name, x.runtime.name());
            by.entry(x.name()).or_default()[0].push(held);
        }
    }
    for c in s.case.clocks.last().iter().flat_map(|t| &t.clocks) {
        for (device, _) in &c.consumers {
            let state = match c.enabled {
                0 if c.may_run() => "not enabled, and the hardware may run it",
                0 => "off",
                _ => "on",
            };
            by.entry(device).or_default()[1].push(format!("clock {} ({state})", c.name));
        }
    }
    for r in s.case.regulators.last().iter().flat_map(|t| &t.regulators) {
        for (consumer, n) in &r.consumers {
            // `DEVICE-SUPPLY`; either may have dashes.
            let mut cuts = consumer.rmatch_indices('-').map(|(at, _)| &consumer[..at]);
            let device = cuts.find(|d| by.contains_key(d)).unwrap_or(consumer);
            let n = match n {
                Some(0) => "not enabled".into(),
                Some(n) => times(*n),
                None => "uses not shown".into(),
            };
            by.entry(device).or_default()[2].push(format!("regulator {} ({n})", r.name));
        }
    }
    by.into_iter()
        .filter(|(_, kinds)| kinds.iter().filter(|k| !k.is_empty()).count() > 1)
        .map(|(device, kinds)| (device.to_string(), kinds.concat()))
        .collect()
}

/// What stays on of a rail in a mode: `on at 1.100 V`.
fn asked(a: Asked) -> String {
    let volts = a.microvolts.map_or(String::new(), |uv| {
        format!(" at {}.{:03} V", uv / 1_000_000, uv % 1_000_000 / 1_000)
    });
    match a.on {
        Some(true) => format!("on{volts}"),
        Some(false) => "off".into(),
        None if a.microvolts.is_some() => format!("as it is{volts}"),
        None => "as it is".into(),
    }
}

fn rail(r: &Rail, with: &[usize]) -> String {
    let modes: Vec<String> =
        with.iter().map(|&m| format!("{} {}", MODES[m].0, asked(r.asked[m]))).collect();
    let always = if r.always_on { ", always on at run time" } else { "" };
    let feeds = match r.feeds.len() {
        0 => String::new(),
        _ => format!("; feeds {}", names(&r.feeds)),
    };
    format!("{}: {}{always}{feeds}", r.name, modes.join(", "))
}

/// The sections of rails, power resources and holders.
pub(super) fn sections(page: &mut Page, s: &Subject<'_>, top: usize) {
    let holders: Vec<String> =
        holders(s).iter().map(|(d, holds)| format!("{d}: {}", names(holds))).collect();
    list(page, "What devices hold", &holders, top);
    let needed = s.case.acpi.needed();
    let none = Needed::default();
    let who = |out: &mut Vec<String>, words: &str, devices: &[&str]| {
        if !devices.is_empty() {
            let all: Vec<String> = devices.iter().map(|d| d.to_string()).collect();
            out.push(format!("{words} {}", names(&all)));
        }
    };
    let row = |(name, r): (&String, &dormouse_power::acpi::Resource)| {
        let n = needed.get(name.as_str()).unwrap_or(&none);
        let mut out = vec![match r.in_use {
            Some(true) => "on".to_string(),
            Some(false) => "off".into(),
            None => "state not shown".into(),
        }];
        who(&mut out, "held by", &n.now);
        who(&mut out, "needed in a state not shown by", &n.unsaid);
        who(&mut out, "not needed now by", &n.other);
        who(&mut out, "to wake the system by", &n.wakeup);
        format!("{}: {}", named(name, &r.path), out.join("; "))
    };
    let rows: Vec<String> = s.case.acpi.resources.iter().map(row).collect();
    list(page, "Power resources of ACPI", &rows, top);
    let low = s.case.acpi.devices.iter().filter(|(_, d)| !matches!(d.is_in(), "" | "D0"));
    let rows: Vec<String> =
        low.map(|(name, d)| format!("{}: {}", named(name, &d.path), d.is_in())).collect();
    list(page, "Devices of ACPI that are not fully on", &rows, top);
    // Only modes that some regulator has a word on.
    let with: Vec<usize> =
        (0..3).filter(|&m| s.case.rails.iter().any(|r| r.asked[m] != Asked::default())).collect();
    let told = |r: &&Rail| r.asked != [Asked::default(); 3];
    let rows: Vec<String> = s.case.rails.iter().filter(told).map(|r| rail(r, &with)).collect();
    let heading = format!(
        "Regulators in sleep, as the device tree asks ({} of {} are left as they are)",
        s.case.rails.len() - rows.len(),
        s.case.rails.len()
    );
    list(page, &heading, &rows, top.max(8) * 4);
}

/// Tables of clocks as JSON.
pub(super) fn clocks(s: &Subject<'_>) -> Value {
    let table = |t: &dormouse_power::clock::Table| {
        let unasked = t.unasked();
        let rows = t.clocks.iter().map(|c| {
            json!({
                "line": c.line,
                "name": c.name,
                "parent": c.parent.map(|p| &t.clocks[p].name),
                "enabled": c.enabled,
                "prepared": c.prepared,
                "rate": c.rate,
                "runs": c.runs,
                "consumers": c.consumers.iter().map(|(d, _)| d).collect::<Vec<_>>(),
            })
        });
        json!({
            "line": t.line,
            "cut": t.cut,
            "clocks": rows.collect::<Vec<_>>(),
            "unasked": unasked.iter().map(|&i| &t.clocks[i].name).collect::<Vec<_>>(),
        })
    };
    s.case.clocks.iter().map(table).collect()
}

/// Tables of regulators as JSON.
pub(super) fn regulators(s: &Subject<'_>) -> Value {
    let table = |t: &dormouse_power::regulator::Table| {
        let rows = t.regulators.iter().map(|r| {
            json!({
                "line": r.line,
                "name": r.name,
                "supply": r.parent.map(|p| &t.regulators[p].name),
                "used": r.used,
                "open": r.open,
                "millivolts": r.millivolts,
                "consumers": r.consumers.iter().map(|(c, n)| json!({
                    "name": c, "enabled": n,
                })).collect::<Vec<_>>(),
            })
        });
        json!({ "line": t.line, "cut": t.cut, "regulators": rows.collect::<Vec<_>>() })
    };
    s.case.regulators.iter().map(table).collect()
}

/// Power resources of ACPI as JSON.
pub(crate) fn resources(s: &Subject<'_>) -> Value {
    let needed = s.case.acpi.needed();
    let none = Needed::default();
    let row = |(name, r): (&String, &dormouse_power::acpi::Resource)| {
        let n = needed.get(name.as_str()).unwrap_or(&none);
        json!({
            "name": name,
            "path": r.path,
            "in_use": r.in_use,
            "held_by": n.now,
            "not_needed_by": n.other,
            "unknown": n.unsaid,
            "wakeup": n.wakeup,
        })
    };
    s.case.acpi.resources.iter().map(row).collect()
}

/// Regulators of a device tree as JSON.
pub(super) fn rails(s: &Subject<'_>) -> Value {
    let row = |r: &Rail| {
        let modes = MODES
            .iter()
            .zip(r.asked)
            .map(|((mode, _), a)| json!({ "mode": mode, "on": a.on, "microvolts": a.microvolts }));
        json!({
            "name": r.name,
            "path": r.path,
            "always_on": r.always_on,
            "supply": r.supply.map(|i| &s.case.rails[i].name),
            "feeds": r.feeds,
            "modes": modes.collect::<Vec<_>>(),
        })
    };
    s.case.rails.iter().map(row).collect()
}
