//! `ladder`: one step deeper after four sleeps that were long enough, one
//! shallower after one that was too short (drivers/cpuidle/governors/ladder.c;
//! 6.1, 6.12 and 7.2 decide alike). It compares with exit latencies: target
//! residencies play no part, and the tick is always allowed to stop.
//!
//! | step | function |
//! |---|---|
//! | choice | `ladder_select_state` |
//! | a step | `ladder_do_selection` |
//! | thresholds | `ladder_enable_device` |

use super::{Decision, Outcome, Question};
use crate::state::{STATES_MAX, Table};

/// Sleeps before a step deeper (`PROMOTION_COUNT`).
const PROMOTION: u32 = 4;

/// Memory of one CPU.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// Shallowest state that it goes back to: 1 where state 0 polls.
    first: usize,
    /// State of the last episode.
    last: usize,
    /// Sleeps in each state that were long enough for the next.
    up: [u32; STATES_MAX],
    /// Measured residency of the last episode, ns.
    residency: i64,
}

impl Ladder {
    /// Without memory: stands on the first rung.
    pub fn new(table: &Table) -> Ladder {
        let first = usize::from(table.states()[0].polls).min(table.deepest());
        Ladder { first, last: first, up: [0; STATES_MAX], residency: 0 }
    }

    pub(super) fn carry(&mut self, residency: i64) {
        self.residency = residency;
    }

    pub(super) fn select(&mut self, q: &Question) -> Decision {
        let state = self.next(q);
        if state != self.last || q.limit == 0 {
            self.up[self.last] = 0;
            self.last = state;
        }
        Decision { state, stop_tick: true, asked: false }
    }

    /// The rung to stand on. Demotion needs one short sleep only, so its
    /// counter never outlives a decision and is not kept.
    fn next(&mut self, q: &Question) -> usize {
        let (states, n, last) = (q.states(), q.states().len(), self.last);
        if q.limit == 0 {
            return 0;
        }
        // The kernel compares unsigned: a sleep shorter than the exit latency
        // counts as a very long one.
        let slept = self.residency.wrapping_sub(states[last].latency) as u64;
        if last + 1 < n && q.enabled(last + 1) {
            let known = last >= self.first;
            let threshold = if known { states[last].latency as u64 } else { 0 };
            if slept > threshold && states[last + 1].latency <= q.limit {
                self.up[last] += 1;
                if self.up[last] >= if known { PROMOTION } else { 0 } {
                    return last + 1;
                }
                // A promotion in waiting still yields to a limit below.
                if !self.over(q, last) {
                    return last;
                }
            }
        }
        if self.over(q, last) {
            let mut i = last - 1;
            while i > self.first && states[i].latency > q.limit {
                i -= 1;
            }
            return i;
        }
        if last > self.first && slept < states[last].latency as u64 {
            return last - 1;
        }
        last
    }

    /// Must state `last` be left because it is disabled or too slow to leave?
    fn over(&self, q: &Question, last: usize) -> bool {
        last > self.first && (!q.enabled(last) || q.states()[last].latency > q.limit)
    }

    pub(super) fn reflect(&mut self, o: &Outcome) {
        if o.entered > 0 {
            self.last = o.entered.min(STATES_MAX - 1);
        }
        self.residency = o.residency;
    }

    pub(super) fn reject(&mut self) {
        self.residency = 0;
    }
}
