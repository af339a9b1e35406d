//! What `dormouse show --only runtime` prints.

use crate::text::page::{Ink, Page};
use crate::text::{fit, fit_end, safe};
use crate::wording::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{errno, function, ms3, time, wrong};
use dormouse_base::say::span;
use dormouse_base::time::Ns;
use dormouse_storage::held::{Broken, Held, Pointless, Refused, Short, Why, Wrong};
use dormouse_storage::knobs::{Knobs, Power, Status};
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
    /// Devices whose calls failed, or do not end.
    pub broken: &'a [Broken],
    /// Devices that would not be suspended.
    pub refused: &'a [Refused],
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
    /// Devices that settings say are broken.
    pub broken: &'a [Broken],
    /// Traces.
    pub traces: Vec<Seen<'a>>,
    /// A break-even time was given.
    pub given: bool,
    /// Most entries in a list.
    pub top: usize,
}

/// `6 h 32 min`, of ms.
fn of_ms(n: u64) -> String {
    span(Ns(i64::try_from(n.saturating_mul(1_000_000)).unwrap_or(i64::MAX)))
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
        Why::Unexplained { .. } if let Some(ms) = w.rested() => {
            format!("active now, and suspended for {} before: it sleeps when it may", of_ms(ms))
        }
        Why::Unexplained { never, active_ms, unused, .. } => {
            let long = active_ms.filter(|ms| *ms > 0).map_or(String::new(), |ms| {
                let ns = ms.saturating_mul(1_000_000);
                format!(" for {}", time(i64::try_from(ns).unwrap_or(i64::MAX)))
            });
            let slept = if *never { ", and never suspended" } else { "" };
            match unused {
                true => format!("active{long}{slept}; nothing uses it, forbids it or is below it"),
                false => format!("active{long}{slept}; what keeps it so was not read"),
            }
        }
    }
}

/// The device to look at first: one that holds itself.
fn root(list: &[Held]) -> Option<&Held> {
    let own = |h: &&Held| !matches!(h.why, Why::Children { .. } | Why::Unexplained { .. });
    // One that sleeps when it may is held by nobody.
    let awake = |h: &&Held| h.why.rested().is_none();
    list.iter().find(own).or_else(|| list.iter().find(awake)).or(list.first())
}

/// A list with a title, cut at `top`.
fn list<'n>(
    p: &mut Page,
    title: &str,
    rows: impl ExactSizeIterator<Item = (&'n str, String)>,
    top: usize,
) {
    let all = rows.len();
    if all == 0 {
        return;
    }
    p.blank();
    p.line(&[(Ink::Strong, title)]);
    let shown: Vec<(&str, String)> = rows.take(top.max(1)).collect();
    for (name, text) in &shown {
        p.entry(&format!("  {:<30} ", apart(name, &shown)), text);
    }
    let more = all.saturating_sub(top.max(1));
    if more > 0 {
        let text = format!("and {} (all: --top {all})", plural(more, "other device"));
        p.paragraph(2, &text);
    }
}

/// A name in its column: where the fronts of two are alike, their ends tell them apart.
fn apart<T>(name: &str, all: &[(&str, T)]) -> String {
    let short = fit(&safe(name), 30);
    let alike = all.iter().any(|(other, _)| *other != name && fit(&safe(other), 30) == short);
    if alike { fit_end(&safe(name), 30) } else { short }
}

fn holders(p: &mut Page, title: &str, all: &[Held], top: usize) {
    list(p, title, all.iter().map(|h| (h.name.as_str(), why(&h.why))), top);
}

fn broken(p: &mut Page, all: &[Broken], top: usize) {
    let (once, broken): (Vec<&Broken>, _) = all.iter().partition(|b| b.wrong.seen_once());
    for (title, all) in
        [("Runtime power management is broken", broken), ("In a call when it was read", once)]
    {
        list(p, title, all.iter().map(|b| (b.name.as_str(), wrong(&b.wrong))), top);
    }
}

/// `1 device is`, `3 devices are`.
fn are(n: usize) -> String {
    if n == 1 { "1 device is".into() } else { format!("{n} devices are") }
}

/// The first line.
fn answer(a: &Answer<'_>) -> String {
    let held: Vec<&Held> = a.held.iter().chain(a.traces.iter().flat_map(|t| t.held)).collect();
    let unexplained = |h: &Held| matches!(h.why, Why::Unexplained { .. });
    // One that settings and events name is one.
    let names = |keep: &dyn Fn(&Held) -> bool| {
        let kept = held.iter().filter(|h| keep(h));
        kept.map(|h| h.name.as_str()).collect::<BTreeSet<&str>>()
    };
    let broken: Vec<&Broken> =
        a.broken.iter().chain(a.traces.iter().flat_map(|t| t.broken)).collect();
    let refused: Vec<&Refused> = a.traces.iter().flat_map(|t| t.refused).collect();
    let pointless: u64 = a.traces.iter().flat_map(|t| t.pointless).map(|x| x.times).sum();
    if let Some(first) = broken.first() {
        let all: BTreeSet<&str> = broken.iter().map(|b| b.name.as_str()).collect();
        let what = match first.wrong {
            _ if broken.iter().all(|b| b.wrong.seen_once()) => "may hang in a call",
            Wrong::Stuck { .. } if all.len() == 1 => "hangs in a call",
            _ if all.len() == 1 => "has an error",
            _ => "have errors or hang in a call",
        };
        let subject =
            if all.len() == 1 { "1 device".into() } else { format!("{} devices", all.len()) };
        return format!(
            "Runtime power management of {subject} {what}, {} first: {}.",
            safe(&first.name),
            wrong(&first.wrong)
        );
    }
    let known = names(&|h| !unexplained(h));
    let first = root(a.held).or_else(|| a.traces.iter().find_map(|t| root(t.held)));
    match first {
        Some(h) if !unexplained(h) => {
            format!(
                "{} held awake at run time, {} first: {}.",
                are(known.len()),
                safe(&h.name),
                why(&h.why)
            )
        }
        Some(h) if held.iter().all(|h| h.why.rested().is_some()) => {
            let more = match held.len() - 1 {
                0 => String::new(),
                1 => ", and 1 other device like it".into(),
                n => format!(", and {n} other devices like it"),
            };
            format!("No device is held awake: {} is {}{more}.", safe(&h.name), why(&h.why))
        }
        Some(h) => format!(
            "{} awake and the text shows no reason, {} first: {}.",
            are(held.iter().filter(|h| h.why.rested().is_none()).count()),
            safe(&h.name),
            why(&h.why)
        ),
        None if !refused.is_empty() => {
            let r = refused[0];
            format!(
                "{} would not be suspended, {} first: {} returned {}{}.",
                plural(refused.len(), "device"),
                safe(&r.device),
                "rpm_suspend",
                errno(r.error),
                match r.times {
                    1 => String::new(),
                    n => format!(", {} times", grouped(n)),
                }
            )
        }
        None if pointless > 0 => format!(
            "No device is held awake, and {} only to be suspended again.",
            if pointless == 1 {
                "1 resume was".into()
            } else {
                format!("{pointless} resumes were")
            }
        ),
        None => {
            if let Some(text) = in_name_only(a.knobs).or_else(|| unmanaged(a)) {
                return text;
            }
            let asleep = a.knobs.power.values().filter(|p| p.is_active() == Some(false)).count();
            let seen =
                a.traces.iter().any(|t| t.trace.runtime.devices.iter().any(|d| d.suspends > 0));
            match asleep > 0 || seen {
                true => match a.knobs.changed().find(|c| c.0.is_active() == Some(true)) {
                    Some((was, _)) => format!(
                        "No device is held awake by the last measurement; {} was active in the first.",
                        safe(was.name())
                    ),
                    None => rests(a).or_else(|| one_asleep(a)).unwrap_or_else(|| {
                        "No device is held awake, and none was resumed for nothing.".into()
                    }),
                },
                // Nothing was seen asleep either.
                false => "Nothing here says whether a device is held awake.".into(),
            }
        }
    }
}

/// Devices that sleep for the core, and not for PCI.
fn in_name_only(knobs: &Knobs) -> Option<String> {
    let all: Vec<&Power> = knobs.in_name_only().collect();
    let first = all.first()?;
    let more = match all.len() - 1 {
        0 => String::new(),
        n => format!(" {} like it.", plural(n, "further device")),
    };
    Some(format!(
        "{} is suspended by its runtime_status, and its power_state is D0: PCI left it at full power.{more}",
        safe(first.name())
    ))
}

/// Devices whose runtime power management is off, where none is managed
/// (drivers/base/power/sysfs.c:runtime_status_show, 6.12).
fn unmanaged(a: &Answer<'_>) -> Option<String> {
    let known: Vec<&Power> = a.knobs.power.values().filter(|p| p.status.is_some()).collect();
    let off = known.iter().all(|p| p.status == Some(Status::Unsupported));
    let first = known.first().filter(|_| off && a.traces.is_empty())?;
    let (whose, it) = match known.len() {
        1 => (safe(first.name()).into_owned(), "it"),
        n => (format!("{}, {} first,", plural(n, "device"), safe(first.name())), "them"),
    };
    Some(format!(
        "Runtime power management of {whose} is off (runtime_status unsupported): while the \
         machine is awake, the kernel does not suspend {it}."
    ))
}

/// The one device whose files were read, where it sleeps.
fn one_asleep(a: &Answer<'_>) -> Option<String> {
    let mut all = a.knobs.power.values();
    let p = all.next().filter(|p| p.status == Some(Status::Suspended))?;
    let state = a.knobs.pci.get(&p.path).map_or(String::new(), |s| format!(", in {s}"));
    (all.next().is_none() && a.traces.is_empty())
        .then(|| format!("{} is suspended{state}: nothing holds it awake.", safe(p.name())))
}

/// How long the one device whose files were read slept.
fn rests(a: &Answer<'_>) -> Option<String> {
    let mut all = a.knobs.power.values();
    let p = all.next().filter(|p| p.status == Some(Status::Suspended))?;
    let (asleep, sum, share) = p.slept()?;
    let ms = of_ms;
    (all.next().is_none() && a.traces.is_empty()).then(|| {
        format!(
            "{} sleeps: suspended now, and for {} of {} ({share} %).",
            safe(p.name()),
            ms(asleep),
            ms(sum)
        )
    })
}

/// `active (445.9 s of 447.2 s)`.
fn measured(p: &Power) -> String {
    let ms = |n: u64| time(i64::try_from(n.saturating_mul(1_000_000)).unwrap_or(i64::MAX));
    let status = p.status.map_or("", Status::name);
    match p.times {
        [Some(a), Some(s)] => {
            format!("{status} (awake {} of {})", ms(a), ms(a.saturating_add(s)))
        }
        _ => status.into(),
    }
}

/// The page.
pub fn rpm(a: &Answer<'_>, colour: bool) -> String {
    let mut p = Page::new(colour);
    let text = answer(a);
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
    if a.traces.iter().any(|t| t.trace.timeless) {
        trust += " Its events have no times, so nothing is said of how long anything took.";
    }
    p.wrapped(Ink::Plain, 0, 2, &trust);
    broken(&mut p, a.broken, a.top);
    holders(&mut p, "Awake by settings", a.held, a.top);
    let both: Vec<(&Power, &Power)> = a.knobs.changed().collect();
    let rows = both
        .iter()
        .map(|(was, is)| (is.name(), format!("first {}, last {}", measured(was), measured(is))));
    list(&mut p, "Measured more than once", rows, a.top);
    for t in &a.traces {
        broken(&mut p, t.broken, a.top);
        let rows = t.refused.iter().map(|r| {
            let times = plural(usize::try_from(r.times).unwrap_or(usize::MAX), "time");
            (r.device.as_str(), format!("{} {}", errno(r.error), times))
        });
        list(&mut p, "Would not be suspended", rows, a.top);
        holders(&mut p, "In use in every event of the trace", t.held, a.top);
        if !t.pointless.is_empty() {
            p.blank();
            let head = format!(
                "{:<40}{:>9}{:>12}{:>16}",
                "Resumed only to be suspended", "times", "of resumes", "cost of all, ms"
            );
            p.line(&[(Ink::Strong, &head)]);
            for x in t.pointless.iter().take(a.top.max(1)) {
                let name = fit(&safe(&x.device), 37);
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
                let name = fit(&safe(&x.device), 37);
                let (times, of, even) = (grouped(x.times), grouped(x.of), ms3(x.break_even));
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
                    safe(&x.device),
                    time(x.break_even)
                );
                p.entry("Do: ", &text);
            }
        }
    }
    p.blank();
    p.verbatim(Ink::Plain, &next::next("record --with rpm --for 10s -o rpm.tar.gz"));
    p.finish()
}

fn status(p: &Power) -> Value {
    json!({
        "status": p.status.map(Status::name), "active_ms": p.times[0], "suspended_ms": p.times[1],
    })
}

fn held(h: &Held) -> Value {
    let (reason, count, by, children) = match &h.why {
        Why::Forbidden => ("control_on", None, None, None),
        Why::Never { latency: true } => ("latency", None, None, None),
        Why::Never { latency: false } => ("delay_below_zero", None, None, None),
        Why::Used { count, by } => ("usage", Some(*count), Some(by), None),
        Why::Children { count, names } => ("children", Some(*count), None, Some(names)),
        Why::Unexplained { .. } => ("unexplained", None, None, None),
    };
    json!({
        "device": h.name, "reason": reason, "count": count, "children": children,
        "by": by.map(|l| l.iter().map(|(c, n)| json!({ "thread": c, "times": n })).collect::<Vec<_>>()),
    })
}

fn broken_json(b: &Broken) -> Value {
    let (reason, of, error, count, since) = match b.wrong {
        Wrong::Error => ("error", None, None, None, None),
        Wrong::Failed { function: f, error, times } => {
            ("failed", Some(function(f)), Some(error), Some(times), None)
        }
        Wrong::Stuck { function: f, since, seen } => {
            ("stuck", Some(function(f)), None, Some(u64::from(seen)), since)
        }
    };
    json!({
        "device": b.name, "reason": reason, "function": of, "error": error, "count": count,
        "since": since,
    })
}

/// The same as JSON (docs/storage-json.md).
pub fn json(a: &Answer<'_>) -> Value {
    json!({
        "devices": a.knobs.power.len(),
        "held": a.held.iter().map(held).collect::<Vec<_>>(),
        "broken": a.broken.iter().map(broken_json).collect::<Vec<_>>(),
        "changed": a.knobs.changed().map(|(was, is)| json!({
            "device": is.name(), "first": status(was), "last": status(is),
        })).collect::<Vec<_>>(),
        "traces": a.traces.iter().map(|t| json!({
            "source": t.trace.name,
            "devices": t.trace.runtime.devices.len(),
            "held": t.held.iter().map(held).collect::<Vec<_>>(),
            "broken": t.broken.iter().map(broken_json).collect::<Vec<_>>(),
            "refused": t.refused,
            "pointless": t.pointless,
            "short": t.short,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_front_are_told_apart_by_their_ends() {
        let [a, b] = [
            "ACME Corporation Alder Ridge SPI Controller",
            "ACME Corporation Alder Ridge Shared SRAM",
        ];
        let all = [(a, ()), (b, ()), ("3-2 Reader", ())];
        assert!(apart(a, &all).ends_with("SPI Controller"));
        assert!(apart(b, &all).ends_with("Shared SRAM"));
        assert_eq!(apart("3-2 Reader", &all), "3-2 Reader");
    }
}
