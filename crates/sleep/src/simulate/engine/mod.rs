//! The mechanism: the main thread, workers, mutexes, completions, CPUs and
//! timers. Deterministic, integer time, and without allocation once a cycle
//! runs.
//!
//! Every thread is a small state machine. A [`Step`] is a place at which it may
//! have to wait or at which time passes; between two steps it runs plain
//! functions, which carry the names of the kernel functions they stand for.
//!
//! | step, function here | function of the kernel | file | version |
//! |---|---|---|---|
//! | `DpmBegin`, `dpm_begin` | begin of `dpm_suspend()`, `dpm_resume()` and their late, noirq and early forms | drivers/base/power/main.c | all |
//! | `DpmFirstPass`, `dpm_first_pass` | first loop over the list, with `dpm_async_fn()`; from 6.16 `dpm_leaf_device()`, `dpm_root_device()` | main.c | resume but in 6.8; both from 6.16 |
//! | `DpmWalk`, `dpm_walk` | `while (!list_empty(...))`, `dpm_async_fn()` | main.c | all |
//! | `DpmWalkUnlocked`, `dpm_walk_unlocked` | its body with `dpm_list_mtx` released around every device | main.c | 6.8, 6.1.76, 6.6.15 |
//! | `DpmWalkRelock`, `dpm_walk_relock` | `mutex_lock()` at the end of that body | main.c | all |
//! | `AsyncSynchronizeFull`, `async_synchronize_full` | the same | kernel/async.c | all |
//! | `Device`, `device_suspend`, `device_resume` | the same and their late, noirq and early forms | main.c | all |
//! | `DpmWaitForSuperior`, `dpm_wait_for_superior` | the same, under `dpm_list_mtx` | main.c | 5.6 |
//! | `DpmWait`, `dpm_wait` | `dpm_wait()` of `dpm_wait_for_subordinate()`, `dpm_wait_for_suppliers()` | main.c | all |
//! | `DpmRunCallback`, `dpm_run_callback` | the same | main.c | all |
//! | `Callback`, `CallbackDozes`, `CallbackSlept` | what the driver does: it sleeps, then computes | drivers | |
//! | `GenpdLocked`, `genpd_locked` | `genpd_sync_power_off()`, `genpd_sync_power_on()`, called by `genpd_finish_suspend()`, `genpd_finish_resume()` | drivers/pmdomain/core.c | all |
//! | `Driver`, `CallbackEnd` | `pm_generic_resume_noirq()`, the end of `genpd_suspend_noirq()` | drivers/base/power/generic_ops.c, core.c | all |
//! | `CompleteAll`, `complete_all` | `complete_all(&dev->power.completion)` | kernel/sched/completion.c | all |
//! | `DpmAsyncTree`, `dpm_async_tree` | `dpm_async_suspend_parent()`, `dpm_async_resume_children()` | main.c | 6.16 |
//! | `DpmAsyncLinks`, `dpm_async_links` | the second half of `dpm_async_suspend_superior()`, `dpm_async_resume_subordinate()` | main.c | 6.17 |
//! | `StartReady`, `start_ready` | none: proposals that count dependencies | | |
//! | `InOrder`, `FirstReady` | none: the main thread of these proposals | | |
//! | `FinishInert`, `dpm_finish_inert` | the same | main.c | with kernel/upstream |
//! | `WorkerWoken`, `WorkerRecheck`, `WorkerSleep` | `woke_up:`, `recheck:` and `sleep:` of `worker_thread()` | kernel/workqueue.c | all |
//! | `CreateWorker`, `create_worker` | the same, called by `maybe_create_worker()` | workqueue.c | all |
//! | `ProcessOneWork`, `process_one_work` | the same, with `async_run_entry_fn()` | workqueue.c, async.c | all |
//! | `MutexLock`, `mutex_lock` | `__mutex_lock()` of a mutex that was taken | kernel/locking/mutex.c | all |
//!
//! Ties are broken as follows: at equal time the main thread goes first; threads
//! that were woken run in the order of their wake-ups; a completion wakes its
//! waiters in the order in which they came; workers take items in the order of
//! queueing.
//!
//! Where and when a thread computes is the part of a [`cpu::CpuModel`].

mod callback;
pub(super) mod cpu;
mod device;
mod dpm;
mod event;
mod genpd;
mod mutex;
mod prepare;
mod trigger;
mod workqueue;

use super::cost::Costs;
use super::counts::Tally;
use super::floor::Left;
use super::policy::{Policy, Rest, Walk};
use super::topology::{Edges, NONE, Topology, fact};
use cpu::CpuModel;
use dormouse_base::cycle::{Callback, Switch, ThreadId};
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;
use dormouse_board::Work;
use event::Events;
pub(super) use event::MAIN;
use genpd::Genpd;
use mutex::{Mutex, pop_waiter, push_waiter};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use workqueue::WorkerPool;

/// `dpm_list_mtx`; the board's own locks follow.
const DPM_LIST_MTX: u32 = 0;

/// State of a device that phases change.
pub(super) mod state {
    /// Its completion is done.
    pub(crate) const DONE: u16 = 1;
    /// `power.work_in_progress`: queued, or claimed by the main thread.
    pub(crate) const WIP: u16 = 2;
    /// May run in a worker in this phase.
    pub(crate) const ASYNC: u16 = 4;
    /// On the list that this phase walks.
    pub(crate) const LISTED: u16 = 8;
    /// `power.is_suspended`.
    pub(crate) const SUSPENDED: u16 = 16;
    /// `power.is_late_suspended`.
    pub(crate) const LATE: u16 = 32;
    /// `power.is_noirq_suspended`.
    pub(crate) const NOIRQ: u16 = 64;
    /// `power.direct_complete`.
    pub(crate) const DIRECT: u16 = 128;
    /// `power.wakeup_path`.
    pub(crate) const WAKEUP_PATH: u16 = 256;
    /// The main thread sleeps until this device is ready.
    pub(crate) const AWAITED: u16 = 512;
    /// From this bit on: which list it is on, 0 `dpm_list` … 4 `dpm_noirq_list`.
    pub(crate) const LIST: u32 = 12;

    /// `flags` of a device that moves to another list.
    pub(crate) fn on_list(flags: u16, list: u16) -> u16 {
        flags & ((1 << LIST) - 1) | list << LIST
    }
}

/// What else phases change. The flags are apart from it, because a walk looks at
/// those of every device: they stay in the nearest cache.
#[derive(Clone, Copy, Debug)]
struct Device {
    /// Position in its dependencies (waiting) or dependents (triggering).
    at: u32,
    /// Whose trigger runs this device in place; NONE if a thread's own.
    caller: u32,
    /// Threads that wait for its completion, first and last.
    waiters: (u32, u32),
}

/// Where a thread goes on; the head of this file says what each stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    // Main thread.
    DpmBegin,
    DpmFirstPass,
    DpmWalk,
    DpmWalkUnlocked,
    DpmWalkRelock,
    InOrder,
    FirstReady,
    FinishInert,
    AsyncSynchronizeFull,
    Finished,
    // One device, in any thread.
    Device,
    DpmWaitForSuperior,
    DpmWait,
    DpmRunCallback,
    Callback,
    CallbackDozes,
    CallbackSlept,
    CallbackComputes,
    GenpdLocked,
    Driver,
    CallbackEnd,
    CompleteAll,
    DpmAsyncTree,
    DpmAsyncLinks,
    StartReady,
    // Worker.
    WorkerWoken,
    WorkerRecheck,
    WorkerSleep,
    CreateWorker,
    ProcessOneWork,
    // Any thread that found a mutex taken.
    MutexLock,
}

/// One line of a cache each.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Thread {
    step: Step,
    /// Where the main thread goes on after a device.
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
    /// Computing time left of its callback.
    left: Ns,
    /// Computing that it has not paid for yet.
    owed: Ns,
    /// Has computed for a whole slice.
    slice_over: bool,
    /// Occupied by an item but waiting.
    parked: bool,
}

/// What a step leads to.
pub(super) enum Flow {
    /// The thread's next step, after this much computing.
    Go(Ns),
    /// The thread waits, or an event will continue it.
    Stop,
}

const GO: Flow = Flow::Go(Ns::ZERO);

/// One machine on its way through a cycle.
pub(super) struct Engine<'a, C> {
    pub(super) topology: &'a Topology,
    policy: &'a Policy,
    costs: &'a Costs,
    /// Devices may run in workers.
    asynchronous: bool,
    /// The walk passes devices with these facts.
    inert: u16,
    slice: Ns,
    wakeup_at: Option<Ns>,
    /// Edge kinds that are waited for, a bit each.
    wait_mask: u8,
    /// A cycle that lasts longer is of no interest.
    pub(super) limit: Ns,
    /// What is left of the phase at least, if there is such a limit.
    pub(super) left: Left<'a>,

    pub(super) now: Ns,
    /// The thread that takes its steps.
    stepping: u32,
    events: Events,
    ready: VecDeque<u32>,
    main_ready: bool,
    threads: Vec<Thread>,
    /// [`state`] of each device.
    flags: Vec<u16>,
    devices: Vec<Device>,
    /// Dependencies of each device that are not done, if the policy counts them.
    missing: Vec<u32>,
    mutexes: Vec<Mutex>,
    genpd: Genpd,
    pool: WorkerPool,
    cpus: C,

    // The phase that runs.
    phase: Phase,
    phase_start: Ns,
    index: usize,
    event: PmEvent,
    direction: Direction,
    walk: Walk,
    /// What each device does in it.
    work: &'a [Work],
    order: Vec<u32>,
    cursor: usize,
    /// Synchronous devices with something to run that are ready, by position.
    ready_sync: BinaryHeap<Reverse<u32>>,
    main_waits: bool,
    main_at_barrier: bool,
    broke: bool,
    pub(super) error: Option<Failure>,

    /// Callbacks are recorded; a search wants their sum alone.
    pub(super) records: bool,
    pub(super) callbacks: Vec<Callback>,
    pub(super) switches: Vec<Switch>,
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

impl<'a, C: CpuModel> Engine<'a, C> {
    pub(super) fn new(
        topology: &'a Topology,
        policy: &'a Policy,
        settings: &'a super::Settings,
        records: bool,
    ) -> Engine<'a, C> {
        let n = topology.len();
        let profile = &settings.profile;
        let asynchronous = policy.workers && settings.pm_async.unwrap_or(topology.pm_async);
        let passes = policy.passes_inert && asynchronous && !topology.trip.hibernates();
        let max_active = profile.max_active.unwrap_or(u32::MAX).max(1);
        let workers = if asynchronous {
            n.min(max_active as usize) + profile.idle_workers as usize + 2
        } else {
            1
        };
        let mut e = Engine {
            topology,
            policy,
            costs: &profile.costs,
            asynchronous,
            inert: if passes { fact::INERT } else { 0 },
            slice: profile.slice,
            wakeup_at: settings.wakeup_at,
            wait_mask: wait_mask(policy),
            limit: Ns::MAX,
            left: Left::default(),
            now: Ns::ZERO,
            stepping: MAIN,
            events: Events::with_capacity(workers + 1),
            ready: VecDeque::with_capacity(workers + 1),
            main_ready: false,
            threads: Vec::with_capacity(workers + 1),
            flags: vec![state::DONE; n],
            devices: vec![Device::new(); n],
            missing: Vec::new(),
            mutexes: vec![Mutex::new(); topology.locks as usize + 1 + topology.domains.len()],
            genpd: Genpd::new(topology),
            pool: WorkerPool::new(n, workers, max_active),
            cpus: C::new(profile, workers),
            phase: Phase::Prepare,
            phase_start: Ns::ZERO,
            index: 0,
            event: PmEvent::Suspend,
            direction: Direction::Suspend,
            walk: policy.suspend,
            work: &topology.work[0],
            order: Vec::with_capacity(n),
            cursor: 0,
            ready_sync: BinaryHeap::with_capacity(n),
            main_waits: false,
            main_at_barrier: false,
            broke: false,
            error: None,
            records,
            callbacks: Vec::with_capacity(if records { 8 * topology.list.len() } else { 0 }),
            switches: Vec::new(),
            tally: Tally::default(),
        };
        e.threads.push(Thread::new(Step::Finished));
        for _ in 0..profile.idle_workers {
            e.add_worker();
        }
        C::begin_cycle(&mut e, profile);
        e
    }

    /// Runs one of the six phases that may be asynchronous. Returns its begin.
    pub(super) fn run_phase(&mut self, phase: Phase) -> Result<Ns, Ended> {
        self.enter_phase(phase);
        let start = self.now;
        self.phase_start = start;
        self.threads[MAIN as usize].step = Step::DpmBegin;
        self.main_ready = true;
        C::begin_phase(self);
        while self.threads[MAIN as usize].step != Step::Finished {
            if self.main_ready {
                self.main_ready = false;
                self.run_thread(MAIN);
            } else if let Some(t) = self.ready.pop_front() {
                self.run_thread(t);
            } else {
                C::advance(self)?;
            }
        }
        self.leave_phase();
        Ok(start)
    }

    /// Moves time on to the next event, and returns whose it is.
    #[inline]
    fn next_moment(&mut self) -> Result<u32, Ended> {
        let (time, t) = self.events.pop().ok_or(Ended::Deadlock)?;
        self.now = self.now.max(time);
        if self.now > self.limit {
            return Err(Ended::Late);
        }
        Ok(t)
    }

    /// Moves time on to the next event. All who go on then take their steps, one
    /// after the other, if they have a CPU.
    #[inline]
    fn go_on(&mut self) -> Result<(), Ended> {
        let first = self.next_moment()?;
        if self.events.next > self.now {
            // As a rule it is one thread.
            if C::has_cpu(self, first) {
                self.run_thread(first);
            }
            return Ok(());
        }
        let mut next = Some(first);
        while let Some(t) = next {
            if C::has_cpu(self, t) {
                self.make_ready(t);
            }
            next = self.events.pop_until(self.now);
        }
        Ok(())
    }

    /// `t` takes its steps as soon as others at this moment have taken theirs.
    fn make_ready(&mut self, t: u32) {
        if t == MAIN {
            self.main_ready = true;
        } else {
            self.ready.push_back(t);
        }
    }

    /// Lets `t`, which computes, go on after `delay`.
    fn after(&mut self, t: u32, delay: Ns) {
        if delay == Ns::ZERO {
            self.make_ready(t);
        } else {
            self.events.push_soon(self.now + delay, t);
        }
    }

    /// Lets `t`, which sleeps, go on after `delay`.
    fn after_sleep(&mut self, t: u32, delay: Ns) {
        if delay == Ns::ZERO {
            self.make_ready(t);
        } else {
            self.events.push_later(self.now + delay, t);
        }
    }

    /// Wakes a sleeping thread.
    fn wake(&mut self, t: u32) {
        self.tally.wakeups += 1;
        C::wake(self, t, self.costs.wake);
    }

    /// `t` leaves its CPU to wait.
    fn block(&mut self, t: u32) {
        self.tally.context_switches += 1;
        C::block(self, t);
    }

    /// Whether nothing else happens before or at `end`, so that a thread may
    /// compute until then without an event.
    fn nothing_until(&self, end: Ns) -> bool {
        self.events.next > end && self.ready.is_empty() && !self.main_ready
    }

    fn run_thread(&mut self, t: u32) {
        self.stepping = t;
        loop {
            match self.step(t) {
                Flow::Go(Ns::ZERO) => {}
                Flow::Go(cost) => {
                    let owed = std::mem::take(&mut self.threads[t as usize].owed);
                    if !C::compute(self, t, cost + owed) {
                        return;
                    }
                }
                Flow::Stop => return,
            }
        }
    }

    fn step(&mut self, t: u32) -> Flow {
        let Thread { step, device: d, .. } = self.threads[t as usize];
        match step {
            Step::DpmBegin => self.dpm_begin(),
            Step::DpmFirstPass => self.dpm_first_pass(),
            Step::DpmWalk => self.dpm_walk(),
            Step::DpmWalkUnlocked => self.dpm_walk_unlocked(),
            Step::DpmWalkRelock => self.dpm_walk_relock(),
            Step::InOrder => self.in_order(),
            Step::FirstReady => self.first_ready(),
            Step::FinishInert => self.dpm_finish_inert(),
            Step::AsyncSynchronizeFull => self.async_synchronize_full(),
            Step::Finished => Flow::Stop,
            Step::Device => self.device(t, d),
            Step::DpmWaitForSuperior => self.dpm_wait_for_superior(t, d),
            Step::DpmWait => self.dpm_wait(t, d),
            Step::DpmRunCallback => self.dpm_run_callback(t, d),
            Step::Callback => self.callback(t, d),
            Step::CallbackDozes => self.callback_dozes(t),
            Step::CallbackSlept => self.callback_slept(t, d),
            Step::CallbackComputes => self.callback_computes(t, d),
            Step::GenpdLocked => self.genpd_locked(t),
            Step::Driver => self.driver(t, d),
            Step::CallbackEnd => self.callback_return(t, d),
            Step::CompleteAll => self.complete(t, d),
            Step::DpmAsyncTree => self.dpm_async_tree(t, d),
            Step::DpmAsyncLinks => self.dpm_async_links(t, d),
            Step::StartReady => self.start_ready(t, d),
            Step::WorkerWoken => self.worker_woken(t),
            Step::WorkerRecheck => self.worker_recheck(t),
            Step::WorkerSleep => self.worker_sleep(t),
            Step::CreateWorker => self.create_worker(t),
            Step::ProcessOneWork => self.process_one_work(t),
            Step::MutexLock => C::lock_again(self, t),
        }
    }

    fn go(&mut self, t: u32, step: Step, cost: Ns) -> Flow {
        self.threads[t as usize].step = step;
        Flow::Go(cost)
    }

    /// `t` computes this much with what it computes next: for costs too small to
    /// be worth an event of their own.
    fn owe(&mut self, t: u32, cost: Ns) {
        self.threads[t as usize].owed += cost;
    }

    fn has(&self, d: u32, flags: u16) -> bool {
        self.flags[d as usize] & flags != 0
    }

    fn set(&mut self, d: u32, flags: u16) {
        self.flags[d as usize] |= flags;
    }

    fn clear(&mut self, d: u32, flags: u16) {
        self.flags[d as usize] &= !flags;
    }

    fn fact(&self, d: u32, facts: u16) -> bool {
        self.topology.facts[d as usize] & facts != 0
    }

    /// Whether `d` has a callback in this phase.
    fn has_callback(&self, d: u32) -> bool {
        self.topology.has[d as usize] & 1 << self.index != 0
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
        self.work = &self.topology.work[self.index];
        self.direction = phase.direction();
        self.event = self.topology.trip.event(self.direction);
        self.walk = *self.policy.walk(self.direction);
        self.cursor = 0;
        self.broke = false;
        self.error = None;
        self.main_waits = false;
        self.order.clear();
        let (from, _) = levels(phase);
        let workers = if self.asynchronous { fact::ASYNC } else { 0 };
        for &d in &self.topology.list {
            let flags = &mut self.flags[d as usize];
            *flags &= !(state::WIP | state::ASYNC | state::LISTED | state::AWAITED);
            if *flags >> state::LIST == from {
                *flags |= state::LISTED;
                if self.topology.facts[d as usize] & workers != 0 {
                    *flags |= state::ASYNC;
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
            Rest::Stays if self.broke => self.cursor,
            _ => self.order.len(),
        };
        for (i, &d) in self.order.iter().enumerate() {
            let flags = &mut self.flags[d as usize];
            *flags |= state::DONE;
            if i < moved {
                *flags = state::on_list(*flags, to);
            }
        }
    }

    /// Records the begin of a callback, if callbacks are recorded.
    fn record(&mut self, t: u32, d: u32) -> u32 {
        if !self.records {
            return NONE;
        }
        let index = self.callbacks.len() as u32;
        self.callbacks.push(Callback {
            device: DeviceId(d),
            phase: self.phase,
            event: self.event,
            thread: ThreadId(t.min(u32::from(u16::MAX)) as u16),
            function: Sym::EMPTY,
            start: self.now,
            end: self.now,
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
            .map(|&d| (d, self.flags[d as usize]))
            .filter(|&(_, flags)| flags & state::LISTED != 0)
    }

    /// How many threads there are, the main thread included.
    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }
}

impl Device {
    fn new() -> Device {
        Device { at: 0, caller: NONE, waiters: (NONE, NONE) }
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
            left: Ns::ZERO,
            owed: Ns::ZERO,
            slice_over: false,
            parked: false,
        }
    }
}

/// The edges that `policy` waits for, a bit for each kind.
fn wait_mask(policy: &Policy) -> u8 {
    let kinds = [LinkKind::Stateless, LinkKind::Active, LinkKind::Dormant, LinkKind::SyncStateOnly];
    let links = kinds.into_iter().filter(|&k| policy.waits_for(k));
    links.fold(1, |mask, k| mask | 1 << super::topology::kind_number(k))
}

/// The lists between which a phase moves devices.
fn levels(phase: Phase) -> (u16, u16) {
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

fn times(cost: Ns, n: u32) -> Ns {
    Ns(cost.0.saturating_mul(i64::from(n)))
}
