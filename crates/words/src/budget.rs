//! Whether recorded cycles meet a budget, as `check --resume 1s` says it.

use crate::text::page::{Ink, Page};
use crate::wording::next;
use crate::wording::number::{names, plural};
use dormouse_base::phase::Direction;
use dormouse_sleep::budget::{Budgeted, Half, Took, Verdict, Why};

/// So many cycles that are over are listed.
const LISTED: usize = 10;

/// The screen. `typed` are the inputs as they are typed.
pub fn text(b: &Budgeted, typed: &str, colour: bool) -> String {
    let mut page = Page::new(colour);
    let mut halves: Vec<(Direction, &Half)> = b.halves().collect();
    halves.sort_by_key(|(_, h)| match h.verdict {
        Verdict::Over => 0,
        Verdict::Unknown => 1,
        Verdict::Met => 2,
    });
    for (direction, h) in &halves {
        page.wrapped(Ink::Strong, 0, 2, &answer(*direction, h));
    }
    page.wrapped(
        Ink::Plain,
        0,
        2,
        "As recorded, the first sleep after boot among them. What firmware takes before the \
         kernel runs is in no recording, and not in these times.",
    );
    for (direction, h) in &halves {
        if let Some(text) = open(*direction, h) {
            page.wrapped(Ink::Plain, 0, 2, &text);
        }
    }
    for (direction, h) in &halves {
        over(&mut page, *direction, h);
    }
    page.blank();
    page.verbatim(Ink::Strong, &next::next(&next_command(&halves, typed)));
    page.finish()
}

/// What is wrong, in one sentence; nothing if all is met.
pub fn not_met(b: &Budgeted) -> Option<String> {
    let over: Vec<&str> =
        b.halves().filter(|h| h.1.verdict == Verdict::Over).map(|h| h.0.name()).collect();
    let s = if over.len() == 1 { " is" } else { "s are" };
    (!over.is_empty()).then(|| format!("the budget{s} not met: {}", over.join(", ")))
}

fn answer(direction: Direction, h: &Half) -> String {
    let (half, budget) = (capital(direction), h.budget_ns);
    let cycles = plural(h.judged, "cycle");
    let slowest = h.slowest.as_ref().map(took).unwrap_or_default();
    let median = h.median_ns.filter(|_| h.judged > 1);
    let median = median.map_or(String::new(), |m| format!(", the median {m}"));
    match h.verdict {
        Verdict::Over => {
            let n = h.over.len();
            let take = if n == 1 { "takes" } else { "take" };
            format!(
                "{half} is over its budget: {n} of {cycles} {take} more than {budget}; the \
                 slowest, {slowest}{median}."
            )
        }
        Verdict::Met if h.judged == 1 => {
            format!("{half} meets its budget of {budget}: {slowest}.")
        }
        Verdict::Met => format!(
            "{half} meets its budget of {budget} in all {cycles}: the slowest, {slowest}{median}."
        ),
        Verdict::Unknown => {
            format!(
                "Whether {} meets {budget} is not known: no cycle can be judged.",
                half.to_lowercase()
            )
        }
    }
}

/// `cycle 4, takes 1.25 s`.
fn took(t: &Took) -> String {
    let more = if t.at_least { "more than " } else { "" };
    format!("cycle {}, takes {more}{}", t.cycle, t.took_ns)
}

fn capital(direction: Direction) -> &'static str {
    match direction {
        Direction::Suspend => "Suspend",
        Direction::Resume => "Resume",
    }
}

/// Which cycles were not judged, and why.
fn open(direction: Direction, h: &Half) -> Option<String> {
    let mut kinds: Vec<Why> = h.open.iter().map(|o| o.why).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let each = |why: &Why| {
        let of: Vec<String> =
            h.open.iter().filter(|o| o.why == *why).map(|o| o.cycle.to_string()).collect();
        let s = if of.len() == 1 { "" } else { "s" };
        let of = match of.len() {
            0..=3 => names(&of),
            n => format!("{}, {} and {} more", of[0], of[1], n - 2),
        };
        let why = match why {
            Why::DidNotSleep => "did not sleep".to_string(),
            Why::NotShown => format!("no {} is in the input", direction.name()),
            Why::NotTimed => "no phase of it can be timed".into(),
            Why::Part => format!("only part of {} is in the input", direction.name()),
        };
        format!("cycle{s} {of} ({why})")
    };
    let list: Vec<String> = kinds.iter().map(each).collect();
    (!list.is_empty()).then(|| format!("Not judged by {}: {}.", direction.name(), list.join(", ")))
}

fn over(page: &mut Page, direction: Direction, h: &Half) {
    if h.over.len() < 2 {
        return;
    }
    page.heading(&format!("Cycle  {}  beyond the budget", capital(direction).to_lowercase()));
    for t in h.over.iter().take(LISTED) {
        let more = if t.at_least { ">" } else { "" };
        let beyond = t.took_ns - h.budget_ns;
        let line = format!("{:>5}  {:>7}  {beyond:>17}", t.cycle, format!("{more}{}", t.took_ns));
        page.line(&[(Ink::Plain, &line)]);
    }
    if h.over.len() > LISTED {
        page.line(&[(
            Ink::Faint,
            &format!("  and {} more: --json lists all", h.over.len() - LISTED),
        )]);
    }
}

fn next_command(halves: &[(Direction, &Half)], typed: &str) -> String {
    let (_, first) = halves[0];
    match (first.verdict, first.slowest, first.open.first()) {
        (Verdict::Over, Some(t), _) => format!("show {typed} --cycle {}", t.cycle),
        (Verdict::Unknown, _, Some(o)) => format!("show {typed} --cycle {}", o.cycle),
        _ => format!("check {typed}"),
    }
}
