//! What probed functions took inside callbacks.

use super::page::{Ink, Page};
use super::safe::{left, right, safe};
use crate::Selection;
use crate::wording::number::{grouped, ms};
use crate::wording::{device, percent, phase, plural, wait};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::inside::LONG;
use dormouse_sleep::analyse::inside::callbacks;

/// Functions below this share of their callback, in tenths of a percent, have no line.
const SHORT: u32 = 10;

/// Functions of one callback that have a line.
const FUNCTIONS: usize = 6;

/// What was waited for, and by whom, that is said of one callback.
const WAITS: usize = 4;

/// The callbacks in which probed functions took most, with these functions; nothing where
/// none was probed.
pub(super) fn show(page: &mut Page, capture: &Capture, cycle: &Cycle, selection: &Selection) {
    let list = callbacks(cycle);
    if list.is_empty() {
        return;
    }
    let columns = ["own, ms", "with inner", "share", "calls"].map(|n| right(n, 11)).concat();
    page.heading(&format!("{}{columns}", left("Inside callbacks", 34)));
    for c in list.iter().take(selection.top) {
        let label = format!("  {}, {}", device(capture, c.device), phase(c.phase));
        let cells = format!("{}{}", right(&ms(c.time), 11), right("", 33));
        page.line(&[(Ink::Strong, &left(&safe(&label), 34)), (Ink::Plain, cells.trim_end())]);
        let worth = |i: &&dormouse_base::inside::Inside| c.share(i.own) >= SHORT;
        for i in c.functions.iter().copied().filter(worth).take(FUNCTIONS) {
            let label = format!("    {}", capture.names.get(i.function));
            let cells = [ms(i.own), ms(i.total), percent(i.own, c.time), grouped(i.calls)];
            let cells = cells.map(|t| right(&t, 11)).concat();
            page.line(&[(Ink::Plain, &left(&safe(&label), 34)), (Ink::Plain, &cells)]);
        }
        let waits = c.waits.iter().filter(|w| c.share(w.total) >= SHORT).take(WAITS);
        let waits: Vec<String> = waits.map(|w| wait(capture, w)).collect();
        if !waits.is_empty() {
            let text = format!("Of {}: {}.", c.time, waits.join("; "));
            page.wrapped(Ink::Plain, 4, 6, &safe(&text));
        }
        let missed: u64 = c.functions.iter().map(|i| i.missed).sum();
        let missed = match missed {
            0 => String::new(),
            n => format!(
                "; {} until the next event, as the probe missed the return",
                plural(n as usize, "call")
            ),
        };
        let text = format!(
            "{} ms outside probed functions; {} ms in calls of {} ms and more{missed}",
            ms(c.outside()),
            ms(c.long()),
            LONG.0 / 1_000_000
        );
        page.wrapped(Ink::Faint, 4, 6, &text);
    }
    page.wrapped(
        Ink::Faint,
        2,
        2,
        "Probes cost time themselves, some microseconds a call: many short calls are longer than \
         without them, long waits are not.",
    );
}
