//! The first lines where no callback has both its begin and its end.

use super::page::{Ink, Page};
use super::ranked;
use crate::wording::next;
use dormouse_base::capture::Capture;

/// The device whose duration stands alone in the log, if one does; else how to
/// get a log that names devices.
/// `named` says that a line above names a device all the same.
pub(super) fn show(page: &mut Page, captures: &[&Capture], named: bool) {
    if captures.iter().any(|c| !c.ranked.is_empty()) {
        return ranked::answer(page, captures);
    }
    let first = if named { next::NO_TIMES } else { next::NO_CALLBACKS };
    page.wrapped(Ink::Strong, 0, 2, first);
    for c in next::PRINT_TIMES {
        page.line(&[(Ink::Strong, &format!("  {c}"))]);
    }
    page.wrapped(Ink::Plain, 0, 2, next::THEN_RECORD);
}
