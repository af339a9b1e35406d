//! How good the model is on a machine: a table, or JSON (docs/evaluate-json.md).

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::assumed::sentences;
use crate::wording::next::file_of;
use crate::wording::number::{grouped, ms, plural};
use crate::wording::phase::phase;
use crate::wording::trust::emulated;
use dormouse_base::time::Ns;
use dormouse_base::trip::Trip;
use dormouse_board::assumed::Assumed;
use dormouse_sleep::evaluate::{Errors, Evaluation};
use dormouse_sleep::tolerance::RIGHT;
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
    /// The emulator that it was recorded in, if it was.
    pub guest: Option<&'static str>,
    /// What was assumed.
    pub assumptions: &'a [Assumed],
}

/// The median of a list in order, as `show` prints it: of two in the middle their mean.
fn middle(list: &[Ns]) -> Ns {
    match list.len() {
        0 => Ns::ZERO,
        n => Ns::mean(list[(n - 1) / 2], list[n / 2]),
    }
}

/// The value that `percent` of `sorted` do not exceed.
fn at(sorted: &[Ns], percent: usize) -> Ns {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or_default()
}

/// `0.25` of 2,500 millionths, rounded half up; empty for none.
fn percent(millionths: Option<i64>) -> String {
    let hundredths = |m: i64| (m + 50) / 100;
    millionths.map(hundredths).map_or(String::new(), |h| format!("{}.{:02}", h / 100, h % 100))
}

/// Three columns of one kind of prediction.
fn columns(e: &Errors, high: usize) -> String {
    if e.relative.is_empty() {
        return String::new();
    }
    let right = match e.judged {
        0 => "-".to_string(),
        n => format!("{} of {n}", e.right),
    };
    format!("{:>8}{:>8}{right:>11}", percent(e.quantile(50)), percent(e.quantile(high)))
}

/// The answer: how many phases are right, from what a prediction starts from
/// where there is more than one cycle.
fn answer(e: &Evaluation) -> String {
    let [own, others] = e.right();
    let ((right, all), from) = match others.1 {
        0 => (own, "predicted from its own callback times"),
        _ => (others, "predicted from the other cycles"),
    };
    let short = e.short()[usize::from(others.1 > 0)];
    if all == 0 {
        return match short {
            0 => "Nothing can be judged: of no phase start, end and callbacks are all there.",
            _ => "Nothing can be judged: every phase takes less than what counts as right.",
        }
        .into();
    }
    let short = match short {
        0 => String::new(),
        n => format!(
            " {0} under {1} ms {2} not counted: {1} ms off is right, so none could be wrong.",
            plural(n as usize, "phase"),
            RIGHT.floor.0 / 1_000_000,
            if n == 1 { "is" } else { "are" }
        ),
    };
    let word = match (right * 100).checked_div(all).unwrap_or(0) {
        90.. => "good",
        50.. => "fair",
        _ => "poor",
    };
    format!(
        "The model is {word} here: {right} of {} {} right, {from}.{short}",
        plural(all as usize, "phase"),
        if right == 1 { "is" } else { "are" }
    )
}

/// The table of one machine.
pub fn text(s: &Subject<'_>, e: &Evaluation) -> String {
    let mut out = String::new();
    let kernel = if s.release.is_empty() { "kernel unknown" } else { s.release };
    let trip = if s.trip.hibernates() { format!(", {}", s.trip.name()) } else { String::new() };
    let mut page = Page::new(false);
    page.wrapped(Ink::Strong, 0, 2, &answer(e));
    let facts = format!(
        "{}: {}{trip}, {}. Right: at most {} % or {} ms off.",
        safe(file_of(s.name)),
        safe(kernel),
        plural(e.cycles, "cycle"),
        RIGHT.percent,
        RIGHT.floor.0 / 1_000_000
    );
    page.wrapped(Ink::Plain, 0, 2, &facts);
    if let Some(guest) = s.guest {
        page.wrapped(Ink::Plain, 0, 2, &emulated(guest));
    }
    out.push_str(&page.finish());
    // Of few cycles the 95th percentile is none.
    let (word, high) = if e.cycles >= 20 { ("p95", 95) } else { ("max", 100) };
    let _ = writeln!(
        out,
        "\nerror in %      recorded    own callback times          other cycles\n\
         {:<15}{:>9}{:>8}{:>8}{:>11}{:>8}{:>8}{:>11}",
        "", "ms", "median", word, "right", "median", word, "right"
    );
    for p in &e.phases {
        let line = format!(
            "{:<15}{:>9}{}{}",
            phase(p.phase),
            ms(middle(&p.recorded)),
            columns(&p.own, high),
            columns(&p.others, high),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let [own, others] = e.right();
    let mut page = Page::new(false);
    page.blank();
    let own = format!(
        "From its own callback times (which tests the scheduling alone) {} of {} {} right.",
        own.0,
        plural(own.1 as usize, "phase"),
        if own.0 == 1 { "is" } else { "are" }
    );
    page.wrapped(Ink::Plain, 0, 0, &own);
    if others.1 == 0 {
        let text = "With one cycle none can be predicted from others; record more.";
        page.wrapped(Ink::Plain, 0, 0, text);
    }
    let order = &e.order;
    if !order.starts.is_empty() {
        let text = format!(
            "{} of {} in order of start {} the other way round (ties of 0.05 ms left out); half of \
             the {} are at most {} off, 19 of 20 at most {}.",
            grouped(order.wrong),
            plural(order.pairs as usize, "neighbour"),
            if order.wrong == 1 { "is" } else { "are" },
            plural(order.starts.len(), "start"),
            at(&order.starts, 50),
            at(&order.starts, 95),
        );
        page.wrapped(Ink::Plain, 0, 0, &text);
    }
    out.push_str(&page.finish());
    out
}

/// The same as JSON; nanoseconds.
pub fn json(s: &Subject<'_>, e: &Evaluation) -> Value {
    let errors = |e: &Errors| {
        json!({
            "cycles": e.relative.len(),
            "judged": e.judged,
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
                "recorded_ns": middle(&p.recorded).0,
                "own": errors(&p.own),
                "others": errors(&p.others),
            })
        })
        .collect();
    let [own, others] = e.right();
    json!({
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
        "assumptions": sentences(s.assumptions),
    })
}
