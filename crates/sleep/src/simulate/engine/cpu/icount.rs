//! Virtual CPUs that take turns on one computing thread: how QEMU runs them when
//! it counts instructions (`-icount`). All that is peculiar to the laboratory's
//! guests is in this file.
//!
//! Sleeps overlap, computing does not, not even that of the machinery: a
//! wake-up on one CPU delays the callback that waits for the next. QEMU 7.2
//! (`accel/tcg/tcg-accel-ops-rr.c`) lets a virtual CPU run until it halts, until
//! the next timer of the machine is due, or until it arms one that is due before
//! all others; then the next CPU of the ring. Interrupts from one CPU to another
//! do not change the turn; the pause of a thread that spins does. Traces of 6.12
//! and 7.3 show the same: after a timer it is the turn of the next CPU, not of
//! the first or of the one whose timer it is.
//!
//! Because only one CPU gets on at a time, things matter here that other CPUs
//! leave out. A CPU that is called while it is idle sees that only when it has
//! its turn, and until then nobody can take threads from it
//! (`ttwu_queue_wakelist`); so it is with its timers. A mutex that is released
//! is free, and whoever runs takes it, before the thread that was woken for it
//! comes: otherwise every worker would queue up behind a sleeping owner. And
//! the scheduler of the guest's kernel decides who comes first ([`Sched`]).

use super::sched::{Cfs, Eevdf, Sched};
use super::*;
use crate::simulate::cost::Cpus;
use dormouse_base::stats::random::Random;

/// One turn of a spinning loop.
const SPIN: Ns = Ns(50);

/// Between two moments at which an emulated serial port gives the turn away.
/// Resuming the guest's takes 13 us when nobody else runs; in traces of 7.3 with
/// the scheduler's events others get in about three times.
const PIECE: Ns = Ns(4_500);

/// A thread that ran so short a time ago is hot in a cache
/// (`sched_migration_cost`): no other CPU takes it.
const HOT: Ns = Ns(500_000);

pub(in crate::simulate) struct Icount {
    /// In thousandths.
    speeds: Vec<u32>,
    /// The thread that each CPU runs; NONE if it is idle.
    on: Vec<u32>,
    /// What it has still to compute before its next step.
    left: Vec<Ns>,
    /// CPUs that were idle, were given a thread, and have not had a turn since.
    /// What they are to run is on a list of wake-ups (`ttwu_pending`), which
    /// only they themselves look at.
    called: Vec<bool>,
    /// Threads of each CPU whose timers are due, which it sees when it has its
    /// turn; to the others it is as idle as before.
    due: Vec<VecDeque<u32>>,
    /// Whose turn it is.
    turn: usize,
    /// Computed since the cycle began.
    computed: Ns,
    sched: Sched,
    /// Threads that want to run on each CPU. The kernel moves them only when a
    /// CPU is idle for longer than these moments.
    queues: Vec<VecDeque<u32>>,
    /// The main thread must give its CPU away at its next step.
    interrupted: bool,
    /// The CPU on which it waits until no worker wants to run.
    main_last: u32,
    /// The CPU that handles an interrupt, if that is what wakes a thread now.
    interrupt: u32,
    /// The CPU each thread ran on before its last one (`recent_used_cpu`).
    recent: Vec<u32>,
    /// The CPU that arms its next timer before anything else.
    arms: u32,
    /// When each thread left its CPU.
    left_at: Vec<Ns>,
    /// Idle CPUs are looked for at the moment.
    scans: bool,
    /// The scheduler looks for idle CPUs also before the first tick
    /// ([`crate::simulate::Kernel::searches_new_domains`]).
    searches: bool,
    /// Timers of the last CPU wait for its first tick this long into resume
    /// noirq.
    first_tick: Ns,
}

impl Icount {
    fn with(speeds: Vec<u32>, workers: usize, sched: Sched) -> Icount {
        let cpus = speeds.len();
        let empty = || VecDeque::with_capacity(workers + 1);
        Icount {
            speeds,
            on: vec![NONE; cpus],
            left: vec![Ns::ZERO; cpus],
            called: vec![false; cpus],
            due: (0..cpus).map(|_| empty()).collect(),
            turn: 0,
            computed: Ns::ZERO,
            sched,
            queues: (0..cpus).map(|_| empty()).collect(),
            interrupted: false,
            main_last: NONE,
            interrupt: NONE,
            arms: NONE,
            recent: vec![NONE; workers + 2],
            left_at: vec![Ns::ZERO; workers + 2],
            scans: true,
            searches: true,
            first_tick: Ns::ZERO,
        }
    }

    /// `t` wants to run on `last`, which is busy.
    fn wait_for_cpu(&mut self, t: u32, last: u32) {
        let cpu = last as usize;
        if t == MAIN && self.sched.main_comes_last() {
            self.main_last = last;
            return;
        }
        self.interrupted |= self.on[cpu] == MAIN && self.sched.interrupts(t, self.computed);
        self.queues[cpu].push_back(t);
    }

    /// `t`, whose sleep is over, may come before others on `cpu`.
    fn favour(&mut self, cpu: u32, t: u32) {
        let queue = &mut self.queues[cpu as usize];
        if queue.back() == Some(&t) && self.sched.favours(t, self.computed) {
            queue.rotate_right(1);
        }
    }

    /// Who runs next on `cpu`, which `t` left.
    fn next_on(&mut self, cpu: u32, t: u32, now: Ns) -> Option<u32> {
        if let Some(at) = self.left_at.get_mut(t as usize) {
            *at = now;
        }
        let next = self.queues[cpu as usize].pop_front();
        if next.is_none() && self.main_last == cpu {
            self.main_last = NONE;
            return Some(MAIN);
        }
        next.or_else(|| self.idle_balance(now))
    }

    /// `t` (or nobody) runs on `cpu`, after `first` of computing.
    fn put(&mut self, cpu: u32, t: u32, first: Ns) {
        self.on[cpu as usize] = t;
        self.left[cpu as usize] = first;
    }

    /// `cpu` has still to compute for `left`, after the next CPU has had its turn.
    fn pass(&mut self, cpu: usize, left: Ns) {
        self.left[cpu] = left;
        self.turn_after(cpu);
    }

    /// It is the turn of the CPU after `cpu`.
    fn turn_after(&mut self, cpu: usize) {
        self.turn = (cpu + 1) % self.on.len();
    }

    /// The CPU that `t`, which ran on `last`, is woken on, as the scheduler
    /// chooses it (`select_task_rq_fair`): its last one if that is idle; else
    /// that or, if much less wants to run there, the waker's; the one before its
    /// last; the next idle one. And whether it is idle.
    fn select_cpu(&mut self, t: u32, last: u32) -> (usize, bool) {
        let n = self.on.len();
        let waker = if self.interrupt == NONE { self.turn } else { self.interrupt as usize };
        if last == NONE {
            let idle = (0..n).map(|i| (waker + i) % n).find(|&c| self.on[c] == NONE);
            return (idle.unwrap_or(waker), idle.is_some());
        }
        let last = last as usize;
        if self.on[last] == NONE {
            return (last, true);
        }
        let target = if self.wanted(waker) + 1 < self.wanted(last) { waker } else { last };
        if let Some(recent) = self.recent.get_mut(t as usize) {
            let recent = std::mem::replace(recent, last as u32);
            if recent != NONE && self.on[recent as usize] == NONE {
                return (recent as usize, true);
            }
        }
        if self.scans
            && let Some(cpu) = (1..n).map(|i| (target + i) % n).find(|&c| self.on[c] == NONE)
        {
            return (cpu, true);
        }
        (target, false)
    }

    /// How many threads run or want to run on `cpu`, as others see it.
    fn wanted(&self, cpu: usize) -> usize {
        if self.called[cpu] {
            return 0;
        }
        usize::from(self.on[cpu] != NONE) + self.queues[cpu].len()
    }

    /// The idle CPU that `t` is woken on, which is called by that; else the busy
    /// one on which it waits.
    fn idle_for(&mut self, t: u32, last: u32) -> Result<usize, usize> {
        match self.select_cpu(t, last) {
            (cpu, true) => {
                self.called[cpu] = true;
                Ok(cpu)
            }
            (cpu, false) => Err(cpu),
        }
    }

    /// A thread that waits elsewhere, for a CPU that gets idle: the longest
    /// queue gives the first thread that is not hot.
    fn idle_balance(&mut self, now: Ns) -> Option<u32> {
        let seen = (0..self.on.len()).filter(|&c| !self.called[c]);
        let from = seen.max_by_key(|&c| self.queues[c].len())?;
        let cold = |&t: &u32| now - self.left_at.get(t as usize).copied().unwrap_or(now) >= HOT;
        let at = self.queues[from].iter().take(32).position(cold)?;
        self.queues[from].remove(at)
    }

    /// The CPU that computes next: from the one whose turn it is, around. It
    /// looks at its list of wake-ups first.
    fn next(&mut self) -> Option<usize> {
        let n = self.on.len();
        let busy = |&c: &usize| self.on[c] != NONE || !self.due[c].is_empty();
        let cpu = (0..n).map(|i| (self.turn + i) % n).find(busy)?;
        self.turn = cpu;
        self.called[cpu] = false;
        Some(cpu)
    }
}

impl CpuModel for Icount {
    const WAKING_A_WORKER_COSTS: bool = true;

    fn new(profile: &Profile, workers: usize) -> Icount {
        let speeds = match &profile.cpus {
            Some(Cpus::List(list)) => list.iter().map(|&s| s.max(1)).collect(),
            None | Some(Cpus::Unlimited) => Vec::new(),
        };
        let emulator = profile.emulator.clone().unwrap_or_default();
        let sched = match emulator.preempts {
            Some(true) => Sched::Cfs(Cfs::new(workers + 2)),
            _ => Sched::Eevdf(Eevdf),
        };
        Icount {
            searches: emulator.searches != Some(false),
            first_tick: Ns(emulator.first_tick.0.0.midpoint(emulator.first_tick.1.0)),
            ..Icount::with(speeds, workers, sched)
        }
    }

    /// The main thread is busy for most of a cycle, so it is on the fastest CPU.
    /// A draw of other than zero decides what is chance: the CPUs that the main
    /// thread and the workers ran on before the cycle, which decide who meets
    /// whom, and when the first tick is.
    fn begin_cycle(e: &mut Engine<'_, Self>, profile: &Profile) {
        let speeds = &e.cpus.speeds;
        let mixed = speeds.windows(2).any(|w| w[0] != w[1]);
        let fastest = (0..speeds.len()).max_by_key(|&c| speeds[c]).filter(|_| mixed);
        let mut cpu = fastest.unwrap_or(0) as u32;
        if let Some(emulator) = profile.emulator.as_ref().filter(|e| e.draw != 0) {
            let mut random = Random::new(emulator.draw);
            let mut any = || random.below(e.cpus.on.len() as u64) as u32;
            for (t, thread) in e.threads.iter_mut().enumerate().skip(1) {
                thread.last_cpu = any();
                if let Some(recent) = e.cpus.recent.get_mut(t) {
                    *recent = any();
                }
            }
            cpu = any();
            let (earliest, latest) = emulator.first_tick;
            e.cpus.first_tick = Ns(random.between(earliest.0 as u64, latest.0 as u64) as i64);
        }
        e.threads[MAIN as usize].cpu = cpu;
        e.cpus.put(cpu, MAIN, Ns::ZERO);
    }

    fn begin_phase(e: &mut Engine<'_, Self>) {
        if e.phase == Phase::ResumeNoirq && e.cpus.first_tick > Ns::ZERO {
            e.come_up();
        }
        e.cpus.turn = e.threads[MAIN as usize].cpu as usize;
    }

    fn computing_time(e: &Engine<'_, Self>, t: u32, work: Ns) -> Ns {
        at_speed(work, e.cpus.speeds[e.threads[t as usize].cpu as usize])
    }

    fn wake(e: &mut Engine<'_, Self>, t: u32, latency: Ns) {
        e.cpus.scans = e.looks_for_idle();
        match e.cpus.idle_for(t, e.threads[t as usize].last_cpu) {
            Ok(cpu) => {
                e.threads[t as usize].cpu = cpu as u32;
                e.cpus.put(cpu as u32, t, latency);
            }
            Err(cpu) => e.cpus.wait_for_cpu(t, cpu as u32),
        }
    }

    fn block(e: &mut Engine<'_, Self>, t: u32) {
        let cpu = std::mem::replace(&mut e.threads[t as usize].cpu, NONE);
        e.threads[t as usize].last_cpu = cpu;
        let next = e.cpus.next_on(cpu, t, e.now);
        if let Some(next) = next {
            e.threads[next as usize].cpu = cpu;
        }
        e.cpus.put(cpu, next.unwrap_or(NONE), e.costs.switch);
    }

    fn compute(e: &mut Engine<'_, Self>, t: u32, work: Ns) -> bool {
        let time = Icount::computing_time(e, t, work);
        let cpu = e.threads[t as usize].cpu as usize;
        let end = e.now + time;
        if e.cpus.turn == cpu && !(e.cpus.interrupted && t == MAIN) && e.events.next >= end {
            e.now = end;
            e.cpus.computed += time;
            return true;
        }
        e.cpus.left[cpu] = time;
        false
    }

    /// An emulated serial port gives the turn away now and then: at the end of
    /// each piece but the last. The emulator does so while its registers are
    /// written: seen from the guest, others run inside the callback.
    fn compute_callback(e: &mut Engine<'_, Self>, t: u32) -> Flow {
        if !e.fact(e.threads[t as usize].device, fact::GIVES_TURN_AWAY) {
            return e.compute_slice(t, |e| e.wanted_by_others(t), |e| e.give_way(t));
        }
        let thread = &mut e.threads[t as usize];
        let part = thread.left.min(PIECE);
        thread.left -= part;
        let cpu = thread.cpu as usize;
        if !std::mem::replace(&mut thread.slice_over, true) {
            return Flow::Go(part);
        }
        e.cpus.pass(cpu, part);
        Flow::Stop
    }

    /// `t` arms the timer of its sleep and goes to sleep then. If no timer of
    /// the machine is due before, QEMU looks at its clock again, and the next
    /// CPU has its turn.
    fn sleep(e: &mut Engine<'_, Self>, t: u32, time: Ns) -> Flow {
        let tick = e.low_resolution(t);
        let time = time.max(tick);
        let due = e.now + time;
        let first = tick <= Ns::ZERO && e.events.next > due;
        e.after_sleep(t, time);
        e.threads[t as usize].step = Step::CallbackDozes;
        if !first {
            return Flow::Go(e.costs.switch);
        }
        let cpu = e.threads[t as usize].cpu as usize;
        e.cpus.pass(cpu, e.costs.switch);
        Flow::Stop
    }

    /// While the owner of the mutex is on a CPU a thread spins, and its pauses
    /// pass the turn on; otherwise it sleeps.
    fn contend(e: &mut Engine<'_, Self>, t: u32, l: u32, step: Step) {
        let thread = &mut e.threads[t as usize];
        thread.wants = (l, step);
        thread.step = Step::MutexLock;
        let owner = e.mutexes[l as usize].owner;
        if e.threads[owner as usize].cpu != NONE {
            e.pause(t);
        } else {
            e.mutex_sleep(t, l);
        }
    }

    fn lock_again(e: &mut Engine<'_, Self>, t: u32) -> Flow {
        let (l, step) = e.threads[t as usize].wants;
        let mutex = &mut e.mutexes[l as usize];
        if mutex.owner == t || mutex.owner == NONE {
            mutex.owner = t;
            e.owe(t, e.costs.lock);
            return e.go(t, step, Ns::ZERO);
        }
        if e.threads[mutex.owner as usize].cpu == NONE {
            // It came too late; the next release waits for it.
            mutex.hand_off = true;
        }
        Icount::contend(e, t, l, step);
        Flow::Stop
    }

    /// The mutex is free; the first that sleeps for it is woken, and has it only
    /// if it missed it once.
    fn mutex_unlock(e: &mut Engine<'_, Self>, l: u32) {
        let mutex = &mut e.mutexes[l as usize];
        mutex.owner = NONE;
        let next = pop_waiter(&mut mutex.waiters, &e.threads);
        if next == NONE {
            return;
        }
        if std::mem::take(&mut mutex.hand_off) {
            mutex.owner = next;
        }
        e.unpark(next);
        e.wake(next);
    }

    /// kthreadd computes meanwhile, on the same computing thread.
    fn wait_for_kthreadd(_: &mut Engine<'_, Self>, _: u32, time: Ns) -> Flow {
        Flow::Go(time)
    }

    /// The worker slept until kthreadd was done: another CPU had its turn.
    fn kthreadd_made(e: &mut Engine<'_, Self>, t: u32, new: u32) -> Flow {
        e.cpus.sched.made(new, e.cpus.computed);
        e.wake(new);
        e.pause(t);
        Flow::Stop
    }

    /// It slept until kthreadd was done, as a worker does.
    /// Computes on the CPU whose turn it is, to the end of the step or to the
    /// next timer.
    fn advance(e: &mut Engine<'_, Self>) -> Result<(), Ended> {
        let due = e.events.next.max(e.now);
        let Some(cpu) = e.next_cpu() else {
            return e.timers();
        };
        let left = e.cpus.left[cpu];
        if due < e.now + left {
            e.cpus.left[cpu] -= due - e.now;
            e.cpus.computed += due - e.now;
            return e.timers();
        }
        e.cpus.left[cpu] = Ns::ZERO;
        e.now += left;
        e.cpus.computed += left;
        if e.now > e.limit {
            return Err(Ended::Late);
        }
        let t = e.cpus.on[cpu];
        // Who is about to sleep leaves the CPU anyway.
        let dozes = e.threads[t as usize].step == Step::CallbackDozes;
        if t == MAIN && !dozes && std::mem::take(&mut e.cpus.interrupted) {
            if !e.cpus.queues[cpu].is_empty() {
                e.cpus.main_last = cpu as u32;
                e.block(MAIN);
            }
            return Ok(());
        }
        e.run_thread(t);
        Ok(())
    }
}

impl Engine<'_, Icount> {
    /// The other CPUs were down, so the main thread ran on the first for a
    /// while. Workers slept through it: they are where they were.
    fn come_up(&mut self) {
        let main = self.threads[MAIN as usize].cpu;
        self.cpus.recent[MAIN as usize] = 0;
        if main == 0 {
            return;
        }
        // Whoever has still to leave the first CPU does that on the other one.
        let (other, left) = (self.cpus.on[0], self.cpus.left[0]);
        self.cpus.put(main, other, left);
        self.cpus.put(0, MAIN, Ns::ZERO);
        self.threads[MAIN as usize].cpu = 0;
        if other != NONE {
            self.threads[other as usize].cpu = main;
        }
    }

    /// The CPU that computes next. It handles its timers first, and may lose its
    /// turn by that.
    fn next_cpu(&mut self) -> Option<usize> {
        loop {
            let cpu = self.cpus.next()?;
            while let Some(t) = self.cpus.due[cpu].pop_front() {
                self.handle_timer(t, cpu as u32);
            }
            if self.cpus.arms != cpu as u32 {
                return Some(cpu);
            }
            self.cpus.arms = NONE;
            self.cpus.turn_after(cpu);
        }
    }

    /// The timers that are due; the turn goes to the next CPU. A CPU that
    /// handles its timer arms its next one; if that is the next of the machine
    /// it loses its turn as when a thread goes to sleep.
    fn timers(&mut self) -> Result<(), Ended> {
        let cpu = self.next_timer();
        if self.cpus.on[self.cpus.turn] != NONE {
            self.cpus.turn_after(self.cpus.turn);
        }
        // Its CPU is interrupted when it has its turn.
        let mut next = Some(self.next_moment()?);
        while let Some(t) = next {
            let cpu = self.timer_cpu(t) as usize;
            self.cpus.due[cpu].push_back(t);
            next = self.events.pop_until(self.now);
        }
        self.cpus.arms = if self.next_timer() == cpu { cpu } else { NONE };
        Ok(())
    }

    /// The CPU whose timer is due next.
    fn next_timer(&self) -> u32 {
        self.events.first_thread().map_or(NONE, |t| self.timer_cpu(t))
    }

    /// The CPU on which `t` has armed its timer.
    fn timer_cpu(&self, t: u32) -> u32 {
        let thread = &self.threads[t as usize];
        if thread.cpu == NONE { thread.last_cpu } else { thread.cpu }
    }

    /// `cpu` handles the timer that ends the sleep of `t`. If that has not got
    /// around to leaving its CPU it goes on; if somebody was to run there, he
    /// loses what the late end of a sleep takes beyond the switch to `t`.
    fn handle_timer(&mut self, t: u32, cpu: u32) {
        let cost = (self.costs.oversleep - self.costs.switch).max(Ns::ZERO);
        let thread = &mut self.threads[t as usize];
        if thread.cpu != NONE && thread.step == Step::CallbackDozes {
            thread.step = Step::CallbackSlept;
            self.cpus.left[cpu as usize] += cost;
            return;
        }
        let idle = self.cpus.on[cpu as usize] == NONE;
        self.cpus.interrupt = cpu;
        Icount::wake(self, t, if idle { self.costs.oversleep } else { self.costs.wake });
        self.cpus.interrupt = NONE;
        if idle {
            // It sees at once whom it woke.
            self.cpus.called[cpu as usize] = false;
        } else {
            self.cpus.left[cpu as usize] += cost;
            self.cpus.favour(cpu, t);
        }
    }

    /// How long `t` must sleep at least: a CPU that came up has no
    /// high-resolution timers before its first tick. CPUs come up one after the
    /// other, so when devices are resumed only the last one still waits.
    fn low_resolution(&self, t: u32) -> Ns {
        let last = self.cpus.speeds.len() - 1;
        let cpu = self.threads[t as usize].cpu as usize;
        if self.phase != Phase::ResumeNoirq
            || self.cpus.first_tick <= Ns::ZERO
            || last == 0
            || cpu != last
        {
            return Ns::ZERO;
        }
        self.phase_start + self.cpus.first_tick - self.now
    }

    /// Whether the scheduler looks for an idle CPU beyond the last two of a
    /// thread.
    fn looks_for_idle(&self) -> bool {
        self.cpus.searches
            || self.phase != Phase::ResumeNoirq
            || self.now >= self.phase_start + self.cpus.first_tick
    }

    /// Whether somebody waits for the CPU of `t`.
    fn wanted_by_others(&self, t: u32) -> bool {
        !self.cpus.queues[self.threads[t as usize].cpu as usize].is_empty()
    }

    /// `t` gives its CPU to who waits for it, and waits for it then.
    fn give_way(&mut self, t: u32) {
        self.block(t);
        self.cpus.wait_for_cpu(t, self.threads[t as usize].last_cpu);
    }

    /// `t` spins once: it stays on its CPU and the next one has its turn.
    fn pause(&mut self, t: u32) {
        let cpu = self.threads[t as usize].cpu as usize;
        self.cpus.pass(cpu, SPIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cpus: usize, sched: Sched) -> Icount {
        Icount::with(vec![1000; cpus], 4, sched)
    }

    #[test]
    fn wake_ups_that_a_cpu_has_not_seen_are_not_pulled_from_it() {
        let mut s = with(2, Sched::Eevdf(Eevdf));
        s.put(0, MAIN, Ns::ZERO);
        // Worker 2 is woken on idle CPU 1, then worker 3, which was there last.
        assert_eq!(s.idle_for(2, 1), Ok(1));
        s.put(1, 2, Ns::ZERO);
        assert_eq!(s.idle_for(3, 1), Err(1));
        s.wait_for_cpu(3, 1);
        // CPU 0 has nothing left: to it, CPU 1 has nothing to give.
        s.put(0, NONE, Ns::ZERO);
        assert_eq!(s.idle_balance(Ns::from_ms(1)), None);
        // CPU 1 has its turn, and now runs one thread with another waiting.
        assert_eq!(s.next(), Some(1));
        assert_eq!(s.idle_balance(Ns::from_ms(1)), Some(3));
    }

    #[test]
    fn a_cpu_with_a_timer_due_is_idle_until_its_turn() {
        let mut s = with(2, Sched::Eevdf(Eevdf));
        s.put(0, MAIN, Ns::ZERO);
        s.due[1].push_back(2);
        assert_eq!(s.idle_for(3, 1), Ok(1), "others take it for idle");
        s.put(1, NONE, Ns::ZERO);
        s.put(0, NONE, Ns::ZERO);
        assert_eq!(s.next(), Some(1), "it has something to do");
    }

    #[test]
    fn new_workers_interrupt_once_others_have_computed_a_slice() {
        let mut s = with(1, Sched::Cfs(Cfs::new(6)));
        s.put(0, MAIN, Ns::ZERO);
        s.sched.made(3, s.computed);
        s.computed += Ns(2_999_999);
        s.wait_for_cpu(3, 0);
        assert!(!s.interrupted);
        s.wait_for_cpu(2, 0);
        assert!(std::mem::take(&mut s.interrupted), "it was there before the cycle");
        s.computed += Ns(1);
        s.wait_for_cpu(3, 0);
        assert!(s.interrupted);
        let mut fair = with(1, Sched::Eevdf(Eevdf));
        fair.put(0, MAIN, Ns::ZERO);
        fair.wait_for_cpu(2, 0);
        assert!(!fair.interrupted, "from 6.6 on nobody does");
    }
}
