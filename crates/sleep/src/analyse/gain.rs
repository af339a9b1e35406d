//! How much shorter would a phase be if one callback took no time?
//!
//! The answer by definition: every edge of the observed structure stays, every
//! delay between the last thing a callback waited for and its start stays, and
//! all other callbacks take the time they took. Then the phase takes as long as
//! the longest way through that structure, once with the callback and once
//! without its time. The gain is at most the callback's time on the critical
//! path, and less if another way is nearly as long. Gains of several callbacks
//! do not add up.
//!
//! For a callback off the critical path the gain is zero. For those on it, the
//! longest way that avoids a node crosses it on an edge whose ends lie on both
//! sides of it in the order of nodes; so each edge bids for the nodes that it
//! jumps over, and the highest bid wins. That is O(E log E) for all nodes
//! together.

use super::structure::Structure;
use alloc::vec::Vec;
use dormouse_model::time::Ns;

/// What [`gains`] found.
#[derive(Clone, Debug, Default)]
pub struct Gains {
    /// The gain for each node of `critical`, in the same order; zero for
    /// devices without callback.
    pub each: Vec<Ns>,
    /// The best way around each of them: the edge that jumps over it.
    around: Vec<Option<(u32, u32)>>,
    /// The node after each node on the longest way to the end.
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Gains {
    /// The longest callback on the best way around the critical node at
    /// `place`: what would decide the phase in its stead. `None` if nothing
    /// would.
    pub fn rival(&self, s: &Structure, critical: &[u32], place: usize) -> Option<u32> {
        let (from, to) = (*self.around.get(place)?)?;
        let mut best: Option<u32> = None;
        let mut offer = |i: u32| {
            let time = |i: u32| s.nodes[i as usize].end.since(s.nodes[i as usize].start);
            let callback = s.nodes[i as usize].callback.is_some();
            if callback && time(i) > Ns::ZERO && best.is_none_or(|b| time(i) > time(b)) {
                best = Some(i);
            }
        };
        // Only where the ways are apart: up to the critical path on both sides.
        let mut at = from;
        while at != NONE && critical.binary_search(&at).is_err() {
            offer(at);
            let binding = s.nodes[at as usize].binding;
            at = binding.map_or(NONE, |e| s.edges[e as usize].from);
        }
        let mut at = to;
        while at != NONE && critical.binary_search(&at).is_err() {
            offer(at);
            at = self.next[at as usize];
        }
        best
    }
}

/// The gain of every node of the critical path, which ascends.
pub fn gains(s: &Structure, critical: &[u32], end: Ns) -> Gains {
    let n = s.nodes.len();
    if critical.is_empty() {
        return Gains::default();
    }
    let last = s.nodes.iter().map(|x| x.end).max().unwrap_or(Ns::ZERO);
    let after = end.since(last);

    // Longest way from the end of a node to the end of the phase. Edges are
    // visited from the last node to the first.
    let mut by_from: Vec<u32> = (0..s.edges.len() as u32).collect();
    by_from.sort_unstable_by_key(|&e| core::cmp::Reverse(s.edges[e as usize].from));
    let mut tail = alloc::vec![after; n];
    let mut next_on = alloc::vec![NONE; n];
    for &e in &by_from {
        let e = s.edges[e as usize];
        let e_to = e.to;
        let to = &s.nodes[e.to as usize];
        let way = to.lag + to.end.since(to.start) + tail[e.to as usize];
        if way > tail[e.from as usize] {
            tail[e.from as usize] = way;
            next_on[e.from as usize] = e_to;
        }
    }

    // rank[i]: how many critical nodes lie before node i.
    let mut rank = alloc::vec![0u32; n + 1];
    for &c in critical {
        rank[c as usize + 1] = 1;
    }
    for i in 0..n {
        rank[i + 1] += rank[i];
    }

    // (length of the way, first and one past the last critical node jumped,
    // the edge)
    let mut bids: Vec<(Ns, u32, u32, (u32, u32))> = Vec::with_capacity(s.edges.len() + 2 * n);
    let mut bid = |way: Ns, from: u32, to: u32, edge: (u32, u32)| {
        if from < to {
            bids.push((way, from, to, edge));
        }
    };
    let all = critical.len() as u32;
    for e in &s.edges {
        let to = &s.nodes[e.to as usize];
        let way =
            s.nodes[e.from as usize].end + to.lag + to.end.since(to.start) + tail[e.to as usize];
        bid(way, rank[e.from as usize + 1], rank[e.to as usize], (e.from, e.to));
    }
    for (i, node) in s.nodes.iter().enumerate() {
        if node.binding.is_none() {
            bid(node.end + tail[i], 0, rank[i], (NONE, i as u32));
        }
        bid(node.end + after, rank[i + 1], all, (i as u32, NONE));
    }
    bids.sort_unstable_by_key(|&(way, ..)| core::cmp::Reverse(way));

    let mut best: Vec<Option<(Ns, (u32, u32))>> = alloc::vec![None; critical.len()];
    let mut next: Vec<u32> = (0..=all).collect();
    for (way, from, to, edge) in bids {
        let mut i = find(&mut next, from);
        while i < to {
            best[i as usize] = Some((way, edge));
            next[i as usize] = i + 1;
            i = find(&mut next, i + 1);
        }
    }
    let gain = |(place, &c): (usize, &u32)| {
        let node = &s.nodes[c as usize];
        let without = end - node.end.since(node.start);
        end.since(best[place].map_or(without, |(way, _)| way.max(without)))
    };
    Gains {
        each: critical.iter().enumerate().map(gain).collect(),
        around: best.into_iter().map(|b| b.map(|b| b.1)).collect(),
        next: next_on,
    }
}

/// First position at or after `i` that has no bid yet; halves the way as it
/// goes, so that all calls together stay near linear.
fn find(next: &mut [u32], mut i: u32) -> u32 {
    while next[i as usize] != i {
        next[i as usize] = next[next[i as usize] as usize];
        i = next[i as usize];
    }
    i
}
