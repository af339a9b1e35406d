//! Whether limits hold, as `check --resume 1s` says it.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next;
use dormouse_base::gate::{Gate, Verdict};
use dormouse_base::phase::Direction;
use dormouse_sleep::budget::{self, Gated, Half};

/// So many cycles that are over, and findings, are listed.
const LISTED: usize = 10;

/// The screen. `typed` are the inputs as they are typed.
pub fn text(answer: &Gated, typed: &str, colour: bool) -> String {
    let mut page = Page::new(colour);
    let mut gates: Vec<&Gate> = answer.gates.iter().collect();
    gates.sort_by_key(|g| match g.verdict {
        Verdict::Missed => 0,
        Verdict::Unknown => 1,
        Verdict::Met => 2,
    });
    for g in &gates {
        page.wrapped(Ink::Strong, 0, 2, &safe(&g.sentence));
    }
    let mut halves = answer.budgets.halves().peekable();
    let trust = match halves.peek() {
        Some(_) if answer.budgets.after_boot => {
            "As recorded, the first sleep after boot among them. What firmware takes before the \
             kernel runs is in no recording, and not in these times."
        }
        Some(_) => {
            "As recorded. What firmware takes before the kernel runs is in no recording, and not \
             in these times."
        }
        None => "A limit holds only if the input proves it; what it does not hold is no success.",
    };
    page.wrapped(Ink::Plain, 0, 2, trust);
    for g in gates.iter().filter(|g| !g.open.is_empty()) {
        page.wrapped(Ink::Plain, 0, 2, &safe(&g.open));
    }
    halves.for_each(|(direction, h)| over(&mut page, direction, h));
    gates.iter().for_each(|g| counted(&mut page, g));
    page.blank();
    page.verbatim(Ink::Strong, &next::next(&next_command(answer, typed)));
    page.finish()
}

/// What is wrong, in one sentence; nothing if no gate is missed.
pub fn not_met(answer: &Gated) -> Option<String> {
    listed(answer, Verdict::Missed).map(|(s, names)| format!("the limit{s} not met: {names}"))
}

/// What is not known, in one sentence; nothing if every gate is.
pub fn not_known(answer: &Gated) -> Option<String> {
    let all = listed(answer, Verdict::Unknown);
    all.map(|(_, names)| format!("no verdict on {names}: the input does not hold what would tell"))
}

fn listed(answer: &Gated, verdict: Verdict) -> Option<(&'static str, String)> {
    let names: Vec<&str> =
        answer.gates.iter().filter(|g| g.verdict == verdict).map(|g| &*g.name).collect();
    let s = if names.len() == 1 { " is" } else { "s are" };
    (!names.is_empty()).then(|| (s, names.join(", ")))
}

/// The findings that count.
fn counted(page: &mut Page, g: &Gate) {
    if g.counted.is_empty() {
        return;
    }
    page.heading("Findings that count");
    for c in g.counted.iter().take(LISTED) {
        let at = c.line.map_or(String::new(), |l| format!(" line {l}"));
        page.entry("  ", &safe(&format!("{}: {} [{}{at}]", c.rule, c.sentence, c.input)));
    }
    more(page, g.counted.len());
}

fn more(page: &mut Page, all: usize) {
    if all > LISTED {
        page.line(&[(Ink::Faint, &format!("  and {} more: --json lists all", all - LISTED))]);
    }
}

fn over(page: &mut Page, direction: Direction, h: &Half) {
    if h.over.len() < 2 {
        return;
    }
    page.heading(&format!("Cycle  {}  beyond the budget", direction.name()));
    for t in h.over.iter().take(LISTED) {
        let more = if t.at_least { ">" } else { "" };
        let beyond = t.took_ns - h.budget_ns;
        let line = format!("{:>5}  {:>7}  {beyond:>17}", t.cycle, format!("{more}{}", t.took_ns));
        page.line(&[(Ink::Plain, &line)]);
    }
    more(page, h.over.len());
}

fn next_command(answer: &Gated, typed: &str) -> String {
    let mut halves: Vec<&Half> = answer.budgets.halves().map(|h| h.1).collect();
    halves.sort_by_key(|h| match h.verdict {
        budget::Verdict::Over => 0,
        budget::Verdict::Unknown => 1,
        budget::Verdict::Met => 2,
    });
    let first = halves.first().and_then(|h| match (h.verdict, h.slowest, h.open.first()) {
        (budget::Verdict::Over, Some(t), _) => Some(t.cycle),
        (budget::Verdict::Unknown, _, Some(o)) => Some(o.cycle),
        _ => None,
    });
    let check = format!("check {typed}");
    first.map_or(check.trim_end().into(), |cycle| format!("show {typed} --cycle {cycle}"))
}
