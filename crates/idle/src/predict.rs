//! Sleeps under another governor, limit or set of states: a closed loop.
//!
//! The wake-ups of a recording are replayed, not its residencies. A deeper state
//! wakes later, what follows is delayed, a tick that is kept wakes the CPU in
//! between, and a wake-up that comes while the CPU still works needs no sleep.
//!
//! | step | kernel function (6.12) |
//! |---|---|
//! | ask, sleep, tell | `cpuidle_idle_call`, kernel/sched/idle.c |
//! | is the tick stopped | `tick_nohz_idle_stop_tick`, kernel/time/tick-sched.c |
//! | how long to spin | `cpuidle_poll_time`, drivers/cpuidle/cpuidle.c |

use crate::energy::Powers;
use crate::governors::{Governor, Kind, Outcome, Question, SleepLength, Version};
use crate::oracle::Oracles;
use crate::state::{StateSet, Table};
use crate::wake::Wakes;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

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
    /// Energy, power times ns.
    pub energy: i128,
    /// What others could have made of the same sleeps.
    pub oracles: Oracles,
    /// Time at work, ns.
    pub work: i64,
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
        self.energy += other.energy;
        self.oracles.add(&other.oracles);
        self.work = self.work.saturating_add(other.work);
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
        governor: Governor::new(setup.kind, setup.version, setup.table),
        account: Account { states: alloc::vec![Spent::default(); n], ..Account::default() },
        now: wakes.start,
        stopped: false,
    };
    // For each wake-up the next one that is foreseen, itself included.
    let mut ahead = alloc::vec![i64::MAX; wakes.list.len()];
    let mut next = i64::MAX;
    for (i, w) in wakes.list.iter().enumerate().rev() {
        match timers {
            Timers::Recorded if w.timer => next = w.at,
            Timers::Foreseen => next = w.at,
            _ => {}
        }
        ahead[i] = next;
    }
    for (w, &timer) in wakes.list.iter().zip(&ahead) {
        if w.at <= run.now {
            run.account.awake += 1;
        } else {
            run.until(w.at, timer);
        }
        run.now = run.now.saturating_add(w.work);
        run.stopped &= !w.leaves;
        run.account.work = run.account.work.saturating_add(w.work);
    }
    run.account
}

struct Run<'a> {
    setup: &'a Setup<'a>,
    powers: &'a Powers,
    governor: Governor,
    account: Account,
    now: i64,
    /// The tick is stopped (`ts->tick_stopped`); it starts again when the idle
    /// loop is left (`tick_nohz_idle_exit`), not at every wake-up.
    stopped: bool,
}

impl Run<'_> {
    /// Sleeps until the event at `at`; the next timer expires at `timer`.
    fn until(&mut self, at: i64, timer: i64) {
        let (table, tick) = (self.setup.table, self.setup.tick.max(1));
        let (disabled, limit) = (self.setup.disabled, self.setup.limit);
        self.account.oracles.see(self.powers, table, disabled, limit, at - self.now);
        loop {
            let begin = self.now;
            let next_tick = (begin.div_euclid(tick) + 1) * tick;
            // A timer that is never foreseen is far away, not at infinity.
            let to_timer = timer.saturating_sub(begin).min(i64::MAX / 4);
            let to_event = if self.stopped { to_timer } else { to_timer.min(next_tick - begin) };
            // While the tick runs, a timer within a tick is not told apart; a tick
            // that may not be stopped hides every timer behind it.
            let near = !self.stopped && to_timer <= tick;
            let length = if near || self.setup.periodic { to_event } else { to_timer };
            let d = self.governor.select(&Question {
                table,
                disabled,
                limit,
                tick,
                tick_stopped: self.stopped,
                sleep: SleepLength { timer: length, event: to_event },
                now: begin,
            });
            self.stopped |= d.stop_tick && to_timer > tick && !self.setup.periodic;
            let state = &table.states()[d.state.min(table.deepest())];
            let mut end = at;
            let (mut by_tick, mut poll_limit) = (false, false);
            if !self.stopped && next_tick < end {
                (end, by_tick) = (next_tick, true);
            }
            if state.polls && end - begin > self.poll_time() {
                (end, by_tick, poll_limit) = (begin + self.poll_time(), false, true);
            }
            let asleep = end - begin;
            self.now = end.saturating_add(state.latency);
            self.judge(d.state, asleep, at - begin);
            let spent = &mut self.account.states[d.state];
            spent.sleeps += 1;
            spent.time = spent.time.saturating_add(asleep + state.latency);
            self.account.ticks += u64::from(by_tick);
            self.account.energy += self.powers.of(d.state, asleep);
            self.governor.reflect(&Outcome {
                entered: d.state,
                residency: asleep + state.latency,
                poll_limit,
                tick: by_tick,
                now: self.now,
            });
            // The event may also come while the CPU leaves the state after a tick.
            if at <= self.now {
                *self.account.delays.entry(self.now - at).or_default() += 1;
                return;
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
