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
    /// Workers run on the slowest CPUs alone, which have this speed.
    packed: Option<u32>,
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
        if self.packed.is_some() && t != MAIN {
            let cpu = (0..self.speeds.len())
                .find(|&c| self.idle[c / 64] & 1 << (c % 64) != 0 && self.may_run(t, c))?;
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

impl Smp {
    fn may_run(&self, t: u32, cpu: usize) -> bool {
        t == MAIN || self.packed.is_none_or(|slowest| self.speeds[cpu] == slowest)
    }

    /// Whether somebody waits who may run on `cpu`.
    fn is_wanted(&self, cpu: u32) -> bool {
        self.queue.iter().any(|&t| self.may_run(t, cpu as usize))
    }

    /// Who waits longest and may run on `cpu`.
    #[inline]
    fn next_on(&mut self, cpu: u32) -> Option<u32> {
        if self.packed.is_none() {
            return self.queue.pop_front();
        }
        let at = self.queue.iter().position(|&t| self.may_run(t, cpu as usize))?;
        self.queue.remove(at)
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
            packed: None,
            idle,
            queue: VecDeque::with_capacity(workers + 1),
        }
    }

    fn begin_cycle(e: &mut Engine<'_, Self>, _: &Profile) {
        let slowest = e.cpus.speeds.iter().min().copied();
        e.cpus.packed = slowest.filter(|_| e.policy.packs_workers && e.cpus.mixed);
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
        let cpu = std::mem::replace(&mut e.threads[t as usize].cpu, NONE);
        match e.cpus.next_on(cpu) {
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
            |e| e.cpus.is_wanted(e.threads[t as usize].cpu),
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
