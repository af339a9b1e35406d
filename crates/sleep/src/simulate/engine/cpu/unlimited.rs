//! As many CPUs as threads: nobody waits for one.

use super::*;

pub(in crate::simulate) struct Unlimited;

impl CpuModel for Unlimited {
    fn new(_: &Profile, _: usize) -> Unlimited {
        Unlimited
    }

    fn begin_cycle(_: &mut Engine<'_, Self>, _: &Profile) {}

    fn computing_time(_: &Engine<'_, Self>, _: u32, work: Ns) -> Ns {
        work
    }

    fn wake(e: &mut Engine<'_, Self>, t: u32, latency: Ns) {
        e.after(t, latency);
    }

    fn block(_: &mut Engine<'_, Self>, _: u32) {}

    fn compute(e: &mut Engine<'_, Self>, t: u32, work: Ns) -> bool {
        e.compute_in_parallel(t, work)
    }

    fn compute_callback(e: &mut Engine<'_, Self>, t: u32) -> Flow {
        e.compute_rest(t)
    }
}
