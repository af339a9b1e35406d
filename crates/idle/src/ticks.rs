//! Ticks that were kept or stopped, and whether that was right.
//!
//! | what | is wrong if |
//! |---|---|
//! | a tick was kept | it ended a sleep, and the CPU slept again at once |
//! | a tick was stopped | a task ran within the length of a tick: governors stop it for longer waits |
//!
//! A tick that is stopped stays so until a task runs (`tick_nohz_idle_exit`,
//! kernel/time/tick-sched.c, 6.12); the kernel says `tick_stop` once.

use crate::wake::TASK;
use std::collections::BTreeMap;

/// Lengths that kernels are built with, ns (CONFIG_HZ of 1000, 300, 250 and 100).
const LENGTHS: [i64; 4] = [1_000_000, 3_333_333, 4_000_000, 10_000_000];

/// One CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// The last tick while ticks came.
    last: Option<i64>,
    /// Since when it is stopped.
    stopped: Option<i64>,
    /// When the last sleep was over.
    awake: Option<i64>,
    /// A tick ended the last sleep.
    ended: bool,
    asleep: bool,
}

/// Counts over a trace.
#[derive(Clone, Debug, Default)]
pub struct Ticks {
    cpus: BTreeMap<u32, Cpu>,
    /// Sleeps that a tick ended though the CPU had nothing to do.
    pub kept_wrongly: u64,
    /// Times that a tick was stopped and a task ran afterwards.
    pub stopped: u64,
    /// Those that were shorter than each of [`LENGTHS`].
    short: [u64; LENGTHS.len()],
    /// Times between two ticks of a CPU that are near to each of [`LENGTHS`].
    gaps: [u64; LENGTHS.len()],
    /// `tick_stop` was recorded.
    pub known: bool,
}

impl Ticks {
    /// The tick's timer was served on `cpu`.
    pub fn tick(&mut self, cpu: u32, time: i64) {
        let c = self.cpus.entry(cpu).or_default();
        // While it is stopped, its timer serves the timer wheel.
        if c.stopped.is_some() {
            return;
        }
        if let Some(gap) = c.last.replace(time).map(|last| time - last) {
            for (n, length) in self.gaps.iter_mut().zip(LENGTHS) {
                *n += u64::from((gap - length).abs() < length / 16);
            }
        }
        // Handlers run before the end of a sleep or right after it.
        c.ended = c.asleep || c.awake.is_some_and(|a| time - a < TASK);
    }

    /// `tick_stop` on `cpu`.
    pub fn stop(&mut self, cpu: u32, time: i64, success: bool) {
        self.known = true;
        if success {
            let c = self.cpus.entry(cpu).or_default();
            (c.stopped, c.last) = (Some(time), None);
        }
    }

    /// `cpu` goes to sleep.
    pub fn enter(&mut self, cpu: u32, time: i64) {
        let c = self.cpus.entry(cpu).or_default();
        let pause = c.awake.take().map(|a| time - a);
        if pause.is_some_and(|p| p < TASK) {
            self.kept_wrongly += u64::from(c.ended && c.stopped.is_none());
        }
        (c.ended, c.asleep) = (false, true);
    }

    /// `cpu` is awake.
    pub fn exit(&mut self, cpu: u32, time: i64) {
        let c = self.cpus.entry(cpu).or_default();
        (c.awake, c.asleep) = (Some(time), false);
    }

    /// A task runs on `cpu`.
    pub fn task(&mut self, cpu: u32, time: i64) {
        let c = self.cpus.entry(cpu).or_default();
        c.ended = false;
        if let Some(since) = c.stopped.take() {
            self.stopped += 1;
            for (n, length) in self.short.iter_mut().zip(LENGTHS) {
                *n += u64::from(time - since < length);
            }
        }
    }

    /// Events of `cpu`, or of any CPU, were lost.
    pub fn lost(&mut self, cpu: Option<u32>) {
        for (_, c) in self.cpus.iter_mut().filter(|c| cpu.is_none_or(|cpu| *c.0 == cpu)) {
            *c = Cpu::default();
        }
    }

    /// Adds what was counted on other CPUs.
    pub fn join(&mut self, other: Ticks) {
        self.cpus.extend(other.cpus);
        self.kept_wrongly += other.kept_wrongly;
        self.stopped += other.stopped;
        self.known |= other.known;
        for (a, b) in self.short.iter_mut().zip(other.short) {
            *a += b;
        }
        for (a, b) in self.gaps.iter_mut().zip(other.gaps) {
            *a += b;
        }
    }

    /// Length of a tick, ns, and how many stops were shorter; none unless two ticks
    /// came one after another.
    pub fn stopped_wrongly(&self) -> Option<(i64, u64)> {
        let all = LENGTHS.into_iter().zip(self.short).zip(self.gaps);
        // A tick that is served late comes soon before the next.
        all.max_by_key(|a| a.1).filter(|a| a.1 > 0).map(|a| a.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_ends_a_sleep_for_nothing_was_kept_wrongly() {
        let mut t = Ticks::default();
        t.enter(0, 0);
        t.exit(0, 4_000_000);
        t.tick(0, 4_000_500);
        t.enter(0, 4_005_000);
        t.exit(0, 8_000_000);
        t.tick(0, 8_000_400);
        // Something to do.
        t.task(0, 8_001_000);
        t.enter(0, 8_020_000);
        // A handler that runs inside the sleep.
        t.tick(0, 12_000_000);
        t.exit(0, 12_000_100);
        t.enter(0, 12_000_200);
        assert_eq!((t.kept_wrongly, t.stopped, t.known), (2, 0, false));
        // Once late, and once more at its own time.
        t.tick(0, 16_700_000);
        t.tick(0, 20_000_000);
        assert_eq!(t.stopped_wrongly(), Some((4_000_000, 0)));
    }

    #[test]
    fn a_tick_that_is_stopped_for_less_than_its_length_was_stopped_wrongly() {
        let mut t = Ticks::default();
        t.tick(0, 0);
        t.tick(0, 10_000_000);
        for (stop, task) in [(10_001_000, 19_000_000), (30_000_000, 41_000_000)] {
            t.stop(0, stop, true);
            t.enter(0, stop + 1_000);
            t.exit(0, stop + 2_000);
            // Its timer serves others while it is stopped.
            t.tick(0, stop + 2_500);
            t.enter(0, stop + 3_000);
            t.exit(0, task - 1_000);
            t.task(0, task);
        }
        t.stop(0, 50_000_000, false);
        t.task(0, 50_001_000);
        assert_eq!((t.kept_wrongly, t.stopped), (0, 2));
        assert_eq!(t.stopped_wrongly(), Some((10_000_000, 1)));
    }
}
