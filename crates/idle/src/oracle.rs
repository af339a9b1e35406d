//! How good a choice could have been: bounds that no governor beats, each on
//! something else.
//!
//! All look at the sleeps which a governor's own decisions led to: the time from
//! the moment its CPU wanted to sleep until the event. So what a bound says is
//! never worse than the governor it stands beside.

use crate::energy::Powers;
use crate::state::{StateSet, Table};
use alloc::vec::Vec;

/// What a way to choose costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Energy, power times ns.
    pub energy: i128,
    /// Sum of the delays of all wake-ups, ns.
    pub waited: i128,
}

impl Bound {
    fn add(&mut self, other: Bound) {
        self.energy += other.energy;
        self.waited += other.waited;
    }
}

/// A nanosecond of delay is worth this many parts of one of state 0, in 64ths:
/// what the points of [`Oracles::front`] weigh it with.
pub const WEIGHTS: [i64; 10] = [0, 1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 1 << 20];

/// Bounds on the same sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracles {
    /// Knows when the event will come, obeys the limit, wakes as late as a
    /// governor does: the least energy.
    pub select: Bound,
    /// The same, and begins to wake early enough to lose no time.
    pub prewake: Bound,
    /// Always the shallowest state: the least delay.
    pub shallowest: Bound,
    /// Knows the event and weighs energy against delay: one point for each of
    /// [`WEIGHTS`].
    pub front: [Bound; WEIGHTS.len()],
}

impl Oracles {
    /// Adds what others made of the sleeps of another CPU.
    pub fn add(&mut self, other: &Oracles) {
        self.select.add(other.select);
        self.prewake.add(other.prewake);
        self.shallowest.add(other.shallowest);
        for (a, b) in self.front.iter_mut().zip(&other.front) {
            a.add(*b);
        }
    }

    /// One sleep whose event comes after `ns`.
    pub fn see(&mut self, powers: &Powers, table: &Table, disabled: StateSet, limit: i64, ns: i64) {
        let states = table.states();
        let allowed = |i: &usize| !disabled.has(*i) && (*i == 0 || states[*i].latency <= limit);
        let first = (0..states.len()).find(allowed).unwrap_or(0);
        let of =
            |i: usize| Bound { energy: powers.of(i, ns), waited: i128::from(states[i].latency) };
        self.shallowest.add(of(first));
        let (mut least, mut early) = (of(first), None);
        let mut front = [least; WEIGHTS.len()];
        let weight = |w: i64, b: Bound| {
            b.energy * 64 + i128::from(w) * i128::from(powers.power(0)) * b.waited
        };
        for i in (first..states.len()).filter(allowed) {
            let b = of(i);
            if b.energy < least.energy {
                least = b;
            }
            for (kept, w) in front.iter_mut().zip(WEIGHTS) {
                if weight(w, b) < weight(w, *kept) {
                    *kept = b;
                }
            }
            // Waking early is part of the sleep, so the state must pay without it.
            let asleep = ns - states[i].latency;
            if i == first || asleep >= states[i].residency {
                let energy = powers.of(i, asleep.max(0));
                early = Some(early.map_or(energy, |e: i128| e.min(energy)));
            }
        }
        self.select.add(least);
        for (sum, b) in self.front.iter_mut().zip(front) {
            sum.add(b);
        }
        let late = (states[first].latency - ns).max(0);
        self.prewake.add(Bound { energy: early.unwrap_or(0), waited: i128::from(late) });
    }

    /// The points of the front that no other beats in both, least energy first.
    pub fn pareto(&self) -> Vec<Bound> {
        let mut points: Vec<Bound> = self.front.to_vec();
        points.sort_by_key(|b| (b.energy, b.waited));
        let mut out: Vec<Bound> = Vec::new();
        for p in points {
            if out.last().is_none_or(|l| p.waited < l.waited) {
                out.push(p);
            }
        }
        out
    }
}
