//! Moments at which threads go on.

use dormouse_base::time::Ns;

/// The main thread's number.
pub(in crate::simulate) const MAIN: u32 = 0;

/// A queue of moments: by time, at equal time the main thread's first, then in
/// the order in which they were made.
///
/// Threads that compute go on within microseconds, and there are few of them;
/// threads that sleep are many and wait for longer. So the next few moments are
/// kept sorted, and only what does not fit there goes to a heap. Where a
/// moment is kept does not change the order in which moments are taken.
pub(super) struct Events {
    /// The first `len` are used, the next moment last.
    soon: [u128; SOON],
    len: usize,
    later: Later,
    /// When the first of both is; [`Ns::MAX`] if there is none.
    pub(super) next: Ns,
    made: u64,
}

/// Moments that are kept sorted.
const SOON: usize = 12;

/// Bits of the thread's number in a key, and of the sequence above it.
const THREAD: u32 = 24;
const SEQUENCE: u32 = 39;

/// No moment is left: later than any, at [`Ns::MAX`].
const NEVER: u128 = (Ns::MAX.0 as u128) << 64 | u64::MAX as u128;

impl Events {
    pub(super) fn with_capacity(n: usize) -> Events {
        let later = Later { heap: Vec::with_capacity(n) };
        Events { soon: [0; SOON], len: 0, later, next: Ns::MAX, made: 0 }
    }

    /// Thread `t`, which computes, goes on at `time`.
    #[inline]
    pub(super) fn push_soon(&mut self, time: Ns, t: u32) {
        let key = self.key(time, t);
        if self.len == SOON {
            self.later.push(key);
            return;
        }
        let mut at = self.len;
        while at > 0 && self.soon[at - 1] < key {
            self.soon[at] = self.soon[at - 1];
            at -= 1;
        }
        self.soon[at] = key;
        self.len += 1;
    }

    /// Thread `t`, which sleeps, goes on at `time`.
    pub(super) fn push_later(&mut self, time: Ns, t: u32) {
        let key = self.key(time, t);
        self.later.push(key);
    }

    #[inline(always)]
    fn key(&mut self, time: Ns, t: u32) -> u128 {
        self.made += 1;
        let others = u64::from(t != MAIN) << (THREAD + SEQUENCE);
        let sequence = (self.made & ((1 << SEQUENCE) - 1)) << THREAD;
        let order = others | sequence | u64::from(t);
        self.next = self.next.min(time);
        u128::from(time.0.max(0) as u64) << 64 | u128::from(order)
    }

    /// The first of those that are kept sorted.
    #[inline(always)]
    fn soon(&self) -> u128 {
        self.soon[..self.len].last().copied().unwrap_or(NEVER)
    }

    /// Whose the first one is.
    pub(super) fn first_thread(&self) -> Option<u32> {
        let first = self.soon().min(self.later.first());
        (first != NEVER).then(|| thread(first))
    }

    /// Takes the first one.
    pub(super) fn pop(&mut self) -> Option<(Ns, u32)> {
        let (soon, later) = (self.soon(), self.later.first());
        let first = if soon < later {
            self.len -= 1;
            self.next = time(self.soon().min(later));
            soon
        } else if later != NEVER {
            self.later.pop();
            self.next = time(soon.min(self.later.first()));
            later
        } else {
            return None;
        };
        Some((time(first), thread(first)))
    }

    /// Takes the first one, if it is not after `now`.
    #[inline]
    pub(super) fn pop_until(&mut self, now: Ns) -> Option<u32> {
        if self.next > now {
            return None;
        }
        self.pop().map(|(_, t)| t)
    }
}

/// A heap in which each moment has four behind it: half as deep as one of two,
/// and the four lie side by side.
struct Later {
    heap: Vec<u128>,
}

impl Later {
    fn first(&self) -> u128 {
        self.heap.first().copied().unwrap_or(NEVER)
    }

    fn push(&mut self, key: u128) {
        let mut at = self.heap.len();
        self.heap.push(key);
        while at > 0 {
            let before = (at - 1) / 4;
            if self.heap[before] <= key {
                break;
            }
            self.heap[at] = self.heap[before];
            at = before;
        }
        self.heap[at] = key;
    }

    /// Takes the first one away.
    fn pop(&mut self) {
        let Some(key) = self.heap.pop() else { return };
        let heap = &mut self.heap[..];
        let mut at = 0;
        while let Some((least, next)) = least_of_four(heap, 4 * at + 1) {
            if next >= key {
                break;
            }
            heap[at] = next;
            at = least;
        }
        if let Some(place) = heap.get_mut(at) {
            *place = key;
        }
    }
}

/// The least of the up to four at `from`, and where it is.
#[inline]
fn least_of_four(heap: &[u128], from: usize) -> Option<(usize, u128)> {
    if let Some(&[a, b, c, d]) = heap.get(from..from + 4) {
        let ab = if b < a { (from + 1, b) } else { (from, a) };
        let cd = if d < c { (from + 3, d) } else { (from + 2, c) };
        return Some(if cd.1 < ab.1 { cd } else { ab });
    }
    let rest = heap.get(from..)?;
    rest.iter().enumerate().min_by_key(|(_, k)| **k).map(|(i, k)| (from + i, *k))
}

fn time(key: u128) -> Ns {
    Ns((key >> 64) as i64)
}

fn thread(key: u128) -> u32 {
    key as u32 & ((1 << THREAD) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::stats::random::Random;

    #[test]
    fn moments_come_by_time_then_the_main_thread_then_in_order() {
        let mut random = Random::new(3);
        let mut events = Events::with_capacity(0);
        let mut all = Vec::new();
        let mut now = Ns::ZERO;
        for i in 0..2_000 {
            if random.below(3) == 0 && !all.is_empty() {
                all.sort();
                let (time, _, _, t) = all.remove(0);
                assert_eq!(events.pop(), Some((time, t)));
                now = time;
            }
            let (time, t) = (now + Ns(random.below(40) as i64), random.below(9) as u32);
            match random.below(2) {
                0 => events.push_soon(time, t),
                _ => events.push_later(time, t),
            }
            all.push((time, t != MAIN, i, t));
        }
        all.sort();
        let taken: Vec<(Ns, u32)> = std::iter::from_fn(|| events.pop()).collect();
        let expected: Vec<(Ns, u32)> = all.iter().map(|a| (a.0, a.3)).collect();
        assert_eq!(taken, expected);
    }
}
