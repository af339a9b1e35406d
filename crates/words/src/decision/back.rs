//! What keeps a limit on the way back as a whole, as `tune --ready net=2s` says it.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::text::{left, right};
use crate::wording::next;
use crate::wording::number::plural;
use crate::wording::whole::firmware;
use dormouse_base::say::span;
use dormouse_doctor::whole::budget::{ARITHMETIC, Limit, Plan, taken};

/// Columns of the marks, and of whose a row is.
const MARKS: usize = 34;
const WHOSE: usize = 16;

/// The screen. `typed` is the input as it is typed.
pub fn text(plan: &Plan, typed: &str, colour: bool) -> String {
    let mut page = Page::new(colour);
    page.wrapped(Ink::Strong, 0, 2, &safe(&plan.answer));
    page.wrapped(Ink::Plain, 0, 2, ARITHMETIC);
    for l in &plan.limits {
        rows(&mut page, l);
        changes(&mut page, plan, l);
    }
    page.blank();
    page.verbatim(Ink::Strong, &next::next(&format!("show {typed}")));
    page.finish()
}

/// The way to one mark.
fn rows(page: &mut Page, l: &Limit) {
    let sleeps = plural(l.sleeps.len(), "sleep");
    page.heading(&format!("From the kernel's return to {}: {sleeps}", safe(&l.what)));
    let head = [
        left("  until", MARKS),
        left("whose", WHOSE),
        right("of", 4),
        right("median", 12),
        right("longest", 12),
    ];
    page.line(&[(Ink::Faint, &head.concat())]);
    for r in &l.rows {
        let cells = [
            left(&format!("  {}", r.until.name()), MARKS),
            left(r.owner.name(), WHOSE),
            right(&r.sleeps.to_string(), 4),
            right(&span(r.median_ns), 12),
            right(&span(r.longest_ns), 12),
        ];
        page.line(&[(Ink::Plain, &cells.concat())]);
    }
    let kept = format!(
        "Told to keep {} as they are: {} of {}.",
        span(l.within_ns),
        l.kept,
        plural(l.sleeps.len(), "sleep")
    );
    page.paragraph(2, &kept);
    if let Some(text) = firmware(l.sleeps.iter().filter_map(|s| s.firmware.as_ref())) {
        page.paragraph(2, &text);
    }
}

/// What could be taken out of it, with a line that shows it.
fn changes(page: &mut Page, plan: &Plan, l: &Limit) {
    if l.changes.is_empty() {
        return;
    }
    page.heading(&format!("What could be taken out of the way to {}", safe(&l.what)));
    for o in &l.changes {
        let chosen = if plan.set.contains(&o.change) { "* " } else { "  " };
        page.wrapped(Ink::Plain, 2, 6, &format!("{chosen}{}: {}.", o.change.name(), taken(o)));
        let mut pieces = l.sleeps.iter().flat_map(|s| &s.pieces);
        if let Some(p) = pieces.find(|p| p.change == o.change) {
            let shown = format!("line {}: \"{}\"", p.line, safe(&p.text));
            page.wrapped(Ink::Faint, 6, 8, &shown);
        }
        page.wrapped(Ink::Plain, 6, 6, o.change.how());
    }
}
