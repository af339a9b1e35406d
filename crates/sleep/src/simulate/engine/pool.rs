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

pub(super) struct Pool {
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

impl Pool {
    pub(super) fn new(items: usize, workers: usize, max_active: u32) -> Pool {
        Pool {
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

impl Engine<'_> {
    /// Adds an idle, sleeping worker.
    pub(super) fn add_worker(&mut self) -> u32 {
        let t = self.threads.len() as u32;
        self.threads.push(Thread::new(Step::Woken));
        self.pool.links.resize(self.threads.len(), (NONE, NONE));
        self.pool.called.resize(self.threads.len(), false);
        self.pool.push_idle(t);
        t
    }

    /// Queues the routine of `d` for a worker.
    pub(super) fn queue(&mut self, d: u32) {
        self.tally.items += 1;
        self.pool.outstanding += 1;
        if self.pool.active < self.pool.max_active {
            self.pool.active += 1;
            self.pool.worklist.push_back(d);
            self.kick();
        } else {
            self.pool.inactive.push_back(d);
            self.tally.above_limit += 1;
        }
    }

    /// Wakes the most recently idle worker if there is work. That costs who
    /// does it as much as waking a waiter; nothing while the worker is on its
    /// way, so only the first of a burst of items pays. Costs of hardware have
    /// it in `queue`: no recording there tells the two apart.
    fn kick(&mut self) {
        let head = self.pool.idle_head;
        if head == NONE || self.pool.worklist.is_empty() || self.pool.called[head as usize] {
            return;
        }
        self.pool.called[head as usize] = true;
        if self.shared.is_some() {
            self.threads[self.stepping as usize].owed += self.costs.wake_one;
        }
        self.wake(head);
    }

    pub(super) fn woken(&mut self, t: u32) -> Flow {
        self.pool.remove_idle(t);
        self.go(t, Step::Recheck, Ns::ZERO)
    }

    /// Sleeps again without work; else makes sure of the reserve and works.
    pub(super) fn recheck(&mut self, t: u32) -> Flow {
        if self.pool.worklist.is_empty() {
            return self.go(t, Step::Idle, Ns::ZERO);
        }
        if self.pool.idle_count == 0 && !self.pool.manager {
            self.pool.manager = true;
            self.threads[t as usize].step = Step::Created;
            if self.costs.create == Ns::ZERO {
                return GO;
            }
            if self.shared.is_some() {
                // kthreadd computes meanwhile, on the same computing thread.
                self.tally.wakeups += 1;
                return Flow::Go(self.costs.create);
            }
            self.block(t);
            self.tally.wakeups += 1;
            self.after(t, self.costs.create.0);
            return Flow::Stop;
        }
        self.go(t, Step::Take, Ns::ZERO)
    }

    pub(super) fn created(&mut self, t: u32) -> Flow {
        self.pool.manager = false;
        let new = self.add_worker();
        if let Some(shared) = &mut self.shared {
            shared.made(new);
        }
        self.tally.workers_created += 1;
        self.pool.called[new as usize] = true;
        self.wake(new);
        if self.shared.is_some() {
            // It slept until kthreadd was done: another CPU had its turn.
            self.threads[t as usize].step = Step::Recheck;
            return self.pause(t);
        }
        self.go(t, Step::Recheck, Ns::ZERO)
    }

    pub(super) fn take(&mut self, t: u32) -> Flow {
        let Some(d) = self.pool.worklist.pop_front() else {
            return self.go(t, Step::Idle, Ns::ZERO);
        };
        self.kick();
        self.pool.busy += 1;
        self.tally.workers_at_once = self.tally.workers_at_once.max(self.pool.busy);
        let thread = &mut self.threads[t as usize];
        thread.device = d;
        thread.asynchronous = true;
        thread.home = Step::ItemDone;
        self.devices[d as usize].caller = NONE;
        self.go(t, Step::Enter, Ns::ZERO)
    }

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
        let next = if self.pool.worklist.is_empty() { Step::Idle } else { Step::Take };
        self.go(t, next, self.costs.item)
    }

    pub(super) fn idle(&mut self, t: u32) -> Flow {
        if !self.pool.worklist.is_empty() {
            // Something was queued while the last item was cleaned up.
            return self.go(t, Step::Take, Ns::ZERO);
        }
        self.pool.push_idle(t);
        self.threads[t as usize].step = Step::Woken;
        self.block(t);
        Flow::Stop
    }
}
