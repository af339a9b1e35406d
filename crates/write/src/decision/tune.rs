//! What `dormouse tune` found.

use super::{clip, device};
use crate::text::page::{Ink, Page};
use dormouse_board::Board;
use dormouse_model::time::Ns;
use dormouse_sleep::tune::{Cost, Tuned};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How many flips a terminal shows.
const SHOWN: usize = 20;

/// The result for a terminal, 80 columns. `bound` is what no schedule can beat.
pub fn text(board: &Board, t: &Tuned, bound: Cost) -> String {
    let mut out = String::new();
    let gain = t.before.total() - t.after.total();
    let percent = 100.0 * gain.0 as f64 / t.before.total().0.max(1) as f64;
    if t.flips.is_empty() && t.pm_async.is_none() {
        let _ = writeln!(
            out,
            "The flags are as good as they get: suspend {} and resume {}.",
            t.before.suspend, t.before.resume
        );
    } else {
        let n = t.flips.len();
        let _ = writeln!(
            out,
            "{n} flag{} to change: suspend {} to {}, resume {} to {},\ntogether {} less ({percent:.1} %).",
            if n == 1 { "" } else { "s" },
            t.before.suspend,
            t.after.suspend,
            t.before.resume,
            t.after.resume,
            gain
        );
    }
    if let Some(c) = t.if_exclusive {
        let mut page = Page::new(false);
        let left = |c: Cost| match (t.before.total() - c.total()).0 {
            left @ ..=0 => format!("nothing is left of that, it becomes {} longer", Ns(-left)),
            left => format!("{} of that is left", Ns(left)),
        };
        let ordered = t
            .if_ordered
            .map_or(String::new(), |c| format!("; if each needs the one before it, {}", left(c)));
        let rest = left(c);
        page.wrapped(
            Ink::Plain,
            0,
            0,
            &format!(
                "That counts on running beside one another what runs one after the other now: if \
                 these drivers share a lock, which no graph shows, {rest}{ordered}."
            ),
        );
        out.push_str(&page.finish());
    }
    if t.pm_async == Some(false) {
        out.push_str("Set /sys/power/pm_async to 0: queueing costs more here than it saves.\n");
    }
    let _ = writeln!(out, "\n{:<34}{:>11}{:>11}{:>11}", "", "suspend", "resume", "both");
    for (what, cost) in [
        ("as it is", t.before),
        ("all synchronous", t.all_sync),
        ("all asynchronous (where allowed)", t.all_async),
        ("best of as many random settings", t.random),
        ("tuned", t.after),
        ("no schedule can beat", bound),
    ] {
        let _ = writeln!(
            out,
            "{what:<34}{:>11}{:>11}{:>11}",
            cost.suspend.to_string(),
            cost.resume.to_string(),
            cost.total().to_string()
        );
    }
    let how = if t.exact {
        format!("Every setting of the {} free flags was looked at.", t.free)
    } else {
        let gap =
            100.0 * (t.after.total() - bound.total()).0 as f64 / t.after.total().0.max(1) as f64;
        format!(
            "{} free flags, {} simulations; {gap:.1} % above the bound (which may be\nout of reach).",
            t.free, t.evaluated
        )
    };
    let _ = writeln!(out, "\n{how}");
    if !t.flips.is_empty() {
        let _ = writeln!(out, "\n{:<36}{:>6}{:>12}{:>12}  because", "device", "to", "alone", "now");
        for f in t.flips.iter().take(SHOWN) {
            let _ = writeln!(
                out,
                "{:<36}{:>6}{:>12}{:>12}",
                clip(&device(board, f.device), 35),
                if f.to_async { "async" } else { "sync" },
                signed(f.alone),
                signed(f.now)
            );
            let _ = writeln!(out, "    {}", f.evidence.explain());
        }
        if t.flips.len() > SHOWN {
            let _ = writeln!(out, "and {} more (--json lists all)", t.flips.len() - SHOWN);
        }
        out.push_str(
            "\nLess is better. alone: if only this flag changes; now: after those above it.\n",
        );
    }
    out
}

fn signed(gain: Ns) -> String {
    if gain.0 == 0 { "0".into() } else { (-gain).to_string() }
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
