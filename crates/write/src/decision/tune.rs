//! What `dormouse tune` found.

use super::{clip, device};
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::number::{ms, plural, share};
use dormouse_board::Board;
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::per_mille;
use dormouse_sleep::tune::{Cost, Flip, Tuned};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How many flips a terminal shows.
const SHOWN: usize = 20;

/// A gain below this is no news: machines differ by more from cycle to cycle.
const NEWS: Ns = Ns::from_us(100);

/// A flip is worth a line if it alone, or on top of the others, brings this
/// share of the whole gain, in tenths of a percent.
const WORTH: u32 = 50;

/// The result for a terminal, 80 columns. `bound` is what no schedule can beat.
pub fn text(board: &Board, t: &Tuned, bound: Cost) -> String {
    let mut page = Page::new(false);
    let gain = t.before.total() - t.after.total();
    let worth = |f: &&Flip| per_mille(f.now.max(f.alone), gain) >= WORTH;
    let listed: Vec<&Flip> = t.flips.iter().filter(worth).take(SHOWN).collect();
    let rest = t.flips.len() - listed.len();
    for (i, line) in answer(board, t, gain, &listed).iter().enumerate() {
        page.wrapped(if i == 0 { Ink::Strong } else { Ink::Plain }, 0, 2, line);
    }
    if t.free == 0 {
        return page.finish();
    }
    page.wrapped(Ink::Plain, 0, 2, &how(t, bound));
    let mut out = page.finish();
    let _ = writeln!(
        out,
        "\n{:<38}{:>11}{:>11}{:>11}",
        "Model, device phases, ms", "suspend", "resume", "both"
    );
    for (what, cost) in [
        ("  today", t.before),
        ("  all synchronous", t.all_sync),
        ("  all asynchronous (where allowed)", t.all_async),
        ("  best of random settings", t.random),
        ("  tuned", t.after),
        ("  floor (longest dependency chain)", bound),
    ] {
        let _ = writeln!(
            out,
            "{what:<38}{:>11}{:>11}{:>11}",
            ms(cost.suspend),
            ms(cost.resume),
            ms(cost.total())
        );
    }
    if !listed.is_empty() {
        let _ = writeln!(out, "\n{:<36}{:>8}{:>24}", "", "", "saves, ms");
        let _ = writeln!(out, "{:<36}{:>8}{:>12}{:>12}", "Device", "to", "alone", "added");
        for f in &listed {
            let _ = writeln!(
                out,
                "{:<36}{:>8}{:>12}{:>12}",
                clip(&format!("  {}", device(board, f.device)), 35),
                if f.to_async { "async" } else { "sync" },
                ms(f.alone),
                ms(f.now)
            );
            let _ = writeln!(out, "    safe: {}", f.evidence.explain());
        }
        out.push_str("alone: this flag by itself; added: on top of those above it.\n");
    }
    if rest > 0 {
        let shown: Ns = listed.iter().map(|f| f.now).sum();
        let _ = writeln!(
            out,
            "{} would save {} more together (--json lists all).",
            plural(rest, "other flag"),
            gain - shown
        );
    }
    out
}

/// The first lines: what to change, what it brings, and what it may cost.
fn answer(board: &Board, t: &Tuned, gain: Ns, listed: &[&Flip]) -> Vec<String> {
    if t.free == 0 {
        return vec![
            "Cannot tune: no async flag is free to change here.".into(),
            "A log shows no async flags of devices whose callbacks it cannot place, and none is \
             proposed without evidence. Record with dormouse record, or allow more with --bold."
                .into(),
        ];
    }
    let mut out = Vec::new();
    if gain < NEWS {
        let all = match gain {
            Ns::ZERO => String::new(),
            g => format!(" All {} together save {g}.", t.flips.len()),
        };
        out.push(format!(
            "No flag is worth changing: suspend {}, resume {}.{all}",
            t.before.suspend, t.before.resume
        ));
        return out;
    }
    let share = share(gain, t.before.total());
    let names: Vec<String> = listed
        .iter()
        .take(3)
        .map(|f| {
            let to = if f.to_async { "async" } else { "sync" };
            format!("{} {to}", safe(board.names.get(board.graph.get(f.device).name)))
        })
        .collect();
    let more = if listed.len() > 3 { ", ..." } else { "" };
    let what = match (listed.len(), t.pm_async) {
        (0, Some(_)) => "Setting pm_async to 0 is worth it".to_string(),
        (1, _) => format!("1 flag is worth changing ({})", names[0]),
        (n, _) => format!("{n} flags are worth changing ({}{more})", names.join(", ")),
    };
    let risk = t.if_exclusive.filter(|c| c.total() > t.before.total());
    match risk {
        Some(c) => out.push(format!(
            "{what}: {gain} less ({share}) if their drivers are independent, {} more if they \
             share a lock. Test before you keep it (--apply).",
            c.total() - t.before.total()
        )),
        None => out.push(format!(
            "{what}: {gain} less ({share}); suspend {} -> {}, resume {} -> {}.",
            t.before.suspend, t.after.suspend, t.before.resume, t.after.resume
        )),
    }
    if let (None, Some(c)) = (risk, t.if_exclusive) {
        let left = |c: Cost| Ns((t.before.total() - c.total()).0.max(0));
        let ordered = t
            .if_ordered
            .map_or(String::new(), |c| format!(" If each needs the one before: {}.", left(c)));
        out.push(format!(
            "Assumes that these callbacks can run in parallel. If they share a lock: {} remain.\
             {ordered}",
            left(c)
        ));
    }
    if t.pm_async == Some(false) && !listed.is_empty() {
        out.push("Also set /sys/power/pm_async to 0: queueing costs more than it saves.".into());
    }
    out
}

/// How far the search went.
fn how(t: &Tuned, bound: Cost) -> String {
    if t.exact {
        return format!("Every setting of {} was tried.", plural(t.free, "free flag"));
    }
    format!(
        "{}, {}; the result is {} above the floor, which may be out of reach.",
        plural(t.free, "free flag"),
        plural(t.evaluated as usize, "simulation"),
        share(t.after.total() - bound.total(), t.after.total())
    )
}

/// The same as JSON: schema `dormouse.tune`, version 1; nanoseconds.
pub fn json(board: &Board, t: &Tuned, bound: Cost) -> Value {
    let cost = |c: Cost| json!({"suspend_ns": c.suspend.0, "resume_ns": c.resume.0});
    json!({
        "schema": "dormouse.tune",
        "version": 1,
        "before": cost(t.before),
        "after": cost(t.after),
        "all_sync": cost(t.all_sync),
        "all_async": cost(t.all_async),
        "if_exclusive": t.if_exclusive.map(cost),
        "if_ordered": t.if_ordered.map(cost),
        "random": cost(t.random),
        "bound": cost(bound),
        "pm_async": t.pm_async,
        "free_flags": t.free,
        "exact": t.exact,
        "simulations": t.evaluated,
        "flips": t.flips.iter().map(|f| json!({
            "device": board.names.get(board.graph.get(f.device).name),
            "driver": board.names.get(board.graph.get(f.device).driver),
            "index": f.device.0,
            "async": f.to_async,
            "evidence": f.evidence.name(),
            "alone_ns": f.alone.0,
            "now_ns": f.now.0,
        })).collect::<Vec<_>>(),
    })
}
