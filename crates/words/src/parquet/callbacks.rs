//! One row a callback.

use super::column::Kind::{Flag, Text, Whole};
use super::column::{Cell, Columns, Rows, Source, Values};
use dormouse_sleep::analyse::decode::decode;
use dormouse_sleep::analyse::start::starts;

/// The columns behind those of the cycle, in order; `docs/parquet-schema.md` says what they mean.
pub(crate) const COLUMNS: Columns = &[
    ("phase", Text),
    ("direction", Text),
    ("device", Text),
    ("device_index", Whole),
    ("driver", Text),
    ("meaning", Text),
    ("parent", Text),
    ("async", Flag),
    ("function", Text),
    ("thread", Text),
    ("pid", Whole),
    ("start_ns", Whole),
    ("duration_ns", Whole),
    ("error", Whole),
    ("complete", Flag),
    ("on_critical_path", Flag),
    ("reason", Text),
    ("after_device", Text),
    ("number", Whole),
];

pub(super) fn rows(source: &Source<'_>, before: usize) -> Vec<Values> {
    let mut rows = Rows::new(COLUMNS);
    let c = source.capture;
    let name = |s| c.names.get(s);
    let meanings: Vec<String> = c
        .graph
        .devices
        .iter()
        .map(|d| decode(name(d.name), name(d.driver)).map_or(String::new(), |m| m.text()))
        .collect();
    for (n, (cycle, view)) in c.cycles.iter().zip(source.views).enumerate() {
        let starts = starts(c, cycle, view);
        let mut on_path = vec![false; cycle.callbacks.len()];
        for s in view.phases.iter().flat_map(|p| &p.path) {
            if let Some(on) = s.callback.and_then(|i| on_path.get_mut(i as usize)) {
                *on = true;
            }
        }
        for (i, cb) in cycle.callbacks.iter().enumerate() {
            let device = c.graph.devices.get(cb.device.index());
            let text = |f: fn(&dormouse_base::device::Device) -> dormouse_base::names::Sym| {
                device.map_or("", |d| name(f(d)))
            };
            let parent = device.and_then(|d| d.parent).and_then(|p| c.graph.devices.get(p.index()));
            let thread = cycle.threads.get(usize::from(cb.thread.0));
            let after = starts[i].after.and_then(|k| cycle.callbacks.get(k as usize));
            let after = after.and_then(|cb| c.graph.devices.get(cb.device.index()));
            rows.push(
                source.of_cycle(n),
                [
                    Cell::text(cb.phase.name()),
                    Cell::text(cb.phase.direction().name()),
                    Cell::text(text(|d| d.name)),
                    Cell::Whole(Some(i64::from(cb.device.0))),
                    Cell::text(text(|d| d.driver)),
                    Cell::text(meanings.get(cb.device.index()).map_or("", |m| m)),
                    Cell::text(parent.map_or_else(|| text(|d| d.parent_name), |p| name(p.name))),
                    Cell::Flag(device.and_then(|d| d.async_flag)),
                    Cell::text(name(cb.function)),
                    Cell::text(thread.map_or("", |t| name(t.name))),
                    Cell::Whole(thread.map(|t| i64::from(t.pid)).filter(|p| *p != 0)),
                    Cell::Whole(Some((cb.start - cycle.start).0)),
                    Cell::Whole(Some(cb.duration().0)),
                    Cell::Whole(Some(i64::from(cb.error))),
                    Cell::Flag(Some(cb.complete)),
                    Cell::Flag(Some(on_path[i])),
                    Cell::text(starts[i].reason.map_or("", |r| r.name())),
                    Cell::text(after.map_or("", |d| name(d.name))),
                    Cell::Whole(Some((before + n) as i64 + 1)),
                ],
            );
        }
    }
    rows.0
}
