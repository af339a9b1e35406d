//! One row a cycle.

use super::column::Kind::{Flag, Text, Whole};
use super::column::{Cell, Columns, Rows, Source, Values};
use dormouse_base::cycle::Outcome;
use dormouse_base::phase::Direction;

/// The columns in order; `docs/parquet-schema.md` says what they mean.
pub(crate) const COLUMNS: Columns = &[
    ("capture", Text),
    ("host", Text),
    ("model", Text),
    ("kernel", Text),
    ("mode", Text),
    ("outcome", Text),
    ("cycle", Whole),
    ("source", Text),
    ("first_after_boot", Flag),
    ("wall_clock_ns", Whole),
    ("suspend_ns", Whole),
    ("resume_ns", Whole),
    ("asleep_ns", Whole),
    ("failed_device", Text),
    ("failed_error", Whole),
    ("wakers", Text),
    ("number", Whole),
];

pub(super) fn rows(source: &Source<'_>, before: usize) -> Vec<Values> {
    let mut rows = Rows::new(COLUMNS);
    let c = source.capture;
    let name = |s| c.names.get(s);
    for (n, (cycle, view)) in c.cycles.iter().zip(source.views).enumerate() {
        let (device, error) = match cycle.outcome {
            Outcome::AbortedByDevice { device, errno } => (device, errno),
            Outcome::FreezeFailed { errno } => (None, errno),
            _ => (None, 0),
        };
        let device = device.and_then(|d| c.graph.devices.get(d.index()));
        let wakers = cycle.wakers.as_ref();
        let wakers = wakers.map(|all| all.iter().map(|&s| name(s)).collect::<Vec<_>>().join(", "));
        rows.push([
            Cell::text(source.label),
            Cell::text(name(c.host_of(cycle))),
            Cell::text(name(c.machine.model)),
            Cell::text(name(cycle.kernel)),
            Cell::text(cycle.mode.name()),
            Cell::text(cycle.outcome.name()),
            Cell::Whole(Some(n as i64 + 1)),
            Cell::text(name(cycle.source)),
            Cell::Flag(Some(cycle.first_after_boot)),
            Cell::Whole(cycle.wall_clock().map(|t| t.0)),
            Cell::Whole(view.rows.half(Direction::Suspend).map(|t| t.0)),
            Cell::Whole(view.rows.half(Direction::Resume).map(|t| t.0)),
            Cell::Whole(view.rows.asleep(cycle).map(|t| t.0)),
            Cell::text(device.map_or("", |d| name(d.name))),
            Cell::Whole(Some(error.into()).filter(|e| *e != 0)),
            Cell::Text(wakers.as_deref()),
            Cell::Whole(Some((before + n) as i64 + 1)),
        ]);
    }
    rows.0
}
