//! Dependencies that a recording shows but does not name.
//!
//! A log lists parents, not device links. If a device starts later than
//! everything known explains, in nearly every cycle, and always just after one
//! and the same other device has ended, it waited for that device: a link (the
//! audio controller that holds the graphics device, say). Such links are added
//! to the board and said to be inferred.

use crate::simulate::outlook::{Scheduler, outlook};
use crate::simulate::{Profile, Settings};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::{DeviceId, Link, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::{Derived, chosen_cycles};
use std::collections::BTreeMap;

/// A start is unexplained if it is this much later than predicted.
const LATE: Ns = Ns(500_000);

/// A waiter starts within this time after the end of what it waited for.
const JUST_AFTER: Ns = Ns(150_000);

/// Fewer cycles prove nothing.
const CYCLES: usize = 3;

/// More cycles add little.
const CYCLES_AT_MOST: usize = 12;

/// A chain of unknown links shows one after the other.
const ROUNDS: usize = 4;

/// What is known of one late device.
#[derive(Default)]
struct Late {
    /// Cycles in which it was late.
    late: usize,
    /// Devices that ended just before its start, with how often.
    ended: BTreeMap<u32, usize>,
}

/// Adds the links that the cycles of `capture` show to the board derived from
/// it. Returns how many.
pub fn links(capture: &Capture, derived: &mut Derived, by: Scheduler) -> usize {
    if derived.board.graph.links_known || derived.place.is_empty() {
        return 0;
    }
    let cycles = chosen_cycles(capture);
    if cycles.len() < CYCLES || cycles.len() != derived.cycles.len() {
        return 0;
    }
    let mut added = 0;
    for _ in 0..ROUNDS {
        let new = round(&cycles, derived, by);
        if new.is_empty() {
            break;
        }
        added += new.len();
        for (supplier, consumer, phase, seen) in new {
            let graph = &mut derived.board.graph;
            let name = |d: DeviceId| derived.board.names.get(graph.devices[d.index()].name);
            derived.assumptions.push(Assumed::WaitsAlways {
                waiter: name(consumer).into(),
                awaited: name(supplier).into(),
                phase,
                seen,
            });
            graph.links.push(Link {
                consumer,
                supplier,
                kind: LinkKind::Stateless,
                pm_runtime: false,
            });
        }
    }
    added
}

/// New links (supplier, consumer, how often seen).
fn round(
    cycles: &[&Cycle],
    derived: &Derived,
    by: Scheduler,
) -> Vec<(DeviceId, DeviceId, Phase, (usize, usize))> {
    let step = cycles.len().div_ceil(CYCLES_AT_MOST);
    let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    let mut seen: [BTreeMap<u32, Late>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let mut used = 0;
    for (i, cycle) in cycles.iter().enumerate().step_by(step) {
        let board = derived.with_cycles(|| i);
        let Ok(o) = outlook(&board, by, &settings) else { return Vec::new() };
        used += 1;
        for (at, phase) in [Phase::Suspend, Phase::Resume].into_iter().enumerate() {
            look(cycle, &o.run.cycle, phase, derived, &mut seen[at]);
        }
    }
    let mut new = Vec::new();
    let mut taken = vec![false; derived.board.devices.len()];
    for (direction, late) in [Direction::Suspend, Direction::Resume].into_iter().zip(&seen) {
        for (&x, l) in late {
            if l.late < CYCLES || l.late * 10 < used * 8 {
                continue;
            }
            // The one that had always just ended; of several the last of the
            // list order, which is the nearest relative of a chain.
            let always: Vec<u32> =
                l.ended.iter().filter(|&(_, &n)| n * 10 >= l.late * 9).map(|(&y, _)| y).collect();
            let [y] = always[..] else { continue };
            let (supplier, consumer) = match direction {
                Direction::Suspend => (DeviceId(x), DeviceId(y)),
                Direction::Resume => (DeviceId(y), DeviceId(x)),
            };
            // Late because a known superior is late.
            let relative = derived.board.graph.get(consumer).parent == Some(supplier);
            let known = relative
                || derived
                    .board
                    .graph
                    .links
                    .iter()
                    .any(|l| l.supplier == supplier && l.consumer == consumer);
            if known || std::mem::replace(&mut taken[x as usize], true) {
                continue;
            }
            let phase = match direction {
                Direction::Suspend => Phase::Suspend,
                Direction::Resume => Phase::Resume,
            };
            new.push((supplier, consumer, phase, (l.late, used)));
        }
    }
    new.dedup_by_key(|n| (n.0, n.1));
    new
}

/// Notes the devices of one phase that start later than predicted.
fn look(
    cycle: &Cycle,
    predicted: &Cycle,
    phase: Phase,
    derived: &Derived,
    seen: &mut BTreeMap<u32, Late>,
) {
    let (Some(span), Some(simulated)) = (cycle.phase(phase), predicted.phase(phase)) else {
        return;
    };
    let mut at: Vec<Option<Ns>> = vec![None; derived.board.devices.len()];
    for c in predicted.callbacks.iter().filter(|c| c.phase == phase) {
        at[c.device.index()] = Some(c.start - simulated.start);
    }
    let place = |d: DeviceId| derived.place.get(d.index()).copied();
    let mut ends: Vec<(Ns, u32)> = cycle
        .callbacks
        .iter()
        .filter(|c| c.phase == phase && c.complete)
        .filter_map(|c| Some((c.end, place(c.device)?)))
        .collect();
    ends.sort_unstable();
    for c in cycle.callbacks.iter().filter(|c| c.phase == phase) {
        let thread = cycle.threads.get(usize::from(c.thread.0));
        if thread.and_then(|t| t.is_main) != Some(false) {
            continue;
        }
        let Some(x) = place(c.device) else { continue };
        let Some(expected) = at[x as usize] else { continue };
        if (c.start - span.start) - expected < LATE {
            continue;
        }
        let late = seen.entry(x).or_default();
        late.late += 1;
        let first = ends.partition_point(|e| e.0 < c.start - JUST_AFTER);
        for &(end, y) in &ends[first..] {
            if end > c.start {
                break;
            }
            let agrees = match phase.direction() {
                Direction::Suspend => y > x,
                Direction::Resume => y < x,
            };
            if agrees {
                *late.ended.entry(y).or_default() += 1;
            }
        }
    }
}
