//! The unbound worker pool of the workqueue code (kernel/workqueue.c) and the
//! queueing of async items (kernel/async.c).
//!
//! An unbound pool does not manage concurrency: every item wants a worker at
//! once. A worker that starts an item keeps one idle worker in reserve, which
//! it creates if need be, one at a time per pool; so a burst of blocking items
//! grows the pool serially. The most recently idle worker is woken first; to
//! queue a second item before it has run wakes nobody else.
//!
//! One pool stands for all: the pods of machines with several last-level caches
//! are not told apart.

use super::super::topology::NONE;
use super::*;

pub(super) struct WorkerPool {
    /// Items that may run, and those above the limit of active ones.
    worklist: VecDeque<u32>,
    inactive: VecDeque<u32>,
    active: u32,
    max_active: u32,
    /// Items queued and not finished.
    outstanding: u32,
    /// Idle workers, the most recent first, linked both ways.
    idle_head: u32,
    idle_count: u32,
    links: Vec<(u32, u32)>,
    /// Idle workers that were woken and have not run yet.
    called: Vec<bool>,
    manager: bool,
    /// Workers with an item.
    busy: u32,
}

impl WorkerPool {
    pub(super) fn new(items: usize, workers: usize, max_active: u32) -> WorkerPool {
        WorkerPool {
            worklist: VecDeque::with_capacity(items),
            inactive: VecDeque::with_capacity(items),
            active: 0,
            max_active,
            outstanding: 0,
            idle_head: NONE,
            idle_count: 0,
            links: Vec::with_capacity(workers + 1),
            called: Vec::with_capacity(workers + 1),
            manager: false,
            busy: 0,
        }
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    fn push_idle(&mut self, t: u32) {
        self.links[t as usize] = (NONE, self.idle_head);
        if self.idle_head != NONE {
            self.links[self.idle_head as usize].0 = t;
        }
        self.idle_head = t;
        self.idle_count += 1;
    }

    fn remove_idle(&mut self, t: u32) {
        let (before, behind) = self.links[t as usize];
        if before == NONE {
            self.idle_head = behind;
        } else {
            self.links[before as usize].1 = behind;
        }
        if behind != NONE {
            self.links[behind as usize].0 = before;
        }
        self.idle_count -= 1;
        self.called[t as usize] = false;
    }
}

impl<C: CpuModel> Engine<'_, C> {
    /// Adds an idle, sleeping worker.
    pub(super) fn add_worker(&mut self) -> u32 {
        let t = self.threads.len() as u32;
        self.threads.push(Thread::new(Step::WorkerWoken));
        self.pool.links.resize(self.threads.len(), (NONE, NONE));
        self.pool.called.resize(self.threads.len(), false);
        self.pool.push_idle(t);
        t
    }

    /// The limit of active items, if items are queued above it.
    pub(crate) fn queued_above(&self) -> Option<u32> {
        (!self.pool.inactive.is_empty()).then_some(self.pool.max_active)
    }

    /// Queues the routine of `d` for a worker.
    #[inline]
    pub(super) fn queue_work(&mut self, d: u32) {
        self.tally.items += 1;
        self.pool.outstanding += 1;
        if self.pool.active < self.pool.max_active {
            self.pool.active += 1;
            self.pool.worklist.push_back(d);
            self.kick_pool();
        } else {
            self.pool.inactive.push_back(d);
            self.tally.above_limit += 1;
        }
    }

    /// Wakes the most recently idle worker if there is work. That may cost who
    /// does it as much as waking a waiter; nothing while the worker is on its
    /// way, so only the first of a burst of items pays. Costs of hardware have
    /// it in `queue`: no recording there tells the two apart.
    #[inline]
    fn kick_pool(&mut self) {
        let head = self.pool.idle_head;
        if head == NONE || self.pool.worklist.is_empty() || self.pool.called[head as usize] {
            return;
        }
        self.pool.called[head as usize] = true;
        if C::WAKING_A_WORKER_COSTS {
            self.owe(self.stepping, self.costs.wake_one);
        }
        self.wake(head);
    }

    pub(super) fn worker_woken(&mut self, t: u32) -> Flow {
        self.pool.remove_idle(t);
        self.worker_recheck(t)
    }

    /// Sleeps again without work; else makes sure of the reserve and works.
    #[inline]
    pub(super) fn worker_recheck(&mut self, t: u32) -> Flow {
        if self.pool.worklist.is_empty() {
            return self.worker_sleep(t);
        }
        if self.pool.idle_count > 0 || self.pool.manager {
            return self.process_one_work(t);
        }
        self.pool.manager = true;
        if self.costs.create == Ns::ZERO {
            return self.create_worker(t);
        }
        self.threads[t as usize].step = Step::CreateWorker;
        self.tally.wakeups += 1;
        C::wait_for_kthreadd(self, t, self.costs.create)
    }

    /// kthreadd has made the thread.
    pub(super) fn create_worker(&mut self, t: u32) -> Flow {
        self.pool.manager = false;
        let new = self.add_worker();
        self.tally.workers_created += 1;
        self.pool.called[new as usize] = true;
        self.threads[t as usize].step = Step::WorkerRecheck;
        C::kthreadd_made(self, t, new)
    }

    pub(super) fn process_one_work(&mut self, t: u32) -> Flow {
        let Some(d) = self.pool.worklist.pop_front() else {
            return self.worker_sleep(t);
        };
        self.kick_pool();
        self.pool.busy += 1;
        self.tally.workers_at_once = self.tally.workers_at_once.max(self.pool.busy);
        self.async_run_entry_fn(t, d)
    }

    #[inline]
    fn async_run_entry_fn(&mut self, t: u32, d: u32) -> Flow {
        let thread = &mut self.threads[t as usize];
        thread.device = d;
        thread.asynchronous = true;
        self.device(t, d)
    }

    /// The end of `async_run_entry_fn()` and `process_one_work()`: the item goes
    /// off the lists, and one above the limit may take its place
    /// (`pwq_dec_nr_in_flight()`).
    #[inline]
    pub(super) fn item_done(&mut self, t: u32) -> Flow {
        self.pool.busy -= 1;
        self.pool.outstanding -= 1;
        match self.pool.inactive.pop_front() {
            Some(d) => self.pool.worklist.push_back(d),
            None => self.pool.active -= 1,
        }
        if self.main_at_barrier {
            // The barrier is woken by every item and looks for itself.
            self.main_at_barrier = false;
            self.wake(MAIN);
        }
        let empty = self.pool.worklist.is_empty();
        let next = if empty { Step::WorkerSleep } else { Step::ProcessOneWork };
        self.go(t, next, self.costs.item)
    }

    #[inline]
    pub(super) fn worker_sleep(&mut self, t: u32) -> Flow {
        if !self.pool.worklist.is_empty() {
            // Something was queued while the last item was cleaned up.
            return self.process_one_work(t);
        }
        self.pool.push_idle(t);
        self.threads[t as usize].step = Step::WorkerWoken;
        self.block(t);
        Flow::Stop
    }
}
