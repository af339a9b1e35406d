//! What `dormouse show --only domains` prints.

mod chip;
mod subject;

pub use dormouse_power::cost::Cost;
pub use subject::Subject;
use subject::{list, times};

use crate::finding::{left_out, not_checked, shown, word};
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::costs::paid;
use crate::wording::domains::held;
use crate::wording::next;
use crate::wording::number::{names, plural};
use dormouse_power::cost;
use dormouse_power::domain::Status;
use dormouse_power::probe::Outcome;
use dormouse_power::say::{cause, failure};
use dormouse_power::supplier::Fate;
use dormouse_power::unchecked::Unchecked;
use dormouse_power::{Case, Confidence, Finding, Level, Report};
use serde_json::{Value, json};

/// What a sleep pays for each domain of a text; of a domain that it does not have, whose
/// watts are of another text, nothing.
pub fn costs_of(case: &Case, microwatts: &[(String, u64)]) -> Vec<Cost> {
    let here = |(name, _): &&(String, u64)| cost::names(case).any(|n| n == name);
    let mine: Vec<_> = microwatts.iter().filter(here).cloned().collect();
    cost::costs(case, &mine)
}

/// The first line: the worst finding, or how things stand.
fn answer(s: &Subject<'_>) -> String {
    match s.report.findings.first() {
        Some(f) if f.level != Level::Note => format!("{}: {}", word(f.level), f.sentence),
        // It may be no fault, and it is no good news.
        Some(f) if f.id == "probe-failed" => f.sentence.clone(),
        first => match (crashed(s).or_else(|| stands(s)), first) {
            (Some(stands), _) => stands,
            // What stays on costs energy: no fault, and no good news.
            (None, Some(f)) if f.id == "sync-state" => {
                format!("No rule found a fault. {}", f.sentence)
            }
            (None, Some(f)) => format!("Nothing wrong found. {}", f.sentence),
            (None, None) => "No rule found a fault in what the text shows.".into(),
        },
    }
}

/// Of a log that ends in a crash, where nothing was found that is worse than a note.
fn crashed(s: &Subject<'_>) -> Option<String> {
    s.report.unchecked.iter().find_map(|u| match u {
        Unchecked::Crash { line } => Some(format!(
            "The kernel crashed in line {line}; nothing of power domains and probing is shown to be \
             its reason."
        )),
        _ => None,
    })
}

/// Of a healthy table: how many are on, and for whom.
fn stands(s: &Subject<'_>) -> Option<String> {
    if let (Some(dump), Some(reasons)) = (s.case.dumps.last(), s.report.held.last()) {
        let all = dump.domains.iter().zip(reasons).filter(|(d, _)| d.status == Status::On);
        let on: Vec<String> =
            all.map(|(d, h)| format!("{} ({})", d.name, held(dump, d, h))).collect();
        let of = plural(dump.domains.len(), "domain");
        return Some(match on.as_slice() {
            [] => format!("None of {of} is on; no rule found a fault."),
            on => format!("Of {of} {} on: {}; no rule found a fault.", on.len(), names(on)),
        });
    }
    if let Some(t) = s.case.clocks.last() {
        let which = match t.running() {
            Some(_) => " The table says of a clock without a switch that it runs.",
            None => "",
        };
        return Some(format!("{}.{which}", chip::clocks_on(t)));
    }
    let rails = &s.case.rails;
    if !rails.is_empty() {
        let with = |on| rails.iter().filter(|r| r.asked[0].on == Some(on)).count();
        return Some(format!(
            "Of {} the device tree asks {} to stay on in mem and {} to go off.",
            plural(rails.len(), "regulator"),
            with(true),
            with(false)
        ));
    }
    let resources = &s.case.acpi.resources;
    if resources.values().any(|r| r.in_use.is_some()) {
        let on = resources.values().filter(|r| r.in_use == Some(true)).count();
        return Some(format!(
            "{on} of {} of ACPI are on.",
            plural(resources.len(), "power resource")
        ));
    }
    let t = s.case.regulators.last()?;
    Some(format!(
        "{} of {} are enabled{}.",
        t.on(),
        plural(t.regulators.len(), "regulator"),
        chip::left_out(t.cut)
    ))
}

/// The second line: how sure that is.
fn trust(report: &Report) -> String {
    let Some(f) = report.findings.first() else {
        return "That is what the tables show; they prove no health.".into();
    };
    let sure = match f.confidence {
        Confidence::Certain => {
            "The lines below say so; they do not say that it is the cause of anything else."
        }
        Confidence::Likely => "That is the one reading that fits the lines below.",
        Confidence::Guess => "That is a suspicion: the lines below do not prove it.",
    };
    match report.findings.len() - 1 {
        0 => sure.into(),
        n => format!("{sure} {} below.", plural(n, "further finding")),
    }
}

fn finding(page: &mut Page, f: &Finding, first: bool) {
    if !first {
        page.blank();
        page.wrapped(Ink::Strong, 0, 2, &safe(&format!("{}: {}", word(f.level), f.sentence)));
    }
    page.paragraph(2, &format!("rule {}, {}", f.id, f.confidence.name()));
    for e in &f.evidence {
        page.entry("    ", &shown(e));
    }
    for a in &f.advice {
        page.entry("  Do: ", &safe(&a.text));
    }
}

fn sections(page: &mut Page, s: &Subject<'_>, top: usize) {
    list(page, "The whole chip", &chip::counts(s), usize::MAX);
    for (dump, reasons) in s.case.dumps.iter().zip(&s.report.held) {
        let row = |(i, depth): (usize, usize)| {
            let d = &dump.domains[i];
            let why = held(dump, d, &reasons[i]);
            let indent = "- ".repeat(depth.min(8));
            let why = if why.is_empty() { why } else { format!(": {why}") };
            format!("{indent}{} {}{why}", d.name, d.status.told())
        };
        let rows: Vec<String> = dump.tree().into_iter().map(row).collect();
        let on = dump.domains.iter().filter(|d| d.status == Status::On).count();
        let cut = if dump.cut { ", with lines left out" } else { "" };
        let heading =
            format!("Domains (line {}): {on} of {} on{cut}", dump.line, dump.domains.len());
        list(page, &heading, &rows, top.max(8) * 4);
    }
    let rows: Vec<String> = s.costs.iter().map(paid).collect();
    list(page, "What each sleep pays for domains", &rows, top);
    for t in &s.case.clocks {
        let row = |&i: &usize| {
            let c = &t.clocks[i];
            let by: Vec<String> = c.consumers.iter().map(|(d, _)| d.clone()).collect();
            let by = if by.is_empty() { String::new() } else { format!(", for {}", names(&by)) };
            format!("{} held {}{by}", c.name, times(c.enabled))
        };
        let rows: Vec<String> = t.holders().iter().map(row).collect();
        let running = t.running().map_or(String::new(), |n| format!(", {n} may run"));
        let unasked = match (t.unasked().len(), t.running()) {
            (0, _) | (_, None) => String::new(),
            (n, _) => format!(", {n} unasked"),
        };
        let heading = format!(
            "Clocks (line {}): {} of {} enabled{running}{unasked}{}",
            t.line,
            t.enabled(),
            t.clocks.len(),
            if t.cut { ", with lines left out" } else { "" }
        );
        list(page, &heading, &rows, top);
        let unasked: Vec<String> = t.unasked().iter().map(|&i| t.clocks[i].name.clone()).collect();
        if !unasked.is_empty() {
            let them = if unasked.len() == 1 { "it" } else { "them" };
            let text =
                format!("nobody enabled {}, and the hardware may run {them}", names(&unasked));
            page.entry("  ", &safe(&text));
        }
    }
    for t in &s.case.regulators {
        let row = |(i, feeds): (usize, Vec<usize>)| {
            let r = &t.regulators[i];
            let by = chip::users(t, i, &feeds);
            let open: Vec<String> = r.consumers.iter().map(|(c, _)| c.clone()).collect();
            let volts = r.millivolts.filter(|mv| *mv > 0);
            let at = volts.map_or(String::new(), |mv| format!(" at {mv} mV"));
            let uses = times(r.used) + &at;
            if r.consumers.iter().any(|(_, n)| n.is_none()) && by.is_empty() {
                format!("{} held {}, by some of {}", r.name, uses, names(&open))
            } else if by.is_empty() && t.cut {
                format!("{} held {}; the text leaves out by whom", r.name, uses)
            } else if by.is_empty() {
                format!("{} held {}, by nobody that the table shows", r.name, uses)
            } else {
                format!("{} held {}, by {}", r.name, uses, names(&by))
            }
        };
        let rows: Vec<String> = t.held().into_iter().map(row).collect();
        let unused: Vec<String> =
            t.unused().iter().map(|&i| t.regulators[i].name.clone()).collect();
        let cut = if t.cut { ", with lines left out" } else { "" };
        let heading = format!(
            "Regulators (line {}): {} of {} enabled{cut}",
            t.line,
            t.on(),
            t.regulators.len()
        );
        list(page, &heading, &rows, top);
        if !unused.is_empty() {
            page.entry("  ", &safe(&format!("nobody enabled {}", names(&unused))));
        }
        // Who has it open may still enable it; whoever is missing never asked for it.
        for r in t.unused().iter().map(|&i| &t.regulators[i]).filter(|r| !r.consumers.is_empty()) {
            let who: Vec<String> = r.consumers.iter().map(|(c, _)| c.clone()).collect();
            page.entry("  ", &safe(&format!("{} is open for {}", r.name, names(&who))));
        }
    }
    chip::sections(page, s, top);
    let row = |r: &dormouse_power::root::Root| {
        // First the number would read like a verb: "2 waits for".
        let waits = plural(usize::try_from(r.weight()).unwrap_or(usize::MAX), "wait");
        format!("{} ({waits})", cause(&r.cause))
    };
    let rows: Vec<String> = s.report.roots.iter().map(row).collect();
    let failed: Vec<String> = failed(s).into_iter().map(|(d, e)| failure(d, e)).collect();
    list(page, "Probes that failed", &failed, top);
    if rows.len() > 1 {
        list(page, "What devices wait for in the end", &rows, top);
    }
    for p in &s.report.suppliers {
        let row = |c: &dormouse_power::supplier::Consumer| match c.fate {
            Fate::Failed(e) => format!("{}: its probe failed with {e}", c.name),
            Fate::Waits => format!("{}: it waits to probe itself", c.name),
            Fate::Spoke => format!("{}: a driver speaks of it", c.name),
            Fate::Came => format!("{}: a driver speaks of it later", c.name),
            Fate::Silent => format!("{}: no line of a driver", c.name),
        };
        let rows: Vec<String> = p.consumers.iter().map(row).collect();
        list(page, &format!("{} waits for", p.name), &rows, top);
    }
    let pair = |(a, b, _): &(String, String, usize)| format!("{a} and {b}");
    let rows: Vec<String> = s.report.pairs.list.iter().map(pair).collect();
    list(page, "Dependency cycles, as pairs", &rows, top);
    let rows: Vec<String> = s
        .case
        .links
        .iter()
        .map(|l| {
            let status =
                if l.status.is_empty() { String::new() } else { format!(" ({})", l.status) };
            format!("{} needs {}{status}", l.consumer, l.supplier)
        })
        .collect();
    list(page, "Device links", &rows, top);
    let rows: Vec<String> = s
        .case
        .waits
        .iter()
        .map(|w| match w.waits {
            true => format!("{} waits for a node that is no device yet", w.device),
            false => format!("{} waits for no node", w.device),
        })
        .collect();
    list(page, "waiting_for_supplier", &rows, top);
}

/// Devices whose last attempt failed, with the error. Not all are a fault: a part that is
/// not fitted does not answer.
fn failed<'a>(s: &Subject<'a>) -> Vec<(&'a str, i32)> {
    let mut out: Vec<(&str, i32)> = Vec::new();
    for p in &s.case.probes {
        match p.outcome {
            Outcome::Failed(e) => match out.iter_mut().find(|f| f.0 == p.device) {
                Some(f) => f.1 = e,
                None => out.push((&p.device, e)),
            },
            Outcome::Bound => out.retain(|f| f.0 != p.device),
            _ => {}
        }
    }
    out
}

/// What was not looked at, and why.
fn not_looked_at(s: &Subject<'_>) -> Vec<(String, String)> {
    let words = |u: &Unchecked| {
        let (what, why) = u.told();
        (what.into(), why)
    };
    s.report.unchecked.iter().map(words).collect()
}

/// The page of one text. `named` where there are several.
pub fn text(s: &Subject<'_>, top: usize, named: bool, colour: bool) -> String {
    let mut page = Page::new(colour);
    if named {
        page.line(&[(Ink::Faint, &safe(s.name))]);
    }
    page.wrapped(Ink::Strong, 0, 2, &safe(&answer(s)));
    page.wrapped(Ink::Plain, 0, 2, &trust(s.report));
    let worst = s.report.findings.first().is_some_and(|f| f.level != Level::Note);
    for (i, f) in s.report.findings.iter().enumerate() {
        finding(&mut page, f, i == 0 && worst);
    }
    sections(&mut page, s, top);
    left_out(&mut page, &not_looked_at(s), s.losses);
    page.finish()
}

/// The last line of the screen: what shows most of what the texts lack.
pub fn next(all: &[Subject<'_>]) -> String {
    let lacks = |u: Unchecked| all.iter().all(|s| s.report.unchecked.contains(&u));
    let command = if lacks(Unchecked::Domains) {
        "cat /sys/kernel/debug/pm_genpd/pm_genpd_summary"
    } else if lacks(Unchecked::Probing) {
        "cat /sys/kernel/debug/devices_deferred"
    } else {
        "grep . /sys/class/devlink/*/status"
    };
    format!("\n{}", next::run(command))
}

/// The same as JSON (docs/domains-json.md).
pub fn json(s: &Subject<'_>) -> Value {
    let tables = s.case.dumps.iter().zip(&s.report.held).map(|(dump, reasons)| {
        let domain = |(d, h): (&dormouse_power::domain::Domain, _)| {
            json!({
                "line": d.line,
                "name": d.name,
                "status": d.status.told(),
                "performance": d.performance,
                "children": d.children,
                "why": held(dump, d, h),
                "devices": d.devices.iter().map(|x| json!({
                    "name": x.path,
                    "runtime": x.runtime.name(),
                    "performance": x.performance,
                    "hardware": x.hardware,
                })).collect::<Vec<_>>(),
            })
        };
        json!({
            "line": dump.line,
            "cut": dump.cut,
            "domains": dump.domains.iter().zip(reasons).map(domain).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": s.name,
        "findings": s.report.findings,
        "tables": tables.collect::<Vec<_>>(),
        "waits": s.report.roots.iter().map(|r| json!({
            "cause": cause(&r.cause),
            "at": r.at,
            "behind": r.behind,
            "times": r.times,
        })).collect::<Vec<_>>(),
        "clocks": chip::clocks(s),
        "regulators": chip::regulators(s),
        "power_resources": chip::resources(s),
        "rails": chip::rails(s),
        "holders": chip::holders(s).into_iter().map(|(device, holds)| json!({
            "device": device, "holds": holds,
        })).collect::<Vec<_>>(),
        "failed": failed(s).into_iter().map(|(device, error)| json!({
            "device": device, "error": error,
        })).collect::<Vec<_>>(),
        "costs": s.costs.iter().map(|c| json!({
            "domain": c.domain,
            "time_ns": c.time.0,
            "sleeps": c.recorded.as_ref().map(|r| r.sleeps),
            "on_ns": c.recorded.as_ref().and_then(|r| r.on).map(|t| t.0),
            "off_ns": c.recorded.as_ref().and_then(|r| r.off).map(|t| t.0),
            "microwatts": c.microwatts,
            "switches_nj": c.switches_nj(),
            "hour_asleep_on_uj": c.hour_uj(),
            "since_boot_uj": c.since_boot_uj(),
        })).collect::<Vec<_>>(),
        "cycles": s.report.pairs.list.iter().map(|(a, b, _)| json!([a, b])).collect::<Vec<_>>(),
        "not_checked": not_checked(&not_looked_at(s)),
        "losses": s.losses,
    })
}
