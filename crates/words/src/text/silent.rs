//! The first lines where no callback has both its begin and its end.

use super::page::{Ink, Page};
use super::ranked;
use super::safe::{right, safe};
use crate::doctor::headline;
use crate::wording::number::ms;
use crate::wording::trust::state;
use crate::wording::{next, plural, waits as say};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::time::Ns;
use dormouse_doctor::finding::Finding;
use dormouse_doctor::waits::Wait;
use dormouse_sleep::analyse::CycleView;

/// The finding that answers, or the device whose duration stands alone in the log, if one
/// does; else how long the machine slept, if the log tells that alone.
/// `waits` are devices that the log's own lines name.
pub(super) fn show<'a>(
    page: &mut Page,
    captures: &[&Capture],
    found: Option<&Finding>,
    waits: &[Wait],
    cycles: impl IntoIterator<Item = (&'a Cycle, &'a CycleView)>,
) {
    if found.is_none() && is_ranked(captures) {
        return ranked::answer(page, captures);
    }
    // An image that took longer is what the sleep waited for.
    let steps = captures.iter().flat_map(|c| &c.cycles).flat_map(|c| &c.image);
    let image = steps.map(|s| s.end.since(s.start)).max();
    let longest = waits.first().filter(|w| image.is_none_or(|t| w.time >= t));
    let answer = found.map(headline).or_else(|| longest.map(say::answer));
    if let Some(text) = answer.or_else(|| asleep(cycles)) {
        page.wrapped(Ink::Strong, 0, 2, &safe(&text));
    }
}

fn is_ranked(captures: &[&Capture]) -> bool {
    captures.iter().any(|c| !c.ranked.is_empty())
}

/// Why no device is named, and how to get a log that names them: below what there is. What
/// stands alone in the log with its time is named; `named` says that the answer names one.
pub(super) fn advice<'a>(
    page: &mut Page,
    captures: &[&Capture],
    named: bool,
    cycles: impl IntoIterator<Item = (&'a Cycle, &'a CycleView)>,
) {
    let mut cycles = cycles.into_iter().map(|c| c.0).peekable();
    let one = cycles.next();
    let failed = |c: &Cycle| matches!(c.outcome, Outcome::AbortedByDevice { device: Some(_), .. });
    let why = match one {
        _ if is_ranked(captures) => return,
        Some(c) if cycles.peek().is_none() && failed(c) => next::NO_TIMES,
        _ if named => "",
        Some(c) if c.shows_its_end_alone() && cycles.all(Cycle::shows_its_end_alone) => {
            next::NO_PHASES
        }
        _ => next::NO_CALLBACKS,
    };
    page.blank();
    page.wrapped(Ink::Plain, 0, 2, format!("{why} {}", next::FOR_CERTAIN).trim_start());
    for c in next::PRINT_TIMES {
        page.line(&[(Ink::Strong, &format!("  {c}"))]);
    }
    page.wrapped(Ink::Plain, 0, 2, next::THEN_RECORD);
}

/// How long a machine slept, of which the log times no phase: by mode, because a suspend and a
/// hibernation are no sum.
fn asleep<'a>(cycles: impl IntoIterator<Item = (&'a Cycle, &'a CycleView)>) -> Option<String> {
    let cycles: Vec<_> = cycles.into_iter().collect();
    if !cycles.iter().all(|(c, _)| c.shows_its_end_alone()) {
        return None;
    }
    let mut by: Vec<(Mode, Ns, usize)> = Vec::new();
    for (c, t) in cycles.iter().filter_map(|(c, v)| Some((c, v.rows.asleep(c)?))) {
        match by.iter_mut().find(|b| b.0 == c.mode) {
            Some(b) => (b.1, b.2) = (b.1 + t, b.2 + 1),
            None => by.push((c.mode, t, 1)),
        }
    }
    let several = by.len() > 1;
    let words = |(mode, t, n): &(Mode, Ns, usize)| {
        let of = if several { format!(" ({})", state(*mode)) } else { String::new() };
        let times = if *n > 1 { format!(" in {}", plural(*n, "sleep")) } else { String::new() };
        format!("{t}{of}{times}")
    };
    let list: Vec<String> = by.iter().map(words).collect();
    (!list.is_empty()).then(|| format!("Asleep {}.", list.join(", then ")))
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
