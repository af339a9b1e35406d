//! The main thread in one phase: `dpm_suspend()`, `dpm_resume()` and their late,
//! noirq and early forms (drivers/base/power/main.c).

use super::super::policy::{Ends, Finished, FirstPass, Reached};
use super::super::topology::Edge;
use super::*;

impl<C: CpuModel> Engine<'_, C> {
    pub(super) fn dpm_begin(&mut self) -> Flow {
        if self.walk.finished == Finished::StartReady {
            self.count_missing();
            for i in 0..self.order.len() {
                self.clear(self.order[i], state::DONE);
            }
        }
        let cost = self.costs.begin;
        if matches!(self.walk.reached, Reached::InOrder | Reached::FirstReady) {
            return self.go(MAIN, Step::DpmFirstPass, cost);
        }
        let next = match self.walk.first_pass {
            FirstPass::Nothing => Step::DpmWalk,
            _ => Step::DpmFirstPass,
        };
        if self.mutex_lock(MAIN, DPM_LIST_MTX, next) {
            return self.go(MAIN, next, self.costs.lock + cost);
        }
        Flow::Stop
    }

    /// Counts what each device waits for.
    fn count_missing(&mut self) {
        let edges = self.dependencies();
        self.ready_sync.clear();
        self.missing.resize(self.topology.len(), 0);
        for i in 0..self.order.len() {
            let d = self.order[i];
            let mut missing = 0;
            for e in edges.of(d as usize) {
                missing += u32::from(self.counts(d, *e));
            }
            self.missing[d as usize] = missing;
        }
    }

    /// Whether the counter of `d` includes dependency `e`.
    fn counts(&self, d: u32, e: Edge) -> bool {
        e.is_in(self.wait_mask)
            && self.flags[e.device()] & state::LISTED != 0
            && (self.policy.counts_against_order
                || match self.direction {
                    Direction::Suspend => e.device() > d as usize,
                    Direction::Resume => e.device() < d as usize,
                })
    }

    /// One device of the first pass.
    pub(super) fn dpm_first_pass(&mut self) -> Flow {
        let Some(&d) = self.order.get(self.cursor) else {
            self.cursor = 0;
            let next = match self.walk.reached {
                Reached::InOrder => Step::InOrder,
                Reached::FirstReady => Step::FirstReady,
                _ => Step::DpmWalk,
            };
            return self.go(MAIN, next, Ns::ZERO);
        };
        self.cursor += 1;
        let mut cost = self.costs.walk;
        match self.walk.first_pass {
            FirstPass::Nothing => {}
            FirstPass::QueueAll => {
                self.dpm_clear_async_state(d);
                if self.dpm_async_fn(d) {
                    cost += self.costs.queue;
                }
            }
            FirstPass::QueueEnds => {
                self.dpm_clear_async_state(d);
                if self.direction == Direction::Suspend {
                    cost += self.costs.leaf;
                }
                if !self.is_inert(d) && self.is_end(d) && self.dpm_async_fn(d) {
                    cost += self.costs.queue;
                }
            }
            FirstPass::StartReady => {
                self.threads[MAIN as usize].home = Step::DpmFirstPass;
                if self.missing[d as usize] == 0 && self.start(MAIN, d, NONE) {
                    return Flow::Go(cost);
                }
            }
        }
        Flow::Go(cost)
    }

    /// The completion of `d` is not done, and nobody has queued it.
    fn dpm_clear_async_state(&mut self, d: u32) {
        self.clear(d, state::DONE | state::WIP);
    }

    /// `dpm_leaf_device()` or `dpm_root_device()` in the sense of the policy.
    fn is_end(&mut self, d: u32) -> bool {
        let (tree, link) = match self.direction {
            Direction::Suspend => (fact::HAS_CHILD, fact::HAS_CONSUMER),
            Direction::Resume => (fact::HAS_PARENT, fact::HAS_SUPPLIER),
        };
        let facts = self.topology.facts[d as usize];
        match self.walk.ends {
            Ends::Tree => facts & tree == 0,
            Ends::TreeAndLinks => facts & (tree | link) == 0,
            Ends::Unhindered if self.direction == Direction::Suspend => !self.would_wait(d),
            Ends::Unhindered => {
                let mut parent = self.topology.parent[d as usize];
                while parent != NONE && self.is_inert(parent) {
                    parent = self.topology.parent[parent as usize];
                }
                parent == NONE && facts & link == 0
            }
            Ends::RootsAndChildren => {
                facts & (tree | link) == 0
                    || facts & link == 0
                        && self.direction == Direction::Resume
                        && facts & fact::CHILD_OF_ROOT != 0
            }
        }
    }

    /// Whether the walk may pass `d`: there is nothing to do for it but to wait.
    #[inline]
    pub(super) fn is_inert(&self, d: u32) -> bool {
        self.fact(d, self.inert)
    }

    /// Whether `d` would wait if it were handled now. Each look costs.
    fn would_wait(&mut self, d: u32) -> bool {
        let mut looks = 0;
        let waits = self.waits(d, &mut looks);
        self.owe(MAIN, times(self.costs.look, looks));
        waits
    }

    fn waits(&self, d: u32, looks: &mut u32) -> bool {
        self.dependencies().of(d as usize).iter().any(|e| {
            *looks += 1;
            let other = e.device();
            e.is_in(self.wait_mask)
                && self.flags[other] & state::DONE == 0
                && (!self.is_inert(other as u32) || self.waits(other as u32, looks))
        })
    }

    /// The walk comes to the inert `d`: true if it goes on without it.
    fn passes(&mut self, d: u32) -> bool {
        if self.has(d, state::WIP) || self.would_wait(d) {
            return true;
        }
        self.set(d, state::WIP);
        false
    }

    /// One device after the walk: inert ones that nobody has waited for.
    pub(super) fn dpm_finish_inert(&mut self) -> Flow {
        let Some(&d) = self.order.get(self.cursor) else {
            return self.go(MAIN, Step::AsyncSynchronizeFull, self.costs.barrier);
        };
        self.cursor += 1;
        if self.is_inert(d) && !self.has(d, state::DONE | state::WIP) {
            self.set(d, state::WIP);
            self.run_here(d, Step::FinishInert);
        }
        Flow::Go(self.costs.walk)
    }

    /// After the last device of the walk.
    fn walk_ends(&mut self, cost: Ns) -> Flow {
        if self.inert == 0 {
            return self.go(MAIN, Step::AsyncSynchronizeFull, self.costs.barrier + cost);
        }
        self.cursor = 0;
        self.go(MAIN, Step::FinishInert, cost)
    }

    /// Queues `d` if it is asynchronous and nobody did yet; true if it did.
    #[inline]
    pub(super) fn dpm_async_fn(&mut self, d: u32) -> bool {
        let flags = &mut self.flags[d as usize];
        if *flags & (state::WIP | state::ASYNC) != state::ASYNC {
            return false;
        }
        *flags |= state::WIP;
        self.queue_work(d);
        true
    }

    /// One device of the walk, `dpm_list_mtx` held.
    pub(super) fn dpm_walk(&mut self) -> Flow {
        let Some(&d) = self.order.get(self.cursor) else {
            C::mutex_unlock(self, DPM_LIST_MTX);
            return self.walk_ends(Ns::ZERO);
        };
        self.cursor += 1;
        let mut cost = self.costs.walk;
        if self.walk.unlock_each {
            C::mutex_unlock(self, DPM_LIST_MTX);
            return self.go(MAIN, Step::DpmWalkUnlocked, cost);
        }
        let elsewhere = match self.walk.reached {
            Reached::InitAndQueue => {
                self.clear(d, state::DONE);
                let queued = self.dpm_async_fn(d);
                if queued {
                    cost += self.costs.queue;
                }
                queued
            }
            _ if self.is_inert(d) => self.passes(d),
            Reached::Leave => self.has(d, state::WIP),
            Reached::Claim => {
                if self.dpm_async_fn(d) {
                    cost += self.costs.queue;
                }
                self.has(d, state::WIP)
            }
            _ => self.has(d, state::ASYNC),
        };
        if elsewhere {
            return Flow::Go(cost);
        }
        C::mutex_unlock(self, DPM_LIST_MTX);
        self.run_here(d, Step::DpmWalkRelock);
        Flow::Go(cost)
    }

    /// The same with the list mutex released around every device.
    pub(super) fn dpm_walk_unlocked(&mut self) -> Flow {
        let d = self.order[self.cursor - 1];
        self.clear(d, state::DONE);
        if self.dpm_async_fn(d) {
            return self.go(MAIN, Step::DpmWalkRelock, self.costs.queue);
        }
        self.run_here(d, Step::DpmWalkRelock);
        GO
    }

    fn run_here(&mut self, d: u32, home: Step) {
        let main = &mut self.threads[MAIN as usize];
        main.owed += self.costs.visit;
        main.device = d;
        main.asynchronous = false;
        main.home = home;
        main.step = Step::Device;
    }

    /// After a device the main thread ran itself: looks for an error, takes the
    /// mutex again.
    pub(super) fn dpm_walk_relock(&mut self) -> Flow {
        let ran = self.order.get(self.cursor.wrapping_sub(1)).copied();
        let synchronous = ran.is_some_and(|d| !self.has(d, state::WIP));
        if self.failed() && synchronous {
            return self.give_up();
        }
        if !self.mutex_lock(MAIN, DPM_LIST_MTX, Step::DpmWalk) {
            return Flow::Stop;
        }
        self.owe(MAIN, self.costs.lock);
        self.go(MAIN, Step::DpmWalk, Ns::ZERO)
    }

    /// `async_error`: an error on the way down is pending.
    pub(super) fn failed(&self) -> bool {
        self.direction == Direction::Suspend && self.error.is_some()
    }

    /// Leaves the walk after an error. The devices not reached are completed
    /// so that nobody waits for them, where the kernel does so.
    fn give_up(&mut self) -> Flow {
        self.broke = true;
        let mut woken = 0;
        if self.policy.rest == Rest::Moves {
            for i in self.cursor..self.order.len() {
                let d = self.order[i];
                if !self.has(d, state::WIP) {
                    woken += self.complete_all(d);
                }
            }
        }
        self.walk_ends(times(self.costs.wake_one, woken))
    }

    /// Strict order: the next synchronous device with something to run.
    pub(super) fn in_order(&mut self) -> Flow {
        if self.failed() {
            return self.give_up();
        }
        while let Some(&d) = self.order.get(self.cursor) {
            if self.is_for_others(d) {
                self.cursor += 1;
                continue;
            }
            if self.missing[d as usize] > 0 {
                self.set(d, state::AWAITED);
                return self.main_sleeps();
            }
            self.cursor += 1;
            self.set(d, state::WIP);
            self.run_here(d, Step::InOrder);
            return Flow::Go(self.costs.walk);
        }
        self.go(MAIN, Step::AsyncSynchronizeFull, self.costs.barrier)
    }

    /// Work-conserving: the first of the list that is ready.
    pub(super) fn first_ready(&mut self) -> Flow {
        if self.failed() {
            return self.give_up();
        }
        if let Some(Reverse(p)) = self.ready_sync.pop() {
            self.run_here(self.position_to_device(p), Step::FirstReady);
            return Flow::Go(self.costs.walk);
        }
        while self.order.get(self.cursor).is_some_and(|&d| self.is_for_others(d)) {
            self.cursor += 1;
        }
        if self.cursor == self.order.len() {
            return self.go(MAIN, Step::AsyncSynchronizeFull, self.costs.barrier);
        }
        self.main_sleeps()
    }

    /// Whether the main thread of a counting policy has nothing to do with
    /// `d`: it is asynchronous, without callback, or already taken.
    fn is_for_others(&self, d: u32) -> bool {
        self.has(d, state::ASYNC | state::DONE | state::WIP)
            || !self.has_callback(d)
            || self.direction == Direction::Resume && !self.runs_something(d)
    }

    /// Devices are numbered in list order, so the number is the position.
    pub(super) fn device_to_position(&self, d: u32) -> u32 {
        match self.direction {
            Direction::Suspend => u32::MAX - d,
            Direction::Resume => d,
        }
    }

    fn position_to_device(&self, p: u32) -> u32 {
        match self.direction {
            Direction::Suspend => u32::MAX - p,
            Direction::Resume => p,
        }
    }

    pub(super) fn main_sleeps(&mut self) -> Flow {
        self.main_waits = true;
        self.tally.blocked_waits += 1;
        self.block(MAIN);
        Flow::Stop
    }

    /// Wakes the main thread if it waits for a device to become ready.
    pub(super) fn call_main(&mut self) {
        if std::mem::take(&mut self.main_waits) {
            self.wake(MAIN);
        }
    }

    /// Waits until no item is left.
    pub(super) fn async_synchronize_full(&mut self) -> Flow {
        if self.pool.outstanding() == 0 {
            return self.go(MAIN, Step::Finished, Ns::ZERO);
        }
        self.main_at_barrier = true;
        self.tally.blocked_at_barrier += 1;
        self.block(MAIN);
        Flow::Stop
    }
}
