//! A recorded machine on another kernel: what is compared.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
pub use dormouse_words::lab::Row;

/// Every device phase that either side has.
pub fn rows(recorded: &Capture, replayed: &Capture) -> Vec<Row> {
    Phase::DEVICE
        .into_iter()
        .map(|phase| Row {
            phase,
            recorded: middle(recorded, phase),
            replayed: middle(replayed, phase),
        })
        .filter(|r| r.recorded.is_some() || r.replayed.is_some())
        .collect()
}

/// From the first begin to the last end of the machine's own devices: those
/// of a guest are left out, because the original had others.
fn span(capture: &Capture, cycle: &Cycle, phase: Phase) -> Option<(Ns, usize)> {
    let own = || {
        cycle
            .callbacks
            .iter()
            .filter(|c| c.phase == phase && !capture.graph.get(c.device).facts.guest)
    };
    let begin = own().map(|c| c.start).min()?;
    let end = own().map(|c| c.end).max()?;
    Some((end.since(begin), own().count()))
}

/// The median cycle.
fn middle(capture: &Capture, phase: Phase) -> Option<(Ns, usize)> {
    let mut all: Vec<(Ns, usize)> =
        capture.cycles.iter().filter_map(|c| span(capture, c, phase)).collect();
    all.sort();
    (!all.is_empty()).then(|| all[(all.len() - 1) / 2])
}
