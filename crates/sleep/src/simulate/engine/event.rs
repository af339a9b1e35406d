//! Moments at which threads go on.

use super::MAIN;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use dormouse_model::time::Ns;

/// A queue of moments: by time, at equal time the main thread's first, then in
/// the order in which they were made.
pub(super) struct Events {
    heap: BinaryHeap<Reverse<u128>>,
    made: u64,
}

/// Bits of the thread's number in a key, and of the sequence above it.
const THREAD: u32 = 24;
const SEQUENCE: u32 = 39;

impl Events {
    pub(super) fn with_capacity(n: usize) -> Events {
        Events { heap: BinaryHeap::with_capacity(n), made: 0 }
    }

    /// Thread `t` goes on at `time`.
    pub(super) fn push(&mut self, time: Ns, t: u32) {
        self.made += 1;
        let others = u64::from(t != MAIN) << (THREAD + SEQUENCE);
        let sequence = (self.made & ((1 << SEQUENCE) - 1)) << THREAD;
        let order = others | sequence | u64::from(t);
        self.heap.push(Reverse(u128::from(time.0.max(0) as u64) << 64 | u128::from(order)));
    }

    /// When the first one is.
    pub(super) fn first(&self) -> Option<Ns> {
        self.heap.peek().map(|e| time(e.0))
    }

    /// Whose the first one is.
    pub(super) fn first_thread(&self) -> Option<u32> {
        self.heap.peek().map(|e| thread(e.0))
    }

    /// Takes the first one.
    pub(super) fn pop(&mut self) -> Option<(Ns, u32)> {
        self.heap.pop().map(|e| (time(e.0), thread(e.0)))
    }

    /// Takes the first one, if it is not after `now`.
    pub(super) fn pop_until(&mut self, now: Ns) -> Option<u32> {
        if self.first()? > now {
            return None;
        }
        self.pop().map(|(_, t)| t)
    }
}

fn time(key: u128) -> Ns {
    Ns((key >> 64) as i64)
}

fn thread(key: u128) -> u32 {
    key as u32 & ((1 << THREAD) - 1)
}
