//! Where the change of a phase comes from, as a table whose rows add up; and excerpts beside
//! each other.

use super::grid::plain_table;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::comparison::source;
use crate::wording::next::next;
use crate::wording::number::{ms, plural};
use crate::wording::phase;
use dormouse_base::time::Ns;
use dormouse_sleep::compare::account::{Account, Source};
use dormouse_sleep::compare::excerpt::{Called, Excerpts};
use serde_json::{Value, json};

/// Shares of one account that have a row of their own.
const SHARES: usize = 6;

/// Callbacks of excerpts that have a row.
const CALLBACKS: usize = 15;

/// One account as rows: the largest shares, the others together, what is left without a cause,
/// and the sum. Rows are rounded so that they add up as printed.
fn rows(account: &Account<'_>) -> Vec<Vec<String>> {
    let cell = |hundredths: i64| signed(Ns(hundredths * HUNDREDTH));
    let told = account.shares.iter().filter(|s| s.source != Source::Unexplained);
    let mut list: Vec<(String, i64)> = told
        .map(|s| (source(&s.source, s.change), hundredths(s.change)))
        .filter(|(_, change)| *change != 0)
        .collect();
    let unexplained = hundredths(account.of_kind("unexplained"));
    let sum = hundredths(account.change());
    let smaller = list.len().saturating_sub(SHARES);
    list.truncate(SHARES);
    let rest = sum - unexplained - list.iter().map(|r| r.1).sum::<i64>();
    if rest != 0 || smaller > 0 {
        list.push(("smaller shares, and rounding".into(), rest));
    }
    list.push(("unexplained".into(), unexplained));
    list.push(("sum".into(), sum));
    list.into_iter()
        .map(|(what, change)| vec![format!("  {}", safe(&what)), cell(change)])
        .collect()
}

/// What the last digit of a table is worth.
const HUNDREDTH: i64 = 10_000;

fn hundredths(ns: f64) -> i64 {
    (ns / HUNDREDTH as f64).round() as i64
}

fn signed(change: Ns) -> String {
    match hundredths(change.0 as f64) {
        0 => "=".into(),
        n if n > 0 => format!("+{}", ms(change)),
        _ => ms(change),
    }
}

/// Accounts as tables, one a phase, with a head.
pub fn accounts(list: &[&Account<'_>]) -> String {
    let mut out = String::new();
    for account in list {
        let (was, is) = (Ns(account.before as i64), Ns(account.after as i64));
        let name = phase(account.phase);
        let head = vec![format!("{name}, {} -> {} ms, from", ms(was), ms(is)), "change".into()];
        out.push('\n');
        out.push_str(&plain_table(head, rows(account)));
    }
    if !out.is_empty() {
        out.push_str("  On the critical path of the median cycle (of two: their mean).\n");
    }
    out
}

/// Accounts for JSON. Durations are nanoseconds.
pub fn json_of(list: &[Account<'_>]) -> Value {
    let share = |s: &dormouse_sleep::compare::account::Share<'_>| {
        let (device, reason) = match &s.source {
            Source::Device(d) | Source::Order(d) => (Some(d), None),
            Source::Wait(r) => (None, Some(r.name())),
            Source::Unexplained => (None, None),
        };
        json!({
            "from": s.source.name(),
            "device": device.map(|d| d.name),
            "parent": device.map(|d| d.parent),
            "nth": device.map(|d| d.nth),
            "reason": reason,
            "change": s.change,
        })
    };
    let of = |a: &Account<'_>| {
        json!({
            "phase": a.phase.name(),
            "direction": a.phase.direction().name(),
            "median": [a.before, a.after],
            "change": a.change(),
            "devices": a.of_kind("device"),
            "order": a.of_kind("order"),
            "waits": a.of_kind("wait"),
            "unexplained": a.of_kind("unexplained"),
            "shares": a.shares.iter().map(share).collect::<Vec<_>>(),
        })
    };
    list.iter().map(of).collect()
}

/// Two excerpts for a terminal. `files` are what was given, for the last line.
pub fn excerpts(e: &Excerpts<'_>, labels: [&str; 2], files: &[String]) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, &safe(&answer(e)));
    let runs = match e.runs {
        [1, 1] => "One run on each side: no difference can be told from chance.".to_owned(),
        // None of them is whole.
        [0, _] | [_, 0] => "Pieces of runs tell no difference from chance.".to_owned(),
        [a, b] => format!("Medians of {a} and {b} runs."),
    };
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!("No whole cycle stands on both sides, so no total is compared. {runs}"),
    );
    let mut out = page.finish();
    let time = |ns: f64| ms(Ns(ns as i64));
    let head = |what: &str| {
        let narrow = |s: &str| safe(s).chars().take(11).collect::<String>();
        vec![what.into(), narrow(labels[0]), narrow(labels[1]), "change".into()]
    };
    if !e.phases.is_empty() {
        let body = e
            .phases
            .iter()
            .map(|(p, a, b)| vec![phase(*p), time(*a), time(*b), signed(Ns((b - a) as i64))]);
        out.push('\n');
        out.push_str(&plain_table(head("phase, ms"), body.collect()));
    }
    if !e.both.is_empty() {
        let body = e.both.iter().take(CALLBACKS).map(|p| {
            vec![called(&p.called), time(p.before), time(p.after), signed(Ns(p.change() as i64))]
        });
        out.push('\n');
        out.push_str(&plain_table(head("callback, ms"), body.collect()));
        if let more @ 1.. = e.both.len().saturating_sub(CALLBACKS) {
            out.push_str(&format!("and {} that changed less\n", plural(more, "callback")));
        }
    }
    let mut page = Page::new(false);
    for (side, alone) in labels.iter().zip(&e.alone) {
        if alone.is_empty() {
            continue;
        }
        let named: Vec<String> = alone
            .iter()
            .take(4)
            .map(|(c, took)| format!("{} ({} ms)", called(c).trim(), time(*took)))
            .collect();
        let more = if alone.len() > named.len() { ", ..." } else { "" };
        let text = format!(
            "In {side} alone: {}: {}{more}.",
            plural(alone.len(), "callback"),
            named.join(", ")
        );
        page.wrapped(Ink::Plain, 0, 2, &safe(&text));
    }
    out.push_str(&page.finish());
    out.push_str(&accounts(&e.accounts.iter().collect::<Vec<_>>()));
    let shown = files.first().map_or(String::new(), |f| crate::wording::next::typed(f));
    out + "\n" + &next(&format!("show {shown}"))
}

fn called(c: &Called<'_>) -> String {
    let nth = if c.nth > 1 { format!(" (no. {})", c.nth) } else { String::new() };
    let function = c.function.split('+').next().unwrap_or(c.function);
    safe(&format!("{} {function}{nth}", c.device)).into_owned()
}

/// The answer in one sentence.
pub fn answer(e: &Excerpts<'_>) -> String {
    let sum = |of: fn(&dormouse_sleep::compare::excerpt::Pair<'_>) -> f64| -> f64 {
        e.both.iter().map(of).sum()
    };
    let Some(most) = e.both.first() else {
        let most = e.phases.iter().max_by(|x, y| (x.2 - x.1).abs().total_cmp(&(y.2 - y.1).abs()));
        return match most {
            Some((p, a, b)) if hundredths(b - a) != 0 => format!(
                "{} on both sides; {} changes most, {} -> {} ms ({}).",
                plural(e.phases.len(), "phase"),
                phase(*p),
                ms(Ns(*a as i64)),
                ms(Ns(*b as i64)),
                signed(Ns((b - a) as i64))
            ),
            _ => "The phases that both sides show take equally long.".into(),
        };
    };
    let (was, is) = (sum(|p| p.before), sum(|p| p.after));
    let head = format!(
        "{} on both sides: together {} -> {} ms ({})",
        plural(e.both.len(), "callback"),
        ms(Ns(was as i64)),
        ms(Ns(is as i64)),
        signed(Ns((is - was) as i64))
    );
    if hundredths(most.change()) == 0 {
        return format!("{head}; none changed by 0.01 ms.");
    }
    let change = signed(Ns(most.change() as i64));
    format!("{head}; {} changes most, {change}.", called(&most.called))
}

/// Two excerpts as JSON.
pub fn excerpts_json(e: &Excerpts<'_>, labels: [&str; 2]) -> Value {
    let name = |c: &Called<'_>| json!({ "device": c.device, "function": c.function, "nth": c.nth });
    let pairs = e.both.iter().map(|p| {
        let mut row = name(&p.called);
        row["median"] = json!([p.before, p.after]);
        row["change"] = json!(p.change());
        row
    });
    let alone = e.alone.iter().map(|list| {
        let row = |(c, took): &(Called<'_>, f64)| {
            let mut row = name(c);
            row["median"] = json!(took);
            row
        };
        list.iter().map(row).collect::<Vec<_>>()
    });
    let phases = e.phases.iter().map(|(p, a, b)| {
        json!({
            "phase": p.name(),
            "direction": p.direction().name(),
            "median": [a, b],
            "change": b - a,
        })
    });
    json!({
        "labels": labels,
        "runs": e.runs,
        "answer": answer(e),
        "callbacks": pairs.collect::<Vec<_>>(),
        "alone": alone.collect::<Vec<_>>(),
        "phases": phases.collect::<Vec<_>>(),
        "accounts": json_of(&e.accounts),
    })
}
