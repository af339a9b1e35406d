//! One row a phase, gap or time asleep of a cycle: they add up to the cycle.

use super::column::Kind::{Text, Whole};
use super::column::{Cell, Columns, Rows, Source, Values};
use dormouse_base::phase::{Direction, Phase};
use dormouse_sleep::analyse::rows::{What, gap_content};

/// The columns behind those of the cycle, in order; `docs/parquet-schema.md` says what they mean.
pub(crate) const COLUMNS: Columns = &[
    ("suspend_ns", Whole),
    ("resume_ns", Whole),
    ("kind", Text),
    ("phase", Text),
    ("direction", Text),
    ("content", Text),
    ("cpu", Whole),
    ("start_ns", Whole),
    ("duration_ns", Whole),
    ("counted_ns", Whole),
    ("callbacks", Whole),
    ("number", Whole),
];

pub(super) fn rows(source: &Source<'_>, before: usize) -> Vec<Values> {
    let mut rows = Rows::new(COLUMNS);
    let c = source.capture;
    for (n, (cycle, view)) in c.cycles.iter().zip(source.views).enumerate() {
        for r in &view.rows.list {
            let (kind, phase, content, cpu, callbacks) = match r.what {
                What::Phase(i) => {
                    let span = &cycle.phases[i as usize];
                    let cpu = matches!(span.phase, Phase::CpuOff | Phase::CpuOn);
                    let done = view.phases.get(i as usize).map(|p| i64::from(p.completed));
                    let cpu = cpu.then_some(i64::from(span.cpu));
                    ("phase", span.phase.name(), "", cpu, done)
                }
                What::Gap { after, before } => {
                    ("gap", "", gap_content(cycle.mode, after, before), None, None)
                }
                What::Asleep { .. } => ("asleep", Phase::Asleep.name(), "", None, None),
                What::Image(work) => ("image", "", work.name(), None, None),
                What::Turn => ("turn", "", "", None, None),
                What::Rest => ("rest", "", "", None, None),
                What::ClockJump => ("clock_jump", "", "", None, None),
            };
            rows.push(
                source.of_cycle(n),
                [
                    Cell::Whole(view.rows.half(Direction::Suspend).map(|t| t.0)),
                    Cell::Whole(view.rows.half(Direction::Resume).map(|t| t.0)),
                    Cell::text(kind),
                    Cell::text(phase),
                    Cell::text(r.direction.name()),
                    Cell::text(content),
                    Cell::Whole(cpu),
                    Cell::Whole(Some((r.start - cycle.start).0)),
                    Cell::Whole(Some(r.end.since(r.start).0)),
                    Cell::Whole(Some(r.counted.0)),
                    Cell::Whole(callbacks),
                    Cell::Whole(Some((before + n) as i64 + 1)),
                ],
            );
        }
    }
    rows.0
}
