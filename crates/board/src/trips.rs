//! A recording with hibernations taken apart: each kind of trip is a machine of
//! its own, with the same devices and other callbacks.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::trip::{Trip, split};

/// The trips of all cycles, kind by kind in the order in which they first occur.
/// A recording of suspends is one kind, and unchanged.
pub fn trips(capture: &Capture) -> Vec<(Trip, Capture)> {
    let mut kinds: Vec<(Trip, Vec<Cycle>)> = Vec::new();
    for cycle in &capture.cycles {
        let calls = cycle.callbacks.iter().any(|c| c.phase.may_be_async());
        for (trip, part) in split(cycle) {
            // A cycle without callbacks proves no kind of its own.
            let known = kinds.iter().position(|k| k.0 == trip || !calls);
            match known {
                Some(at) => kinds[at].1.push(part),
                None => kinds.push((trip, vec![part])),
            }
        }
    }
    if kinds.len() <= 1 {
        let trip = kinds.pop().map(|k| k.0).unwrap_or_default();
        return vec![(trip, capture.clone())];
    }
    let of = |cycles| Capture { cycles, ..capture.clone() };
    kinds.into_iter().map(|(trip, cycles)| (trip, of(cycles))).collect()
}
