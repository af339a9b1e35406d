//! CPUs that compute at the same time, each at its speed. A thread that is woken
//! runs on the first idle one of the list; if none is idle it waits in one queue
//! for all. A computing callback gives its CPU away after a slice.

use super::*;
use crate::simulate::cost::Cpus;

pub(in crate::simulate) struct Smp {
    /// In thousandths.
    speeds: Vec<u32>,
    /// CPUs differ in speed.
    mixed: bool,
    /// All have the speed that times are for.
    standard: bool,
    /// A bit for each CPU.
    idle: Vec<u64>,
    /// Threads that wait for a CPU.
    queue: VecDeque<u32>,
}

impl Smp {
    /// The first idle CPU of the list. The main thread is busy for most of a
    /// cycle, so the scheduler knows its load and puts it on the fastest one.
    #[inline]
    fn take_idle(&mut self, t: u32) -> Option<u32> {
        if t == MAIN && self.mixed {
            let idle = |&c: &usize| self.idle[c / 64] & 1 << (c % 64) != 0;
            let cpu = (0..self.speeds.len()).filter(idle).max_by_key(|&c| self.speeds[c])?;
            self.idle[cpu / 64] &= !(1 << (cpu % 64));
            return Some(cpu as u32);
        }
        for (i, word) in self.idle.iter_mut().enumerate() {
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                return Some(i as u32 * 64 + bit);
            }
        }
        None
    }
}

impl CpuModel for Smp {
    fn new(profile: &Profile, workers: usize) -> Smp {
        let speeds: Vec<u32> = match &profile.cpus {
            Some(Cpus::List(list)) => list.iter().map(|&s| s.max(1)).collect(),
            None | Some(Cpus::Unlimited) => Vec::new(),
        };
        let mut idle = vec![0u64; speeds.len().div_ceil(64)];
        for cpu in 0..speeds.len() {
            idle[cpu / 64] |= 1 << (cpu % 64);
        }
        Smp {
            mixed: speeds.windows(2).any(|w| w[0] != w[1]),
            standard: speeds.iter().all(|&s| s == 1000),
            speeds,
            idle,
            queue: VecDeque::with_capacity(workers + 1),
        }
    }

    fn begin_cycle(e: &mut Engine<'_, Self>, _: &Profile) {
        e.threads[MAIN as usize].cpu = e.cpus.take_idle(MAIN).unwrap_or(0);
    }

    #[inline(always)]
    fn computing_time(e: &Engine<'_, Self>, t: u32, work: Ns) -> Ns {
        if e.cpus.standard {
            return work;
        }
        at_speed(work, e.cpus.speeds[e.threads[t as usize].cpu as usize])
    }

    #[inline]
    fn wake(e: &mut Engine<'_, Self>, t: u32, latency: Ns) {
        if e.find_cpu(t) {
            e.after(t, latency);
        }
    }

    #[inline]
    fn block(e: &mut Engine<'_, Self>, t: u32) {
        let cpu = core::mem::replace(&mut e.threads[t as usize].cpu, NONE);
        match e.cpus.queue.pop_front() {
            Some(next) => {
                e.threads[next as usize].cpu = cpu;
                e.after(next, e.costs.switch);
            }
            None => e.cpus.idle[cpu as usize / 64] |= 1 << (cpu % 64),
        }
    }

    #[inline(always)]
    fn compute(e: &mut Engine<'_, Self>, t: u32, work: Ns) -> bool {
        let time = Smp::computing_time(e, t, work);
        e.compute_in_parallel(t, time)
    }

    fn compute_callback(e: &mut Engine<'_, Self>, t: u32) -> Flow {
        e.compute_slice(
            t,
            |e| !e.cpus.queue.is_empty(),
            |e| {
                e.block(t);
                e.cpus.queue.push_back(t);
            },
        )
    }

    #[inline]
    fn has_cpu(e: &mut Engine<'_, Self>, t: u32) -> bool {
        e.threads[t as usize].cpu != NONE || e.find_cpu(t)
    }
}

impl Engine<'_, Smp> {
    /// Gives `t` an idle CPU; without one it waits.
    #[inline]
    fn find_cpu(&mut self, t: u32) -> bool {
        match self.cpus.take_idle(t) {
            Some(cpu) => {
                self.threads[t as usize].cpu = cpu;
                true
            }
            None => {
                self.cpus.queue.push_back(t);
                false
            }
        }
    }
}
