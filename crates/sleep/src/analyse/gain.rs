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
use dormouse_base::time::Ns;

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
    pub(crate) fn rival(&self, s: &Structure, critical: &[u32], place: usize) -> Option<u32> {
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

/// Memory that one answer after another is found in.
#[derive(Default)]
pub struct Room {
    /// Longest way from the end of each node to the end of the phase.
    tail: Vec<Ns>,
    /// How many critical nodes lie before each node.
    rank: Vec<u32>,
    best: Vec<Way>,
    first: Vec<Way>,
    /// Ways over an edge, and the critical nodes that it jumps over: the first,
    /// and one past the last.
    bids: Vec<(Way, u32, u32)>,
    free: Vec<u32>,
    next: Vec<u32>,
}

impl Room {
    /// Takes back the memory of what was found here.
    pub(crate) fn reuse(&mut self, gains: Gains) {
        self.next = gains.next;
    }
}

/// Sets every one of `count` entries to `value`.
fn fill<T: Copy>(list: &mut Vec<T>, count: usize, value: T) {
    list.clear();
    list.resize(count, value);
}

/// The gain of every node of the critical path, which ascends.
pub fn gains(s: &Structure, critical: &[u32], end: Ns, room: &mut Room) -> Gains {
    let n = s.nodes.len();
    if critical.is_empty() {
        return Gains::default();
    }
    let last = s.nodes.iter().map(|x| x.end).max().unwrap_or(Ns::ZERO);
    let after = end.since(last);
    let mut next_on = std::mem::take(&mut room.next);
    fill(&mut next_on, n, NONE);
    fill(&mut room.tail, n, after);
    fill(&mut room.rank, n + 1, 0);
    let Room { tail, rank, best, first, bids, free, .. } = room;

    // Edges stand in order of their later node and lead forwards, so from the
    // last edge to the first every way onwards is known before it is used.
    for e in s.edges.iter().rev() {
        let to = &s.nodes[e.to as usize];
        let way = to.lag + to.end.since(to.start) + tail[e.to as usize];
        if way > tail[e.from as usize] {
            tail[e.from as usize] = way;
            next_on[e.from as usize] = e.to;
        }
    }

    for &c in critical {
        rank[c as usize + 1] = 1;
    }
    for i in 0..n {
        rank[i + 1] += rank[i];
    }

    ways_to_the_ends(s, rank, tail, after, critical.len(), best, first);
    bids.clear();
    for e in &s.edges {
        let (from, to) = (rank[e.from as usize + 1], rank[e.to as usize]);
        if from < to {
            let node = &s.nodes[e.to as usize];
            let way = s.nodes[e.from as usize].end
                + node.lag
                + node.end.since(node.start)
                + tail[e.to as usize];
            bids.push(((way, e.from, e.to), from, to));
        }
    }
    bids.sort_unstable_by_key(|&((way, ..), ..)| std::cmp::Reverse(way));
    free.clear();
    free.extend(0..=critical.len() as u32);
    for &(way, from, to) in &*bids {
        let mut i = find(free, from);
        while i < to {
            let best = &mut best[i as usize];
            *best = longer(*best, way);
            free[i as usize] = i + 1;
            i = find(free, i + 1);
        }
    }
    let gain = |(&c, best): (&u32, &Way)| {
        let node = &s.nodes[c as usize];
        let without = end - node.end.since(node.start);
        end.since(best.0.max(without))
    };
    let around = |&(way, from, to): &Way| (way != NO_WAY.0).then_some((from, to));
    Gains {
        each: critical.iter().zip(&*best).map(gain).collect(),
        around: best.iter().map(around).collect(),
        next: next_on,
    }
}

/// A way through the phase: its length, and the edge that jumps over a node.
type Way = (Ns, u32, u32);

/// Shorter than every way.
const NO_WAY: Way = (Ns(i64::MIN), NONE, NONE);

/// The longer way; between equals, `a`.
fn longer(a: Way, b: Way) -> Way {
    if b.0 > a.0 { b } else { a }
}

/// The best way around each critical node that begins with a node that waits
/// for nothing, or ends with one that nothing has to wait for.
fn ways_to_the_ends(
    s: &Structure,
    rank: &[u32],
    tail: &[Ns],
    after: Ns,
    critical: usize,
    best: &mut Vec<Way>,
    first: &mut Vec<Way>,
) {
    // What ends before a critical node goes around it and all that follow.
    fill(best, critical + 1, NO_WAY);
    fill(first, critical + 1, NO_WAY);
    for (i, node) in s.nodes.iter().enumerate() {
        let place = &mut best[rank[i + 1] as usize];
        *place = longer(*place, (node.end + after, i as u32, NONE));
        if node.binding.is_none() {
            let place = &mut first[rank[i] as usize];
            *place = longer(*place, (node.end + tail[i], NONE, i as u32));
        }
    }
    let mut so_far = NO_WAY;
    for place in &mut *best {
        so_far = longer(so_far, *place);
        *place = so_far;
    }
    // What begins after a critical node goes around it and all before it.
    let mut so_far = NO_WAY;
    for (place, first) in best.iter_mut().zip(first.iter().skip(1)).rev() {
        so_far = longer(so_far, *first);
        *place = longer(so_far, *place);
    }
    best.truncate(critical);
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
