//! How good a choice could have been: bounds that no governor beats, each on
//! something else.
//!
//! All look at the sleeps which a governor's own decisions led to: the time that its
//! CPU spent in idle states from the moment it wanted to sleep until it was woken,
//! without the exits and the ticks between. So what a bound says is never worse than
//! the governor it stands beside: a sleep in one piece costs no more than its parts
//! ([`Powers::of`] of the best state is concave, and of no time nothing).

use crate::energy::Powers;
use crate::state::{StateSet, Table};

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
pub(crate) const WEIGHTS: [i64; 10] = [0, 1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 1 << 20];

/// Bounds on the same sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracles {
    /// Knows when the event will come, obeys the limit, wakes as late as a
    /// governor does: the least energy.
    pub select: Bound,
    /// The same, and begins to wake early enough to lose no time where a state lets
    /// it: never more energy than `select`.
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

    /// One sleep of `ns` in all.
    pub fn see(&mut self, powers: &Powers, table: &Table, disabled: StateSet, limit: i64, ns: i64) {
        let states = table.states();
        let allowed = |i: &usize| !disabled.has(*i) && (*i == 0 || states[*i].latency <= limit);
        // A governor takes the first state that is enabled, if none obeys the limit.
        let enabled = || (0..states.len()).find(|&i| !disabled.has(i));
        let first = (0..states.len()).find(allowed).or_else(enabled).unwrap_or(0);
        let of =
            |i: usize| Bound { energy: powers.of(i, ns), waited: i128::from(states[i].latency) };
        self.shallowest.add(of(first));
        // Waking early is part of the sleep; a state that takes longer to leave than
        // all of it is left at once, and late by the rest.
        let early = |i: usize| {
            let asleep = ns - states[i].latency;
            let late = i128::from((-asleep).max(0));
            Bound { energy: powers.of(i, asleep.max(0)), waited: late }
        };
        let (mut least, mut soonest) = (of(first), early(first));
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
            let e = early(i);
            if (e.energy, e.waited) < (soonest.energy, soonest.waited) {
                soonest = e;
            }
        }
        self.select.add(least);
        for (sum, b) in self.front.iter_mut().zip(front) {
            sum.add(b);
        }
        self.prewake.add(soonest);
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
