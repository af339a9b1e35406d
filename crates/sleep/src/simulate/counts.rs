//! Counts of what the machinery did: only they tell some generations apart.

use dormouse_base::cycle::Counts;
use serde::Serialize;

/// Devices that a phase passed without a callback, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EarlyReturns {
    /// Registered as syscore.
    pub syscore: u64,
    /// Still direct-complete.
    pub direct_complete: u64,
    /// On the way up: was never suspended.
    pub not_suspended: u64,
    /// On the way down: another device had failed.
    pub error: u64,
    /// Has no callback in this phase (it did wait and take its locks).
    pub no_callback: u64,
}

impl EarlyReturns {
    /// All causes that skip the callback although there may be one.
    pub fn total(&self) -> u64 {
        self.syscore + self.direct_complete + self.not_suspended + self.error
    }
}

/// Waits for superiors on the way up, and what roots (devices with neither parent nor
/// supplier) have to do with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// Devices that came to the wait, in all three phases.
    pub waits: u64,
    /// Of them roots, which have nothing to wait for.
    pub of_roots: u64,
    /// Roots that returned before it.
    pub early: EarlyReturns,
}

impl Roots {
    /// A root returned before its wait: the counts before and after that.
    pub(crate) fn count_early(&mut self, before: &EarlyReturns, after: &EarlyReturns) {
        self.early.syscore += after.syscore - before.syscore;
        self.early.direct_complete += after.direct_complete - before.direct_complete;
        self.early.not_suspended += after.not_suspended - before.not_suspended;
    }
}

/// What one simulated cycle did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Callbacks that ran, prepare and complete included.
    pub callbacks: u64,
    /// Work items queued.
    pub items: u64,
    /// Items that had to wait because too many were active.
    #[serde(skip)]
    pub above_limit: u64,
    /// Workers created.
    pub workers_created: u64,
    /// Most workers occupied at once.
    pub workers_at_once: u32,
    /// Most occupied workers that waited at once, for a device or a mutex.
    pub parked_at_once: u32,
    #[serde(skip)]
    pub(crate) parked: u32,
    /// Waits for a device that blocked.
    pub blocked_waits: u64,
    /// Waits for the list mutex that blocked.
    pub blocked_on_list_mutex: u64,
    /// Waits for a lock of the board that blocked.
    pub blocked_on_locks: u64,
    /// Waits of the main thread for what is still queued at the end of a phase.
    pub blocked_at_barrier: u64,
    /// Threads woken.
    pub wakeups: u64,
    /// Threads that left a CPU to wait.
    pub context_switches: u64,
    /// Devices passed without a callback.
    #[serde(rename = "early_returns")]
    pub early: EarlyReturns,
    /// Waits for superiors.
    #[serde(skip)]
    pub roots: Roots,
}

impl Tally {
    /// As the counts of a cycle.
    pub fn counts(&self) -> Counts {
        Counts {
            workers_created: Some(self.workers_created),
            workers_at_once: Some(u64::from(self.workers_at_once)),
            parked_at_once: Some(u64::from(self.parked_at_once)),
            blocked_waits: Some(self.blocked_waits),
            wakeups: Some(self.wakeups),
            context_switches: Some(self.context_switches),
            early_returns: Some(self.early.total()),
            dirty_bytes: None,
            writeback_bytes: None,
        }
    }
}
