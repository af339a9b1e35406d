//! The first lines where no callback has both its begin and its end.

use super::page::{Ink, Page};
use super::ranked;
use super::safe::{right, safe};
use crate::doctor::headline;
use crate::wording::number::ms;
use crate::wording::{next, waits as say};
use dormouse_base::capture::Capture;
use dormouse_doctor::finding::Finding;
use dormouse_doctor::waits::Wait;

/// The finding that answers, or the device whose duration stands alone in the log, if one
/// does; and how to get a log that names devices.
/// `named` says that a line above names a device all the same; `waits` are devices that the
/// log's own lines name.
pub(super) fn show(
    page: &mut Page,
    captures: &[&Capture],
    found: Option<&Finding>,
    waits: &[Wait],
    named: bool,
) {
    if found.is_none() && captures.iter().any(|c| !c.ranked.is_empty()) {
        return ranked::answer(page, captures);
    }
    // An image that took longer is what the sleep waited for.
    let steps = captures.iter().flat_map(|c| &c.cycles).flat_map(|c| &c.image);
    let image = steps.map(|s| s.end.since(s.start)).max();
    match (waits.first().filter(|w| image.is_none_or(|t| w.time >= t)), named) {
        _ if let Some(f) = found => {
            page.wrapped(Ink::Strong, 0, 2, &safe(&headline(f)));
            page.wrapped(Ink::Plain, 0, 2, next::FOR_CERTAIN);
        }
        (Some(longest), _) => {
            page.wrapped(Ink::Strong, 0, 2, &safe(&say::answer(longest)));
            page.wrapped(Ink::Plain, 0, 2, next::FOR_CERTAIN);
        }
        (None, true) => page.wrapped(Ink::Strong, 0, 2, next::NO_TIMES),
        (None, false) => page.wrapped(Ink::Strong, 0, 2, next::NO_CALLBACKS),
    }
    for c in next::PRINT_TIMES {
        page.line(&[(Ink::Strong, &format!("  {c}"))]);
    }
    page.wrapped(Ink::Plain, 0, 2, next::THEN_RECORD);
}

/// Devices that the log's own lines say were waited for, longest first.
pub(super) fn waits(page: &mut Page, list: &[Wait], top: usize) {
    if list.is_empty() {
        return;
    }
    page.heading(&format!("{:>10}  Waits that the log's own lines tell", "ms"));
    for w in list.iter().take(top) {
        page.entry(&format!("{}  ", right(&ms(w.time), 10)), &safe(&say::entry(w)));
    }
    if list.iter().any(|w| !w.counted) {
        page.wrapped(Ink::Faint, 2, 2, say::BETWEEN_LINES);
    }
}
