//! Waits that a recording shows and no device link names.
//!
//! A callback that begins long after everything known is done, and just after
//! another one has ended, waited for that one. A log of one or two cycles has
//! no repetition to prove it, so it must be unlikely to be chance, and nothing
//! else that was recorded may contradict it: a link makes the supplier wait on
//! the way down and the consumer on the way up, in every phase. What is left
//! is said to be unexplained, not explained by more links.

use super::expected::Recorded;
use super::late::{each_phase, late};
use crate::simulate::outlook::{Scheduler, outlook};
use crate::simulate::policy::Policy;
use crate::simulate::{Profile, Settings};
use dormouse_base::cycle::Cycle;
use dormouse_base::device::{DeviceId, Link, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::derive::Derived;
use std::collections::BTreeMap;

/// A start is unexplained if it is this much later than explained.
const LATE: Ns = Ns(500_000);

/// A waiter begins within this time after the end of what it waited for: a
/// wake-up of an idle CPU takes up to 50 us, and a line is printed on each side.
const JUST_AFTER: Ns = Ns(150_000);

/// Time stamps of two threads may be apart by this.
const APART: Ns = Ns(50_000);

/// A wait is taken if chance would have put some end so close before the begin
/// in less than one of so many recordings.
const CHANCE: i64 = 8;

/// A wait that was inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Waits; a number on the board.
    pub waiter: u32,
    /// Is waited for.
    pub awaited: u32,
    /// The phase that showed it, where it was latest.
    pub phase: Phase,
    /// How late it would have been without.
    pub late: Ns,
    /// How long after the end it began.
    pub gap: Ns,
    /// In how many phases the begin follows the end like that.
    pub times: u32,
}

/// So many late begins prove a wait where a recording has them; fewer cycles
/// must do with what they have.
const REPEATED: usize = 3;

/// More cycles add little.
const CYCLES_AT_MOST: usize = 12;

/// A device in a phase of a cycle.
type Place = (usize, Phase, u32);

/// One device that was late once.
struct Seen {
    waiter: u32,
    cycle: usize,
    phase: Phase,
    late: Ns,
    begin: Ns,
}

/// Infers waits of all `cycles`, each explaining at least one late begin, and
/// adds them to the board as links. At most one for a device.
pub(super) fn infer(cycles: &[&Cycle], derived: &mut Derived, policy: &Policy) -> Vec<Wait> {
    if derived.board.graph.links_known || !derived.board.pm_async {
        return Vec::new();
    }
    let mut phases: Vec<(usize, Recorded)> = Vec::new();
    let mut seen: Vec<Seen> = Vec::new();
    let step = cycles.len().div_ceil(CYCLES_AT_MOST).max(1);
    for (number, cycle) in cycles.iter().enumerate().step_by(step) {
        each_phase(cycle, derived, policy, &mut |r, _| phases.push((number, r.clone())));
        let line = derived.printing.get(number).copied().unwrap_or_default();
        for l in late(cycle, derived, policy, &line, LATE) {
            if l.by > Ns::ZERO {
                let (waiter, phase, late, begin) = (l.device, l.phase, l.by, l.begin);
                seen.push(Seen { waiter, cycle: number, phase, late, begin });
            }
        }
    }
    // In order of time: what began late for no reason explains nobody else.
    seen.sort_by_key(|s| (s.cycle, s.phase, s.begin, s.waiter));
    let mut late: BTreeMap<Place, Ns> = BTreeMap::new();
    let mut found: BTreeMap<(u32, Phase), Vec<Option<Wait>>> = BTreeMap::new();
    for s in &seen {
        let wait = awaited(s, &phases, derived, &late);
        if wait.is_none() {
            late.insert((s.cycle, s.phase, s.waiter), s.late);
        }
        found.entry((s.waiter, s.phase)).or_default().push(wait);
    }
    let need = cycles.len().min(REPEATED);
    let mut chosen: BTreeMap<u32, Wait> = BTreeMap::new();
    for list in found.values() {
        let Some(wait) = agreed(list, need) else { continue };
        let slot = chosen.entry(wait.waiter).or_insert(wait);
        if wait.late > slot.late {
            *slot = wait;
        }
    }
    let waits: Vec<Wait> = chosen.into_values().collect();
    for w in &waits {
        let (supplier, consumer) = ends(w.phase, w.waiter, w.awaited);
        derived.board.graph.links.push(Link {
            consumer: DeviceId(consumer),
            supplier: DeviceId(supplier),
            kind: LinkKind::Stateless,
            pm_runtime: false,
        });
    }
    waits
}

/// A wait that makes the machine miss its recording by more than this than it did
/// without is none.
const WORSE: Ns = Ns(200_000);

/// Takes back the `waits` without which the machine comes closer to what was
/// recorded of a phase, and no phase further from it.
pub(super) fn confirmed(waits: Vec<Wait>, derived: &mut Derived, by: Scheduler) -> Vec<Wait> {
    let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    let misses = |board: &Board| -> Option<Vec<Ns>> {
        let o = outlook(board, by, &settings).ok()?;
        let phases = Phase::DEVICE.into_iter().zip(&derived.observed);
        let miss = |(p, seen): (Phase, &Option<Ns>)| Some(Ns((o.phase(p) - (*seen)?).0.abs()));
        Some(phases.filter_map(miss).collect())
    };
    let mut board = derived.board.clone();
    let Some(mut with) = misses(&board) else { return waits };
    let mut kept = Vec::new();
    for w in waits {
        let (supplier, consumer) = ends(w.phase, w.waiter, w.awaited);
        let mut less = board.clone();
        less.graph.links.retain(|l| l.supplier.0 != supplier || l.consumer.0 != consumer);
        let Some(without) = misses(&less) else { continue };
        let pairs = || with.iter().zip(&without);
        let worse = pairs().any(|(with, without)| *with > *without + WORSE);
        let better = pairs().any(|(with, without)| *with + WORSE < *without);
        if worse && !better {
            (board, with) = (less, without);
        } else {
            kept.push(w);
        }
    }
    derived.board = board;
    kept
}

/// The latest of the waits that four of five late begins of one device in one
/// phase agree on, if there are enough of them.
fn agreed(list: &[Option<Wait>], need: usize) -> Option<Wait> {
    let same = |w: &Wait| list.iter().flatten().filter(|o| o.awaited == w.awaited).count();
    let most = list.iter().flatten().max_by_key(|w| (same(w), w.late))?;
    let count = same(most);
    (count >= need && count * 5 >= list.len() * 4).then_some(*most)
}

/// The supplier and the consumer of a link that makes `waiter` wait.
fn ends(phase: Phase, waiter: u32, awaited: u32) -> (u32, u32) {
    match phase.direction() {
        Direction::Suspend => (waiter, awaited),
        Direction::Resume => (awaited, waiter),
    }
}

/// What the late device waited for, if one other device explains it and that is
/// not likely to be chance.
fn awaited(
    s: &Seen,
    phases: &[(usize, Recorded)],
    derived: &Derived,
    late: &BTreeMap<Place, Ns>,
) -> Option<Wait> {
    let (_, r) = phases.iter().find(|(c, r)| *c == s.cycle && r.phase == s.phase)?;
    let index = s.phase.device_index()?;
    let line = derived.printing.get(s.cycle).map_or(Ns::ZERO, |p| p[index]);
    let window = JUST_AFTER + line;
    let mut ends_seen = 0i64;
    let mut best: Option<(u32, Ns, u32)> = None;
    for (y, other) in r.seen.iter().enumerate() {
        let (y, Some(o)) = (y as u32, other) else { continue };
        // One after the other on the main thread is its order, no wait; and
        // behind its devices stand silent ones that a worker may wait for.
        if y == s.waiter || o.main {
            continue;
        }
        ends_seen += 1;
        let gap = s.begin - o.end;
        if gap < Ns::ZERO || gap > window || !o.complete {
            continue;
        }
        // It only shares the cause, whatever that is.
        if late.get(&(s.cycle, s.phase, y)).is_some_and(|l| l.is_share_of(50, s.late)) {
            continue;
        }
        let (supplier, consumer) = ends(s.phase, s.waiter, y);
        // The kernel makes no link against the order of its list.
        if supplier >= consumer || known(derived, supplier, consumer) {
            continue;
        }
        let Some(times) = agree(phases, derived, supplier, consumer) else { continue };
        let better = best.is_none_or(|(_, g, t)| (times, -gap.0) > (t, -g.0));
        if better {
            best = Some((y, gap, times));
        }
    }
    let (awaited, gap, times) = best?;
    // Its parent, which the log does not list, may be what the main thread
    // stood at, before it came to this device.
    let parent = &derived.board.graph.devices[awaited as usize];
    let unlisted = parent.parent.is_none() && !parent.parent_name.is_empty();
    if s.phase.direction() == Direction::Suspend && r.seen[s.waiter as usize]?.main && unlisted {
        return None;
    }
    // Ends per window: how likely one of them is there by chance.
    let chance = |n: i64| n.saturating_mul(window.0).saturating_mul(CHANCE) >= r.duration.0;
    if chance(ends_seen) {
        return None;
    }
    let Seen { waiter, phase, late, .. } = *s;
    Some(Wait { waiter, awaited, phase, late, gap, times })
}

/// Whether the board has this dependency.
fn known(derived: &Derived, supplier: u32, consumer: u32) -> bool {
    let graph = &derived.board.graph;
    graph.devices[consumer as usize].parent == Some(DeviceId(supplier))
        || graph.links.iter().any(|l| l.supplier.0 == supplier && l.consumer.0 == consumer)
}

/// In how many phases the one that would wait begins just after the other has
/// ended; `None` if it begins before that in any phase, so there is no link.
fn agree(
    phases: &[(usize, Recorded)],
    derived: &Derived,
    supplier: u32,
    consumer: u32,
) -> Option<u32> {
    let mut times = 0;
    for (cycle, r) in phases {
        let (first, then) = match r.phase.direction() {
            Direction::Suspend => (consumer, supplier),
            Direction::Resume => (supplier, consumer),
        };
        let (Some(a), Some(b)) = (r.seen[first as usize], r.seen[then as usize]) else { continue };
        let gap = b.start - a.end;
        if gap < -APART && a.complete {
            return None;
        }
        let line = derived.printing.get(*cycle).zip(r.phase.device_index());
        let line = line.map_or(Ns::ZERO, |(p, i)| p[i]);
        times += u32::from(gap <= JUST_AFTER + line && !(a.main && b.main));
    }
    Some(times)
}
