//! The mechanism: threads, CPUs, mutexes, completions, the worker pool and the
//! event queue. Deterministic, integer time, and without allocation once a
//! cycle runs.
//!
//! Every thread is a small state machine ([`Step`]); [`Engine::run_thread`]
//! steps it until it blocks or until its time must pass. Ties are broken as
//! follows: at equal time the main thread goes first; threads that were woken
//! run in the order of their wake-ups; a completion wakes its waiters in the
//! order in which they came; workers take items in the order of queueing.

mod locks;
mod main_thread;
mod pool;
mod routine;
mod serial;
mod shared;

use super::cost::{Costs, Cpus};
use super::counts::Tally;
use super::policy::{Policy, Walk};
use super::topology::{Edges, NONE, Topology, fact};
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use dormouse_model::cycle::{Callback, ThreadId};
use dormouse_model::device::DeviceId;
use dormouse_model::names::Sym;
use dormouse_model::phase::{Direction, Phase, PmEvent};
use dormouse_model::time::Ns;
use locks::{pop_waiter, push_waiter};
use pool::Pool;
use shared::Shared;

/// The main thread's number.
pub(super) const MAIN: u32 = 0;
/// `dpm_list_mtx`; the board's own locks follow.
const LIST_LOCK: u32 = 0;

/// State of a device that phases change.
pub(super) mod state {
    /// Its completion is done.
    pub(crate) const DONE: u16 = 1;
    /// `work_in_progress`: queued, or claimed by the main thread.
    pub(crate) const WIP: u16 = 2;
    /// May run in a worker in this phase.
    pub(crate) const ASYNC: u16 = 4;
    /// On the list that this phase walks.
    pub(crate) const LISTED: u16 = 8;
    pub(crate) const SUSPENDED: u16 = 16;
    pub(crate) const LATE: u16 = 32;
    pub(crate) const NOIRQ: u16 = 64;
    pub(crate) const DIRECT: u16 = 128;
    pub(crate) const WAKEUP_PATH: u16 = 256;
    /// The main thread sleeps until this device is ready.
    pub(crate) const AWAITED: u16 = 512;
}

#[derive(Clone, Copy, Debug)]
struct Device {
    flags: u16,
    /// Which list it is on: 0 `dpm_list` … 4 `dpm_noirq_list`.
    level: u8,
    /// Position in its dependencies (waiting) or dependents (triggering).
    at: u32,
    /// Whose trigger runs this device in place; NONE if a thread's own.
    caller: u32,
    /// Dependencies that are not done.
    missing: u32,
    /// Threads that wait for its completion, first and last.
    waiters: (u32, u32),
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    // Main thread.
    Begin,
    First,
    Walk,
    WalkUnlocked,
    WalkBack,
    InOrder,
    FirstReady,
    Barrier,
    Finished,
    // The phase routine of one device, in any thread.
    Enter,
    WaitUnlock,
    Waits,
    Checks,
    Callback,
    Compute,
    Sleep,
    Doze,
    Slept,
    CallbackEnd,
    Complete,
    Trigger,
    TriggerTree,
    TriggerLinks,
    TriggerReady,
    Return,
    // Worker.
    Idle,
    Woken,
    Recheck,
    Created,
    Take,
    ItemDone,
    // Any thread that found a mutex taken.
    Relock,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    step: Step,
    /// Where the routine returns to when nobody called it in place.
    home: Step,
    device: u32,
    /// The routine runs for an asynchronous device.
    asynchronous: bool,
    /// The CPU it holds, and the last one it held.
    cpu: u32,
    last_cpu: u32,
    /// Next in the list of waiters it is on.
    next: u32,
    /// The mutex it tries to get, and what it does then.
    wants: (u32, Step),
    /// Index of the callback it runs.
    record: u32,
    /// Computing time left.
    left: i64,
    /// Computing that it has not paid for yet.
    owed: Ns,
    /// Has computed for a whole slice.
    slice_over: bool,
    /// Occupied by an item but waiting.
    parked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Lock {
    owner: u32,
    /// The next release gives it to the first waiter, who missed it once.
    hand_off: bool,
    waiters: (u32, u32),
}

/// A moment at which a thread goes on, in one comparable word: the time, then
/// the main thread before others, then in order of making; the thread's number
/// below that. Reversed, because the heap gives the greatest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event(Reverse<u128>);

impl Event {
    /// Bits of the thread's number, and of the sequence above it.
    const THREAD: u32 = 24;
    const SEQUENCE: u32 = 39;

    fn new(time: i64, sequence: u64, thread: u32) -> Event {
        let others = u64::from(thread != MAIN) << (Event::THREAD + Event::SEQUENCE);
        let sequence = (sequence & ((1 << Event::SEQUENCE) - 1)) << Event::THREAD;
        let order = others | sequence | u64::from(thread);
        Event(Reverse(u128::from(time.max(0) as u64) << 64 | u128::from(order)))
    }

    fn time(self) -> i64 {
        (self.0.0 >> 64) as i64
    }

    fn thread(self) -> u32 {
        self.0.0 as u32 & ((1 << Event::THREAD) - 1)
    }
}

/// What a step leads to.
enum Flow {
    /// The next step, after this much computing.
    Go(Ns),
    /// The next step at once; the thread computes this much with its next `Go`.
    /// For costs too small to be worth an event of their own.
    Owe(Ns),
    /// The thread blocked, or an event will continue it.
    Stop,
}

const GO: Flow = Flow::Go(Ns::ZERO);

/// One machine on its way through a cycle.
pub(super) struct Engine<'a> {
    topology: &'a Topology,
    policy: &'a Policy,
    costs: &'a Costs,
    /// Devices may run in workers.
    asynchronous: bool,
    slice: i64,
    wakeup_at: Option<i64>,
    /// Edge kinds that are waited for, a bit each.
    wait_mask: u8,
    /// A cycle that lasts longer is of no interest.
    pub(super) limit: i64,

    pub(super) now: i64,
    /// The thread that takes its steps.
    stepping: u32,
    sequence: u64,
    events: BinaryHeap<Event>,
    ready: VecDeque<u32>,
    main_ready: bool,
    threads: Vec<Thread>,
    devices: Vec<Device>,
    locks: Vec<Lock>,
    pool: Pool,

    /// Speed of each CPU; empty for unlimited.
    speeds: Vec<u32>,
    /// CPUs differ in speed.
    mixed: bool,
    idle_cpus: Vec<u64>,
    cpu_queue: VecDeque<u32>,
    /// All CPUs share one computing thread.
    shared: Option<Shared>,
    /// Timers of the last CPU wait for its first tick this long into resume
    /// noirq.
    first_tick: i64,
    /// The scheduler looks for idle CPUs before that tick.
    searches: bool,

    // The phase that runs.
    phase: Phase,
    phase_start: i64,
    index: usize,
    event: PmEvent,
    direction: Direction,
    walk: Walk,
    order: Vec<u32>,
    cursor: usize,
    /// Synchronous devices with something to run that are ready, by position.
    ready_sync: BinaryHeap<Reverse<u32>>,
    main_waits: bool,
    main_at_barrier: bool,
    broke: bool,
    pub(super) error: Option<Failure>,

    pub(super) callbacks: Vec<Callback>,
    pub(super) tally: Tally,
}

/// Why a phase failed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Device { device: u32, errno: i32 },
    Wakeup,
}

/// Why a phase did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// No event is left: threads wait for one another.
    Deadlock,
    /// It takes longer than [`Engine::limit`].
    Late,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        policy: &'a Policy,
        settings: &'a super::Settings,
    ) -> Engine<'a> {
        let n = topology.len();
        let costs = &settings.profile.costs;
        let speeds = match &settings.profile.cpus {
            None | Some(Cpus::Unlimited) => Vec::new(),
            Some(Cpus::List(list)) => list.iter().map(|&s| s.max(1)).collect(),
        };
        let asynchronous = policy.workers && settings.pm_async.unwrap_or(topology.pm_async);
        let max_active = settings.profile.max_active.unwrap_or(u32::MAX).max(1);
        let workers = if asynchronous {
            n.min(max_active as usize) + settings.profile.idle_workers as usize + 2
        } else {
            1
        };
        let mut wait_mask = 1;
        for kind in [
            dormouse_model::device::LinkKind::Stateless,
            dormouse_model::device::LinkKind::Active,
            dormouse_model::device::LinkKind::Dormant,
            dormouse_model::device::LinkKind::SyncStateOnly,
        ] {
            if policy.waits_for(kind) {
                wait_mask |= 1 << super::topology::kind_number(kind);
            }
        }
        let mut idle_cpus = vec![0u64; speeds.len().div_ceil(64)];
        for cpu in 0..speeds.len() {
            idle_cpus[cpu / 64] |= 1 << (cpu % 64);
        }
        let (earliest, latest) = settings.profile.first_tick;
        let mut e = Engine {
            topology,
            policy,
            costs,
            asynchronous,
            slice: settings.profile.slice.0,
            wakeup_at: settings.wakeup_at.map(|t| t.0),
            wait_mask,
            limit: i64::MAX,
            now: 0,
            stepping: MAIN,
            sequence: 0,
            events: BinaryHeap::with_capacity(workers + 1),
            ready: VecDeque::with_capacity(workers + 1),
            main_ready: false,
            threads: Vec::with_capacity(workers + 1),
            devices: vec![
                Device {
                    flags: state::DONE,
                    level: 0,
                    at: 0,
                    caller: NONE,
                    missing: 0,
                    waiters: (NONE, NONE),
                };
                n
            ],
            locks: vec![
                Lock { owner: NONE, hand_off: false, waiters: (NONE, NONE) };
                topology.locks as usize + 1
            ],
            pool: Pool::new(n, workers, max_active),
            mixed: speeds.windows(2).any(|w| w[0] != w[1]),
            speeds,
            idle_cpus,
            cpu_queue: VecDeque::with_capacity(workers + 1),
            shared: None,
            first_tick: if settings.profile.shared { earliest.0.midpoint(latest.0) } else { 0 },
            searches: settings.profile.searches != Some(false),
            phase_start: 0,
            phase: Phase::Prepare,
            index: 0,
            event: PmEvent::Suspend,
            direction: Direction::Suspend,
            walk: policy.suspend,
            order: Vec::with_capacity(n),
            cursor: 0,
            ready_sync: BinaryHeap::with_capacity(n),
            main_waits: false,
            main_at_barrier: false,
            broke: false,
            error: None,
            callbacks: Vec::with_capacity(8 * topology.list.len()),
            tally: Tally::default(),
        };
        e.threads.push(Thread::new(Step::Finished));
        if !e.speeds.is_empty() {
            let cpu = e.take_idle_cpu(MAIN).unwrap_or(0);
            e.threads[0].cpu = cpu;
            if settings.profile.shared {
                let cfs = settings.profile.preempts == Some(true);
                let mut shared = Shared::new(e.speeds.len(), workers, cfs);
                shared.put(cpu, MAIN, 0);
                e.shared = Some(shared);
            }
        }
        for _ in 0..settings.profile.idle_workers {
            e.add_worker();
        }
        e.draw(settings.profile.draw, settings.profile.first_tick);
        e
    }

    /// Runs one of the six phases that may be asynchronous. Returns its begin.
    pub(super) fn run_phase(&mut self, phase: Phase) -> Result<i64, Ended> {
        self.enter_phase(phase);
        if phase == Phase::ResumeNoirq && self.first_tick > 0 {
            self.come_up();
        }
        let start = self.now;
        self.phase_start = start;
        self.threads[MAIN as usize].step = Step::Begin;
        self.main_ready = true;
        if let Some(shared) = &mut self.shared {
            shared.give_turn(self.threads[MAIN as usize].cpu);
        }
        while self.threads[MAIN as usize].step != Step::Finished {
            if self.main_ready {
                self.main_ready = false;
                self.run_thread(MAIN);
            } else if let Some(t) = self.ready.pop_front() {
                self.run_thread(t);
            } else if self.shared.is_some() {
                self.take_turn()?;
            } else {
                self.next_moment()?;
            }
        }
        self.leave_phase();
        Ok(start)
    }

    /// Advances to the next event and readies everything that happens then.
    fn next_moment(&mut self) -> Result<(), Ended> {
        let first = self.events.pop().ok_or(Ended::Deadlock)?;
        self.now = self.now.max(first.time());
        if self.now > self.limit {
            return Err(Ended::Late);
        }
        self.fire(first.thread());
        while self.events.peek().is_some_and(|e| e.time() <= self.now) {
            if let Some(e) = self.events.pop() {
                self.fire(e.thread());
            }
        }
        Ok(())
    }

    /// A thread's time has come. One that slept must get a CPU first.
    fn fire(&mut self, t: u32) {
        if self.shared.is_some() {
            self.timer(t);
        } else if !self.speeds.is_empty() && self.threads[t as usize].cpu == NONE {
            self.runnable(t, 0);
        } else {
            self.make_ready(t);
        }
    }

    fn make_ready(&mut self, t: u32) {
        if t == MAIN {
            self.main_ready = true;
        } else {
            self.ready.push_back(t);
        }
    }

    /// Lets `t` go on after `delay`.
    fn after(&mut self, t: u32, delay: i64) {
        if delay == 0 {
            self.make_ready(t);
            return;
        }
        self.sequence += 1;
        self.events.push(Event::new(self.now.saturating_add(delay), self.sequence, t));
    }

    /// Wakes a sleeping thread.
    fn wake(&mut self, t: u32) {
        self.tally.wakeups += 1;
        self.runnable(t, self.costs.wake.0);
    }

    /// Gives `t` a CPU when there is one; it runs `latency` later.
    fn runnable(&mut self, t: u32, latency: i64) {
        let scans = self.looks_for_idle();
        if let Some(shared) = &mut self.shared {
            shared.scans = scans;
            match shared.idle_for(t, self.threads[t as usize].last_cpu) {
                Ok(cpu) => {
                    self.threads[t as usize].cpu = cpu as u32;
                    shared.put(cpu as u32, t, latency);
                }
                Err(cpu) => shared.wait_for_cpu(t, cpu as u32),
            }
            return;
        }
        if !self.speeds.is_empty() {
            match self.take_idle_cpu(t) {
                Some(cpu) => self.threads[t as usize].cpu = cpu,
                None => {
                    self.cpu_queue.push_back(t);
                    return;
                }
            }
        }
        self.after(t, latency);
    }

    /// The first idle CPU of the list. The main thread is busy for most of a
    /// cycle, so the scheduler knows its load and puts it on the fastest one.
    fn take_idle_cpu(&mut self, t: u32) -> Option<u32> {
        if t == MAIN && self.mixed {
            let idle = |&c: &usize| self.idle_cpus[c / 64] & 1 << (c % 64) != 0;
            let cpu = (0..self.speeds.len()).filter(idle).max_by_key(|&c| self.speeds[c])?;
            self.idle_cpus[cpu / 64] &= !(1 << (cpu % 64));
            return Some(cpu as u32);
        }
        for (i, word) in self.idle_cpus.iter_mut().enumerate() {
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                return Some(i as u32 * 64 + bit);
            }
        }
        None
    }

    /// `t` leaves its CPU.
    fn block(&mut self, t: u32) {
        self.tally.context_switches += 1;
        if self.speeds.is_empty() {
            return;
        }
        let cpu = core::mem::replace(&mut self.threads[t as usize].cpu, NONE);
        self.threads[t as usize].last_cpu = cpu;
        let next = match &mut self.shared {
            Some(shared) => shared.next_on(cpu, t, self.now),
            None => self.cpu_queue.pop_front(),
        };
        match next {
            Some(next) => {
                self.threads[next as usize].cpu = cpu;
                if self.shared.is_none() {
                    self.after(next, self.costs.switch.0);
                }
            }
            None => self.idle_cpus[cpu as usize / 64] |= 1 << (cpu % 64),
        }
        if let Some(shared) = &mut self.shared {
            shared.put(cpu, next.unwrap_or(NONE), self.costs.switch.0);
        }
    }

    /// Time that `work` of computing takes on the CPU of `t`.
    fn on_cpu(&self, t: u32, work: i64) -> i64 {
        if self.speeds.is_empty() {
            return work;
        }
        match self.speeds[self.threads[t as usize].cpu as usize] {
            1000 => work,
            speed => (i128::from(work) * 1000 / i128::from(speed)) as i64,
        }
    }

    /// Lets `t` compute. True if nothing can happen meanwhile, so that time has
    /// simply been moved on.
    fn spend(&mut self, t: u32, work: Ns) -> bool {
        let time = self.on_cpu(t, work.0);
        if self.shared.is_some() {
            return self.spend_shared(t, time);
        }
        let end = self.now.saturating_add(time);
        if self.ready.is_empty()
            && !self.main_ready
            && self.events.peek().is_none_or(|e| e.time() > end)
        {
            self.now = end;
            return true;
        }
        self.after(t, time);
        false
    }

    fn run_thread(&mut self, t: u32) {
        self.stepping = t;
        loop {
            match self.step(t) {
                Flow::Owe(cost) => self.threads[t as usize].owed += cost,
                Flow::Go(Ns(0)) => {}
                Flow::Go(cost) => {
                    let owed = core::mem::take(&mut self.threads[t as usize].owed);
                    if !self.spend(t, cost + owed) {
                        return;
                    }
                }
                Flow::Stop => return,
            }
            if t == MAIN && self.threads[0].step == Step::Finished {
                return;
            }
        }
    }

    fn step(&mut self, t: u32) -> Flow {
        match self.threads[t as usize].step {
            Step::Begin => self.begin(),
            Step::First => self.first(),
            Step::Walk => self.walk_step(),
            Step::WalkUnlocked => self.walk_unlocked(),
            Step::WalkBack => self.walk_back(),
            Step::InOrder => self.in_order(),
            Step::FirstReady => self.first_ready(),
            Step::Barrier => self.barrier(),
            Step::Finished => Flow::Stop,
            Step::Enter => self.enter(t),
            Step::WaitUnlock => self.wait_unlock(t),
            Step::Waits => self.waits(t),
            Step::Checks => self.checks(t),
            Step::Callback => self.callback(t),
            Step::Compute => self.compute(t),
            Step::Sleep => self.sleep(t),
            Step::Doze => self.dozed(t),
            Step::Slept => self.slept(t),
            Step::CallbackEnd => self.callback_end(t),
            Step::Complete => self.complete(t),
            Step::Trigger => self.trigger(t),
            Step::TriggerTree => self.trigger_tree(t),
            Step::TriggerLinks => self.trigger_links(t),
            Step::TriggerReady => self.trigger_ready(t),
            Step::Return => self.routine_return(t),
            Step::Idle => self.idle(t),
            Step::Woken => self.woken(t),
            Step::Recheck => self.recheck(t),
            Step::Created => self.created(t),
            Step::Take => self.take(t),
            Step::ItemDone => self.item_done(t),
            Step::Relock => self.relock(t),
        }
    }

    fn go(&mut self, t: u32, step: Step, cost: Ns) -> Flow {
        self.threads[t as usize].step = step;
        Flow::Go(cost)
    }

    fn owe(&mut self, t: u32, step: Step, cost: Ns) -> Flow {
        self.threads[t as usize].step = step;
        Flow::Owe(cost)
    }

    fn has(&self, d: u32, flags: u16) -> bool {
        self.devices[d as usize].flags & flags != 0
    }

    fn set(&mut self, d: u32, flags: u16) {
        self.devices[d as usize].flags |= flags;
    }

    fn clear(&mut self, d: u32, flags: u16) {
        self.devices[d as usize].flags &= !flags;
    }

    fn fact(&self, d: u32, facts: u16) -> bool {
        self.topology.facts[d as usize] & facts != 0
    }

    /// What a device waits for in this direction.
    fn dependencies(&self) -> &'a Edges {
        match self.direction {
            Direction::Suspend => &self.topology.subordinates,
            Direction::Resume => &self.topology.superiors,
        }
    }

    /// What waits for a device in this direction.
    fn dependents(&self) -> &'a Edges {
        match self.direction {
            Direction::Suspend => &self.topology.superiors,
            Direction::Resume => &self.topology.subordinates,
        }
    }

    fn enter_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.index = phase.device_index().unwrap_or(0);
        self.direction = phase.direction();
        self.event = match self.direction {
            Direction::Suspend => PmEvent::Suspend,
            Direction::Resume => PmEvent::Resume,
        };
        self.walk = *self.policy.walk(self.direction);
        self.cursor = 0;
        self.broke = false;
        self.error = None;
        self.main_waits = false;
        self.order.clear();
        let (from, _) = levels(phase);
        for &d in &self.topology.list {
            let device = &mut self.devices[d as usize];
            device.flags &= !(state::WIP | state::ASYNC | state::LISTED | state::AWAITED);
            device.caller = NONE;
            if device.level == from {
                device.flags |= state::LISTED;
                if self.asynchronous && self.topology.facts[d as usize] & fact::ASYNC != 0 {
                    device.flags |= state::ASYNC;
                }
                self.order.push(d);
            }
        }
        // prepare alone goes head to tail on the way down.
        if self.direction == Direction::Suspend && phase != Phase::Prepare {
            self.order.reverse();
        }
    }

    /// Moves the devices to their next list and marks all completions done.
    fn leave_phase(&mut self) {
        let (_, to) = levels(self.phase);
        let moved = match self.policy.rest {
            super::policy::Rest::Stays if self.broke => self.cursor,
            _ => self.order.len(),
        };
        for (i, &d) in self.order.iter().enumerate() {
            let device = &mut self.devices[d as usize];
            device.flags |= state::DONE;
            if i < moved {
                device.level = to;
            }
        }
    }

    /// Records the begin of a callback.
    fn record(&mut self, t: u32, d: u32) -> u32 {
        let index = self.callbacks.len() as u32;
        self.callbacks.push(Callback {
            device: DeviceId(d),
            phase: self.phase,
            event: self.event,
            thread: ThreadId(t.min(u32::from(u16::MAX)) as u16),
            function: Sym::EMPTY,
            start: Ns(self.now),
            end: Ns(self.now),
            error: 0,
            complete: true,
        });
        index
    }

    /// The devices of the current phase in list order, with their state.
    pub(super) fn pending(&self) -> impl Iterator<Item = (u32, u16)> {
        self.topology
            .list
            .iter()
            .map(|&d| (d, self.devices[d as usize].flags))
            .filter(|&(_, flags)| flags & state::LISTED != 0)
    }

    /// How many threads there are, the main thread included.
    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }
}

impl Thread {
    fn new(step: Step) -> Thread {
        Thread {
            step,
            home: Step::Finished,
            device: NONE,
            asynchronous: false,
            cpu: NONE,
            last_cpu: NONE,
            next: NONE,
            wants: (NONE, step),
            record: NONE,
            left: 0,
            owed: Ns::ZERO,
            slice_over: false,
            parked: false,
        }
    }
}

/// The lists between which a phase moves devices.
fn levels(phase: Phase) -> (u8, u8) {
    match phase {
        Phase::Suspend => (1, 2),
        Phase::Late => (2, 3),
        Phase::Noirq => (3, 4),
        Phase::ResumeNoirq => (4, 3),
        Phase::ResumeEarly => (3, 2),
        Phase::Resume => (2, 1),
        Phase::Complete => (1, 0),
        _ => (0, 1),
    }
}
