//! Power domains that were switched inside callbacks: a cause of its own.

use super::page::{Ink, Page};
use super::safe::safe;
use crate::Selection;
use crate::wording::name;
use crate::wording::number::ms;
use crate::wording::switches as wording;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::Cycle;
use dormouse_sleep::analyse::switch::{causes, inferred};

/// The list, longest first; nothing where no device was in a domain.
pub(super) fn show(page: &mut Page, capture: &Capture, cycle: &Cycle, selection: &Selection) {
    let (seen, guessed) = (causes(capture, cycle), inferred(capture, cycle));
    if seen.is_empty() && guessed.is_empty() {
        return;
    }
    page.heading(&format!("{:>10}  {}", "ms", wording::HEADING));
    for c in seen.iter().take(selection.top) {
        let domain = capture.names.get(c.domain);
        let text = wording::cause(c, domain, |d| name(capture, d).to_owned());
        page.entry(&format!("{:>10}  ", ms(c.time)), &safe(&text));
    }
    for i in guessed.iter().take(selection.top) {
        let text = wording::inferred(i, name(capture, i.device));
        page.entry(&format!("{:>10}  ", ms(i.time)), &safe(&text));
    }
    if !guessed.is_empty() {
        page.wrapped(Ink::Faint, 2, 2, wording::RECORD);
    }
}
