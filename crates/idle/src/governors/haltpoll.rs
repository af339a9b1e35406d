//! `haltpoll`: a guest spins for a while before it halts, because leaving a halt
//! costs a trip through the host (drivers/cpuidle/governors/haltpoll.c; 6.12 and
//! 7.2 decide alike, 6.1 shrinks polling otherwise). State 0 polls, state 1 halts.
//!
//! | step | function |
//! |---|---|
//! | poll, halt or not | `haltpoll_select` |
//! | how long to poll next time | `adjust_poll_limit` |

use super::{Decision, Outcome, Question, Version};

/// Longest polling, ns (`guest_halt_poll_ns`).
const LONGEST: i64 = 200_000;
/// Polling grows by this factor (`guest_halt_poll_grow`) …
const GROW: i64 = 2;
/// … and starts with this, ns (`guest_halt_poll_grow_start`).
const START: i64 = 50_000;
/// Polling shrinks by this divisor (`guest_halt_poll_shrink`).
const SHRINK: i64 = 2;

/// Memory of one CPU.
#[derive(Clone, Debug)]
pub struct Haltpoll {
    version: Version,
    /// How long state 0 may spin, ns (`poll_limit_ns`).
    limit: i64,
    /// State of the last episode.
    last: usize,
    /// State of the last decision.
    chosen: usize,
    /// The last polling went up to its limit.
    gave_up: bool,
}

impl Haltpoll {
    /// Without memory: does not poll.
    pub fn new(version: Version) -> Haltpoll {
        Haltpoll { version, limit: 0, last: 0, chosen: 0, gave_up: false }
    }

    /// How long the next polling may take, ns.
    pub fn poll_limit(&self) -> i64 {
        self.limit
    }

    pub(super) fn select(&mut self, q: &Question) -> Decision {
        let halts = q.table.deepest() > 0
            && q.limit != 0
            && (self.limit == 0 || (self.last == 0 && self.gave_up));
        self.chosen = usize::from(halts);
        Decision { state: self.chosen, stop_tick: halts, asked: false }
    }

    pub(super) fn reflect(&mut self, o: &Outcome) {
        self.last = o.entered;
        if o.entered == 0 {
            self.gave_up = o.poll_limit;
            return;
        }
        if self.limit < o.residency && o.residency <= LONGEST {
            self.limit = (self.limit * GROW).clamp(START, LONGEST);
        } else if o.residency > LONGEST {
            self.limit /= SHRINK;
            // 6.1 goes on with what is left.
            if self.limit < START && self.version != Version::V6_1 {
                self.limit = 0;
            }
        }
    }

    /// Polling may reach its limit and still be counted as refused.
    pub(super) fn reject(&mut self, poll_limit: bool) {
        if self.chosen == 0 {
            self.gave_up = poll_limit;
        }
    }
}
