//! A budget: searching for cycles takes time that grows without bound in the worst
//! case, in the kernel too.

use std::collections::BTreeSet;

/// Steps for all searches of a tree.
const ALL: u64 = 6_000_000;
/// Steps for one search.
const ONE: u64 = 600_000;
/// How deep a search goes. A frame of the kernel's takes more than a hundred bytes
/// of a stack of 16 KiB, so no kernel comes this far.
const DEEP: u32 = 400;

/// What is left, and what was given up.
#[derive(Clone, Debug)]
pub struct Work {
    left: u64,
    one: u64,
    /// Consumers of searches that were given up.
    pub given_up: BTreeSet<usize>,
}

impl Work {
    /// For a tree of so many nodes.
    pub fn new(nodes: usize) -> Work {
        Work { left: ALL + nodes as u64, one: ONE, given_up: BTreeSet::new() }
    }

    /// A search begins.
    pub fn begin(&mut self) {
        self.one = ONE.min(self.left);
    }

    /// One step of the search for `consumer`, so deep. False: it is given up.
    pub fn step(&mut self, consumer: usize, depth: u32) -> bool {
        if self.one == 0 || depth > DEEP {
            self.given_up.insert(consumer);
            return false;
        }
        self.one -= 1;
        self.left -= 1;
        true
    }

    /// Takes so many steps at once for `consumer`; false if there are not so many.
    pub fn take(&mut self, consumer: usize, steps: u64) -> bool {
        if self.left < steps {
            self.left = 0;
            self.given_up.insert(consumer);
            return false;
        }
        self.left -= steps;
        true
    }
}
