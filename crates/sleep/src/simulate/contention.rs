//! Locks and orders that a recording shows but does not name.
//!
//! Drivers share locks that no graph has: a bus behind a mutex, firmware that
//! takes one command at a time. A callback that waits for such a lock has begun
//! already, so the wait is inside its time: it takes longer beside another
//! holder than alone, and its real work begins when the other one ends. Where a
//! recording has the device both alone and beside others (say, cycles with
//! `pm_async` 0 and 1) that can be seen. Then the device works as long as
//! alone, and a lock keeps the devices apart; without it a simulation would let
//! them gain by running together what a kernel never gives.
//!
//! A driver may also wait for one other device, as a USB controller does for
//! its companions. That looks the same but for one thing: it waits even where
//! it began first, when a lock would still have been free. Such a device is
//! given a link, because with a lock a simulation would let it go first.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::{DeviceId, Link, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::{Derived, chosen_cycles};
use std::collections::{BTreeMap, BTreeSet};

/// Longer than alone by less than this, and by less than a quarter, says
/// nothing.
const LONGER: Ns = Ns(200_000);

/// Real work begins this close to the end of the one before.
const CLOSE: Ns = Ns(100_000);

/// Whoever works for less than this alone cannot be told from a device that
/// ended by the same event, such as one tick of the timer.
const WORK: Ns = Ns(500_000);

/// A device must be seen waiting in so many cycles.
const CYCLES: usize = 2;

/// Where more callbacks than this end at the same moment, none is the holder.
const CROWD: usize = 16;

/// One device in one phase of one cycle.
#[derive(Clone, Copy)]
struct Span {
    device: u32,
    start: Ns,
    end: Ns,
}

impl Span {
    fn time(self) -> Ns {
        self.end - self.start
    }
}

/// Who waits for whom in one phase, and how long each takes alone.
struct Found {
    phase: Phase,
    edges: Vec<(u32, u32)>,
    /// Who waits for whom whoever began first: (waiter, awaited).
    orders: Vec<(u32, u32)>,
    alone: BTreeMap<u32, Ns>,
}

/// Adds the locks and orders that the cycles of `capture` show to the board
/// derived from it, with the times that devices take alone. Returns how many.
pub(crate) fn locks(capture: &Capture, derived: &mut Derived) -> usize {
    let cycles = chosen_cycles(capture);
    if derived.place.is_empty() || cycles.len() != derived.cycles.len() || cycles.len() <= CYCLES {
        return 0;
    }
    let found: Vec<Found> = Phase::DEVICE
        .into_iter()
        .filter(|p| p.may_be_async())
        .map(|p| look(&cycles, &derived.place, p))
        .filter(|f| !f.edges.is_empty() || !f.orders.is_empty())
        .collect();
    let ordered: usize = found.iter().map(|f| order(derived, f)).sum();
    let groups = groups(&found);
    let works = |d: &Derived| d.board.devices.iter().flat_map(|d| d.work).flatten().collect();
    let used: Vec<dormouse_board::Work> = works(derived);
    let mut number = used.iter().map(|w| w.lock).max().unwrap_or(0);
    for group in &groups {
        number += 1;
        for f in &found {
            let members: BTreeSet<u32> =
                f.edges.iter().flat_map(|&(a, b)| [a, b]).filter(|d| group.contains(d)).collect();
            for d in members {
                hold_lock(derived, d, f, number);
            }
        }
        derived.assumptions.push(lock(derived, group, &found));
    }
    groups.len() + ordered
}

/// Adds the orders of one phase as links. Returns how many.
fn order(derived: &mut Derived, found: &Found) -> usize {
    for &(waiter, awaited) in &found.orders {
        hold_lock(derived, waiter, found, 0);
        let (supplier, consumer) = ends(found.phase, waiter, awaited);
        let board = &mut derived.board;
        let name = |d: u32| board.names.get(board.graph.devices[d as usize].name);
        derived.assumptions.push(Assumed::WorksAfter {
            waiter: name(waiter).into(),
            awaited: name(awaited).into(),
            phase: found.phase,
        });
        let (supplier, consumer) = (DeviceId(supplier), DeviceId(consumer));
        let kind = LinkKind::Stateless;
        board.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
    }
    found.orders.len()
}

/// The supplier and the consumer of a link that makes `waiter` wait.
fn ends(phase: Phase, waiter: u32, awaited: u32) -> (u32, u32) {
    match phase.direction() {
        Direction::Suspend => (waiter, awaited),
        Direction::Resume => (awaited, waiter),
    }
}

/// Gives a device the lock (0 for none) and the time it takes alone.
fn hold_lock(derived: &mut Derived, device: u32, found: &Found, number: u32) {
    let (Some(index), Some(&alone)) = (found.phase.device_index(), found.alone.get(&device)) else {
        return;
    };
    let d = device as usize;
    if let Some(w) = &mut derived.board.devices[d].work[index] {
        w.lock = w.lock.max(number);
        w.sleep = w.sleep.min(alone);
    }
    for cycle in &mut derived.cycles {
        if let Some(t) = &mut cycle[d][index]
            && is_longer(*t, alone)
        {
            *t = alone;
        }
    }
}

fn is_longer(time: Ns, alone: Ns) -> bool {
    time > Ns(alone.0 + alone.0 / 4) && time - alone > LONGER
}

/// How far the end of one and the begin of the other's work may be apart.
fn close(alone: Ns) -> Ns {
    CLOSE.max(Ns(alone.0 / 20))
}

fn look(cycles: &[&Cycle], place: &[u32], phase: Phase) -> Found {
    let spans: Vec<Vec<Span>> = cycles.iter().map(|c| spans(c, place, phase)).collect();
    let mut alone: BTreeMap<u32, Ns> = BTreeMap::new();
    for s in spans.iter().flatten() {
        let t = alone.entry(s.device).or_insert(s.time());
        *t = (*t).min(s.time());
    }
    // For each device: in how many cycles it took longer, and in which of them
    // its work would have begun when another one ended.
    let mut longer: BTreeMap<u32, usize> = BTreeMap::new();
    let mut after: BTreeMap<u32, BTreeMap<u32, BTreeSet<usize>>> = BTreeMap::new();
    for (number, cycle) in spans.iter().enumerate() {
        for s in cycle {
            let own = alone[&s.device];
            if own < WORK || !is_longer(s.time(), own) {
                continue;
            }
            *longer.entry(s.device).or_default() += 1;
            let (begin, near) = (s.end - own, close(own));
            let first = cycle.partition_point(|o| o.end < begin - near);
            let holders: Vec<&Span> = cycle[first..]
                .iter()
                .take_while(|o| o.end <= begin + near)
                .take(CROWD + 1)
                .filter(|o| o.device != s.device && o.start < s.end)
                .collect();
            if holders.len() <= CROWD {
                for o in holders {
                    after.entry(s.device).or_default().entry(o.device).or_default().insert(number);
                }
            }
        }
    }
    let mut edges = Vec::new();
    let mut orders = Vec::new();
    for (&d, &n) in longer.iter().filter(|(_, n)| **n >= CYCLES) {
        let Some(seen) = after.get(&d) else { continue };
        let mut holders: Vec<(&u32, &BTreeSet<usize>)> =
            seen.iter().filter(|&(&o, _)| exclude_each_other(&spans, &alone, d, o)).collect();
        // As few as explain it, those first that explain most or wait
        // themselves: another device may end at the same moment by chance.
        holders.sort_by_key(|(o, times)| {
            (std::cmp::Reverse(times.len()), !longer.contains_key(o), **o)
        });
        let mut explained: BTreeSet<usize> = BTreeSet::new();
        let mut found = Vec::new();
        for (&o, times) in holders {
            if !times.is_subset(&explained) {
                explained.extend(times);
                found.push((d.min(o), d.max(o)));
            }
        }
        if explained.len() * 10 < n * 8 {
            continue;
        }
        for (a, b) in found {
            let o = if a == d { b } else { a };
            let (supplier, consumer) = ends(phase, d, o);
            // Against the list the kernel makes no link.
            if supplier < consumer && began_first(&spans, &seen[&o], d, o, close(alone[&d])) {
                orders.push((d, o));
            } else {
                edges.push((a, b));
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    // One cause is enough for two devices.
    edges.retain(|&(a, b)| !orders.contains(&(a, b)) && !orders.contains(&(b, a)));
    Found { phase, edges, orders, alone }
}

/// Whether `waiter` began well before the `other` in enough of the cycles in
/// which it worked after it: a lock would have been free for it.
fn began_first(
    spans: &[Vec<Span>],
    times: &BTreeSet<usize>,
    waiter: u32,
    other: u32,
    near: Ns,
) -> bool {
    let start = |cycle: usize, d: u32| spans[cycle].iter().find(|s| s.device == d).map(|s| s.start);
    let first = times.iter().filter(|&&cycle| match (start(cycle, waiter), start(cycle, other)) {
        (Some(w), Some(o)) => o > w + near,
        _ => false,
    });
    first.count() >= CYCLES
}

/// The callbacks of one phase in order of their ends.
fn spans(cycle: &Cycle, place: &[u32], phase: Phase) -> Vec<Span> {
    let mut list: Vec<Span> = cycle
        .callbacks
        .iter()
        .filter(|c| c.phase == phase && c.complete)
        .filter_map(|c| {
            let &device = place.get(c.device.index())?;
            Some(Span { device, start: c.start, end: c.end })
        })
        .collect();
    list.sort_by_key(|s| (s.end, s.device));
    list
}

/// Whether the work of two devices, counted back from their ends, is never at
/// the same time.
fn exclude_each_other(spans: &[Vec<Span>], alone: &BTreeMap<u32, Ns>, a: u32, b: u32) -> bool {
    spans.iter().all(|cycle| {
        let work = |d: u32| {
            let s = cycle.iter().find(|s| s.device == d)?;
            Some((s.end - alone[&d].min(s.time()), s.end))
        };
        match (work(a), work(b)) {
            (Some((a0, a1)), Some((b0, b1))) => {
                let both = a1.min(b1) - a0.max(b0);
                both <= close(alone[&a].min(alone[&b]))
            }
            _ => true,
        }
    })
}

/// Devices that are connected by edges of any phase.
fn groups(found: &[Found]) -> Vec<BTreeSet<u32>> {
    let edges: Vec<(u32, u32)> = found.iter().flat_map(|f| f.edges.iter().copied()).collect();
    let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &(a, b) in &edges {
        next.entry(a).or_default().push(b);
        next.entry(b).or_default().push(a);
    }
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for &start in next.keys() {
        let mut group = BTreeSet::new();
        let mut stack = vec![start];
        while let Some(d) = stack.pop() {
            if seen.insert(d) {
                group.insert(d);
                stack.extend(&next[&d]);
            }
        }
        if !group.is_empty() {
            out.push(group);
        }
    }
    out
}

/// The devices of a group and the phases in which they exclude each other.
fn lock(derived: &Derived, group: &BTreeSet<u32>, found: &[Found]) -> Assumed {
    let board = &derived.board;
    let name = |d: u32| board.names.get(board.graph.devices[d as usize].name).into();
    let shared = found.iter().filter(|f| f.edges.iter().any(|(a, _)| group.contains(a)));
    Assumed::Lock {
        devices: group.iter().map(|&d| name(d)).collect(),
        phases: shared.map(|f| f.phase).collect(),
    }
}
