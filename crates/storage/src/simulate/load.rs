//! Who asks for requests.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When the next burst begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// Every so often, ns, counted from the begin of the load; later, if the
    /// burst before it has not ended.
    Every(i64),
    /// So long after the burst before it ended, ns.
    After(i64),
}

/// Requests that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// Requests in all.
    pub count: u32,
    /// Bytes of each.
    pub bytes: u64,
    /// Requests that one asker has under way at once; at least 1.
    pub depth: u32,
    /// From the end of a request to the begin of the one that follows it in the
    /// burst, ns.
    pub think: i64,
    /// Requests of a burst; all of them are one burst if this is `count`.
    pub burst: u32,
    /// When the next burst begins.
    pub next: Next,
}

/// A load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Load {
    /// Each at its time (ns, in order) with its bytes, whatever became of the
    /// others.
    Open(Vec<(i64, u64)>),
    /// Each after others.
    Loop(Loop),
}

impl Load {
    /// `count` requests of 64 KiB, `burst` of them one after the other every
    /// `period` ns.
    pub fn paced(count: u32, burst: u32, period: i64) -> Load {
        let next = Next::Every(period);
        Load::Loop(Loop { count, bytes: 65_536, depth: 1, think: 0, burst, next })
    }

    /// Requests in all.
    pub fn count(&self) -> usize {
        match self {
            Load::Open(list) => list.len(),
            Load::Loop(l) => l.count as usize,
        }
    }
}

/// Arrivals of a load, as the requests before them end.
pub(super) struct Arrivals<'a> {
    load: &'a Load,
    /// Requests that came already.
    came: usize,
    /// Requests of a loop that will come, in order of time.
    due: VecDeque<i64>,
    /// Requests of the running burst that have no time yet.
    left: u32,
    /// Requests of the running burst that have not ended.
    open: u32,
    /// Requests of later bursts.
    later: u32,
    bursts: i64,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(load: &'a Load) -> Arrivals<'a> {
        let mut a =
            Arrivals { load, came: 0, due: VecDeque::new(), left: 0, open: 0, later: 0, bursts: 0 };
        if let Load::Loop(l) = load {
            a.later = l.count;
            a.burst(l, 0);
        }
        a
    }

    /// A burst begins at `at`.
    fn burst(&mut self, l: &Loop, at: i64) {
        let size = l.burst.max(1).min(self.later);
        self.later -= size;
        self.bursts += 1;
        self.open = size;
        let first = size.min(l.depth.max(1));
        self.left = size - first;
        for _ in 0..first {
            self.due.push_back(at);
        }
    }

    /// When the next request comes, as far as that is known.
    pub(super) fn at(&self) -> i64 {
        match self.load {
            Load::Open(list) => list.get(self.came).map_or(i64::MAX, |r| r.0),
            Load::Loop(_) => self.due.front().copied().unwrap_or(i64::MAX),
        }
    }

    /// It comes: its bytes.
    pub(super) fn come(&mut self) -> u64 {
        let bytes = match self.load {
            Load::Open(list) => list[self.came].1,
            Load::Loop(l) => {
                self.due.pop_front();
                l.bytes
            }
        };
        self.came += 1;
        bytes
    }

    /// A request ended.
    pub(super) fn ended(&mut self, at: i64) {
        let Load::Loop(l) = self.load else { return };
        self.open = self.open.saturating_sub(1);
        if self.left > 0 {
            self.left -= 1;
            self.due.push_back(at.saturating_add(l.think));
        } else if self.open == 0 && self.later > 0 {
            let begin = match l.next {
                Next::Every(period) => at.max(self.bursts.saturating_mul(period)),
                Next::After(rest) => at.saturating_add(rest),
            };
            self.burst(l, begin);
        }
    }
}
