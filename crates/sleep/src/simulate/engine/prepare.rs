//! `dpm_prepare()` and `dpm_complete()` (drivers/base/power/main.c): strictly serial
//! on the main thread, every device.

use super::*;

/// `-EAGAIN` from prepare asks for another try.
const EAGAIN: i32 = -11;

impl<C: CpuModel> Engine<'_, C> {
    /// Prepares the devices head to tail; stops at the first error.
    pub(in crate::simulate) fn dpm_prepare(&mut self) {
        self.enter_phase(Phase::Prepare);
        let mut done = 0;
        for i in 0..self.order.len() {
            let d = self.order[i];
            self.clear(d, state::DIRECT | state::WAKEUP_PATH);
            let ret = self.one(d, self.costs.prepare);
            if ret < 0 && ret != EAGAIN && !self.fact(d, fact::SYSCORE) {
                self.error = Some(Failure::Device { device: d, errno: ret });
                break;
            }
            // Only a suspend leaves devices alone (device_prepare, 6.1 to 7.3).
            let may = !self.topology.trip.hibernates();
            let asked = ret > 0 || self.fact(d, fact::NO_CALLBACKS);
            if may && asked && !self.fact(d, fact::NO_DIRECT | fact::SYSCORE) {
                self.set(d, state::DIRECT);
            }
            done += 1;
        }
        for i in 0..done {
            let d = self.order[i];
            self.flags[d as usize] = state::on_list(self.flags[d as usize], 1);
        }
    }

    /// Completes the prepared devices tail to head.
    pub(in crate::simulate) fn dpm_complete(&mut self) {
        self.enter_phase(Phase::Complete);
        for i in (0..self.order.len()).rev() {
            let d = self.order[i];
            self.one(d, self.costs.finish);
            self.flags[d as usize] = state::on_list(self.flags[d as usize], 0);
        }
    }

    /// One device, in the main thread; traces show all of them here.
    fn one(&mut self, d: u32, cost: Ns) -> i32 {
        self.now += C::computing_time(self, MAIN, cost);
        let record = self.record(MAIN, d) as usize;
        if !self.has_callback(d) || self.fact(d, fact::SYSCORE) {
            return 0;
        }
        self.tally.callbacks += 1;
        let work = self.work[d as usize];
        let compute = C::computing_time(self, MAIN, work.compute.max(Ns::ZERO));
        self.now += compute + work.sleep.max(Ns::ZERO);
        if let Some(record) = self.callbacks.get_mut(record) {
            record.end = self.now;
            record.error = work.ret.min(0);
        }
        work.ret
    }
}
