//! The order of `dpm_list` as a recording without it shows.
//!
//! A kernel log does not list devices in order; only the prepare phase of a
//! trace does. But every phase walks the same list (`dpm_suspend` and its kind
//! from the tail, `dpm_resume` from the head, drivers/base/power/main.c), and
//! the main thread runs the synchronous devices as it walks: what it ran one
//! after the other stands so in the list. A worker's callback that began before
//! a synchronous one ended on the way down was queued before it, so its device
//! stands behind that one. Parents stand before their children.

use super::threads::main_threads;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::{DeviceGraph, DeviceId};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The devices of `graph` in the order that `cycles` show; devices of which
/// they show nothing follow their parent, or stand at the end. Always a
/// permutation; where two cycles contradict each other, the earlier counts.
pub(crate) fn observed_order(graph: &DeviceGraph, cycles: &[&Cycle]) -> Vec<u32> {
    let n = graph.devices.len();
    let rank = ranks(graph, cycles);
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut above = vec![0u32; n];
    let mut edge = |a: u32, b: u32| {
        if a != b {
            after[a as usize].push(b);
            above[b as usize] += 1;
        }
    };
    for cycle in cycles {
        let mains = main_threads(cycle);
        for phase in Phase::DEVICE {
            observed_edges(cycle, &mains, phase, n, &mut edge);
        }
    }
    let parent = |d: u32| graph.devices[d as usize].parent.map(|p| p.0).filter(|&p| p != d);
    for d in 0..n as u32 {
        if let Some(p) = parent(d).filter(|&p| (p as usize) < n) {
            edge(p, d);
        }
    }
    let mut ready: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut rest: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    for d in 0..n as u32 {
        if above[d as usize] == 0 {
            ready.push(Reverse((rank[d as usize], d)));
        }
        rest.push(Reverse((rank[d as usize], d)));
    }
    let mut placed = vec![false; n];
    let mut order = Vec::with_capacity(n);
    while order.len() < n {
        // Where what was seen contradicts itself, the next by rank goes first.
        let Some(Reverse((_, d))) = ready.pop().or_else(|| rest.pop()) else { break };
        if std::mem::replace(&mut placed[d as usize], true) {
            continue;
        }
        order.push(d);
        for &b in &after[d as usize] {
            let waits = &mut above[b as usize];
            *waits = waits.saturating_sub(1);
            if *waits == 0 && !placed[b as usize] {
                ready.push(Reverse((rank[b as usize], b)));
            }
        }
    }
    order
}

/// Whether the order of `graph` is that of `dpm_list`. The prepare phase shows
/// it if it shows every device; before 3.17 or so only those with a prepare
/// callback had an event (`device_prepare`, drivers/base/power/main.c), and the
/// others were then put behind them.
pub(crate) fn order_is_known(graph: &DeviceGraph, cycles: &[&Cycle]) -> bool {
    let n = graph.devices.len();
    let (mut prepared, mut ran) = (vec![false; n], vec![false; n]);
    for c in cycles.iter().flat_map(|c| &c.callbacks) {
        let set = if c.phase == Phase::Prepare { &mut prepared } else { &mut ran };
        if let Some(s) = set.get_mut(c.device.index()) {
            *s = true;
        }
    }
    let count = ran.iter().filter(|r| **r).count();
    let both = (0..n).filter(|&d| ran[d] && prepared[d]).count();
    graph.order_known && (!prepared.contains(&true) || both * 10 >= count * 9)
}

/// The devices of a `graph` in known order as the used cycle prepared them that
/// prepared most: a device that is unplugged and comes back stands at the end, so
/// the order of `graph` can be that of a cycle which is left out. Those that it did
/// not prepare follow the device before them. Always a permutation.
pub(crate) fn prepared_order(graph: &DeviceGraph, cycles: &[&Cycle]) -> Vec<u32> {
    let n = graph.devices.len();
    let listed = |c: &Cycle| -> Vec<u32> {
        let mut seen = vec![false; n];
        let list = c.callbacks.iter().filter(|b| b.phase == Phase::Prepare);
        let list = list.map(|b| b.device.0).filter(|&d| (d as usize) < n);
        list.filter(|&d| !std::mem::replace(&mut seen[d as usize], true)).collect()
    };
    let all = cycles.iter().rev().map(|c| listed(c));
    let best = all.max_by_key(Vec::len).unwrap_or_default();
    let mut in_best = vec![false; n];
    best.iter().for_each(|&d| in_best[d as usize] = true);
    // Which devices follow which, by the order of the graph.
    let mut following: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut last = None;
    for d in 0..n as u32 {
        match last {
            _ if in_best[d as usize] => last = Some(d),
            Some(last) => following[last as usize].push(d),
            None => order.push(d),
        }
    }
    for d in best {
        order.push(d);
        order.append(&mut following[d as usize]);
    }
    order
}

/// Where a device stands if nothing else says: by its first callback of the
/// way down, the latest first, since that way begins at the tail.
fn ranks(graph: &DeviceGraph, cycles: &[&Cycle]) -> Vec<u32> {
    let n = graph.devices.len();
    let mut down: Vec<Option<(usize, Reverse<Ns>)>> = vec![None; n];
    let mut up: Vec<Option<(usize, Ns)>> = vec![None; n];
    for (i, cycle) in cycles.iter().enumerate() {
        for c in &cycle.callbacks {
            let d = c.device.index();
            if d >= n || !c.phase.may_be_async() {
                continue;
            }
            match c.phase.direction() {
                Direction::Suspend => _ = down[d].get_or_insert((i, Reverse(c.start))),
                Direction::Resume => _ = up[d].get_or_insert((i, c.start)),
            }
        }
    }
    let mut list: Vec<u32> = (0..n as u32).filter(|&d| down[d as usize].is_some()).collect();
    list.sort_by_key(|&d| down[d as usize]);
    let mut rank = vec![u32::MAX; n];
    for (r, &d) in list.iter().enumerate() {
        rank[d as usize] = r as u32;
    }
    // Seen on the way up only: after the device that began just before.
    let mut by_up: Vec<u32> = (0..n as u32).filter(|&d| up[d as usize].is_some()).collect();
    by_up.sort_by_key(|&d| up[d as usize]);
    let mut last = 0;
    for d in by_up {
        let own = &mut rank[d as usize];
        if *own == u32::MAX {
            *own = last;
        } else {
            last = *own;
        }
    }
    // Not seen at all: with the parent.
    for d in 0..n {
        if rank[d] == u32::MAX
            && let Some(p) = graph.devices[d].parent.map(DeviceId::index).filter(|&p| p < n)
        {
            rank[d] = rank[p];
        }
    }
    rank
}

/// Calls `edge` with a device and one that stands behind it in the list.
fn observed_edges(
    cycle: &Cycle,
    mains: &[bool],
    phase: Phase,
    n: usize,
    edge: &mut impl FnMut(u32, u32),
) {
    // Prepare walks from the head as resume does, complete from the tail.
    let suspend = match phase {
        Phase::Prepare => false,
        Phase::Complete => true,
        other => other.direction() == Direction::Suspend,
    };
    let on_main = |c: &Callback| mains.get(usize::from(c.thread.0)) == Some(&true);
    let inside = |c: &&Callback| c.phase == phase && c.device.index() < n;
    // What was called twice is two devices of one name, and stands in two places.
    let mut calls = vec![0u8; n];
    for c in cycle.callbacks.iter().filter(inside) {
        let count = &mut calls[c.device.index()];
        *count = count.saturating_add(1);
    }
    let once = |c: &&Callback| calls[c.device.index()] == 1;
    let main: Vec<&Callback> =
        cycle.callbacks.iter().filter(inside).filter(|c| on_main(c)).filter(once).collect();
    for pair in main.windows(2) {
        let (a, b) = (pair[0].device.0, pair[1].device.0);
        if suspend { edge(b, a) } else { edge(a, b) }
    }
    if !suspend || !phase.may_be_async() {
        return;
    }
    for c in cycle.callbacks.iter().filter(inside).filter(|c| !on_main(c)) {
        let next = main.partition_point(|m| m.end <= c.start);
        if let Some(m) = main.get(next) {
            edge(m.device.0, c.device.0);
        }
    }
}
