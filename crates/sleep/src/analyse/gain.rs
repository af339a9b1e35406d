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

    // Longest way from the end of a node to the end of the phase. Edges stand in
    // order of their later node and lead forwards, so from the last edge to the
    // first every way onwards is known before it is used.
    let mut tail = alloc::vec![after; n];
    let mut next_on = alloc::vec![NONE; n];
    for e in s.edges.iter().rev() {
        let to = &s.nodes[e.to as usize];
        let way = to.lag + to.end.since(to.start) + tail[e.to as usize];
        if way > tail[e.from as usize] {
            tail[e.from as usize] = way;
            next_on[e.from as usize] = e.to;
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

    let mut best = ways_to_the_ends(s, &rank, &tail, after, critical.len());
    let mut bids: Vec<(Ns, u32, u32, (u32, u32))> = Vec::new();
    for e in &s.edges {
        // First and one past the last critical node that the edge jumps over.
        let (from, to) = (rank[e.from as usize + 1], rank[e.to as usize]);
        if from < to {
            let node = &s.nodes[e.to as usize];
            let way = s.nodes[e.from as usize].end
                + node.lag
                + node.end.since(node.start)
                + tail[e.to as usize];
            bids.push((way, from, to, (e.from, e.to)));
        }
    }
    bids.sort_unstable_by_key(|&(way, ..)| core::cmp::Reverse(way));
    let mut next: Vec<u32> = (0..=critical.len() as u32).collect();
    for (way, from, to, edge) in bids {
        let mut i = find(&mut next, from);
        while i < to {
            let best = &mut best[i as usize];
            if best.is_none_or(|(w, _)| way > w) {
                *best = Some((way, edge));
            }
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

/// A way through the phase: its length, and the edge that jumps over a node.
type Way = (Ns, (u32, u32));

/// The best way around each critical node that begins with a node that waits
/// for nothing, or ends with one that nothing has to wait for.
fn ways_to_the_ends(
    s: &Structure,
    rank: &[u32],
    tail: &[Ns],
    after: Ns,
    critical: usize,
) -> Vec<Option<Way>> {
    let longer = |a: Option<Way>, b: Option<Way>| match (a, b) {
        (Some(x), Some(y)) if y.0 > x.0 => b,
        (None, _) => b,
        _ => a,
    };
    // What ends before a critical node goes around it and all that follow.
    let mut best: Vec<Option<Way>> = alloc::vec![None; critical + 1];
    let mut first: Vec<Option<Way>> = alloc::vec![None; critical + 1];
    for (i, node) in s.nodes.iter().enumerate() {
        let place = &mut best[rank[i + 1] as usize];
        *place = longer(*place, Some((node.end + after, (i as u32, NONE))));
        if node.binding.is_none() {
            let place = &mut first[rank[i] as usize];
            *place = longer(*place, Some((node.end + tail[i], (NONE, i as u32))));
        }
    }
    let mut so_far = None;
    for place in &mut best {
        so_far = longer(so_far, *place);
        *place = so_far;
    }
    // What begins after a critical node goes around it and all before it.
    let mut so_far = None;
    for (place, first) in best.iter_mut().zip(first.iter().skip(1)).rev() {
        so_far = longer(so_far, *first);
        *place = longer(so_far, *place);
    }
    best.truncate(critical);
    best
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
