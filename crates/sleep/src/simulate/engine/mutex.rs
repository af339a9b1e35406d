//! Mutexes, and the lists of threads that wait.

use super::*;

#[derive(Clone, Copy, Debug)]
pub(super) struct Mutex {
    pub(super) owner: u32,
    /// The next release gives it to the first waiter, who missed it once.
    pub(super) hand_off: bool,
    pub(super) waiters: (u32, u32),
}

impl Mutex {
    pub(super) fn new() -> Mutex {
        Mutex { owner: NONE, hand_off: false, waiters: (NONE, NONE) }
    }
}

impl<C: CpuModel> Engine<'_, C> {
    /// Takes mutex `l`: true if it was free. If not, `t` goes on with `step` when
    /// it has it.
    #[inline]
    pub(super) fn mutex_lock(&mut self, t: u32, l: u32, step: Step) -> bool {
        let mutex = &mut self.mutexes[l as usize];
        if mutex.owner == NONE {
            mutex.owner = t;
            return true;
        }
        C::contend(self, t, l, step);
        false
    }

    /// `t` sleeps until it is given mutex `l`.
    pub(super) fn mutex_sleep(&mut self, t: u32, l: u32) {
        push_waiter(&mut self.mutexes[l as usize].waiters, &mut self.threads, t);
        if l == DPM_LIST_MTX {
            self.tally.blocked_on_list_mutex += 1;
        } else {
            self.tally.blocked_on_locks += 1;
        }
        self.park(t);
        self.block(t);
    }

    /// Releases mutex `l` as CPUs do that compute at the same time: to the first
    /// that waits for it.
    pub(super) fn mutex_hand_over(&mut self, l: u32) {
        let mutex = &mut self.mutexes[l as usize];
        let next = pop_waiter(&mut mutex.waiters, &self.threads);
        mutex.owner = next;
        if next != NONE {
            self.unpark(next);
            self.tally.wakeups += 1;
            C::wake(self, next, self.costs.hand_over);
        }
    }

    #[inline]
    pub(super) fn park(&mut self, t: u32) {
        if t != MAIN {
            self.threads[t as usize].parked = true;
            self.tally.parked += 1;
            self.tally.parked_at_once = self.tally.parked_at_once.max(self.tally.parked);
        }
    }

    #[inline]
    pub(super) fn unpark(&mut self, t: u32) {
        if std::mem::take(&mut self.threads[t as usize].parked) {
            self.tally.parked -= 1;
        }
    }
}

pub(super) fn push_waiter(list: &mut (u32, u32), threads: &mut [Thread], t: u32) {
    threads[t as usize].next = NONE;
    if list.0 == NONE {
        list.0 = t;
    } else {
        threads[list.1 as usize].next = t;
    }
    list.1 = t;
}

pub(super) fn pop_waiter(list: &mut (u32, u32), threads: &[Thread]) -> u32 {
    let t = list.0;
    if t != NONE {
        list.0 = threads[t as usize].next;
    }
    t
}
