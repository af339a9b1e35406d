//! The routine of one device in one phase: wait, check, call, complete,
//! trigger (`device_suspend`, `device_resume` and their late, noirq and early
//! forms).

use super::super::policy::{Finished, Reached};
use super::main_thread::times;
use super::*;
use dormouse_board::Work;

impl Engine<'_> {
    /// On the way up a device that was not suspended is completed at once,
    /// without any wait; everything else waits for its superiors first. On the
    /// way down the wait comes before every check.
    pub(super) fn enter(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        self.devices[d as usize].at = 0;
        if self.phase == Phase::Late {
            self.runtime_pm(t);
        }
        if self.direction == Direction::Resume && self.returns_at_once(d) {
            if self.phase == Phase::Resume && self.has(d, state::DIRECT) {
                self.runtime_pm(t);
            }
            self.clear(d, self.phase_flag());
            return self.go(t, Step::Complete, Ns::ZERO);
        }
        let ready = matches!(self.walk.reached, Reached::InOrder | Reached::FirstReady)
            || (self.threads[t as usize].asynchronous && !self.walk.workers_wait)
            || (self.walk.skip_empty_wait && self.dependencies().of(d as usize).is_empty());
        if ready {
            return self.go(t, Step::Checks, Ns::ZERO);
        }
        match self.direction {
            // The parent is looked at under the list mutex.
            Direction::Resume if self.policy.parent_under_lock => {
                self.lock(t, LIST_LOCK, Step::WaitUnlock)
            }
            _ => self.look_through(t),
        }
    }

    /// Runtime PM of the device of `t` is switched or waited for.
    fn runtime_pm(&mut self, t: u32) {
        self.threads[t as usize].owed += self.costs.runtime;
    }

    /// The cost of looking at everything the device of `t` may wait for; links
    /// that nobody waits for and devices that are done are looked at too.
    fn look_through(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let looks = times(self.costs.look, self.dependencies().of(d as usize).len() as u32);
        self.owe(t, Step::Waits, self.costs.wait + looks)
    }

    pub(super) fn wait_unlock(&mut self, t: u32) -> Flow {
        self.unlock(LIST_LOCK);
        self.look_through(t)
    }

    /// A worker waits for every dependency; the main thread only for
    /// asynchronous ones, the others being done by list order.
    pub(super) fn waits(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let all = self.threads[t as usize].asynchronous;
        let edges = self.dependencies().of(d as usize);
        let mut at = self.devices[d as usize].at as usize;
        while let Some(e) = edges.get(at) {
            let other = e.device();
            let flags = self.devices[other].flags;
            if e.is_in(self.wait_mask)
                && flags & state::DONE == 0
                && (all || flags & state::ASYNC != 0)
            {
                self.devices[d as usize].at = at as u32;
                push_waiter(&mut self.devices[other].waiters, &mut self.threads, t);
                self.tally.blocked_waits += 1;
                self.park(t);
                self.block(t);
                return Flow::Stop;
            }
            at += 1;
        }
        self.go(t, Step::Checks, Ns::ZERO)
    }

    pub(super) fn checks(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        if self.direction == Direction::Suspend {
            if self.error.is_some() {
                if self.phase == Phase::Suspend {
                    self.clear(d, state::DIRECT);
                }
                self.tally.early.error += 1;
                return self.go(t, Step::Complete, Ns::ZERO);
            }
            if self.phase != Phase::Noirq && self.wakeup_at.is_some_and(|w| self.now >= w) {
                if self.phase == Phase::Suspend {
                    self.clear(d, state::DIRECT);
                }
                self.fail(Failure::Wakeup);
                return self.go(t, Step::Complete, Ns::ZERO);
            }
            let suspends = self.phase == Phase::Suspend;
            if suspends {
                self.runtime_pm(t);
            }
            if self.returns_at_once(d) {
                if suspends && self.has(d, state::DIRECT) {
                    self.runtime_pm(t);
                }
                return self.go(t, Step::Complete, Ns::ZERO);
            }
        }
        if self.topology.has[d as usize] & 1 << self.index == 0 {
            self.tally.early.no_callback += 1;
            self.succeed(d);
            return self.go(t, Step::Complete, self.costs.no_callback);
        }
        self.go(t, Step::Callback, self.costs.callback)
    }

    /// Devices that a phase only completes, with the state this changes.
    fn returns_at_once(&mut self, d: u32) -> bool {
        let syscore = self.fact(d, fact::SYSCORE);
        let early = &mut self.tally.early;
        let direct = self.devices[d as usize].flags & state::DIRECT != 0;
        match self.phase {
            Phase::Suspend => {
                if syscore {
                    early.syscore += 1;
                    return true;
                }
                let flags = self.devices[d as usize].flags;
                if self.fact(d, fact::WAKEUP) || flags & state::WAKEUP_PATH != 0 {
                    self.clear(d, state::DIRECT);
                    return false;
                }
                if direct && self.fact(d, fact::RUNTIME_SUSPENDED | fact::NO_CALLBACKS) {
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
                !self.has(d, state::LATE)
            }
            _ => {
                let flag = self.phase_flag();
                if syscore {
                    self.tally.early.syscore += 1;
                    true
                } else if direct {
                    self.tally.early.direct_complete += 1;
                    true
                } else if !self.has(d, flag) {
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
        let flags = self.devices[d as usize].flags;
        let facts = self.topology.facts[d as usize];
        if self.topology.has[d as usize] & 1 << self.index == 0 || facts & fact::SYSCORE != 0 {
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
    fn phase_flag(&self) -> u16 {
        match self.phase {
            Phase::Noirq | Phase::ResumeNoirq => state::NOIRQ,
            Phase::Late | Phase::ResumeEarly => state::LATE,
            _ => state::SUSPENDED,
        }
    }

    /// The callback returned 0, or there is none.
    fn succeed(&mut self, d: u32) {
        let flag = self.phase_flag();
        if self.direction == Direction::Resume {
            self.clear(d, flag);
            return;
        }
        self.set(d, flag);
        if self.phase != Phase::Suspend {
            return;
        }
        // A superior of a device that really suspended must be resumed
        // properly; links in any state count.
        let wakeup = self.fact(d, fact::WAKEUP) || self.has(d, state::WAKEUP_PATH);
        let parent = self.topology.parent[d as usize];
        if wakeup && parent != NONE {
            self.set(parent, state::WAKEUP_PATH);
        }
        let topology = self.topology;
        for e in topology.superiors.of(d as usize) {
            self.devices[e.device()].flags &= !state::DIRECT;
        }
    }

    fn fail(&mut self, failure: Failure) {
        if self.error.is_none() {
            self.error = Some(failure);
        }
        if self.failed() {
            self.call_main();
        }
    }

    pub(super) fn callback(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        self.tally.callbacks += 1;
        let record = self.record(t, d);
        self.threads[t as usize].record = record;
        let work = self.topology.work[self.index][d as usize];
        self.threads[t as usize].left = work.compute.0.max(0);
        self.threads[t as usize].slice_over = false;
        if work.lock > 0 {
            return self.lock(t, work.lock, Step::Sleep);
        }
        self.go(t, Step::Sleep, Ns::ZERO)
    }

    /// Computes, giving the CPU away after a slice if others wait for one.
    pub(super) fn compute(&mut self, t: u32) -> Flow {
        let left = self.threads[t as usize].left;
        if left == 0 {
            return self.go(t, Step::CallbackEnd, Ns::ZERO);
        }
        if self.shared.is_some()
            && self.fact(self.threads[t as usize].device, fact::GIVES_TURN_AWAY)
        {
            return self.piece(t);
        }
        if self.speeds.is_empty() || self.slice <= 0 {
            self.threads[t as usize].left = 0;
            return Flow::Go(Ns(left));
        }
        if core::mem::take(&mut self.threads[t as usize].slice_over) && self.contended(t) {
            self.queue_again(t);
            return Flow::Stop;
        }
        let part = left.min(self.slice);
        let thread = &mut self.threads[t as usize];
        thread.left = left - part;
        thread.slice_over = true;
        Flow::Go(Ns(part))
    }

    /// Callbacks sleep first and compute then, as the board module of the
    /// laboratory does.
    pub(super) fn sleep(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let sleep = self.topology.work[self.index][d as usize].sleep;
        if sleep <= Ns::ZERO {
            return self.go(t, Step::Compute, Ns::ZERO);
        }
        self.threads[t as usize].step = Step::Slept;
        let mut time = sleep.0;
        let mut armed = true;
        if self.first_tick > 0 && self.phase == Phase::ResumeNoirq {
            let tick = self.low_resolution(t);
            armed = tick <= 0;
            time = time.max(tick);
        }
        if self.shared.is_some() {
            return self.doze(t, time, armed);
        }
        self.block(t);
        self.after(t, time.saturating_add(self.costs.oversleep.0));
        Flow::Stop
    }

    /// A thread that armed its timer leaves the CPU.
    pub(super) fn dozed(&mut self, t: u32) -> Flow {
        self.threads[t as usize].step = Step::Slept;
        self.block(t);
        Flow::Stop
    }

    /// A CPU that came up has no high-resolution timers before its first tick:
    /// what sleeps there sleeps at least until then. CPUs come up one after the
    /// other, so when devices are resumed only the last one still waits.
    fn low_resolution(&self, t: u32) -> i64 {
        let last = self.speeds.len().wrapping_sub(1);
        if last == 0 || self.threads[t as usize].cpu as usize != last {
            return 0;
        }
        self.phase_start.saturating_add(self.first_tick).saturating_sub(self.now)
    }

    /// Whether the scheduler looks for an idle CPU beyond the last two of a
    /// thread ([`super::super::Kernel::searches_new_domains`]).
    pub(super) fn looks_for_idle(&self) -> bool {
        self.searches
            || self.phase != Phase::ResumeNoirq
            || self.now >= self.phase_start.saturating_add(self.first_tick)
    }

    pub(super) fn slept(&mut self, t: u32) -> Flow {
        self.tally.wakeups += 1;
        self.go(t, Step::Compute, Ns::ZERO)
    }

    pub(super) fn callback_end(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let Work { lock, ret, .. } = self.topology.work[self.index][d as usize];
        if lock > 0 {
            self.unlock(lock);
        }
        let error = ret.min(0);
        let record = &mut self.callbacks[self.threads[t as usize].record as usize];
        record.end = Ns(self.now);
        record.error = error;
        if error < 0 {
            // On the way up an error is only noted.
            self.fail(Failure::Device { device: d, errno: error });
            if self.direction == Direction::Resume {
                self.clear(d, self.phase_flag());
            }
        } else {
            self.succeed(d);
        }
        self.go(t, Step::Complete, Ns::ZERO)
    }

    pub(super) fn complete(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let woken = self.complete_all(d);
        self.devices[d as usize].at = 0;
        if self.phase == Phase::ResumeEarly {
            self.runtime_pm(t);
        }
        let cost = self.costs.complete + times(self.costs.wake_one, woken);
        self.owe(t, Step::Trigger, cost)
    }

    /// Marks `d` done and wakes who waits for it, in order.
    pub(super) fn complete_all(&mut self, d: u32) -> u32 {
        self.set(d, state::DONE);
        let mut list = self.devices[d as usize].waiters;
        self.devices[d as usize].waiters = (NONE, NONE);
        let mut woken = 0;
        loop {
            let t = pop_waiter(&mut list, &self.threads);
            if t == NONE {
                return woken;
            }
            woken += 1;
            self.unpark(t);
            self.wake(t);
        }
    }

    pub(super) fn trigger(&mut self, t: u32) -> Flow {
        match self.walk.finished {
            Finished::StartReady => self.go(t, Step::TriggerReady, Ns::ZERO),
            Finished::QueueTree | Finished::QueueTreeAndLinks if !self.failed() => {
                self.lock(t, LIST_LOCK, Step::TriggerTree)
            }
            _ => self.go(t, Step::Return, Ns::ZERO),
        }
    }

    /// Offers parent or children, under the list mutex.
    pub(super) fn trigger_tree(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let edges = self.dependents().of(d as usize);
        let at = self.devices[d as usize].at as usize;
        match edges.get(at) {
            Some(e) if e.kind() == super::super::topology::TREE => {
                self.devices[d as usize].at += 1;
                self.offered(e.device() as u32)
            }
            _ => {
                self.unlock(LIST_LOCK);
                let next = match self.walk.finished {
                    Finished::QueueTreeAndLinks => Step::TriggerLinks,
                    _ => Step::Return,
                };
                self.go(t, next, Ns::ZERO)
            }
        }
    }

    /// Offers suppliers or consumers. Dormant links do not trigger; links that
    /// are not waited for do.
    pub(super) fn trigger_links(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let at = self.devices[d as usize].at as usize;
        let Some(e) = self.dependents().of(d as usize).get(at) else {
            return self.go(t, Step::Return, Ns::ZERO);
        };
        self.devices[d as usize].at += 1;
        let dormant =
            super::super::topology::kind_number(dormouse_model::device::LinkKind::Dormant);
        if e.kind() == dormant {
            return GO;
        }
        self.offered(e.device() as u32)
    }

    fn offered(&mut self, d: u32) -> Flow {
        if self.claim(d) {
            Flow::Go(self.costs.trigger + self.costs.queue)
        } else {
            Flow::Owe(self.costs.trigger)
        }
    }

    /// Takes one off the counters of the dependents; starts the ready ones.
    pub(super) fn trigger_ready(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let edges = self.dependents().of(d as usize);
        loop {
            let at = self.devices[d as usize].at as usize;
            let Some(e) = edges.get(at) else {
                return self.go(t, Step::Return, Ns::ZERO);
            };
            self.devices[d as usize].at += 1;
            let x = e.device() as u32;
            if !self.counted_by(d, x, *e) {
                continue;
            }
            let missing = &mut self.devices[x as usize].missing;
            *missing = missing.saturating_sub(1);
            if *missing > 0 || self.failed() {
                continue;
            }
            let before = self.tally.items;
            if self.start(t, x, d) {
                return Flow::Go(self.costs.trigger);
            }
            let queued = self.tally.items - before;
            return Flow::Go(self.costs.trigger + times(self.costs.queue, queued as u32));
        }
    }

    /// Whether `x` counts its dependency on `d` (edge `e` leads to `x`).
    fn counted_by(&self, d: u32, x: u32, e: super::super::topology::Edge) -> bool {
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
            thread.step = Step::Enter;
            if !self.has(x, state::ASYNC) && self.topology.has[x as usize] & 1 << self.index != 0 {
                // The main thread may have waited for it, in vain.
                self.clear(x, state::AWAITED);
                self.call_main();
            }
            return true;
        }
        if self.has(x, state::ASYNC) {
            self.set(x, state::WIP);
            self.queue(x);
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

    /// Ends the routine: back to the trigger that ran this device in place, or
    /// to what the thread did before.
    pub(super) fn routine_return(&mut self, t: u32) -> Flow {
        let d = self.threads[t as usize].device;
        let caller = core::mem::replace(&mut self.devices[d as usize].caller, NONE);
        if caller != NONE {
            self.threads[t as usize].device = caller;
            return self.go(t, Step::TriggerReady, Ns::ZERO);
        }
        let home = self.threads[t as usize].home;
        self.go(t, home, Ns::ZERO)
    }
}
