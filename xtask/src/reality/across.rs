//! Structure from one recording, callback times from another: what was inferred
//! must hold where it was not inferred from.

use super::{Judged, settings};
use dormouse_base::names::Names;
use dormouse_base::phase::Phase;
use dormouse_board::derive::chosen_cycles;
use dormouse_board::{Board, Work};
use dormouse_sleep::evidence::Verdict;
use dormouse_sleep::simulate::predict::outlook;
use std::collections::HashMap;

/// A phase of `times`, simulated on the structure of another recording.
pub(crate) struct Crossed {
    /// Which phase.
    pub phase: Phase,
    /// Simulated less recorded, in thousandths of the recorded time.
    pub off: i64,
    /// The verdict.
    pub verdict: Verdict,
}

/// What tells a device: name, driver and parent, and how many came before it
/// with the same.
type Key = (String, String, String, usize);

fn keys(board: &Board) -> Vec<Key> {
    let mut seen: HashMap<(String, String, String), usize> = HashMap::new();
    let text = |names: &Names, s| names.get(s).to_owned();
    let device = |d: &dormouse_base::device::Device| {
        let names = &board.names;
        let key = (text(names, d.name), text(names, d.driver), text(names, d.parent_name));
        let n = seen.entry(key.clone()).or_default();
        *n += 1;
        (key.0, key.1, key.2, *n)
    };
    board.graph.devices.iter().map(device).collect()
}

/// The phases over 2 ms of every cycle of `times`, simulated on the devices,
/// order, flags and waits of `structure`.
pub(crate) fn cross(structure: &Judged, times: &Judged) -> Vec<Crossed> {
    let theirs = &times.machine.derived;
    let place: HashMap<Key, usize> =
        keys(&theirs.board).into_iter().enumerate().map(|(i, k)| (k, i)).collect();
    let ours = keys(&structure.machine.derived.board);
    let mut out = Vec::new();
    for (number, cycle) in chosen_cycles(&times.capture).into_iter().enumerate() {
        let Some(recorded) = theirs.cycles.get(number) else { continue };
        let mut board = structure.machine.derived.board.clone();
        for (device, key) in board.devices.iter_mut().zip(&ours) {
            let times = place.get(key).map(|&i| recorded[i]);
            for index in 1..7 {
                let time = times.and_then(|t| t[index]);
                let was = device.work[index].unwrap_or_default();
                device.work[index] = time.map(|sleep| Work { sleep, ..was });
            }
        }
        let Ok(o) = outlook(&board, structure.machine.scheduler, &settings()) else { continue };
        for check in times.checks.iter().filter(|c| c.cycle == number && c.missing.is_none()) {
            let Some(span) = cycle.phase(check.phase) else { continue };
            let (was, is) = (span.duration(), o.phase(check.phase));
            let off = (is - was).0 * 1000 / was.0.max(1);
            out.push(Crossed { phase: check.phase, off, verdict: Verdict::on(was, is) });
        }
    }
    out
}
