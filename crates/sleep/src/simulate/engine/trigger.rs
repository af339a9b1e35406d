//! What a finished device starts: `dpm_async_suspend_superior()`,
//! `dpm_async_resume_subordinate()` and what they were in 6.16
//! (drivers/base/power/main.c); counting proposals start what is ready.

use super::super::policy::{Finished, Reached};
use super::super::topology::{Edge, TREE, kind_number};
use super::*;

impl<C: CpuModel> Engine<'_, C> {
    #[inline]
    pub(super) fn trigger(&mut self, t: u32, d: u32) -> Flow {
        match self.walk.finished {
            Finished::StartReady => self.go(t, Step::StartReady, Ns::ZERO),
            Finished::QueueTree | Finished::QueueTreeAndLinks if !self.failed() => {
                if !self.mutex_lock(t, DPM_LIST_MTX, Step::DpmAsyncTree) {
                    return Flow::Stop;
                }
                self.owe(t, self.costs.lock);
                self.dpm_async_tree(t, d)
            }
            _ => self.device_return(t, d),
        }
    }

    /// Offers parent or children, under the list mutex.
    pub(super) fn dpm_async_tree(&mut self, t: u32, d: u32) -> Flow {
        let edges = self.dependents().of(d as usize);
        let mut at = self.devices[d as usize].at;
        while let Some(e) = edges.get(at as usize)
            && e.kind() == TREE
        {
            at += 1;
            if self.dpm_async_with_cleanup(t, e.device() as u32) {
                self.devices[d as usize].at = at;
                return self.go(t, Step::DpmAsyncTree, self.costs.trigger + self.costs.queue);
            }
        }
        C::mutex_unlock(self, DPM_LIST_MTX);
        if self.walk.finished == Finished::QueueTreeAndLinks && (at as usize) < edges.len() {
            self.devices[d as usize].at = at;
            return self.dpm_async_links(t, d);
        }
        self.device_return(t, d)
    }

    /// Offers suppliers or consumers. Dormant links do not trigger; links that
    /// are not waited for do.
    pub(super) fn dpm_async_links(&mut self, t: u32, d: u32) -> Flow {
        let edges = self.dependents().of(d as usize);
        let mut at = self.devices[d as usize].at;
        while let Some(e) = edges.get(at as usize) {
            at += 1;
            if e.kind() == kind_number(LinkKind::Dormant) {
                continue;
            }
            if self.dpm_async_with_cleanup(t, e.device() as u32) {
                self.devices[d as usize].at = at;
                return self.go(t, Step::DpmAsyncLinks, self.costs.trigger + self.costs.queue);
            }
        }
        self.device_return(t, d)
    }

    /// Offers `d`: true if it was queued now.
    #[inline]
    fn dpm_async_with_cleanup(&mut self, t: u32, d: u32) -> bool {
        if self.is_inert(d) {
            if self.direction == Direction::Resume {
                self.dpm_async_resume_child(t, d);
            }
            self.owe(t, self.costs.trigger);
            return false;
        }
        if self.dpm_async_fn(d) {
            return true;
        }
        self.owe(t, self.costs.trigger);
        false
    }

    /// Offers the children of the inert `d`, which itself nobody starts.
    fn dpm_async_resume_child(&mut self, t: u32, d: u32) {
        let children = self.topology.subordinates.of(d as usize).iter();
        for e in children.take_while(|e| e.kind() == TREE) {
            if self.dpm_async_with_cleanup(t, e.device() as u32) {
                self.owe(t, self.costs.trigger + self.costs.queue);
            }
        }
    }

    /// Takes one off the counters of the dependents; starts the ready ones.
    pub(super) fn start_ready(&mut self, t: u32, d: u32) -> Flow {
        let edges = self.dependents().of(d as usize);
        loop {
            let at = self.devices[d as usize].at as usize;
            let Some(e) = edges.get(at) else {
                return self.device_return(t, d);
            };
            self.devices[d as usize].at += 1;
            let x = e.device() as u32;
            if !self.counted_by(d, x, *e) {
                continue;
            }
            let missing = &mut self.missing[x as usize];
            *missing = missing.saturating_sub(1);
            if *missing > 0 || self.failed() {
                continue;
            }
            let before = self.tally.items;
            if self.start(t, x, d) {
                return Flow::Go(self.costs.trigger);
            }
            let queued = times(self.costs.queue, (self.tally.items - before) as u32);
            return self.go(t, Step::StartReady, self.costs.trigger + queued);
        }
    }

    /// Whether `x` counts its dependency on `d` (edge `e` leads to `x`).
    fn counted_by(&self, d: u32, x: u32, e: Edge) -> bool {
        e.is_in(self.wait_mask)
            && self.has(x, state::LISTED)
            && self.has(d, state::LISTED)
            && (self.policy.counts_against_order
                || match self.direction {
                    Direction::Suspend => d > x,
                    Direction::Resume => d < x,
                })
    }

    /// Starts the ready device `x`: queued, left to the main thread, or, with
    /// nothing to run, in place by `t` as called by `caller`. True for the last.
    pub(super) fn start(&mut self, t: u32, x: u32, caller: u32) -> bool {
        if self.has(x, state::WIP) {
            return false;
        }
        let ours = matches!(self.walk.reached, Reached::InOrder | Reached::FirstReady);
        let in_place = if ours {
            !self.runs_something(x)
        } else {
            if !self.has(x, state::ASYNC) {
                return false;
            }
            self.fact(x, fact::NO_CALLBACKS) || self.has(x, state::DIRECT)
        };
        if in_place {
            self.set(x, state::WIP);
            self.devices[x as usize].caller = caller;
            let thread = &mut self.threads[t as usize];
            thread.device = x;
            thread.asynchronous = true;
            thread.step = Step::Device;
            if !self.has(x, state::ASYNC) && self.has_callback(x) {
                // The main thread may have waited for it, in vain.
                self.clear(x, state::AWAITED);
                self.call_main();
            }
            return true;
        }
        if self.has(x, state::ASYNC) {
            self.set(x, state::WIP);
            self.queue_work(x);
            return false;
        }
        if self.walk.reached == Reached::FirstReady {
            self.set(x, state::WIP);
            let position = self.device_to_position(x);
            self.ready_sync.push(Reverse(position));
            self.call_main();
        } else if self.has(x, state::AWAITED) {
            self.clear(x, state::AWAITED);
            self.call_main();
        }
        false
    }

    /// The device of `t` is done: back to the trigger that ran it in place, or
    /// to what the thread did before.
    #[inline]
    fn device_return(&mut self, t: u32, d: u32) -> Flow {
        let caller = std::mem::replace(&mut self.devices[d as usize].caller, NONE);
        if caller != NONE {
            self.threads[t as usize].device = caller;
            let next = match self.walk.finished {
                Finished::StartReady => Step::StartReady,
                _ => Step::DpmWait,
            };
            return self.go(t, next, Ns::ZERO);
        }
        if t == MAIN {
            return self.go(MAIN, self.threads[MAIN as usize].home, Ns::ZERO);
        }
        self.item_done(t)
    }
}
