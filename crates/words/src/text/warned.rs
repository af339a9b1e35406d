//! What is wrong with a recording, as warnings.

use super::page::Page;
use super::safe::safe;
use crate::wording::losses;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::loss::Loss;

/// What is wrong, what it spoils, and what cures it; worst first.
pub(super) fn warnings(
    page: &mut Page,
    list: &[Loss],
    captures: &[&Capture],
    cycle: Option<&Cycle>,
) {
    texts(page, sentences(list, captures, cycle));
}

/// One sentence a warning; none twice.
pub(super) fn sentences(
    list: &[Loss],
    captures: &[&Capture],
    cycle: Option<&Cycle>,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for l in list {
        let text = losses::warning(l, captures, cycle);
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

pub(super) fn texts(page: &mut Page, list: Vec<String>) {
    if list.is_empty() {
        return;
    }
    page.heading("Warnings");
    for text in list {
        page.paragraph(2, &safe(&text));
    }
}
