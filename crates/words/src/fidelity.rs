//! The self-check of a recording, as text and as JSON: the same everywhere.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::number::{ms, ms_change, plural};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_sleep::evidence::{Check, Fidelity, Late, Missing, Verdict};
use dormouse_sleep::simulate::predict::PRINTING;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A difference of prepare or complete is worth a sentence from here on.
const WALKS_APART: Ns = Ns::from_ms(1);

/// What is missing of a phase, in words; empty if nothing is.
pub fn missing(m: Option<Missing>) -> String {
    match m {
        None => String::new(),
        Some(Missing::Bracket) => "its start or end is not in the recording".into(),
        Some(Missing::Ends(n)) => format!("{} no end", have(n as usize, "callback")),
        Some(Missing::Lost(n)) => format!(
            "{} cut, dropped or without a start, and may be a callback of it",
            are(n as usize, "line")
        ),
        Some(Missing::Phase) => "it is not in the recording".into(),
        Some(Missing::Callbacks) => "no callback is listed in it".into(),
        Some(Missing::Event(e)) => format!("its {} callbacks are not simulated", e.name()),
    }
}

/// `1 callback has`, `2 callbacks have`.
fn have(n: usize, one: &str) -> String {
    format!("{} {}", plural(n, one), if n == 1 { "has" } else { "have" })
}

/// `1 line is`, `2 lines are`.
fn are(n: usize, one: &str) -> String {
    format!("{} {}", plural(n, one), if n == 1 { "is" } else { "are" })
}

fn name(board: &Board, device: u32) -> String {
    let device = board.graph.devices.get(device as usize);
    device.map_or("the start".into(), |d| safe(board.names.get(d.name)).into_owned())
}

fn wait(board: &Board, l: &Late) -> String {
    format!("{} starts {} ms after {}", name(board, l.device), ms(l.by), name(board, l.after))
}

/// The checks that stand for their phase, in order of the cycle.
fn rows(f: &Fidelity) -> Vec<&Check> {
    Phase::DEVICE.into_iter().filter_map(|p| f.phase(p)).collect()
}

/// Whether a phase is so short, recorded and simulated, that it is always within the
/// tolerance ([`Verdict::on`]).
fn short(c: &Check) -> bool {
    let most = c.recorded.max(c.simulated);
    c.missing.is_none() && most <= Ns::from_ms(1)
}

/// A time of `phase`, marked where its start or end is not in the recording.
pub fn at_least(f: &Fidelity, phase: Phase, time: String) -> String {
    if f.is_cut(phase) { format!(">{time}") } else { time }
}

/// The self-check as a section of text; empty for a board file.
pub fn text(f: &Fidelity, board: &Board) -> String {
    let mut out = String::new();
    let rows = rows(f);
    if rows.is_empty() {
        return out;
    }
    let cycles = f.checks.iter().map(|c| c.cycle).max().unwrap_or(0) + 1;
    let (which, column) = match cycles {
        1 => ("the recording, simulated as it was".into(), "recorded"),
        2..10 => (format!("the worst of {cycles} cycles, each simulated as it was"), "worst cycle"),
        n => (format!("the worst of nine tenths of {n} cycles, simulated as they were"), "cycle"),
    };
    let mut page = Page::new(false);
    page.blank();
    page.wrapped(Ink::Plain, 0, 2, &format!("Self-check ({which}): {}", f.verdict().name()));
    out.push_str(&page.finish());
    let _ = writeln!(out, "{:<15}{:>12}{:>12}{:>12}  verdict", "ms", column, "simulated", "apart");
    for c in Phase::DEVICE.into_iter().filter_map(|p| f.phase(p).or(f.walk(p))) {
        let counted = match c.phase.may_be_async() {
            true if f.is_pooled(c) => ", of the medians",
            true => "",
            false => ", not counted",
        };
        // What is not in the recording did not take 0.00 ms.
        let there = c.missing != Some(Missing::Phase);
        let seen = |text: String| if there { text } else { "-".into() };
        let _ = writeln!(
            out,
            "{:<15}{:>12}{:>12}{:>12}  {}{counted}",
            c.phase.title(),
            seen(at_least(f, c.phase, ms(c.recorded))),
            ms(c.simulated),
            seen(ms(c.difference())),
            match short(c) {
                true if c.phase.may_be_async() => "too short to tell",
                true => "too short",
                false => c.verdict.name(),
            }
        );
    }
    for c in rows.iter().filter(|c| c.printing >= PRINTING) {
        let _ = writeln!(
            out,
            "{:<15}{:>12}  ms of this is printing (two lines for {} callbacks)",
            c.phase.title(),
            ms(c.printing),
            c.callbacks
        );
    }
    let mut page = Page::new(false);
    let apart = |c: &&Check| c.difference().0.abs() >= WALKS_APART.0;
    let walks: Vec<&Check> = [Phase::Prepare, Phase::Complete]
        .into_iter()
        .filter_map(|p| f.walk(p))
        .filter(apart)
        .collect();
    if !walks.is_empty() {
        let said: Vec<String> = walks
            .iter()
            .map(|c| format!("{} {} ms", c.phase.title(), ms_change(c.recorded, c.simulated)))
            .collect();
        let text = format!(
            "not counted in the verdict, though the model's totals contain it: {}.",
            said.join(", ")
        );
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    out.push_str(&page.finish());
    page = Page::new(false);
    for line in reasons(f, board) {
        page.entry("- ", &line);
    }
    let reasons = page.finish();
    if !reasons.is_empty() {
        page = Page::new(false);
        page.line(&[(Ink::Plain, "No gain is claimed here:")]);
        out.push_str(&page.finish());
        out.push_str(&reasons);
    }
    out
}

/// What the [`reasons`] are of, as the begin of a sentence.
pub fn refusal(f: &Fidelity) -> &'static str {
    match f.not_reproduced().is_empty() {
        true => "the simulation reproduces the recording, which does not show what may change",
        false => "the simulation does not reproduce the recording",
    }
}

/// Why phases are not reproduced and what recording would help, a sentence or
/// two each.
pub fn reasons(f: &Fidelity, board: &Board) -> Vec<String> {
    let mut list = Vec::new();
    for c in f.not_reproduced() {
        let phase = c.phase.title();
        let mut line = match c.missing {
            Some(_) => format!("{phase}: {}.", missing(c.missing)),
            None => format!(
                "{phase}: {} ms were recorded, and the simulation takes {} ms.",
                ms(c.recorded),
                ms(c.simulated)
            ),
        };
        if c.missing.is_none() && !c.waits.is_empty() {
            let waits: Vec<String> = c.waits.iter().map(|w| wait(board, w)).collect();
            let _ = write!(line, " Nothing explains: {}.", waits.join("; "));
        }
        list.push(line);
    }
    if f.blind {
        list.push(
            "No callback in the recording began on a worker thread, so nothing says which devices \
             are asynchronous; \
             no gain of switching it on is claimed."
                .into(),
        );
    }
    if !list.is_empty() {
        list.push(
            "What helps: a recording of `dormouse record` (all devices, links and flags, and \
             nothing printed), or the whole log with pm_debug_messages and pm_print_times on, and \
             several cycles of it."
                .into(),
        );
    }
    list
}

/// The value of the key `fidelity`; nanoseconds.
pub fn json(f: &Fidelity, board: &Board) -> Value {
    let waits = |c: &Check| -> Vec<Value> {
        let one = |l: &Late| {
            let after = board.graph.devices.get(l.after as usize);
            json!({
                "device": name(board, l.device),
                "late_ns": l.by.0,
                "after": after.map(|d| board.names.get(d.name)),
            })
        };
        c.waits.iter().map(one).collect()
    };
    let all = Phase::DEVICE.into_iter().filter_map(|p| f.phase(p).or(f.walk(p)));
    let rows: Vec<Value> = all
        .map(|c| {
            json!({
                "phase": c.phase.name(),
                "direction": c.phase.direction().name(),
                "recorded_ns": c.recorded.0,
                "simulated_ns": c.simulated.0,
                "difference_ns": c.difference().0,
                "printing_ns": c.printing.0,
                "callbacks": c.callbacks,
                "verdict": c.verdict,
                "gain_claimed": c.verdict != Verdict::NotReproduced,
                "missing": c.missing.map(|m| missing(Some(m))),
                "counted": c.phase.may_be_async(),
                "unexplained_waits": waits(c),
            })
        })
        .collect();
    json!({ "verdict": f.verdict(), "phases": rows, "reasons": reasons(f, board) })
}
