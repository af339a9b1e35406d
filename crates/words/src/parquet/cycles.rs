//! One row a cycle.

use super::column::Kind::{Text, Whole};
use super::column::{Cell, Columns, Rows, Source, Values};
use dormouse_base::cycle::Outcome;
use dormouse_base::phase::Direction;

/// The columns behind those of the cycle, in order; `docs/parquet-schema.md` says what they mean.
pub(crate) const COLUMNS: Columns = &[
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
        rows.push(
            source.of_cycle(n),
            [
                Cell::Whole(cycle.wall_clock().map(|t| t.0)),
                Cell::Whole(view.rows.half(Direction::Suspend).map(|t| t.0)),
                Cell::Whole(view.rows.half(Direction::Resume).map(|t| t.0)),
                Cell::Whole(view.rows.asleep(cycle).map(|t| t.0)),
                Cell::text(device.map_or("", |d| name(d.name))),
                Cell::Whole(Some(error.into()).filter(|e| *e != 0)),
                Cell::Text(wakers.as_deref()),
                Cell::Whole(Some((before + n) as i64 + 1)),
            ],
        );
    }
    rows.0
}
