//! What a printed line costs is estimated on one phase and judged on another: a
//! phase that is reproduced with its own lines may only have been fitted.

use super::{Judged, ms, settings};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::derive::{Derived, chosen_cycles};
use dormouse_sleep::evidence::Verdict;
use dormouse_sleep::simulate::predict::{Scheduler, outlook};
use std::fmt::Write as _;

/// Phases whose lines cost less than this together are not worth a row.
const WORTH: Ns = Ns(10_000_000);

/// Lines are estimated where there are at least so many callbacks.
const CALLBACKS: usize = 20;

/// The section; empty where no log was slow to print.
pub(crate) fn section(judged: &[Judged]) -> String {
    let mut rows = String::new();
    for j in judged {
        let derived = &j.machine.derived;
        for (number, cycle) in chosen_cycles(&j.capture).iter().enumerate() {
            let count = |phase| cycle.callbacks.iter().filter(|c| c.phase == phase).count();
            for check in j.checks.iter().filter(|c| c.cycle == number && c.printing >= WORTH) {
                let others = Phase::DEVICE.into_iter().filter(|p| *p != check.phase);
                let Some(other) = others.max_by_key(|p| count(*p)) else { continue };
                if check.missing.is_some() || count(other) < CALLBACKS {
                    continue;
                }
                let Some(time) =
                    with_lines_of(derived, number, check.phase, other, j.machine.scheduler)
                else {
                    continue;
                };
                let _ = writeln!(
                    rows,
                    "| {} | {} | {} | {} | {} | {} | {} |",
                    j.name,
                    check.phase.title(),
                    ms(check.recorded),
                    ms(check.simulated),
                    other.title(),
                    ms(time),
                    Verdict::on(check.recorded, time).name()
                );
            }
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "\n## Printing, estimated on one phase and judged on another\n\n\
         What two lines cost a callback is taken from the phase of the same cycle that has the \
         most callbacks beside the judged one. Milliseconds.\n\n\
         | log | phase | recorded | simulated | lines of | simulated with those | verdict |\n\
         |---|---|---|---|---|---|---|\n{rows}"
    )
}

/// How long `phase` of a cycle takes if its lines cost what those of `other` cost.
pub(crate) fn with_lines_of(
    derived: &Derived,
    number: usize,
    phase: Phase,
    other: Phase,
    by: Scheduler,
) -> Option<Ns> {
    let (index, from) = (phase.device_index()?, other.device_index()?);
    let lines = derived.printing.get(number)?;
    let more = lines[from] - lines[index];
    let mut board = derived.as_recorded(number);
    for w in board.devices.iter_mut().filter_map(|d| d.work[index].as_mut()) {
        w.sleep = (w.sleep + more).max(Ns::ZERO);
    }
    Some(outlook(&board, by, &settings()).ok()?.phase(phase))
}
