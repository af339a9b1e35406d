//! CFS, the scheduler before 6.6 (kernel/sched/fair.c): a thread that has
//! computed less than others comes before them when it is woken. Workers have
//! slept for long and the main thread has not.
//!
//! Both rules were seen in recordings of 6.1: its first late callback starts
//! 44 us into the phase in a warm cycle, and after the whole walk (560 us) in
//! the first, for which the workers are made.

use super::*;

/// How much the others compute before a new thread comes before them: its share
/// of a period of 6 ms beside two others, and 1 ms.
const DEBIT: Ns = Ns(3_000_000);

pub(in super::super) struct Cfs {
    /// What was computed when each worker was made.
    made_at: Vec<Ns>,
}

impl Cfs {
    pub(in super::super) fn new(threads: usize) -> Cfs {
        Cfs { made_at: vec![Ns(i64::MIN / 2); threads] }
    }

    pub(super) fn made(&mut self, t: u32, computed: Ns) {
        if let Some(at) = self.made_at.get_mut(t as usize) {
            *at = computed;
        }
    }

    /// A new thread begins a slice behind the others (`START_DEBIT`): only when
    /// they have computed for that slice and the granularity of a wake-up does it
    /// come before them.
    pub(super) fn interrupts(&self, t: u32, computed: Ns) -> bool {
        let at = self.made_at.get(t as usize).copied().unwrap_or(Ns::ZERO);
        computed - at >= DEBIT
    }

    /// Little time was counted for a young worker that slept: it comes before
    /// those that were just made.
    pub(super) fn favours(&self, t: u32, computed: Ns) -> bool {
        !self.interrupts(t, computed)
    }

    pub(super) fn main_comes_last(&self) -> bool {
        true
    }
}
