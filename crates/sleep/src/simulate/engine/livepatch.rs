//! The livepatch of this project: `core.c`, `graph.c` and `pool.c` of
//! kernel/scheduler, whose functions the ones here are called after.
//!
//! Each device has a counter of those it waits for. Who finishes the last of them
//! starts it: a thread of the pool if it is asynchronous (POOL), the main thread if
//! not (MAIN), and who made it ready if it has no callback in the phase (RELAY).

use super::super::policy::{Finished, FirstPass, Reached};
use super::super::topology::Edge;
use super::*;

/// The threads that live through quiet times (`FEW_WORKERS`).
const FEW: u32 = 4;
/// Threads, at most (`pool_most`).
const MOST: u32 = 512;

/// What a device is in this phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Class {
    #[default]
    Relay,
    Pool,
    Main,
    /// The main thread has taken it.
    Taken,
}

/// What of a chain a thread has still to run, and what it keeps for itself.
#[derive(Clone, Copy, Debug)]
struct Chain {
    todo: u32,
    mine: u32,
}

const EMPTY: Chain = Chain { todo: NONE, mine: NONE };

/// Threads that take jobs, and the devices of a phase as the livepatch sees them.
#[derive(Default)]
pub(super) struct Pool {
    class: Vec<Class>,
    /// It acts on flags that its consumers write, as far as that was so at the
    /// begin of the phase.
    heeds: Vec<bool>,
    /// The next one that the same thread runs.
    more: Vec<u32>,
    /// By thread.
    chains: Vec<Chain>,
    idle: Vec<u32>,
    queue: VecDeque<u32>,
    /// A thread is handed this device with its wake-up.
    job: Vec<u32>,
    manager: u32,
    manager_sleeps: bool,
    workers: u32,
    left: u32,
    /// Devices of the main thread that are ready.
    ready: u32,
    main_at_end: bool,
    main_wants_any: bool,
    /// No phase of this cycle has made the graph yet.
    unknown: bool,
}

impl<C: CpuModel> Engine<'_, C> {
    /// Whether the livepatch runs this phase.
    #[inline]
    pub(super) fn passes_on(&self) -> bool {
        matches!(self.walk.finished, Finished::PassOn | Finished::OfferAndPassOn)
            && self.asynchronous
    }

    /// The threads that a cycle begins with, and the manager.
    pub(super) fn pool_warm(&mut self, idle: u32) {
        self.livepatch.class = vec![Class::Relay; self.topology.len()];
        self.livepatch.heeds = vec![false; self.topology.len()];
        self.livepatch.more = vec![NONE; self.topology.len()];
        self.livepatch.unknown = true;
        for _ in 0..idle.clamp(FEW, MOST) {
            let t = self.add_pool_thread();
            self.livepatch.idle.push(t);
        }
        self.livepatch.manager = self.threads.len() as u32;
        self.threads.push(Thread::new(Step::Manager));
        self.livepatch.manager_sleeps = true;
        self.livepatch.job.push(NONE);
        self.livepatch.chains.push(EMPTY);
    }

    /// A thread that is about to look for a job.
    fn add_pool_thread(&mut self) -> u32 {
        let t = self.threads.len() as u32;
        self.threads.push(Thread::new(Step::PoolNext));
        self.livepatch.job.resize(t as usize + 1, NONE);
        self.livepatch.chains.resize(t as usize + 1, EMPTY);
        self.livepatch.workers += 1;
        t
    }

    /// `graph_know()` and `arrange()`: who waits for whom, and what each device is.
    pub(super) fn arrange(&mut self) -> Flow {
        let edges = self.dependencies();
        self.missing.resize(self.topology.len(), 0);
        let mut seen = self.order.len() as u32;
        for i in 0..self.order.len() {
            let d = self.order[i];
            self.flags[d as usize] = self.flags[d as usize] & !state::DONE | state::WIP;
            let direct = self.phase != Phase::Suspend && self.has(d, state::DIRECT);
            let silent = !self.has_callback(d) || self.fact(d, fact::SYSCORE) || direct;
            self.livepatch.class[d as usize] = match silent {
                true => Class::Relay,
                false if self.has(d, state::ASYNC) => Class::Pool,
                false => Class::Main,
            };
            self.livepatch.heeds[d as usize] = self.phase == Phase::Suspend
                && self.has(d, state::DIRECT)
                && self.fact(d, fact::RUNTIME_SUSPENDED | fact::NO_CALLBACKS);
        }
        self.livepatch.ready = 0;
        for i in 0..self.order.len() {
            let d = self.order[i];
            let mut missing = 0;
            for e in edges.of(d as usize) {
                missing += u32::from(self.keeps_order(d, e.device() as u32, *e));
                seen += u32::from(e.kind() != super::super::topology::TREE);
            }
            self.missing[d as usize] = missing;
            if missing == 0 && self.livepatch.class[d as usize] == Class::Main {
                self.livepatch.ready += 1;
            }
        }
        self.livepatch.left = self.order.len() as u32;
        let one = match std::mem::take(&mut self.livepatch.unknown) {
            true => self.costs.graph + self.costs.verify,
            false => self.costs.verify,
        };
        self.go(MAIN, Step::HandOut, self.costs.begin + self.costs.lock + times(one, seen))
    }

    /// Whether `x` waits for `d`, between which is edge `e` (`counts()`): a link that
    /// nobody waits for still keeps the order where a supplier acts on flags that its
    /// consumers write, and between two synchronous devices.
    #[inline]
    fn keeps_order(&self, x: u32, d: u32, e: Edge) -> bool {
        let down = self.direction == Direction::Suspend;
        let along = if down { d > x } else { d < x };
        if !along || !self.has(d, state::LISTED) || !self.has(x, state::LISTED) {
            return false;
        }
        let both = (self.flags[d as usize] | self.flags[x as usize]) & state::ASYNC == 0;
        e.is_in(self.wait_mask) || down && (self.livepatch.heeds[x as usize] || both)
    }

    /// `start_ready()`: relays are one job, each asynchronous device is one.
    pub(super) fn hand_out(&mut self) -> Flow {
        let mut relays = NONE;
        let mut jobs = VecDeque::new();
        for i in (0..self.order.len()).rev() {
            let d = self.order[i];
            if self.missing[d as usize] > 0 {
                continue;
            }
            match self.livepatch.class[d as usize] {
                Class::Relay => {
                    self.livepatch.more[d as usize] = relays;
                    relays = d;
                }
                Class::Pool => {
                    self.livepatch.more[d as usize] = NONE;
                    jobs.push_front(d);
                }
                _ => {}
            }
        }
        self.owe(MAIN, times(self.costs.scan, self.order.len() as u32));
        if relays != NONE {
            self.submit(MAIN, relays);
        }
        for d in jobs {
            self.submit(MAIN, d);
        }
        self.go(MAIN, Step::Stream, Ns::ZERO)
    }

    /// `pool_submit()`: to the thread that was idle for the shortest time, else into
    /// the queue, for which the manager makes one.
    fn submit(&mut self, t: u32, d: u32) {
        self.tally.items += 1;
        self.owe(t, self.costs.submit);
        let pool = &mut self.livepatch;
        if let Some(idle) = pool.idle.pop() {
            pool.job[idle as usize] = d;
            let busy = pool.workers - pool.idle.len() as u32;
            self.tally.workers_at_once = self.tally.workers_at_once.max(busy);
            self.owe(t, self.costs.wake_one);
            self.wake(idle);
            return;
        }
        pool.queue.push_back(d);
        if std::mem::take(&mut pool.manager_sleeps) {
            let manager = pool.manager;
            self.owe(t, self.costs.wake_one);
            self.wake(manager);
        }
    }

    /// A thread of the pool takes what it was handed, or the first of the queue.
    pub(super) fn pool_next(&mut self, t: u32) -> Flow {
        let handed = std::mem::replace(&mut self.livepatch.job[t as usize], NONE);
        let job = if handed == NONE { self.livepatch.queue.pop_front() } else { Some(handed) };
        let Some(d) = job else {
            self.livepatch.idle.push(t);
            self.block(t);
            return Flow::Stop;
        };
        self.run_device(t, d);
        GO
    }

    fn run_device(&mut self, t: u32, d: u32) {
        let thread = &mut self.threads[t as usize];
        thread.device = d;
        thread.asynchronous = true;
        thread.step = Step::Device;
    }

    /// The manager makes threads while jobs wait and nobody is idle.
    pub(super) fn manager(&mut self, t: u32) -> Flow {
        let pool = &mut self.livepatch;
        if pool.queue.is_empty() || !pool.idle.is_empty() || pool.workers >= MOST {
            pool.manager_sleeps = true;
            self.block(t);
            return Flow::Stop;
        }
        self.threads[t as usize].step = Step::ManagerMade;
        self.tally.wakeups += 1;
        C::wait_for_kthreadd(self, t, self.costs.create)
    }

    pub(super) fn manager_made(&mut self, t: u32) -> Flow {
        let new = self.add_pool_thread();
        self.tally.workers_created += 1;
        let busy = self.livepatch.workers - self.livepatch.idle.len() as u32;
        self.tally.workers_at_once = self.tally.workers_at_once.max(busy);
        self.threads[t as usize].step = Step::Manager;
        C::pool_thread_made(self, t, new)
    }

    /// The kernel's function is done with `d`.
    #[inline]
    pub(super) fn pass_on_begin(&mut self, t: u32, d: u32) -> Flow {
        self.devices[d as usize].at = 0;
        self.livepatch.chains[t as usize] =
            Chain { todo: self.livepatch.more[d as usize], mine: NONE };
        if t == MAIN {
            self.livepatch.chains[t as usize].todo = NONE;
        }
        // What the device cost is computed before anybody hears that it is done.
        let owed = std::mem::take(&mut self.threads[t as usize].owed);
        self.go(t, Step::PassOn, owed)
    }

    /// `finish()`: counts `d` off at its dependents, then `count_off()`, and what
    /// comes next in this thread.
    pub(super) fn pass_on(&mut self, t: u32, d: u32) -> Flow {
        let edges = self.dependents();
        while let Some(e) = edges.of(d as usize).get(self.devices[d as usize].at as usize) {
            self.devices[d as usize].at += 1;
            let x = e.device() as u32;
            self.owe(t, self.costs.pass);
            if !self.keeps_order(x, d, *e) {
                continue;
            }
            let missing = &mut self.missing[x as usize];
            *missing = missing.saturating_sub(1);
            if *missing > 0 {
                continue;
            }
            let chain = &mut self.livepatch.chains[t as usize];
            match self.livepatch.class[x as usize] {
                Class::Relay => {
                    self.livepatch.more[x as usize] = chain.todo;
                    chain.todo = x;
                }
                Class::Pool => {
                    self.livepatch.more[x as usize] = NONE;
                    if t != MAIN && chain.mine == NONE {
                        chain.mine = x;
                    } else {
                        self.submit(t, x);
                        return self.go(t, Step::PassOn, Ns::ZERO);
                    }
                }
                Class::Main => {
                    self.livepatch.ready += 1;
                    let any = std::mem::take(&mut self.livepatch.main_wants_any);
                    if any || self.has(x, state::AWAITED) {
                        self.clear(x, state::AWAITED);
                        self.owe(t, self.costs.wake_one);
                        self.call_main();
                    }
                }
                Class::Taken => {}
            }
        }
        let chain = &mut self.livepatch.chains[t as usize];
        let mine = std::mem::replace(&mut chain.mine, NONE);
        if mine != NONE && chain.todo == NONE {
            chain.todo = mine;
        } else if mine != NONE {
            self.submit(t, mine);
        }
        self.livepatch.left -= 1;
        if self.livepatch.left == 0 && std::mem::take(&mut self.livepatch.main_at_end) {
            self.owe(t, self.costs.wake_one);
            self.wake(MAIN);
        }
        let todo = std::mem::replace(&mut self.livepatch.chains[t as usize].todo, NONE);
        if t == MAIN {
            if todo != NONE {
                self.submit(t, todo);
            }
            return self.go(t, Step::Stream, Ns::ZERO);
        }
        if todo != NONE {
            self.run_device(t, todo);
            return GO;
        }
        self.go(t, Step::PoolNext, Ns::ZERO)
    }

    /// `stream()`: the devices of the main thread, in list order or the first that is
    /// ready (`next_main()`).
    pub(super) fn stream(&mut self) -> Flow {
        let any = self.walk.reached == Reached::FirstReady;
        debug_assert_eq!(self.walk.first_pass, FirstPass::HandOut);
        let mut passed = 0;
        let mut first = true;
        for at in self.cursor..self.order.len() {
            let d = self.order[at];
            passed += 1;
            if self.livepatch.class[d as usize] != Class::Main {
                continue;
            }
            if first {
                self.cursor = at;
            }
            first = false;
            if self.missing[d as usize] == 0 {
                self.owe(MAIN, times(self.costs.scan, passed));
                self.livepatch.class[d as usize] = Class::Taken;
                self.livepatch.ready -= 1;
                self.run_device(MAIN, d);
                return GO;
            }
            if !any {
                self.owe(MAIN, times(self.costs.scan, passed));
                self.set(d, state::AWAITED);
                return self.main_sleeps();
            }
        }
        self.owe(MAIN, times(self.costs.scan, passed));
        if first {
            self.cursor = self.order.len();
            return self.go(MAIN, Step::End, Ns::ZERO);
        }
        self.livepatch.main_wants_any = true;
        self.main_sleeps()
    }

    /// The main thread waits for the rest.
    pub(super) fn end(&mut self) -> Flow {
        if self.livepatch.left > 0 {
            self.livepatch.main_at_end = true;
            self.tally.blocked_at_barrier += 1;
            self.block(MAIN);
            return Flow::Stop;
        }
        self.go(MAIN, Step::Finished, self.costs.barrier)
    }
}
