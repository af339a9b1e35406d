//! CPUs: where and when a thread computes.
//!
//! The engine knows threads that compute, sleep, wake and wait for one another.
//! What a CPU adds to that is the part of a model, of which there are three:
//!
//! - [`Unlimited`]: as many CPUs as threads;
//! - [`Smp`]: some CPUs of given speeds, which compute at the same time, as those
//!   of a real machine do;
//! - [`Icount`]: the virtual CPUs of QEMU when it counts instructions. They take
//!   turns on one computing thread. All that is peculiar to the laboratory is in
//!   this one.
//!
//! A model is a set of functions on the engine that holds it; the engine is
//! compiled once for each.

mod icount;
mod sched;
mod smp;
mod unlimited;

pub(in crate::simulate) use icount::Icount;
pub(in crate::simulate) use smp::Smp;
pub(in crate::simulate) use unlimited::Unlimited;

use super::*;
use crate::simulate::cost::Profile;

/// What the engine asks of CPUs.
pub(in crate::simulate) trait CpuModel: Sized {
    /// Whether who wakes a worker pays `wake_one` for it. Costs of hardware have
    /// it in `queue`.
    const WAKING_A_WORKER_COSTS: bool = false;

    /// The CPUs of `profile`, for so many workers.
    fn new(profile: &Profile, workers: usize) -> Self;

    /// All threads are made. The main thread gets a CPU.
    fn begin_cycle(e: &mut Engine<'_, Self>, profile: &Profile);

    /// A phase begins, with the main thread about to run.
    fn begin_phase(_e: &mut Engine<'_, Self>) {}

    /// Time that `work` of computing takes on the CPU of `t`.
    fn computing_time(e: &Engine<'_, Self>, t: u32, work: Ns) -> Ns;

    /// `t` sleeps and shall run; on a CPU that is idle it does so `latency` later.
    fn wake(e: &mut Engine<'_, Self>, t: u32, latency: Ns);

    /// Whether `t`, whose moment has come, has a CPU. If not it waits for one.
    fn has_cpu(_e: &mut Engine<'_, Self>, _t: u32) -> bool {
        true
    }

    /// `t` leaves its CPU to wait.
    fn block(e: &mut Engine<'_, Self>, t: u32);

    /// Lets `t` compute. True if nothing can happen meanwhile, so that time has
    /// simply been moved on.
    fn compute(e: &mut Engine<'_, Self>, t: u32, work: Ns) -> bool;

    /// The callback of `t` computes what is left of it, or a part of that.
    fn compute_callback(e: &mut Engine<'_, Self>, t: u32) -> Flow;

    /// The callback of `t` sleeps for `time`; `t` goes on with its step.
    fn sleep(e: &mut Engine<'_, Self>, t: u32, time: Ns) -> Flow {
        let time = time + e.costs.oversleep;
        e.block(t);
        // Most sleeps of synchronous devices: nothing happens meanwhile.
        let end = e.now + time;
        if e.nothing_until(end) && end <= e.limit {
            e.now = end;
            return if Self::has_cpu(e, t) { GO } else { Flow::Stop };
        }
        e.after_sleep(t, time);
        Flow::Stop
    }

    /// Mutex `l` is taken. `t` goes on with `step` when it has it.
    fn contend(e: &mut Engine<'_, Self>, t: u32, l: u32, step: Step) {
        e.threads[t as usize].step = step;
        e.mutex_sleep(t, l);
    }

    /// A thread that contended without sleeping tries again.
    fn lock_again(_e: &mut Engine<'_, Self>, _t: u32) -> Flow {
        Flow::Stop
    }

    /// Releases mutex `l`.
    fn mutex_unlock(e: &mut Engine<'_, Self>, l: u32) {
        e.mutex_hand_over(l);
    }

    /// Worker `t` has kthreadd make another one, which takes `time`.
    fn wait_for_kthreadd(e: &mut Engine<'_, Self>, t: u32, time: Ns) -> Flow {
        e.block(t);
        e.after_sleep(t, time);
        Flow::Stop
    }

    /// Worker `t` wakes the `new` one that kthreadd has made.
    fn kthreadd_made(e: &mut Engine<'_, Self>, t: u32, new: u32) -> Flow {
        e.wake(new);
        e.worker_recheck(t)
    }

    /// No thread is left that is ready: moves time on. Who goes on must get a CPU
    /// first.
    #[inline]
    fn advance(e: &mut Engine<'_, Self>) -> Result<(), Ended> {
        e.go_on()
    }
}

impl<C: CpuModel> Engine<'_, C> {
    /// Lets `t` compute where other threads compute at the same time.
    #[inline(always)]
    fn compute_in_parallel(&mut self, t: u32, time: Ns) -> bool {
        let end = self.now + time;
        if self.nothing_until(end) {
            self.now = end;
            return true;
        }
        self.after(t, time);
        false
    }

    /// The callback of `t` computes in slices: after one it gives its CPU away
    /// if others wait for it.
    fn compute_slice(
        &mut self,
        t: u32,
        wanted: impl Fn(&Self) -> bool,
        give_way: impl Fn(&mut Self),
    ) -> Flow {
        if self.slice <= Ns::ZERO {
            return self.compute_rest(t);
        }
        if std::mem::take(&mut self.threads[t as usize].slice_over) && wanted(self) {
            give_way(self);
            return Flow::Stop;
        }
        let thread = &mut self.threads[t as usize];
        let part = thread.left.min(self.slice);
        thread.left -= part;
        thread.slice_over = true;
        Flow::Go(part)
    }

    /// The callback of `t` computes all that is left of it.
    fn compute_rest(&mut self, t: u32) -> Flow {
        Flow::Go(std::mem::take(&mut self.threads[t as usize].left))
    }
}

/// Time that `work` takes on a CPU of `speed` thousandths.
#[inline(always)]
fn at_speed(work: Ns, speed: u32) -> Ns {
    match speed {
        1000 => work,
        _ => Ns((i128::from(work.0) * 1000 / i128::from(speed)) as i64),
    }
}
