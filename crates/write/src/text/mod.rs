//! What a person reads in a terminal: 80 columns, the answer first.

mod cycle;
mod many;
pub mod page;
mod safe;

pub use page::WIDTH;
pub use safe::{safe, width};

use crate::{Explained, Selection};
use page::Page;

/// Everything about the selected cycles. With several cycles: what they have in
/// common; with one: all of it.
pub fn show(all: &[Explained], selection: &Selection, colour: bool) -> String {
    let mut page = Page::new(colour);
    let cycles: Vec<_> = selection.cycles(all).collect();
    if let [(number, e, i)] = cycles[..] {
        let total: usize = all.iter().map(|e| e.views.len()).sum();
        cycle::show(&mut page, e, i, selection, (total > 1).then_some(number));
        losses(&mut page, all);
        cycle::verdict(&mut page, e, i);
    } else {
        many::show(&mut page, all, &cycles, selection);
        losses(&mut page, all);
    }
    page.finish()
}

/// What could not be read, worst first.
fn losses(page: &mut Page, all: &[Explained]) {
    let mut merged = dormouse_model::loss::Losses::default();
    for e in all {
        merged.merge(e.capture.losses.clone());
    }
    if merged.list.is_empty() {
        return;
    }
    let mut list = merged.list;
    list.sort_by_key(|l| std::cmp::Reverse(l.severity));
    page.heading("Not read, or not certain");
    for l in &list {
        let times = if l.count == 1 { String::new() } else { format!(" ({} times)", l.count) };
        let place = l.first_at.map_or(String::new(), |at| format!(", first at {at}"));
        let kind = l.kind.replace('_', " ");
        page.paragraph(
            2,
            &format!("{}: {kind}{times}{place}: {}", l.severity.name(), safe(&l.advice)),
        );
    }
}
