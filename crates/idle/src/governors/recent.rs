//! The last wake-ups, as `teo` of 6.1 remembers them (drivers/cpuidle/governors/teo.c, read
//! in 6.1.192).

use crate::state::STATES_MAX;

/// Wake-ups that are remembered one by one (`NR_RECENT`).
pub(super) const RECENT: usize = 9;

/// The last wake-ups.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// Intercepts among them, by state.
    pub(super) count: [u32; STATES_MAX],
    /// The state that each was an intercept of.
    list: [Option<usize>; RECENT],
    next: usize,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { count: [0; STATES_MAX], list: [None; RECENT], next: 0 }
    }
}

impl Recent {
    /// The newest in place of the oldest.
    pub(super) fn push(&mut self, intercepted: Option<usize>) {
        if let Some(old) = std::mem::replace(&mut self.list[self.next], intercepted) {
            self.count[old] -= 1;
        }
        if let Some(new) = intercepted {
            self.count[new] += 1;
        }
        self.next = (self.next + 1) % RECENT;
    }
}
