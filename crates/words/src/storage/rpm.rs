//! What `dormouse rpm show` prints.

use crate::text::page::{Ink, Page};
use crate::text::{fit, safe};
use crate::wording::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time};
use dormouse_storage::held::{Held, Pointless, Short, Why};
use dormouse_storage::knobs::Knobs;
use dormouse_storage::recording::Trace;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What is shown of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Devices that every event found in use.
    pub held: &'a [Held],
    /// Devices resumed only to be suspended.
    pub pointless: &'a [Pointless],
    /// Devices whose sleeps were too short.
    pub short: &'a [Short],
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Settings.
    pub knobs: &'a Knobs,
    /// Devices that settings hold awake.
    pub held: &'a [Held],
    /// Traces.
    pub traces: Vec<Seen<'a>>,
    /// A break-even time was given.
    pub given: bool,
    /// Most entries in a list.
    pub top: usize,
}

/// `2 users (app 3 times)`, ….
fn why(w: &Why) -> String {
    match w {
        Why::Forbidden => "power/control is on".into(),
        Why::Never { latency: true } => "pm_qos_resume_latency_us is n/a".into(),
        Why::Never { latency: false } => "autosuspend_delay_ms is below zero".into(),
        Why::Used { count, by } => {
            let who: Vec<String> = by
                .iter()
                .take(3)
                .map(|(comm, n)| format!("{} {}", safe(comm), plural(*n as usize, "time")))
                .collect();
            let who = if who.is_empty() {
                String::new()
            } else {
                format!(", taken and not given back by {}", who.join(", "))
            };
            format!("in use, count {}{who}", grouped(*count))
        }
        Why::Children { count, names } => {
            let of = names.iter().take(3).map(|n| safe(n).into_owned()).collect::<Vec<_>>();
            let of = if of.is_empty() { String::new() } else { format!(": {}", of.join(", ")) };
            let children = if *count == 1 { "child is" } else { "children are" };
            format!("{} {children} awake{of}", grouped(*count))
        }
    }
}

/// The device to look at first: one that holds itself.
fn root(list: &[Held]) -> Option<&Held> {
    list.iter().find(|h| !matches!(h.why, Why::Children { .. })).or(list.first())
}

fn holders(p: &mut Page, title: &str, list: &[Held], top: usize) {
    if list.is_empty() {
        return;
    }
    p.blank();
    p.line(&[(Ink::Strong, title)]);
    for h in list.iter().take(top.max(1)) {
        p.entry(&format!("  {:<30} ", fit(&safe(&h.name), 30)), &why(&h.why));
    }
    let more = list.len().saturating_sub(top.max(1));
    if more > 0 {
        let text = format!("and {} (all: --top {})", plural(more, "other device"), list.len());
        p.paragraph(2, &text);
    }
}

/// The page.
pub fn rpm(a: &Answer<'_>, colour: bool) -> String {
    let mut p = Page::new(colour);
    let pointless: u64 = a.traces.iter().flat_map(|t| t.pointless).map(|x| x.times).sum();
    let events = a.traces.iter().flat_map(|t| t.held);
    // One that settings and events name is one.
    let names: BTreeSet<&str> = a.held.iter().chain(events).map(|h| h.name.as_str()).collect();
    let all = names.len();
    let first = root(a.held).or_else(|| a.traces.iter().find_map(|t| root(t.held)));
    let text = match first {
        Some(h) => format!(
            "{} held awake at run time, {} first: {}.",
            if all == 1 { "1 device is".into() } else { format!("{all} devices are") },
            safe(&h.name),
            why(&h.why)
        ),
        None if pointless > 0 => format!(
            "No device is held awake, and {} only to be suspended again.",
            if pointless == 1 {
                "1 resume was".into()
            } else {
                format!("{pointless} resumes were")
            }
        ),
        None => "No device is held awake, and none was resumed for nothing.".into(),
    };
    p.wrapped(Ink::Strong, 0, 2, &text);
    let mut from = Vec::new();
    if !a.knobs.power.is_empty() {
        from.push(format!("settings of {}", plural(a.knobs.power.len(), "device")));
    }
    for t in &a.traces {
        let name = t.trace.name.rsplit('/').next().unwrap_or(&t.trace.name);
        let n = t.trace.runtime.devices.len();
        from.push(format!("events of {} in {}", plural(n, "device"), safe(name)));
    }
    let mut trust = format!("From {}.", from.join(", "));
    if !a.traces.is_empty() {
        trust += " A trace knows who took a device after it began, not before.";
    }
    p.wrapped(Ink::Plain, 0, 2, &trust);
    holders(&mut p, "Held awake by settings", a.held, a.top);
    for t in &a.traces {
        holders(&mut p, "In use in every event of the trace", t.held, a.top);
        if !t.pointless.is_empty() {
            p.blank();
            let head = format!(
                "{:<40}{:>9}{:>12}{:>16}",
                "Resumed only to be suspended", "times", "of resumes", "cost of all, ms"
            );
            p.line(&[(Ink::Strong, &head)]);
            for x in t.pointless.iter().take(a.top.max(1)) {
                let name = fit(&safe(&x.name), 37);
                let (times, of, cost) = (grouped(x.times), grouped(x.of), ms3(x.cost));
                p.line(&[(Ink::Plain, &format!("  {name:<38}{times:>9}{of:>12}{cost:>16}"))]);
            }
        }
        if !t.short.is_empty() {
            p.blank();
            let head = format!(
                "{:<40}{:>9}{:>12}{:>16}",
                "Asleep shorter than break-even", "times", "of sleeps", "break-even, ms"
            );
            p.line(&[(Ink::Strong, &head)]);
            for x in t.short.iter().take(a.top.max(1)) {
                let name = fit(&safe(&x.name), 37);
                let (times, of, even) = (grouped(x.times), grouped(x.of), ms3(x.even));
                p.line(&[(Ink::Plain, &format!("  {name:<38}{times:>9}{of:>12}{even:>16}"))]);
            }
            if !a.given {
                p.paragraph(
                    2,
                    "Break-even is what waking took on average: a trace knows no energy. \
                     --break-even TIME gives it.",
                );
            }
            if let Some(x) = t.short.first() {
                let text = format!(
                    "Let {} sleep later: autosuspend_delay_ms above {}.",
                    safe(&x.name),
                    time(x.even)
                );
                p.entry("Do: ", &text);
            }
        }
    }
    p.blank();
    p.verbatim(Ink::Plain, &next::next("record --with rpm --for 10s -o rpm.tar.gz"));
    p.finish()
}

fn held(h: &Held) -> Value {
    let (reason, count, by, children) = match &h.why {
        Why::Forbidden => ("control_on", None, None, None),
        Why::Never { latency: true } => ("latency", None, None, None),
        Why::Never { latency: false } => ("delay_below_zero", None, None, None),
        Why::Used { count, by } => ("usage", Some(*count), Some(by), None),
        Why::Children { count, names } => ("children", Some(*count), None, Some(names)),
    };
    json!({
        "device": h.name, "reason": reason, "count": count, "children": children,
        "by": by.map(|l| l.iter().map(|(c, n)| json!({ "thread": c, "times": n })).collect::<Vec<_>>()),
    })
}

/// The same as JSON (docs/storage-json.md).
pub fn json(a: &Answer<'_>) -> Value {
    json!({
        "schema": "dormouse-rpm/1",
        "devices": a.knobs.power.len(),
        "held": a.held.iter().map(held).collect::<Vec<_>>(),
        "traces": a.traces.iter().map(|t| json!({
            "source": t.trace.name,
            "devices": t.trace.runtime.devices.len(),
            "held": t.held.iter().map(held).collect::<Vec<_>>(),
            "pointless": t.pointless.iter().map(|x| json!({
                "device": x.name, "times": x.times, "of": x.of, "cost": x.cost,
            })).collect::<Vec<_>>(),
            "short": t.short.iter().map(|x| json!({
                "device": x.name, "times": x.times, "of": x.of, "break_even": x.even,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
