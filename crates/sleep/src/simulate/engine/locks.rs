//! Mutexes, and the lists of threads that wait.

use super::*;

impl Engine<'_> {
    /// Takes lock `l` and goes on with `step`, at once or when it is free.
    pub(super) fn lock(&mut self, t: u32, l: u32, step: Step) -> Flow {
        self.threads[t as usize].step = step;
        let lock = &mut self.locks[l as usize];
        if lock.owner == NONE {
            lock.owner = t;
            // The list mutex is taken outside of callbacks, others inside.
            return match l {
                LIST_LOCK => Flow::Owe(self.costs.lock),
                _ => Flow::Go(self.costs.lock),
            };
        }
        if self.shared.is_some() {
            return self.contend(t, l, step);
        }
        push_waiter(&mut lock.waiters, &mut self.threads, t);
        if l == LIST_LOCK {
            self.tally.blocked_on_list += 1;
        } else {
            self.tally.blocked_on_lock += 1;
        }
        self.park(t);
        self.block(t);
        Flow::Stop
    }

    /// Releases lock `l`, to the first that waits for it.
    pub(super) fn unlock(&mut self, l: u32) {
        if self.shared.is_some() {
            return self.unlock_shared(l);
        }
        let lock = &mut self.locks[l as usize];
        let next = pop_waiter(&mut lock.waiters, &self.threads);
        lock.owner = next;
        if next != NONE {
            self.unpark(next);
            self.tally.wakeups += 1;
            self.runnable(next, self.costs.hand_over.0);
        }
    }

    pub(super) fn park(&mut self, t: u32) {
        if t != MAIN {
            self.threads[t as usize].parked = true;
            self.tally.parked += 1;
            self.tally.parked_at_once = self.tally.parked_at_once.max(self.tally.parked);
        }
    }

    pub(super) fn unpark(&mut self, t: u32) {
        if core::mem::take(&mut self.threads[t as usize].parked) {
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
