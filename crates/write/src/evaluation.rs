//! How good the model is on a machine: a table, or JSON (docs/evaluate-json.md).

use crate::text::safe;
use crate::wording::phase::phase;
use dormouse_model::time::Ns;
use dormouse_model::trip::Trip;
use dormouse_sleep::evaluate::{Errors, Evaluation, FLOOR, PERCENT};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What was evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The host or the input.
    pub name: &'a str,
    /// The kernel release that was recorded; empty if none.
    pub release: &'a str,
    /// Which callbacks.
    pub trip: Trip,
    /// What was assumed, as sentences.
    pub assumptions: &'a [String],
}

/// The value that `percent` of `sorted` do not exceed.
fn at(sorted: &[Ns], percent: usize) -> Ns {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or_default()
}

/// `0.25` of 2,500 millionths; empty for none.
fn percent(millionths: Option<i64>) -> String {
    millionths.map_or(String::new(), |m| format!("{}.{:02}", m / 10_000, m % 10_000 / 100))
}

/// Three columns of one kind of prediction.
fn columns(e: &Errors) -> String {
    if e.relative.is_empty() {
        return String::new();
    }
    let right = format!("{} of {}", e.right, e.relative.len());
    format!("{:>8} {:>8} {right:>11}", percent(e.quantile(50)), percent(e.quantile(95)))
}

/// The table of one machine.
pub fn text(s: &Subject<'_>, e: &Evaluation) -> String {
    let mut out = String::new();
    let kernel = if s.release.is_empty() { "an unknown kernel" } else { s.release };
    let trip = if s.trip.hibernates() { format!(", {}", s.trip.name()) } else { String::new() };
    let _ = writeln!(
        out,
        "{}, {}{trip}: {} cycle{}",
        safe(s.name),
        safe(kernel),
        e.cycles,
        if e.cycles == 1 { "" } else { "s" }
    );
    let _ = writeln!(
        out,
        "\nerror in %      recorded   own callback times            other cycles\n\
         {:<15}{:>9}   {:>8} {:>8} {:>11}{:>8} {:>8} {:>11}",
        "", "ms", "median", "p95", "right", "median", "p95", "right"
    );
    for p in &e.phases {
        let middle = at(&p.recorded, 50).0;
        let _ = writeln!(
            out,
            "{:<15}{:>9}   {}{}",
            phase(p.phase),
            format!("{}.{:03}", middle / 1_000_000, middle % 1_000_000 / 1_000),
            columns(&p.own),
            columns(&p.others),
        );
    }
    let [own, others] = e.right();
    let _ = writeln!(
        out,
        "\nRight are {} of {} phases from their own callback times: at most {PERCENT} % or {FLOOR} \
         apart.",
        own.0, own.1
    );
    match others.1 {
        0 => out.push_str("With one cycle none can be predicted from others; record more.\n"),
        all => {
            let _ =
                writeln!(out, "From the medians of the other cycles {} of {all} are.", others.0);
        }
    }
    let order = &e.order;
    if !order.starts.is_empty() {
        let _ = writeln!(
            out,
            "Of {} neighbours in order of start {} are the other way round (ties of 50 us left \
             out);\nhalf of the {} starts are at most {} off, 19 of 20 at most {}.",
            order.pairs,
            order.wrong,
            order.starts.len(),
            at(&order.starts, 50),
            at(&order.starts, 95),
        );
    }
    out
}

/// The same as JSON; nanoseconds.
pub fn json(s: &Subject<'_>, e: &Evaluation) -> Value {
    let errors = |e: &Errors| {
        json!({
            "cycles": e.relative.len(),
            "right": e.right,
            "median_millionths": e.quantile(50),
            "p95_millionths": e.quantile(95),
            "median_ns": (!e.apart.is_empty()).then(|| at(&e.apart, 50).0),
            "p95_ns": (!e.apart.is_empty()).then(|| at(&e.apart, 95).0),
        })
    };
    let phases: Vec<Value> = e
        .phases
        .iter()
        .map(|p| {
            json!({
                "phase": p.phase.name(),
                "direction": p.phase.direction().name(),
                "recorded_ns": at(&p.recorded, 50).0,
                "own": errors(&p.own),
                "others": errors(&p.others),
            })
        })
        .collect();
    let [own, others] = e.right();
    json!({
        "schema": "dormouse-evaluate/1",
        "name": s.name,
        "kernel": (!s.release.is_empty()).then_some(s.release),
        "trip": s.trip.name(),
        "cycles": e.cycles,
        "phases": phases,
        "own": { "right": own.0, "all": own.1 },
        "others": { "right": others.0, "all": others.1 },
        "order": {
            "pairs": e.order.pairs,
            "wrong": e.order.wrong,
            "starts": e.order.starts.len(),
            "median_ns": (!e.order.starts.is_empty()).then(|| at(&e.order.starts, 50).0),
            "p95_ns": (!e.order.starts.is_empty()).then(|| at(&e.order.starts, 95).0),
        },
        "percent": e.percent(),
        "assumptions": s.assumptions,
    })
}
