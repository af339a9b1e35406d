//! The first lines where no callback has both its begin and its end.

use super::page::{Ink, Page};
use super::ranked;
use crate::wording::next;
use dormouse_model::capture::Capture;

/// The device whose duration stands alone in the log, if one does; else how to
/// get a log that names devices.
pub fn show(page: &mut Page, captures: &[&Capture]) {
    if captures.iter().any(|c| !c.ranked.is_empty()) {
        return ranked::answer(page, captures);
    }
    page.wrapped(Ink::Strong, 0, 2, next::NO_CALLBACKS);
    for c in next::PRINT_TIMES {
        page.line(&[(Ink::Strong, &format!("  {c}"))]);
    }
    page.wrapped(Ink::Plain, 0, 2, next::THEN_RECORD);
}
