//! One computing thread for all CPUs: how QEMU runs several virtual CPUs under
//! instruction counting.
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
//! Because only one CPU gets on at a time, things matter here that the engine
//! otherwise leaves out. A CPU that is called while it is idle sees that only
//! when it has its turn, and until then nobody can take threads from it
//! (`ttwu_queue_wakelist`); so it is with its timers. A mutex that is released
//! is free, and whoever runs takes it, before the thread that was woken for it
//! comes: otherwise every worker would queue up behind a sleeping owner. And
//! before 6.6 the scheduler (CFS) let a thread that had slept for long run
//! before the one that woke it: workers left from the cycle before interrupt
//! the main thread.

use super::*;
use dormouse_stats::random::Random;

/// One turn of a spinning loop.
const SPIN: i64 = 50;

/// Between two moments at which an emulated serial port gives the turn away.
/// Resuming the guest's takes 13 us when nobody else runs; in traces of 7.3 with
/// the scheduler's events others get in about three times.
const PIECE: i64 = 4_500;

/// How much the others compute before a new thread comes before them: its share
/// of a period of 6 ms beside two others, and 1 ms.
const DEBIT: i64 = 3_000_000;

pub(super) struct Shared {
    /// The thread that each CPU runs; NONE if it is idle.
    on: Vec<u32>,
    /// What it has still to compute before its next step.
    left: Vec<i64>,
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
    computed: i64,
    /// What was computed when each worker was made.
    made_at: Vec<i64>,
    /// The scheduler is that of kernels before 6.6.
    cfs: bool,
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
    left_at: Vec<i64>,
    /// Idle CPUs are looked for.
    pub(super) scans: bool,
}

impl Shared {
    pub(super) fn new(cpus: usize, workers: usize, cfs: bool) -> Shared {
        Shared {
            on: vec![NONE; cpus],
            left: vec![0; cpus],
            called: vec![false; cpus],
            due: (0..cpus).map(|_| VecDeque::with_capacity(workers + 1)).collect(),
            turn: 0,
            computed: 0,
            made_at: vec![i64::MIN / 2; workers + 2],
            cfs,
            queues: (0..cpus).map(|_| VecDeque::with_capacity(workers + 1)).collect(),
            interrupted: false,
            main_last: NONE,
            interrupt: NONE,
            arms: NONE,
            recent: vec![NONE; workers + 2],
            left_at: vec![0; workers + 2],
            scans: true,
        }
    }

    /// `t` wants to run on `last`, which is busy.
    pub(super) fn wait_for_cpu(&mut self, t: u32, last: u32) {
        let cpu = last as usize;
        if t == MAIN && self.cfs {
            self.main_last = cpu as u32;
            return;
        }
        self.interrupted |= self.is_old(t) && self.on[cpu] == MAIN;
        self.queues[cpu].push_back(t);
    }

    /// Worker `t` was made.
    pub(super) fn made(&mut self, t: u32) {
        if let Some(at) = self.made_at.get_mut(t as usize) {
            *at = self.computed;
        }
    }

    /// Whether worker `t` interrupts the main thread. CFS lets a new thread begin
    /// a slice behind the others (`START_DEBIT`): only when they have computed
    /// for that slice and the granularity of a wake-up does it come before them.
    fn is_old(&self, t: u32) -> bool {
        let at = self.made_at.get(t as usize).copied().unwrap_or(0);
        self.cfs && self.computed - at >= DEBIT
    }

    /// CFS has counted little time for a young worker that slept: it comes
    /// before those that were just made.
    fn favour(&mut self, cpu: u32, t: u32) {
        if self.cfs && !self.is_old(t) && self.queues[cpu as usize].back() == Some(&t) {
            self.queues[cpu as usize].rotate_right(1);
        }
    }

    /// Who runs next on `cpu`, which `t` left.
    pub(super) fn next_on(&mut self, cpu: u32, t: u32, now: i64) -> Option<u32> {
        if let Some(at) = self.left_at.get_mut(t as usize) {
            *at = now;
        }
        let next = self.queues[cpu as usize].pop_front();
        if next.is_none() && self.main_last == cpu {
            self.main_last = NONE;
            return Some(MAIN);
        }
        next.or_else(|| self.pull(now))
    }

    /// `t` (or nobody) runs on `cpu`, after `first` of computing.
    pub(super) fn put(&mut self, cpu: u32, t: u32, first: i64) {
        self.on[cpu as usize] = t;
        self.left[cpu as usize] = first;
    }

    /// `cpu` has still to compute for `left`, after the next CPU has had its turn.
    fn pass(&mut self, cpu: usize, left: i64) {
        self.left[cpu] = left;
        self.turn_after(cpu);
    }

    /// It is the turn of the CPU after `cpu`.
    fn turn_after(&mut self, cpu: usize) {
        self.turn = (cpu + 1) % self.on.len();
    }

    /// It is the turn of `cpu`.
    pub(super) fn give_turn(&mut self, cpu: u32) {
        self.turn = cpu as usize;
    }

    /// The CPU that `t`, which ran on `last`, is woken on, as the scheduler
    /// chooses it (`select_task_rq_fair`): its last one if that is idle; else
    /// that or, if much less wants to run there, the waker's; the one before its
    /// last; the next idle one. And whether it is idle.
    fn place(&mut self, t: u32, last: u32) -> (usize, bool) {
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
            let recent = core::mem::replace(recent, last as u32);
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
    pub(super) fn idle_for(&mut self, t: u32, last: u32) -> Result<usize, usize> {
        match self.place(t, last) {
            (cpu, true) => {
                self.called[cpu] = true;
                Ok(cpu)
            }
            (cpu, false) => Err(cpu),
        }
    }

    /// A thread that waits elsewhere, for a CPU that gets idle: the longest
    /// queue gives the first thread that has not run for half a millisecond
    /// (`sched_migration_cost`); others are hot in a cache.
    fn pull(&mut self, now: i64) -> Option<u32> {
        const HOT: i64 = 500_000;
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

impl Engine<'_> {
    /// Draws what is chance: the CPUs that the main thread and the workers ran on
    /// before the cycle, which decide who meets whom, and when the first tick is.
    pub(super) fn draw(&mut self, seed: u64, (earliest, latest): (Ns, Ns)) {
        let Some(shared) = &mut self.shared else { return };
        if seed == 0 {
            return;
        }
        let mut random = Random::new(seed);
        let mut any = || random.below(shared.on.len() as u64) as u32;
        let main = self.threads[MAIN as usize].cpu;
        for (t, thread) in self.threads.iter_mut().enumerate().skip(1) {
            thread.last_cpu = any();
            if let Some(recent) = shared.recent.get_mut(t) {
                *recent = any();
            }
        }
        let cpu = any();
        shared.put(main, NONE, 0);
        shared.put(cpu, MAIN, 0);
        self.threads[MAIN as usize].cpu = cpu;
        self.first_tick = random.between(earliest.0 as u64, latest.0 as u64) as i64;
    }

    /// The other CPUs were down, so the main thread ran on the first for a
    /// while. Workers slept through it: they are where they were.
    pub(super) fn come_up(&mut self) {
        let main = self.threads[MAIN as usize].cpu;
        let Some(shared) = &mut self.shared else { return };
        shared.recent[MAIN as usize] = 0;
        if main == 0 {
            return;
        }
        // Whoever has still to leave the first CPU does that on the other one.
        let (other, left) = (shared.on[0], shared.left[0]);
        shared.put(main, other, left);
        shared.put(0, MAIN, 0);
        self.threads[MAIN as usize].cpu = 0;
        if other != NONE {
            self.threads[other as usize].cpu = main;
        }
    }

    /// Computes on the CPU whose turn it is, to the end of the step or to the
    /// next timer.
    pub(super) fn take_turn(&mut self) -> Result<(), Ended> {
        let due = self.events.peek().map(|e| e.time().max(self.now));
        let cpu = self.next_cpu();
        let Some(shared) = &mut self.shared else { return Err(Ended::Deadlock) };
        match (cpu, due) {
            (None, None) => Err(Ended::Deadlock),
            (None, Some(_)) => self.timers(),
            (Some(cpu), Some(due)) if due < self.now.saturating_add(shared.left[cpu]) => {
                shared.left[cpu] -= due - self.now;
                shared.computed += due - self.now;
                self.timers()
            }
            (Some(cpu), _) => {
                let time = core::mem::take(&mut shared.left[cpu]);
                self.now = self.now.saturating_add(time);
                shared.computed = shared.computed.saturating_add(time);
                if self.now > self.limit {
                    return Err(Ended::Late);
                }
                let t = shared.on[cpu];
                // Who is about to sleep leaves the CPU anyway.
                let dozes = self.threads[t as usize].step == Step::Doze;
                if t == MAIN && !dozes && core::mem::take(&mut shared.interrupted) {
                    if !shared.queues[cpu].is_empty() {
                        shared.main_last = cpu as u32;
                        self.block(MAIN);
                    }
                    return Ok(());
                }
                self.run_thread(t);
                Ok(())
            }
        }
    }

    /// The CPU that computes next. It handles its timers first, and may lose its
    /// turn by that.
    fn next_cpu(&mut self) -> Option<usize> {
        loop {
            let shared = self.shared.as_mut()?;
            let cpu = shared.next()?;
            while let Some(t) = self.shared.as_mut()?.due[cpu].pop_front() {
                self.handle_timer(t, cpu as u32);
            }
            let shared = self.shared.as_mut()?;
            if shared.arms != cpu as u32 {
                return Some(cpu);
            }
            shared.arms = NONE;
            shared.turn_after(cpu);
        }
    }

    /// The timers that are due; the turn goes to the next CPU. A CPU that
    /// handles its timer arms its next one; if that is the next of the machine
    /// it loses its turn as in [`Engine::doze`].
    fn timers(&mut self) -> Result<(), Ended> {
        let cpu = self.next_timer();
        if let Some(shared) = &mut self.shared
            && shared.on[shared.turn] != NONE
        {
            shared.turn_after(shared.turn);
        }
        self.next_moment()?;
        let next = self.next_timer();
        if let Some(shared) = &mut self.shared {
            shared.arms = if next == cpu { cpu } else { NONE };
        }
        Ok(())
    }

    /// The CPU whose timer is due next.
    fn next_timer(&self) -> u32 {
        let thread = self.events.peek().map(|e| &self.threads[e.thread() as usize]);
        thread.map_or(NONE, |t| if t.cpu == NONE { t.last_cpu } else { t.cpu })
    }

    /// Mutex `l` is taken. While its owner is on a CPU a thread spins, and
    /// its pauses pass the turn on; otherwise it sleeps.
    pub(super) fn contend(&mut self, t: u32, l: u32, step: Step) -> Flow {
        let thread = &mut self.threads[t as usize];
        thread.wants = (l, step);
        thread.step = Step::Relock;
        let owner = self.locks[l as usize].owner;
        if self.threads[owner as usize].cpu != NONE {
            return self.pause(t);
        }
        if l == LIST_LOCK {
            self.tally.blocked_on_list += 1;
        } else {
            self.tally.blocked_on_lock += 1;
        }
        push_waiter(&mut self.locks[l as usize].waiters, &mut self.threads, t);
        self.park(t);
        self.block(t);
        Flow::Stop
    }

    /// Whether somebody waits for the CPU of `t`.
    pub(super) fn contended(&self, t: u32) -> bool {
        match &self.shared {
            Some(s) => !s.queues[self.threads[t as usize].cpu as usize].is_empty(),
            None => !self.cpu_queue.is_empty(),
        }
    }

    /// `t` gives its CPU to who waits for it, and waits for it then.
    pub(super) fn queue_again(&mut self, t: u32) {
        self.block(t);
        match &mut self.shared {
            Some(s) => s.wait_for_cpu(t, self.threads[t as usize].last_cpu),
            None => self.cpu_queue.push_back(t),
        }
    }

    /// `t` armed the timer of its sleep and goes to sleep now. If no timer of
    /// the machine is due before, QEMU looks at its clock again, and the next
    /// CPU has its turn.
    pub(super) fn doze(&mut self, t: u32, time: i64, armed: bool) -> Flow {
        let due = self.now.saturating_add(time);
        let first = armed && self.events.peek().is_none_or(|e| e.time() > due);
        self.after(t, time);
        self.threads[t as usize].step = Step::Doze;
        let cpu = self.threads[t as usize].cpu as usize;
        match &mut self.shared {
            Some(shared) if first => {
                shared.pass(cpu, self.costs.switch.0);
                Flow::Stop
            }
            _ => Flow::Go(self.costs.switch),
        }
    }

    /// The sleep of `t` is over: its CPU is interrupted when it has its turn.
    pub(super) fn timer(&mut self, t: u32) {
        let thread = &self.threads[t as usize];
        let cpu = if thread.cpu == NONE { thread.last_cpu } else { thread.cpu };
        if let Some(shared) = &mut self.shared {
            shared.due[cpu as usize].push_back(t);
        }
    }

    /// `cpu` handles the timer that ends the sleep of `t`. If that has not got
    /// around to leaving its CPU it goes on; if somebody was to run there, he
    /// loses what the late end of a sleep takes beyond the switch to `t`.
    fn handle_timer(&mut self, t: u32, cpu: u32) {
        let cost = (self.costs.oversleep - self.costs.switch).0.max(0);
        let thread = &mut self.threads[t as usize];
        let Some(shared) = &mut self.shared else { return };
        if thread.cpu != NONE && thread.step == Step::Doze {
            thread.step = Step::Slept;
            shared.left[cpu as usize] += cost;
            return;
        }
        let idle = shared.on[cpu as usize] == NONE;
        shared.interrupt = cpu;
        self.runnable(t, if idle { self.costs.oversleep.0 } else { self.costs.wake.0 });
        if let Some(shared) = &mut self.shared {
            shared.interrupt = NONE;
            if idle {
                // It sees at once whom it woke.
                shared.called[cpu as usize] = false;
            } else {
                shared.left[cpu as usize] += cost;
                shared.favour(cpu, t);
            }
        }
    }

    /// `t` spins once: it stays on its CPU and the next one has its turn.
    pub(super) fn pause(&mut self, t: u32) -> Flow {
        let cpu = self.threads[t as usize].cpu as usize;
        if let Some(shared) = &mut self.shared {
            shared.pass(cpu, SPIN);
        }
        Flow::Stop
    }

    /// `t` runs the callback of a device that gives the turn away now and then:
    /// at the end of each piece but the last.
    pub(super) fn piece(&mut self, t: u32) -> Flow {
        let thread = &mut self.threads[t as usize];
        let part = thread.left.min(PIECE);
        thread.left -= part;
        let cpu = thread.cpu as usize;
        if !core::mem::replace(&mut thread.slice_over, true) {
            return Flow::Go(Ns(part));
        }
        if let Some(shared) = &mut self.shared {
            shared.pass(cpu, part);
        }
        Flow::Stop
    }

    /// Tries again to get the mutex.
    pub(super) fn relock(&mut self, t: u32) -> Flow {
        let (l, step) = self.threads[t as usize].wants;
        let lock = &mut self.locks[l as usize];
        if lock.owner == t || lock.owner == NONE {
            lock.owner = t;
            return self.owe(t, step, self.costs.lock);
        }
        if self.threads[lock.owner as usize].cpu == NONE {
            // It came too late; the next release waits for it.
            lock.hand_off = true;
        }
        self.contend(t, l, step)
    }

    /// Releases mutex `l` and wakes the first that sleeps for it.
    pub(super) fn unlock_shared(&mut self, l: u32) {
        let lock = &mut self.locks[l as usize];
        lock.owner = NONE;
        let next = pop_waiter(&mut lock.waiters, &self.threads);
        if next == NONE {
            return;
        }
        if core::mem::take(&mut lock.hand_off) {
            lock.owner = next;
        }
        self.unpark(next);
        self.wake(next);
    }

    /// Lets `t` compute. True if it could at once.
    pub(super) fn spend_shared(&mut self, t: u32, time: i64) -> bool {
        let cpu = self.threads[t as usize].cpu as usize;
        let end = self.now.saturating_add(time);
        let Some(shared) = &mut self.shared else { return true };
        if shared.turn == cpu
            && !(shared.interrupted && t == MAIN)
            && self.events.peek().is_none_or(|e| e.time() >= end)
        {
            self.now = end;
            shared.computed = shared.computed.saturating_add(time);
            return true;
        }
        shared.left[cpu] = time;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_that_a_cpu_has_not_seen_are_not_pulled_from_it() {
        let mut s = Shared::new(2, 4, false);
        s.put(0, MAIN, 0);
        // Worker 2 is woken on idle CPU 1, then worker 3, which was there last.
        assert_eq!(s.idle_for(2, 1), Ok(1));
        s.put(1, 2, 0);
        assert_eq!(s.idle_for(3, 1), Err(1));
        s.wait_for_cpu(3, 1);
        // CPU 0 has nothing left: to it, CPU 1 has nothing to give.
        s.put(0, NONE, 0);
        assert_eq!(s.pull(1_000_000), None);
        // CPU 1 has its turn, and now runs one thread with another waiting.
        assert_eq!(s.next(), Some(1));
        assert_eq!(s.pull(1_000_000), Some(3));
    }

    #[test]
    fn a_cpu_with_a_timer_due_is_idle_until_its_turn() {
        let mut s = Shared::new(2, 4, false);
        s.put(0, MAIN, 0);
        s.due[1].push_back(2);
        assert_eq!(s.idle_for(3, 1), Ok(1), "others take it for idle");
        s.put(1, NONE, 0);
        s.put(0, NONE, 0);
        assert_eq!(s.next(), Some(1), "it has something to do");
    }

    #[test]
    fn new_workers_interrupt_once_others_have_computed_a_slice() {
        let mut s = Shared::new(1, 4, true);
        s.put(0, MAIN, 0);
        s.made(3);
        s.computed += DEBIT - 1;
        s.wait_for_cpu(3, 0);
        assert!(!s.interrupted);
        s.wait_for_cpu(2, 0);
        assert!(core::mem::take(&mut s.interrupted), "it was there before the cycle");
        s.computed += 1;
        s.wait_for_cpu(3, 0);
        assert!(s.interrupted);
        let mut fair = Shared::new(1, 4, false);
        fair.put(0, MAIN, 0);
        fair.wait_for_cpu(2, 0);
        assert!(!fair.interrupted, "from 6.6 on nobody does");
    }
}
