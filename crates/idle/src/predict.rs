//! Sleeps under another governor, limit or set of states: a closed loop.
//!
//! The wake-ups of a recording are replayed, not its residencies. A deeper state
//! wakes later, what follows is delayed (a timer that the delayed work arms comes
//! later too), a tick that is kept wakes the CPU in between, a timer with slack is
//! served by an interrupt that comes anyway, and a wake-up that comes while the
//! CPU still works needs no sleep.
//!
//! | step | kernel function (6.12) |
//! |---|---|
//! | ask, sleep, tell | `cpuidle_idle_call`, kernel/sched/idle.c |
//! | is the tick stopped | `tick_nohz_idle_stop_tick`, kernel/time/tick-sched.c |
//! | how long to spin | `cpuidle_poll_time`, drivers/cpuidle/cpuidle.c |

use crate::energy::Powers;
use crate::exits::Exits;
use crate::governors::{Governor, Kind, Outcome, Question, SleepLength, Version};
use crate::oracle::Oracles;
use crate::state::{StateSet, Table};
use crate::turns::Turns;
use crate::wake::{CAUSES, Wakes};
use std::collections::{BTreeMap, BTreeSet};

/// What decides.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// States of the CPU.
    pub table: &'a Table,
    /// Those that are disabled.
    pub disabled: StateSet,
    /// Largest exit latency allowed, ns.
    pub limit: i64,
    /// Length of a tick, ns.
    pub tick: i64,
    /// Governor.
    pub kind: Kind,
    /// Its version.
    pub version: Version,
    /// The tick is never stopped (`nohz=off`).
    pub periodic: bool,
    /// Also say what others could have made of the same sleeps, which costs more
    /// than the replay.
    pub oracles: bool,
    /// Where among the measured exit latencies the replay begins: each number gives
    /// another replay that is as likely.
    pub draw: u64,
}

/// What a governor can know of the next timer when something else wakes the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// The next wake-up by a timer that was recorded. Timers that were cancelled
    /// before they expired are not in a recording of wake-ups.
    Recorded,
    /// Every wake-up is foreseen, as if all were timers: one bound.
    Foreseen,
    /// None is: the other bound.
    Unforeseen,
}

/// Sleeps of one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Sleeps.
    pub sleeps: u64,
    /// Their time with exit latency, ns.
    pub time: i64,
}

/// What became of the wake-ups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// By state.
    pub states: Vec<Spent>,
    /// Sleeps that ended before they paid, a shallower state being allowed.
    pub too_deep: u64,
    /// Sleeps in which a deeper state that is allowed would have paid.
    pub too_shallow: u64,
    /// Wake-ups that found the CPU asleep, by delay from the event until the CPU
    /// was awake (ns).
    pub delays: BTreeMap<i64, u64>,
    /// Wake-ups that found the CPU at work.
    pub awake: u64,
    /// Sleeps that the tick ended.
    pub ticks: u64,
    /// Sleeps that a clock event of nobody ended.
    pub strays: u64,
    /// Sleeps in a polling state that its time limit ended.
    pub spun: u64,
    /// Energy, power times ns.
    pub energy: i128,
    /// What others could have made of the same sleeps, if asked for.
    pub oracles: Oracles,
    /// Time at work, ns.
    pub work: i64,
    /// Time that was replayed, ns, of all CPUs: shorter than the recording where
    /// what would follow was not recorded.
    pub span: i64,
}

impl Account {
    /// Adds what another CPU did.
    pub fn add(&mut self, other: &Account) {
        self.states.resize(self.states.len().max(other.states.len()), Spent::default());
        for (a, b) in self.states.iter_mut().zip(&other.states) {
            a.sleeps += b.sleeps;
            a.time = a.time.saturating_add(b.time);
        }
        self.too_deep += other.too_deep;
        self.too_shallow += other.too_shallow;
        for (&delay, &n) in &other.delays {
            *self.delays.entry(delay).or_default() += n;
        }
        self.awake += other.awake;
        self.ticks += other.ticks;
        self.strays += other.strays;
        self.spun += other.spun;
        self.energy += other.energy;
        self.oracles.add(&other.oracles);
        self.work = self.work.saturating_add(other.work);
        self.span = self.span.saturating_add(other.span);
    }

    /// The delay that `per_mille` of all wake-ups of a sleeping CPU do not
    /// exceed, ns; 1,000 is the longest.
    pub fn delay(&self, per_mille: u64) -> Option<i64> {
        let all: u64 = self.delays.values().sum();
        let mut sum = 0;
        self.delays.iter().find_map(|(&delay, &n)| {
            sum += n;
            (u128::from(sum) * 1_000 >= u128::from(all) * u128::from(per_mille)).then_some(delay)
        })
    }

    /// Sum of all delays, ns: exit latencies that somebody waited for.
    pub fn waited(&self) -> i128 {
        self.delays.iter().map(|(&delay, &n)| i128::from(delay) * i128::from(n)).sum()
    }

    /// Wake-ups of a sleeping CPU that were delayed by more than `ns`.
    pub fn later_than(&self, ns: i64) -> u64 {
        self.delays.range(ns.saturating_add(1)..).map(|(_, n)| n).sum()
    }

    /// Time asleep, ns.
    pub fn time(&self) -> i64 {
        self.states.iter().map(|s| s.time).sum()
    }

    /// Sleeps.
    pub fn sleeps(&self) -> u64 {
        self.states.iter().map(|s| s.sleeps).sum()
    }
}

/// Replays the wake-ups of one CPU.
pub fn replay(wakes: &Wakes, setup: &Setup, timers: Timers, powers: &Powers) -> Account {
    let n = setup.table.states().len();
    let mut run = Run {
        setup,
        powers,
        wakes,
        mode: timers,
        governor: Governor::new(setup.kind, setup.version, setup.table),
        account: Account { states: std::vec![Spent::default(); n], ..Account::default() },
        queue: Queue::new(wakes),
        exits: Exits::new(wakes, setup.table, setup.draw),
        now: wakes.start,
        stopped: false,
        ticks_since: i64::MIN,
        over: false,
        entered: wakes.start,
        fresh: true,
        worked: i64::MIN,
        turns: Turns::default(),
        served: Vec::new(),
    };
    run.all();
    run.account.span = run.now.min(run.last()).saturating_sub(wakes.start);
    run.account
}

/// What is to come.
struct Queue<'a> {
    wakes: &'a Wakes,
    /// Timers by the time that they expire at the latest.
    timers: BTreeSet<(i64, u32)>,
    /// Everything else …
    others: BTreeSet<(i64, u32)>,
    /// … but timers that may be deferred, by when they are due.
    deferred: BTreeSet<(i64, u32)>,
    /// When a clock event of nobody comes ([`Wakes::turn`]); not before another
    /// interrupt of the clock, which programs what comes next.
    stray: i64,
    /// For each wake-up the first that follows it, and the next with its cause.
    first: Vec<u32>,
    next: Vec<u32>,
    /// Timers of nobody that are known now, by when they expire.
    pending: BTreeSet<(i64, i64)>,
    /// How many of them were known so far.
    seen: usize,
}

/// No wake-up.
const NONE: u32 = u32::MAX;

impl Queue<'_> {
    fn new(wakes: &Wakes) -> Queue<'_> {
        let n = wakes.list.len();
        let mut q = Queue {
            wakes,
            timers: BTreeSet::new(),
            others: BTreeSet::new(),
            deferred: BTreeSet::new(),
            stray: i64::MAX,
            first: std::vec![NONE; n],
            next: std::vec![NONE; n],
            pending: BTreeSet::new(),
            seen: 0,
        };
        for (i, w) in wakes.list.iter().enumerate().rev() {
            // A cause comes before what follows it; anything else has none.
            match w.after.filter(|a| (a.wake as usize) < i) {
                Some(a) => {
                    q.next[i] = q.first[a.wake as usize];
                    q.first[a.wake as usize] = i as u32;
                }
                None => q.add(i as u32, 0),
            }
        }
        q
    }

    /// An event comes `shift` later than it was recorded.
    fn add(&mut self, i: u32, shift: i64) {
        let w = &self.wakes.list[i as usize];
        let at = w.at.saturating_add(shift);
        if CAUSES && w.deferrable {
            self.deferred.insert((at, i));
        } else if w.timer {
            self.timers.insert((at, i));
        } else {
            self.others.insert((at, i));
        }
    }

    /// The next event and when it comes.
    fn first(&self) -> Option<(i64, u32)> {
        match (self.timers.first(), self.others.first()) {
            (Some(a), Some(b)) => Some(*a.min(b)),
            (a, b) => a.or(b).copied(),
        }
    }

    fn remove(&mut self, (at, i): (i64, u32)) {
        if self.wakes.list[i as usize].timer {
            self.timers.remove(&(at, i));
        } else {
            self.others.remove(&(at, i));
        }
    }

    /// A timer that a timer interrupt at `now` serves, before its time or not.
    /// They are looked at in the order of their last times, and the first that
    /// may not be served yet ends it; one of them is the tick, which comes next
    /// at `tick` (`__hrtimer_run_queues`, kernel/time/hrtimer.c, 6.12).
    fn early(&self, now: i64, tick: i64) -> Option<(i64, u32)> {
        let &(at, i) = self.timers.first().filter(|t| t.0 <= tick)?;
        let soft = at.saturating_sub(self.wakes.list[i as usize].slack);
        (soft <= now).then_some((at, i))
    }

    /// A timer that may be deferred and is due.
    fn overdue(&mut self, now: i64) -> Option<u32> {
        let due = self.deferred.first().copied().filter(|d| CAUSES && d.0 <= now)?;
        self.deferred.remove(&due);
        Some(due.1)
    }

    /// When a clock event of nobody comes after `now`.
    fn stray(&mut self, now: i64) -> i64 {
        if !CAUSES {
            return i64::MAX;
        }
        if self.stray <= now {
            self.stray = i64::MAX;
        }
        self.stray
    }

    /// What follows `i`, whose work ended at `now`.
    fn follow(&mut self, i: u32, now: i64) {
        let done = self.wakes.list[i as usize].done;
        let mut child = if CAUSES { self.first[i as usize] } else { NONE };
        while child != NONE {
            let moves = self.wakes.list[child as usize].after.is_some_and(|a| a.moves);
            self.add(child, if moves { now.saturating_sub(done) } else { 0 });
            child = self.next[child as usize];
        }
    }

    /// When the next timer expires that a governor knows of at `now`, and whether
    /// it is of the timer wheel.
    fn foreseen(&mut self, now: i64, mode: Timers) -> Option<(i64, bool)> {
        let event = match mode {
            Timers::Recorded => self.timers.first().copied(),
            Timers::Foreseen => self.first(),
            Timers::Unforeseen => return None,
        };
        let event = event.map(|(at, i)| (at, self.wakes.list[i as usize].wheel));
        while let Some(p) = self.wakes.pending.get(self.seen).filter(|p| p.from <= now) {
            self.pending.insert((p.at, p.until));
            self.seen += 1;
        }
        while let Some(&gone) = self.pending.first().filter(|p| p.1 <= now || p.0 <= now) {
            self.pending.remove(&gone);
        }
        let other = self.pending.first().map(|p| (p.0, false));
        match (event, other) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

struct Run<'a> {
    setup: &'a Setup<'a>,
    powers: &'a Powers,
    wakes: &'a Wakes,
    mode: Timers,
    governor: Governor,
    account: Account,
    queue: Queue<'a>,
    exits: Exits<'a>,
    now: i64,
    /// The tick is stopped (`ts->tick_stopped`); it starts again when the idle
    /// loop is left (`tick_nohz_idle_exit`), not at every wake-up.
    stopped: bool,
    /// When it started last after that.
    ticks_since: i64,
    /// What follows was not recorded.
    over: bool,
    /// Since when the idle loop waits: governors are told how long from here. The last
    /// interrupt that woke no task, if there was one (`idle_entrytime`,
    /// kernel/time/tick-sched.c, 6.12).
    entered: i64,
    /// A task has run since.
    fresh: bool,
    /// When the last task was done.
    worked: i64,
    /// Who runs first.
    turns: Turns,
    /// What an interrupt serves, while it does.
    served: Vec<(i64, u32)>,
}

/// What ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Event(i64, u32),
    /// A timer with slack, served by the tick.
    Early(i64, u32),
    Tick,
    /// A clock event of nobody.
    Stray,
    PollLimit,
}

impl Run<'_> {
    fn all(&mut self) {
        let last = self.last();
        while self.now < last && !self.over {
            // What came while the CPU worked needs no sleep.
            let mut left = false;
            while let Some(event) = self.queue.first().filter(|e| e.0 <= self.now) {
                self.account.awake += 1;
                if self.wakes.list[event.1 as usize].leaves && event.0 < self.worked {
                    self.take_turns(event.0);
                }
                left |= self.serve(event);
            }
            left |= self.catch_up();
            if left {
                self.now = self.now.saturating_add(self.wakes.costs.end);
                continue;
            }
            if self.queue.first().is_none_or(|e| e.0 >= last) {
                return;
            }
            self.idle();
        }
    }

    /// When the recording ends.
    fn last(&self) -> i64 {
        if self.wakes.end > 0 { self.wakes.end } else { i64::MAX }
    }

    /// Works for an event, and for timers that its interrupt serves too; whether
    /// a task ran.
    fn serve(&mut self, event: (i64, u32)) -> bool {
        let w = &self.wakes.list[event.1 as usize];
        self.queue.remove(event);
        // Before its task starts the tick again.
        let tick = self.tick_after(event.0);
        let mut left = self.work(event.1);
        while w.timer
            && let Some(other) = self.queue.early(event.0, tick)
        {
            self.queue.remove(other);
            left |= self.work(other.1);
        }
        left
    }

    fn work(&mut self, i: u32) -> bool {
        let w = &self.wakes.list[i as usize];
        self.over |= w.open;
        self.now = self.now.saturating_add(w.work);
        self.account.work = self.account.work.saturating_add(w.work);
        if w.leaves {
            if self.stopped {
                self.ticks_since = self.now.saturating_sub(w.work);
            }
            (self.stopped, self.worked, self.fresh) = (false, self.now, true);
        }
        self.queue.follow(i, self.now);
        w.leaves
    }

    /// Works for timers that a tick served while the CPU worked; whether a task ran.
    fn catch_up(&mut self) -> bool {
        let mut left = false;
        while CAUSES
            && !self.stopped
            && let Some(&(at, _)) = self.queue.deferred.first()
            && self.next_tick(at.max(self.ticks_since)) <= self.now
            && let Some(i) = self.queue.overdue(at)
        {
            left |= self.work(i);
        }
        left
    }

    /// The idle loop, from the wish to sleep until a task runs.
    fn idle(&mut self) {
        let slept = self.sleep();
        if self.setup.oracles {
            let Setup { table, disabled, limit, .. } = *self.setup;
            self.account.oracles.see(self.powers, table, disabled, limit, slept);
        }
    }

    /// The same; how long the CPU was in idle states.
    fn sleep(&mut self) -> i64 {
        let (table, tick) = (self.setup.table, self.setup.tick.max(1));
        let (disabled, limit) = (self.setup.disabled, self.setup.limit);
        let mut slept: i64 = 0;
        if std::mem::take(&mut self.fresh) {
            self.entered = self.now;
        }
        loop {
            let begin = self.now;
            let next_tick = self.next_tick(begin);
            let (to_timer, wheel) = match self.queue.foreseen(begin, self.mode) {
                Some((at, wheel)) => (at.saturating_sub(self.entered), wheel),
                None => (i64::MAX, false),
            };
            // A timer that is never foreseen is far away, not at infinity.
            let to_timer = to_timer.min(i64::MAX / 4);
            let entered = self.entered;
            let to_event = if self.stopped { to_timer } else { to_timer.min(next_tick - entered) };
            // What the governor is told of the clock event is what is programmed.
            let programmed = to_event.min(self.queue.stray(begin) - entered);
            // While the tick runs, a timer of the wheel within a tick is not told
            // apart; a tick that may not be stopped hides every timer behind it
            // (tick_nohz_get_sleep_length, kernel/time/tick-sched.c).
            let near = !self.stopped && wheel && to_timer <= tick;
            let length = if near || self.setup.periodic { to_event } else { to_timer };
            let d = self.governor.select(&Question {
                table,
                disabled,
                limit,
                tick,
                tick_stopped: self.stopped,
                sleep: SleepLength { timer: length, event: programmed },
                now: begin,
                iowait: 0,
            });
            // Timers with a clock of their own do not need the tick
            // (tick_nohz_next_event, kernel/time/tick-sched.c, 6.12).
            let stops = d.stop_tick && !(wheel && to_timer <= tick) && !self.setup.periodic;
            // A tick that comes first is what is programmed: without it the event is
            // programmed anew, else the clock is left alone (`__remove_hrtimer`,
            // kernel/time/hrtimer.c, 7.3).
            if stops && !self.stopped && next_tick < self.queue.stray {
                self.queue.stray = i64::MAX;
            }
            self.stopped |= stops;
            let state = &table.states()[d.state.min(table.deepest())];
            let (end, by, ticked) = if state.polls { self.poll(begin) } else { self.halt(begin) };
            // An interrupt of the clock programs the next event anew.
            let other = |i: u32| !self.wakes.list[i as usize].timer;
            if !matches!(by, End::PollLimit) && !matches!(by, End::Event(_, i) if other(i)) {
                self.queue.stray = i64::MAX;
            }
            let ticks = ticked && matches!(by, End::Tick | End::Early(..));
            let event = self.queue.first().map_or(end, |e| e.0);
            let more = self.catch(by, end, ticks).saturating_mul(self.wakes.costs.more);
            let latency = self.exits.draw(d.state, state.latency, ticks).saturating_add(more);
            let asleep = end - begin;
            slept = slept.saturating_add(asleep);
            self.now = end.saturating_add(latency);
            self.judge(d.state, asleep, event - begin);
            let spent = &mut self.account.states[d.state];
            spent.sleeps += 1;
            spent.time = spent.time.saturating_add(asleep + latency);
            self.account.ticks += u64::from(by == End::Tick);
            self.account.strays += u64::from(by == End::Stray);
            self.account.spun += u64::from(by == End::PollLimit);
            self.account.energy += self.powers.of(d.state, asleep);
            self.governor.reflect(&Outcome {
                entered: d.state,
                residency: asleep + latency,
                poll_limit: by == End::PollLimit,
                tick: ticked,
                now: self.now,
            });
            let Some(left) = self.woken(by, end, ticks) else {
                self.now = self.now.saturating_add(self.wakes.costs.again);
                if self.now >= self.last() || self.queue.first().is_none_or(|e| e.0 <= self.now) {
                    return slept;
                }
                continue;
            };
            let costs = self.wakes.costs;
            self.now = self.now.saturating_add(if left { costs.end } else { costs.again });
            return slept;
        }
    }

    /// Takes what ends a sleep at `end`, and what its interrupt serves there if that
    /// is handled before the exit; how many timers it serves beyond one.
    fn catch(&mut self, by: End, end: i64, tick: bool) -> i64 {
        let mut served = std::mem::take(&mut self.served);
        served.clear();
        if let End::Event(at, i) | End::Early(at, i) = by {
            self.queue.remove((at, i));
            served.push((at, i));
        }
        if self.by_clock(by) && CAUSES && self.wakes.handles_first {
            self.gather(end, &mut served);
        }
        let timers = served.iter().filter(|(_, i)| self.wakes.list[*i as usize].timer).count();
        self.served = served;
        (timers + usize::from(tick)).saturating_sub(1) as i64
    }

    /// Whether an interrupt of the clock ended a sleep.
    fn by_clock(&self, by: End) -> bool {
        match by {
            End::Event(_, i) => self.wakes.list[i as usize].timer,
            End::Early(..) | End::Tick | End::Stray => true,
            End::PollLimit => false,
        }
    }

    /// What a CPU does that slept until `end` and is awake now: whether a task ran;
    /// none if nothing was to be done. An interrupt that comes while the CPU leaves its
    /// state waits, and then serves all timers that are due by then, or may be early.
    fn woken(&mut self, by: End, end: i64, tick: bool) -> Option<bool> {
        let awake = self.now;
        let clock = self.by_clock(by);
        let mut served = std::mem::take(&mut self.served);
        let at_once = CAUSES && self.wakes.handles_first;
        let before = at_once && !served.is_empty();
        let due = self.queue.timers.first().is_some_and(|t| t.0 <= awake);
        let due = due || self.tick_after(end) <= awake;
        if due || clock && !at_once {
            self.gather(awake, &mut served);
        }
        // The tick's handler, whatever its timer was programmed for.
        let wheel = matches!(by, End::Event(_, i) if self.wakes.list[i as usize].wheel);
        while (tick || wheel)
            && let Some(i) = self.queue.overdue(end)
        {
            served.push((end, i));
        }
        if by != End::PollLimit {
            self.entered = if at_once && !due { end } else { awake };
        }
        if served.is_empty()
            && let Some(event) = self.queue.first().filter(|e| e.0 <= awake)
        {
            self.queue.remove(event);
            served.push(event);
        }
        let left = served.first().copied().map(|(at, i)| {
            let at = if before { at.min(end) } else { at };
            if at <= awake {
                *self.account.delays.entry(awake - at).or_default() += 1;
            }
            self.after(i);
            let tasks = |(_, i): &&(i64, u32)| self.wakes.list[*i as usize].leaves;
            if served.iter().filter(tasks).count() > 1 {
                self.take_turns(self.now);
            }
            self.in_turn(&mut served);
            served.iter().fold(false, |left, (_, i)| left | self.work(*i))
        });
        self.served = served;
        left
    }

    /// Puts the tasks of what an interrupt served into the order in which they run.
    fn in_turn(&mut self, served: &mut [(i64, u32)]) {
        // Before 6.6 another scheduler chose.
        if !CAUSES || self.setup.version == Version::V6_1 {
            return;
        }
        let list = &self.wakes.list;
        let task = |s: &(i64, u32)| list[s.1 as usize].task;
        match served {
            [] => {}
            [one] => self.turns.alone(task(one)),
            _ if served.iter().any(|s| task(s) == 0) => {}
            _ => {
                let woken: Vec<(u32, i64)> =
                    served.iter().map(|s| (task(s), list[s.1 as usize].work)).collect();
                let before = served.to_vec();
                for (to, from) in served.iter_mut().zip(self.turns.order(&woken, self.setup.tick)) {
                    *to = before[from];
                }
            }
        }
    }

    /// Tasks share the CPU from `now` on (`hrtick_start`, kernel/sched/core.c, 7.3).
    fn take_turns(&mut self, now: i64) {
        if CAUSES && self.wakes.turn > 0 {
            self.queue.stray = self.queue.stray.min(now.saturating_add(self.wakes.turn));
        }
    }

    /// Takes the timers that an interrupt of the clock serves at `now`.
    fn gather(&mut self, now: i64, served: &mut Vec<(i64, u32)>) {
        let tick = self.tick_after(now);
        while let Some(event) = self.queue.early(now, tick) {
            self.queue.remove(event);
            served.push(event);
        }
    }

    /// The way from a sleep to the task of a wake-up.
    fn after(&mut self, i: u32) {
        if self.wakes.list[i as usize].leaves {
            self.now = self.now.saturating_add(self.wakes.costs.begin);
        }
    }

    /// The first tick after `now`, if ticks come.
    fn tick_after(&self, now: i64) -> i64 {
        if self.stopped { i64::MAX } else { self.next_tick(now) }
    }

    fn next_tick(&self, now: i64) -> i64 {
        let (tick, phase) = (self.setup.tick.max(1), self.wakes.phase);
        phase
            .saturating_add(((now.saturating_sub(phase)).div_euclid(tick) + 1).saturating_mul(tick))
    }

    /// Halts until an interrupt: when it comes, what it is, and whether it is the
    /// tick.
    fn halt(&mut self, begin: i64) -> (i64, End, bool) {
        let tick = self.next_tick(begin);
        let (stray, ticks) = (self.queue.stray(begin), self.tick_after(begin));
        if CAUSES && stray < ticks && self.queue.first().is_none_or(|e| stray < e.0) {
            return match self.queue.early(stray, ticks) {
                Some((at, i)) => (stray, End::Early(at, i), false),
                None => (stray, End::Stray, false),
            };
        }
        match self.queue.first() {
            Some((at, i)) if self.stopped || at <= tick => (at, End::Event(at, i), false),
            None if self.stopped => (begin, End::Tick, false),
            _ if !CAUSES => (tick, End::Tick, true),
            _ => match self.queue.early(tick, self.tick_after(tick)) {
                Some((at, i)) => (tick, End::Early(at, i), true),
                None => (tick, End::Tick, true),
            },
        }
    }

    /// Spins until a task is to run or the limit is over; what needs no task does
    /// not end it (`poll_idle`, drivers/cpuidle/poll_state.c).
    fn poll(&mut self, begin: i64) -> (i64, End, bool) {
        let limit = begin + self.poll_time();
        let (mut now, mut ticked) = (begin, false);
        loop {
            let tick = self.tick_after(now);
            let event = self.queue.first().filter(|e| e.0 <= tick);
            match event {
                Some((at, i)) if at <= limit => {
                    if self.wakes.list[i as usize].leaves {
                        return (at, End::Event(at, i), ticked);
                    }
                    self.account.awake += 1;
                    self.queue.remove((at, i));
                    self.queue.follow(i, at);
                    now = now.max(at);
                }
                None if tick <= limit => {
                    ticked = true;
                    if CAUSES && let Some((at, i)) = self.queue.early(tick, self.tick_after(tick)) {
                        return (tick, End::Early(at, i), true);
                    }
                    now = tick;
                }
                _ => return (limit, End::PollLimit, ticked),
            }
        }
    }

    /// How long a polling state spins.
    fn poll_time(&self) -> i64 {
        let longest = (self.setup.tick / 16).max(1);
        let worth = |(i, s): (usize, &crate::state::State)| {
            i > 0 && !self.setup.disabled.has(i) && s.residency >= 10_000
        };
        let found = self.setup.table.states().iter().enumerate().find(|&(i, s)| worth((i, s)));
        found.map_or(longest, |(_, s)| s.residency.min(longest))
    }

    /// Was `state` right for a sleep of `asleep` ns, with the event in `left` ns?
    fn judge(&mut self, state: usize, asleep: i64, left: i64) {
        let states = self.setup.table.states();
        let allowed = |i: &usize| {
            !self.setup.disabled.has(*i) && (*i == 0 || states[*i].latency <= self.setup.limit)
        };
        if states[state].residency > asleep && (0..state).any(|i| allowed(&i)) {
            self.account.too_deep += 1;
        }
        let best = (0..states.len()).rev().filter(allowed).find(|&i| states[i].residency <= left);
        if best.is_some_and(|b| b > state) {
            self.account.too_shallow += 1;
        }
    }
}
