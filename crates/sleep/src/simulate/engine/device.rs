//! One device in one phase, up to its callback: `device_suspend()`,
//! `device_resume()` and their late, noirq and early forms
//! (drivers/base/power/main.c).

use super::super::policy::Reached;
use super::super::topology::{Edge, TREE};
use super::*;

impl<C: CpuModel> Engine<'_, C> {
    #[inline]
    pub(super) fn device(&mut self, t: u32, d: u32) -> Flow {
        match self.direction {
            Direction::Suspend => self.device_suspend(t, d),
            Direction::Resume => self.device_resume(t, d),
        }
    }

    /// On the way down a device waits for what depends on it before every check.
    #[inline]
    fn device_suspend(&mut self, t: u32, d: u32) -> Flow {
        self.devices[d as usize].at = 0;
        if self.phase == Phase::Late {
            self.runtime_pm(t);
        }
        if self.need_not_wait(t, d) {
            return self.checks(t, d);
        }
        self.dpm_wait_begin(t, d)
    }

    /// On the way up a device that was not suspended is completed at once,
    /// without any wait; everything else waits for its superiors first.
    #[inline]
    fn device_resume(&mut self, t: u32, d: u32) -> Flow {
        self.devices[d as usize].at = 0;
        let flags = self.flags[d as usize];
        let root = !self.fact(d, fact::HAS_PARENT | fact::HAS_SUPPLIER);
        let early = self.tally.early;
        if self.returns_at_once(d, flags) {
            if root {
                self.tally.roots.count_early(&early, &self.tally.early);
            }
            if self.phase == Phase::Resume && flags & state::DIRECT != 0 {
                self.runtime_pm(t);
            }
            self.clear(d, self.phase_flag());
            return self.complete(t, d);
        }
        self.tally.roots.waits += 1;
        self.tally.roots.of_roots += u64::from(root);
        if self.need_not_wait(t, d) {
            return self.checks(t, d);
        }
        if !self.policy.parent_under_lock {
            return self.dpm_wait_begin(t, d);
        }
        // The parent is looked at under the list mutex.
        if !self.mutex_lock(t, DPM_LIST_MTX, Step::DpmWaitForSuperior) {
            return Flow::Stop;
        }
        self.owe(t, self.costs.lock);
        self.dpm_wait_for_superior(t, d)
    }

    /// Whether the policy starts `d` in this thread only when it is ready.
    #[inline]
    fn need_not_wait(&self, t: u32, d: u32) -> bool {
        matches!(self.walk.reached, Reached::InOrder | Reached::FirstReady)
            || (self.threads[t as usize].asynchronous && !self.walk.workers_wait)
            || (self.walk.skip_empty_wait && self.dependencies().of(d as usize).is_empty())
    }

    /// Runtime PM of the device of `t` is switched or waited for.
    fn runtime_pm(&mut self, t: u32) {
        self.owe(t, self.costs.runtime);
    }

    #[inline]
    pub(super) fn dpm_wait_for_superior(&mut self, t: u32, d: u32) -> Flow {
        C::mutex_unlock(self, DPM_LIST_MTX);
        self.dpm_wait_begin(t, d)
    }

    /// Looks at everything the device of `t` may wait for; links that nobody
    /// waits for and devices that are done cost a look too.
    #[inline]
    fn dpm_wait_begin(&mut self, t: u32, d: u32) -> Flow {
        let edges = self.dependencies().of(d as usize);
        let seen = match self.walk.skip_repeated {
            true => edges.iter().filter(|e| !self.is_repeated(d, **e)).count(),
            false => edges.len(),
        };
        let looks = times(self.costs.look, seen as u32);
        self.owe(t, self.costs.wait + looks);
        self.dpm_wait(t, d)
    }

    /// A worker waits for every dependency; the main thread only for
    /// asynchronous ones, the others being done by list order. Who comes first to an
    /// inert one that the walk has passed handles it in its own thread.
    pub(super) fn dpm_wait(&mut self, t: u32, d: u32) -> Flow {
        let all = self.threads[t as usize].asynchronous;
        let edges = self.dependencies().of(d as usize);
        let mut at = self.devices[d as usize].at as usize;
        while let Some(e) = edges.get(at) {
            let other = e.device();
            let flags = self.flags[other];
            if e.is_in(self.wait_mask)
                && flags & state::DONE == 0
                && (all || flags & state::ASYNC != 0 || self.is_inert(other as u32))
                && !(self.walk.skip_repeated && self.is_repeated(d, *e))
            {
                self.devices[d as usize].at = at as u32;
                if self.is_inert(other as u32) && flags & state::WIP == 0 {
                    return self.dpm_do_inert(t, d, other as u32);
                }
                self.threads[t as usize].step = Step::DpmWait;
                push_waiter(&mut self.devices[other].waiters, &mut self.threads, t);
                self.tally.blocked_waits += 1;
                self.park(t);
                self.block(t);
                return Flow::Stop;
            }
            at += 1;
        }
        self.checks(t, d)
    }

    /// Thread `t` of `d` handles `other` before it goes on waiting.
    fn dpm_do_inert(&mut self, t: u32, d: u32, other: u32) -> Flow {
        self.set(other, state::WIP);
        self.devices[other as usize].caller = d;
        self.threads[t as usize].device = other;
        self.go(t, Step::Device, Ns::ZERO)
    }

    /// Whether link `e` of `d` joins its supplier to a consumer whose parent has the
    /// same supplier: that is waited for, and itself waits.
    fn is_repeated(&self, d: u32, e: Edge) -> bool {
        let other = e.device() as u32;
        let (supplier, consumer) = match self.direction {
            Direction::Suspend => (d, other),
            Direction::Resume => (other, d),
        };
        let parent = self.topology.parent[consumer as usize];
        if e.kind() == TREE || parent == NONE {
            return false;
        }
        let mut of_parent = self.topology.superiors.of(parent as usize).iter();
        parent == supplier
            || of_parent.any(|p| {
                p.kind() != TREE && p.device() as u32 == supplier && p.is_in(self.wait_mask)
            })
    }

    /// What stands between the wait and the callback.
    #[inline]
    fn checks(&mut self, t: u32, d: u32) -> Flow {
        if self.direction == Direction::Suspend {
            let suspends = self.phase == Phase::Suspend;
            let woken = self.phase != Phase::Noirq && self.wakeup_at.is_some_and(|w| self.now >= w);
            if self.error.is_some() || woken {
                if suspends {
                    self.clear(d, state::DIRECT);
                }
                if self.error.is_some() {
                    self.tally.early.error += 1;
                } else {
                    self.fail(Failure::Wakeup);
                }
                return self.complete(t, d);
            }
            if suspends {
                self.runtime_pm(t);
            }
            if self.returns_at_once(d, self.flags[d as usize]) {
                if suspends && self.has(d, state::DIRECT) {
                    self.runtime_pm(t);
                }
                return self.complete(t, d);
            }
        }
        if !self.has_callback(d) {
            self.tally.early.no_callback += 1;
            self.succeed(d);
            return self.go(t, Step::CompleteAll, self.costs.no_callback);
        }
        self.go(t, Step::DpmRunCallback, self.costs.callback)
    }

    /// Devices that a phase only completes, with the state this changes.
    #[inline]
    fn returns_at_once(&mut self, d: u32, flags: u16) -> bool {
        let facts = self.topology.facts[d as usize];
        let syscore = facts & fact::SYSCORE != 0;
        let early = &mut self.tally.early;
        let direct = flags & state::DIRECT != 0;
        match self.phase {
            Phase::Suspend => {
                if syscore {
                    early.syscore += 1;
                    return true;
                }
                if !direct {
                    return false;
                }
                let stays = facts & (fact::RUNTIME_SUSPENDED | fact::NO_CALLBACKS) != 0;
                if stays && facts & fact::WAKEUP == 0 && flags & state::WAKEUP_PATH == 0 {
                    self.set(d, state::SUSPENDED);
                    self.tally.early.direct_complete += 1;
                    return true;
                }
                self.clear(d, state::DIRECT);
                false
            }
            Phase::Late | Phase::Noirq => {
                if direct {
                    early.direct_complete += 1;
                    return true;
                }
                if syscore {
                    early.syscore += 1;
                    if self.phase == Phase::Late && self.policy.syscore_is_late {
                        self.set(d, state::LATE);
                    }
                }
                syscore
            }
            Phase::ResumeEarly if syscore && self.policy.syscore_is_late => {
                flags & state::LATE == 0
            }
            _ => {
                if syscore {
                    self.tally.early.syscore += 1;
                    true
                } else if direct {
                    self.tally.early.direct_complete += 1;
                    true
                } else if flags & self.phase_flag() == 0 {
                    self.tally.early.not_suspended += 1;
                    true
                } else {
                    false
                }
            }
        }
    }

    /// Whether a device that may start now has a callback to run in this phase.
    pub(super) fn runs_something(&self, d: u32) -> bool {
        let flags = self.flags[d as usize];
        let facts = self.topology.facts[d as usize];
        if !self.has_callback(d) || facts & fact::SYSCORE != 0 {
            return false;
        }
        let direct = flags & state::DIRECT != 0;
        match self.phase {
            Phase::Suspend => {
                !direct
                    || facts & fact::WAKEUP != 0
                    || flags & state::WAKEUP_PATH != 0
                    || facts & (fact::RUNTIME_SUSPENDED | fact::NO_CALLBACKS) == 0
            }
            Phase::Late | Phase::Noirq => !direct,
            _ => !direct && flags & self.phase_flag() != 0,
        }
    }

    /// The flag that a suspend phase sets and its mirror takes back.
    #[inline]
    pub(super) fn phase_flag(&self) -> u16 {
        match self.phase {
            Phase::Noirq | Phase::ResumeNoirq => state::NOIRQ,
            Phase::Late | Phase::ResumeEarly => state::LATE,
            _ => state::SUSPENDED,
        }
    }

    /// The callback returned 0, or there is none.
    #[inline]
    pub(super) fn succeed(&mut self, d: u32) {
        let flag = self.phase_flag();
        if self.direction == Direction::Resume {
            self.clear(d, flag);
            return;
        }
        self.set(d, flag);
        if self.phase == Phase::Suspend {
            self.dpm_clear_superiors_direct_complete(d);
        }
    }

    /// A superior of a device that really suspended must be resumed properly;
    /// links in any state count. The wakeup path goes up to the parent.
    fn dpm_clear_superiors_direct_complete(&mut self, d: u32) {
        if self.fact(d, fact::WAKEUP) || self.has(d, state::WAKEUP_PATH) {
            let parent = self.topology.parent[d as usize];
            if parent != NONE {
                self.set(parent, state::WAKEUP_PATH);
            }
        }
        let topology = self.topology;
        for e in topology.superiors.of(d as usize) {
            self.flags[e.device()] &= !state::DIRECT;
        }
    }

    /// The first error or wakeup event ends the way down.
    pub(super) fn fail(&mut self, failure: Failure) {
        if self.error.is_none() {
            self.error = Some(failure);
        }
        if self.failed() {
            self.call_main();
        }
    }
}
