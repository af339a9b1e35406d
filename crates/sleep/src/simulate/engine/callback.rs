//! The callback of one device and the end of its phase: `dpm_run_callback()` to
//! `complete_all()` (drivers/base/power/main.c).

use super::*;

impl<C: CpuModel> Engine<'_, C> {
    #[inline]
    pub(super) fn dpm_run_callback(&mut self, t: u32, d: u32) -> Flow {
        self.tally.callbacks += 1;
        let record = self.record(t, d);
        let work = &self.work[d as usize];
        let takes = work.sleep.max(Ns::ZERO) + work.compute.max(Ns::ZERO);
        if self.now + self.left.begins(d, takes, t == MAIN) > self.limit {
            // Certain to be late: the next moment is.
            self.limit = Ns::ZERO;
        }
        let thread = &mut self.threads[t as usize];
        thread.record = record;
        thread.left = work.compute.max(Ns::ZERO);
        thread.slice_over = false;
        match self.genpd_before(t, d) {
            Some(flow) => flow,
            None => self.driver(t, d),
        }
    }

    /// The driver's part, after its domain on the way up.
    #[inline]
    pub(super) fn driver(&mut self, t: u32, d: u32) -> Flow {
        let work = &self.work[d as usize];
        match work.lock {
            0 => self.callback(t, d),
            l if self.mutex_lock(t, l, Step::Callback) => {
                self.go(t, Step::Callback, self.costs.lock)
            }
            _ => Flow::Stop,
        }
    }

    /// Callbacks sleep first and compute then, as the board module of the
    /// laboratory does.
    #[inline]
    pub(super) fn callback(&mut self, t: u32, d: u32) -> Flow {
        let sleep = self.work[d as usize].sleep;
        if sleep <= Ns::ZERO {
            return self.callback_computes(t, d);
        }
        self.threads[t as usize].step = Step::CallbackSlept;
        C::sleep(self, t, sleep)
    }

    /// A thread that armed its timer leaves the CPU.
    pub(super) fn callback_dozes(&mut self, t: u32) -> Flow {
        self.threads[t as usize].step = Step::CallbackSlept;
        self.block(t);
        Flow::Stop
    }

    #[inline]
    pub(super) fn callback_slept(&mut self, t: u32, d: u32) -> Flow {
        self.tally.wakeups += 1;
        if self.in_genpd(t) {
            return self.genpd_switched(t);
        }
        self.callback_computes(t, d)
    }

    pub(super) fn callback_computes(&mut self, t: u32, d: u32) -> Flow {
        if self.threads[t as usize].left == Ns::ZERO {
            return self.callback_end(t, d);
        }
        self.threads[t as usize].step = Step::CallbackComputes;
        C::compute_callback(self, t)
    }

    #[inline]
    fn callback_end(&mut self, t: u32, d: u32) -> Flow {
        let Work { lock, ret, .. } = self.work[d as usize];
        if lock > 0 {
            C::mutex_unlock(self, lock);
        }
        if ret >= 0
            && let Some(flow) = self.genpd_after(t, d)
        {
            return flow;
        }
        self.callback_return(t, d)
    }

    /// The driver and its domain are done.
    #[inline]
    pub(super) fn callback_return(&mut self, t: u32, d: u32) -> Flow {
        let ret = self.work[d as usize].ret;
        let error = ret.min(0);
        let record = self.threads[t as usize].record as usize;
        if let Some(record) = self.callbacks.get_mut(record) {
            record.end = self.now;
            record.error = error;
        }
        if error < 0 {
            // On the way up an error is only noted.
            self.fail(Failure::Device { device: d, errno: error });
            if self.direction == Direction::Resume {
                self.clear(d, self.phase_flag());
            }
        } else {
            self.succeed(d);
        }
        self.complete(t, d)
    }

    /// The device of `t` is done in this phase.
    #[inline]
    pub(super) fn complete(&mut self, t: u32, d: u32) -> Flow {
        let woken = self.complete_all(d);
        self.devices[d as usize].at = 0;
        let mut cost = self.costs.complete + times(self.costs.wake_one, woken);
        if self.phase == Phase::ResumeEarly {
            // Runtime PM is enabled again.
            cost += self.costs.runtime;
        }
        self.owe(t, cost);
        self.trigger(t, d)
    }

    /// Marks `d` done and wakes who waits for it, in order.
    #[inline]
    pub(super) fn complete_all(&mut self, d: u32) -> u32 {
        self.set(d, state::DONE);
        let waiters = &mut self.devices[d as usize].waiters;
        if waiters.0 == NONE {
            return 0;
        }
        let mut list = std::mem::replace(waiters, (NONE, NONE));
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
}
