//! What a person reads in a terminal: 80 columns, the answer first.

mod cycle;
mod inside;
mod many;
pub mod page;
mod path;
mod ranked;
mod safe;
mod silent;
mod switches;
mod warned;
pub(crate) mod whole;

pub use page::WIDTH;
pub use safe::{fit, fit_end, safe, width};
pub(crate) use safe::{left, right};

use crate::doctor::beside;
use crate::wording::{next, trust};
use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use page::{Ink, Page};
use warned::{texts, warnings};

/// Everything about the selected cycles. With several cycles: what they have in
/// common; with one: all of it. The last line is the next command.
pub fn show(all: &[Explained], selection: &Selection, colour: bool) -> String {
    let mut page = Page::new(colour);
    let cycles: Vec<_> = selection.cycles(all).collect();
    if cycles.is_empty() {
        let captures: Vec<&Capture> = all.iter().map(|e| &*e.capture).collect();
        ranked::show(&mut page, all, selection);
        warnings(&mut page, &trust::warnings(&captures), &captures, None);
        // Ends alone: what is missing are the starts.
        last(&mut page, Some(next::next("record --yes -o recording.tar.gz")));
    } else if let [(number, e, i)] = cycles[..] {
        let total: usize = all.iter().map(|e| e.views.len()).sum();
        cycle::show(&mut page, e, i, selection, (number, total));
        ranked::show(&mut page, all, selection);
        let list = trust::warnings_of(&e.capture, i);
        warnings(&mut page, &list, &[&*e.capture], e.capture.cycles.get(i));
        whole::table(&mut page, e.way());
        beside(&mut page, &e.findings_of(i).collect::<Vec<_>>(), &selection.typed);
        last(&mut page, cycle::next_command(e, i, selection));
    } else {
        let list = many::warnings(all);
        many::show(&mut page, all, &cycles, selection, list.len());
        ranked::show(&mut page, all, selection);
        texts(&mut page, list);
        let mut found: Vec<_> = all.iter().flat_map(|e| &e.findings).collect();
        dormouse_doctor::sorted(&mut found);
        whole::table(&mut page, all.iter().flat_map(|e| &e.ways));
        beside(&mut page, &found, &selection.typed);
        last(&mut page, Some(many::next_command(all, &cycles, selection)));
    }
    page.finish()
}

/// The next command.
fn last(page: &mut Page, command: Option<String>) {
    if let Some(command) = command {
        page.blank();
        page.verbatim(Ink::Strong, &command);
    }
}
