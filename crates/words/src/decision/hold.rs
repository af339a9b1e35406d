//! What was predicted beside what a kernel did.

use crate::text::page::{Ink, Page};
use crate::wording::number::{ms, signed_ms};
use dormouse_base::time::Ns;
use dormouse_sleep::compare::contrast::Verdict;
use dormouse_sleep::validate::{FLOOR, Held, JUDGED, Outcome, Part, Row, TOLERANCE};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Where and how it was measured, in words.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// Kernel release.
    pub kernel: String,
    /// CPUs of the guest.
    pub cpus: u32,
    /// Boots a side.
    pub boots: u32,
    /// Cycles of each boot, the first of which is left out.
    pub cycles: u32,
    /// How deep, as on the command line.
    pub sleep: &'static str,
    /// What the guest did differently from the board.
    pub differences: Vec<String>,
}

/// What was done, as a heading.
pub fn heading(place: &Place) -> String {
    let n = |n: u32, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let mut page = Page::new(false);
    page.wrapped(
        Ink::Plain,
        0,
        0,
        &format!(
            "Verified in the laboratory on {} with {}: {} of {} on each side, {}.",
            place.kernel,
            n(place.cpus, "CPU"),
            n(place.boots, "boot"),
            n(place.cycles, "cycle"),
            if place.sleep == "platform" { "all device phases" } else { place.sleep },
        ),
    );
    page.finish()
}

/// The table and the verdict for a terminal, 80 columns. Before and measured are
/// medians; apart is the difference of the two changes as a share of before.
pub fn text(held: &Held, place: &Place) -> String {
    let mut out = format!(
        "{:<15}{:>9}{:>11}{:>10}{:>19}{:>8}\n",
        "change (ms)", "before", "predicted", "measured", "95 % interval", "apart"
    );
    for r in held.rows.iter().filter(|r| matches!(r.part, Part::All(_)) || r.is_judged()) {
        let _ = writeln!(out, "{}", line(r));
    }
    out.push('\n');
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 0, &verdict(held));
    for d in &place.differences {
        page.wrapped(Ink::Plain, 0, 0, &format!("The guest differs from the board: {d}."));
    }
    page.wrapped(
        Ink::Plain,
        0,
        0,
        "The laboratory builds what the board declares: a lock or an order that nobody declared \
         is not in it, and can still take the gain away on the machine itself.",
    );
    out + &page.finish()
}

fn line(r: &Row) -> String {
    let signed = signed_ms;
    let interval = match r.measured.interval {
        Some((low, high)) => format!("{} .. {}", signed(low), signed(high)),
        None => String::new(),
    };
    format!(
        "{:<15}{:>9}{:>11}{:>10}{interval:>19}{:>8}{}",
        name(r.part),
        ms(Ns(r.measured.median[0].round() as i64)),
        signed(r.predicted_change()),
        signed(r.measured.difference),
        format!("{:.1} %", r.off().abs()),
        if r.held() { "" } else { "  MISSED" }
    )
}

/// The part as a row is called.
pub fn name(part: Part) -> String {
    match part {
        Part::All(d) => d.name().to_string(),
        Part::One(p) => format!(" {}", p.title()),
    }
}

/// One sentence that says whether the prediction held.
pub fn verdict(held: &Held) -> String {
    let (predicted, measured) = held.total();
    let both = format!(
        "predicted {} ms, measured {} ms for suspend and resume together",
        signed_ms(predicted),
        signed_ms(measured)
    );
    let doubt = if held.beyond_doubt() {
        ""
    } else {
        " The measured difference is not beyond the 5 % level."
    };
    let worst = || {
        let judged = held.rows.iter().filter(|r| r.is_judged());
        judged.map(|r| r.off().abs()).fold(0.0, f64::max)
    };
    match held.outcome() {
        Outcome::Held => format!(
            "The prediction held: {both}; where more than {:.0} % and {FLOOR} was predicted, \
             direction and size are right (at most {:.1} % of the phase apart).{doubt}",
            100.0 * JUDGED,
            worst()
        ),
        Outcome::NothingPredicted => format!(
            "Less than {:.0} % or {FLOOR} was predicted for every phase, too little to judge: \
             {both}.{doubt}",
            100.0 * JUDGED
        ),
        Outcome::OtherSize => format!(
            "The prediction did not hold: {both}. The direction is right, but somewhere the change \
             is more than {:.0} % of the phase from the predicted one (up to {:.1} %).{doubt}",
            100.0 * TOLERANCE,
            worst()
        ),
        Outcome::OtherDirection => format!(
            "The prediction did not hold: {both}; in a phase marked MISSED the kernel did not go \
             the predicted way.{doubt}"
        ),
    }
}

/// The same for the member `verified` of JSON; nanoseconds.
pub fn json(held: &Held, place: &Place) -> Value {
    let rows: Vec<Value> = held
        .rows
        .iter()
        .map(|r| {
            let (kind, part) = match r.part {
                Part::All(d) => ("direction", d.name().to_string()),
                Part::One(p) => ("phase", p.title().to_string()),
            };
            json!({
                "kind": kind,
                "part": part,
                "predicted_before_ns": r.predicted.0.0,
                "predicted_after_ns": r.predicted.1.0,
                "measured_before_ns": r.measured.median[0],
                "measured_after_ns": r.measured.median[1],
                "measured_interval_95_ns": r.measured.interval,
                "measured_faster": r.measured.verdict == Verdict::Faster,
                "measured_slower": r.measured.verdict == Verdict::Slower,
                "judged": r.is_judged(),
                "right_direction": r.right_direction(),
                "off_percent_of_phase": r.off(),
                "held": r.held(),
            })
        })
        .collect();
    let mut out = json!(place);
    out["outcome"] = json!(held.outcome());
    out["sentence"] = verdict(held).into();
    out["rows"] = rows.into();
    out
}
