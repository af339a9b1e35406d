//! Durations without a schedule: a rank, never a time line.

use super::page::{Ink, Page, WIDTH};
use super::safe::{fit_end, left, right, safe};
use crate::wording::number::{ms, plural};
use crate::wording::{self, device, trust};
use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::ranked::Ranking;
use dormouse_base::time::Ns;

/// Every list of every capture.
pub(super) fn show(page: &mut Page, all: &[Explained], selection: &Selection) {
    let captures: Vec<&Capture> = all.iter().map(|e| &*e.capture).collect();
    for (n, (capture, list)) in lists(&captures).enumerate() {
        if n == 0 {
            let cycles = || captures.iter().flat_map(|c| &c.cycles);
            if cycles().next().is_some() {
                page.blank();
            }
            // Of cycles without callbacks it was the first line already.
            if cycles().next().is_none() || cycles().any(|c| !c.callbacks.is_empty()) {
                answer(page, &captures);
            }
            page.wrapped(
                Ink::Plain,
                0,
                0,
                "Only ends of callbacks are listed, without their starts. So the list tells how \
                 long each took, and not who waited for whom: there is no schedule. Without a \
                 device, suspend and resume together are shorter by at most what its callbacks \
                 took.",
            );
        }
        if n == 0 && captures.iter().all(|c| c.cycles.is_empty()) {
            // Beside cycles it stands there.
            if let Some(text) = trust::unit_of_log(&captures) {
                page.wrapped(Ink::Plain, 0, 2, &text);
            }
        }
        head(page, capture, list);
        tables(page, capture, list, selection);
    }
}

fn lists<'a>(captures: &[&'a Capture]) -> impl Iterator<Item = (&'a Capture, &'a Ranking)> {
    captures.iter().flat_map(|c| c.ranked.iter().map(|list| (*c, list)))
}

/// The device that took longest in any list: it bounds what removing one saves.
/// Nothing if there is no list.
pub(super) fn answer(page: &mut Page, captures: &[&Capture]) {
    let several = lists(captures).count() > 1;
    let mut longest: Option<(Ns, &Capture, &Ranking, DeviceId)> = None;
    for (capture, list) in lists(captures) {
        if let Some(&(id, bound)) = list.devices().first()
            && longest.is_none_or(|l| bound > l.0)
        {
            longest = Some((bound, capture, list, id));
        }
    }
    let Some((bound, capture, list, id)) = longest else { return };
    let at = if several { format!(" (list at line {})", list.at) } else { String::new() };
    let text = format!(
        "{} took longest, {bound}{at}: removing it saves no more than that.",
        device(capture, id)
    );
    page.wrapped(Ink::Strong, 0, 2, &safe(&text));
}

fn head(page: &mut Page, capture: &Capture, list: &Ranking) {
    let source = fit_end(capture.names.get(list.source), WIDTH - 30);
    page.heading(&format!("Durations alone: {source}, line {}", list.at));
    let kernel = match capture.names.get(list.kernel) {
        "" => "kernel unknown".to_string(),
        k => format!("kernel {}", safe(k)),
    };
    let (callbacks, of) = (list.rows.len(), list.devices().len());
    let facts = format!("{kernel}, {} of {}", plural(callbacks, "callback"), plural(of, "device"));
    page.paragraph(0, &facts);
}

fn tables(page: &mut Page, capture: &Capture, list: &Ranking, selection: &Selection) {
    page.heading("Longest callbacks                                                took, ms");
    for r in list.rows.iter().take(selection.top) {
        let what = match (capture.names.get(r.function), r.phase, r.direction) {
            ("", None, None) => String::new(),
            ("", None, Some(d)) => d.name().to_string(),
            ("", Some(p), _) => wording::phase(p),
            (f, ..) => f.to_string(),
        };
        let error = if r.error == 0 { String::new() } else { format!("  error {}", r.error) };
        page.line(&[
            (Ink::Plain, "  "),
            (Ink::Strong, &left(&device(capture, r.device), 36)),
            (Ink::Plain, " "),
            (Ink::Faint, &left(&what, 22)),
            (Ink::Plain, &right(&ms(r.took), 12)),
            (Ink::Hot, &error),
        ]);
    }
    page.heading("Devices                                        removing saves at most, ms");
    for (id, bound) in list.devices().into_iter().take(selection.top) {
        page.line(&[
            (Ink::Plain, "  "),
            (Ink::Strong, &left(&device(capture, id), 59)),
            (Ink::Plain, &right(&ms(bound), 12)),
        ]);
    }
}
