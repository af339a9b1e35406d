//! `show --json`: everything, for programs. The schema is documented in
//! `docs/show-json.md`; a test holds the two together.
//!
//! Times are integer nanoseconds of the source's clock; what the source does
//! not say is `null`. Lists that grow with the devices are rows of values, whose
//! columns stand once at the head ([`COLUMNS`]); devices stand once too, and
//! everything else names them by their place. So the output of a trace is smaller
//! than the trace. It is written while it is made: memory does not grow with it.

mod cycle;
mod emit;
mod group;
mod ranked;
mod table;

use crate::doctor::worded;
use crate::document::SHOW;
use crate::{Explained, Selection, wording};
use dormouse_base::device::DeviceId;
use dormouse_base::loss::Losses;
use dormouse_sleep::analyse::path::Reason;
use emit::Emit;
use std::collections::BTreeMap;
use std::io;
use table::{Devices, tables, text};

/// What the places of a row mean, by the path of the list that holds it.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("devices", &["name", "driver", "parent", "parent_name", "meaning", "async"]),
    ("cycles.phases.critical_path", &cycle::SEGMENT),
    ("cycles.devices", &cycle::DEVICE),
    ("cycles.stalls", &cycle::STALL),
    ("groups.devices", &group::DEVICE),
    ("ranked.callbacks", &ranked::CALLBACK),
    ("ranked.devices", &ranked::DEVICE),
    ("spread", &group::SPREAD),
];

/// Writes one JSON object and a line break.
///
/// # Errors
/// If `out` cannot be written.
pub fn show(all: &[Explained], selection: &Selection, out: &mut dyn io::Write) -> io::Result<()> {
    let mut w = Emit::to(out);
    w.object(|w| {
        w.field("schema", SHOW);
        w.key("columns");
        w.object(|w| {
            for (path, names) in COLUMNS {
                w.values(path, names.iter().copied());
            }
        });
        w.values("reasons", Reason::ALL.map(Reason::name));
        let tables = tables(all);
        w.rows("devices", tables.iter().flat_map(Devices::all), device);
        w.objects("cycles", selection.cycles(all), |w, (number, e, i)| {
            if !w.failed() {
                let at = all.iter().position(|other| std::ptr::eq(other, e)).unwrap_or(0);
                cycle::fields(w, &tables[at], number, i, e, selection);
            }
        });
        group::list(w, all);
        let lists = all.iter().zip(&tables);
        let lists = lists.flat_map(|(e, d)| e.capture.ranked.iter().map(move |r| (d, r)));
        w.objects("ranked", lists, |w, (devices, list)| ranked::fields(w, devices, list));
        let found = all.iter().enumerate();
        let found = found.flat_map(|(at, e)| e.findings.iter().map(move |f| (at, worded(f))));
        w.objects("findings", found, |w, (at, f)| {
            w.field("capture", at as u64);
            w.field("id", f.id);
            w.field("row", f.row);
            w.field("level", f.level);
            w.field("confidence", f.confidence);
            w.field("sentence", &*f.sentence);
            w.field("saves_ns", f.saves.map(|t| t.0));
            w.values("evidence", f.evidence.iter().map(|e| &**e));
            w.objects("advice", &f.advice, |w, [text, undo, risk]| {
                w.field("text", &**text);
                w.field("undo", &**undo);
                w.field("risk", &**risk);
            });
        });
        losses(w, all);
        w.objects("unused_events", unused(all), |w, (kind, count)| {
            w.field("kind", kind);
            w.field("count", count);
        });
    });
    w.finish()
}

fn device(w: &mut Emit<'_>, (table, id): (Devices<'_>, DeviceId)) {
    let capture = table.capture;
    let device = capture.graph.get(id);
    let parent = device.parent.and_then(|p| table.place(p));
    w.value(capture.names.get(device.name));
    w.value(text(capture, device.driver));
    w.value(parent);
    w.value(text(capture, device.parent_name).filter(|_| parent.is_none()));
    w.value(wording::meaning(capture, id).as_ref());
    w.value(device.async_flag);
}

/// Events of other subjects, of all inputs together.
fn unused(all: &[Explained]) -> BTreeMap<&'static str, u64> {
    let mut sum = BTreeMap::new();
    for (kind, count) in all.iter().flat_map(|e| &e.capture.unused_events) {
        *sum.entry(*kind).or_default() += count;
    }
    sum
}

fn losses(w: &mut Emit<'_>, all: &[Explained]) {
    let mut merged = Losses::default();
    for e in all {
        merged.merge(e.capture.losses.clone());
    }
    w.objects("losses", &merged.list, |w, l| {
        w.field("kind", l.kind);
        w.field("count", l.count);
        w.field("severity", l.severity.name());
        w.field("advice", &*l.advice);
        w.field("first_at", l.first_at);
    });
}
