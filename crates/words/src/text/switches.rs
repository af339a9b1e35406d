//! Power domains that were switched inside callbacks: a cause of its own.

use super::page::{Ink, Page};
use super::safe::safe;
use crate::Selection;
use crate::wording::name;
use crate::wording::number::ms;
use crate::wording::switches as wording;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_doctor::switch::causes;

/// The list, longest first; nothing where no device was in a domain.
pub(super) fn show(page: &mut Page, capture: &Capture, cycle: &Cycle, selection: &Selection) {
    let list = causes(capture, cycle);
    if list.is_empty() {
        return;
    }
    page.heading(&format!("{:>10}  {}", "ms", wording::HEADING));
    for c in list.iter().take(selection.top) {
        let domain = c.domain.map(|d| capture.names.get(d));
        let text = wording::cause(c, domain, |d| name(capture, d).to_owned());
        page.entry(&format!("{:>10}  ", ms(c.time)), &safe(&text));
    }
    if list.iter().any(|c| c.domain.is_none()) {
        page.wrapped(Ink::Faint, 2, 2, dormouse_doctor::switch::RECORD);
    }
}
