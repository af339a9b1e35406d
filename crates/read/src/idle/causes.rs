//! What woke CPUs and what they did for it, from timers, interrupts and task
//! switches: the causes behind the sleeps of a trace.
//!
//! | event | says |
//! |---|---|
//! | `hrtimer_start` | when a timer will expire, how much later than armed, who armed it |
//! | `hrtimer_expire_entry` | it did; the tick is one of them |
//! | `hrtimer_start` of `hrtick` | from 7.x on: a CPU that gets idle cancels it and leaves the clock's event programmed |
//! | `timer_expire_entry` | a timer of the wheel, which the tick serves |
//! | `timer_start` | which of them may be deferred, and since when one waits |
//! | `irq_handler_entry` | a device |
//! | `sched_waking` | which task the cause of the moment wakes, and on which CPU |
//! | `sched_switch` | how long that task works |
//! | `block_rq_issue`, `block_rq_complete` | which work asked the disk that interrupts now |
//! | `idle_sl` | what the timer code told the governor (`dormouse record --with idle`) |
//!
//! Each cause becomes a wake-up of its own, also where one interrupted sleep has
//! several or none of them: with other exit latencies they come apart.

use crate::event::{EventSink, Stamp, TraceEvent, number, word};
use dormouse_idle::state::{StateSet, Table};
use dormouse_idle::wake::{After, Costs, Pending, Wake, Wakes};
use std::collections::{BTreeMap, HashMap};

/// A timer's expiry is given in its own clock; one that is so near to the trace's
/// is in the same, ns.
const SAME_CLOCK: i64 = 1_000_000;

/// What the governor was told is the expiry of a known timer if it is so near,
/// ns: it counts from when the idle loop was entered, a little before.
const NEAR: i64 = 60_000;

/// The timer that ends a task's turn. In 7.x it is in use wherever tasks share a CPU,
/// and is not programmed anew: a CPU that gets idle cancels it, and the clock's event
/// comes all the same (`hrtick_rq_init`, kernel/sched/core.c; `__remove_hrtimer`,
/// kernel/time/hrtimer.c, 7.3).
const HRTICK: &[u8] = b"hrtick";

/// A handler that interrupts a task is taken to be over after this time, ns.
const HANDLER: i64 = 20_000;

/// A task that is woken so shortly before the end of a trace, ns, may not have had
/// its turn.
const CUT: i64 = 5_000_000;

/// A timer that is armed.
#[derive(Clone, Copy, Debug)]
struct Armed {
    cpu: u32,
    expires: i64,
    soft: i64,
    relative: bool,
    /// It wakes a task.
    wakes: bool,
    at: i64,
    by: Option<(u32, u32)>,
}

/// A timer of the wheel that may be deferred.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    by: Option<(u32, u32)>,
    /// In ticks (`jiffies`).
    due: Option<i64>,
}

/// What an interrupt in hand is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Handler {
    #[default]
    None,
    /// The tick, that was due at this time: no cause unless something is done.
    Tick(i64),
    /// A cause, by its number.
    Cause(u32),
}

/// The last sleep of a CPU, until the next.
#[derive(Clone, Copy, Debug)]
struct Slept {
    state: u32,
    enter: i64,
    /// None while it lasts.
    exit: Option<i64>,
    /// When the event came that ended it, if that is known.
    woke: Option<i64>,
    /// Something explains its end.
    explained: bool,
    /// The tick does.
    by_tick: bool,
    /// A cause other than the tick was delayed by it.
    delayed: bool,
    /// It was spent spinning.
    polls: bool,
    /// When the first and the last timer were served before its end.
    timers: Option<(i64, i64)>,
}

#[derive(Debug, Default)]
struct Cpu {
    out: Wakes,
    slept: Option<Slept>,
    task: i32,
    /// Since when the task in hand works, or the idle task goes on.
    since: i64,
    /// A task ran since the last sleep.
    ran: bool,
    handler: Handler,
    /// When it was seen.
    handled: i64,
    /// Since when the idle loop waits: the last task, or the last interrupt.
    entered: i64,
    begins: Vec<i64>,
    ends: Vec<i64>,
    agains: Vec<i64>,
    mores: Vec<i64>,
    /// An answer of the timer code that no known timer explains: since when it
    /// holds, and the time that it means.
    told: Option<(i64, i64)>,
    /// Tasks took turns ([`HRTICK`]) before the last sleep, or before a sleep that
    /// no task has followed yet.
    turns: bool,
    /// For how long, each time.
    slices: Vec<i64>,
    /// Handlers that ran before the exit latency of the sleep that they ended, less
    /// those after it.
    before: i64,
}

impl Cpu {
    /// The event at `at` ended the last sleep, or came in it.
    fn explain(&mut self, at: i64, exact: bool, tick: bool) {
        let Some(s) = &mut self.slept else { return };
        // Polling goes on after a tick.
        if tick && s.polls && s.exit.is_none() {
            return;
        }
        let first = !s.explained;
        s.explained = true;
        if first && exact && !s.polls {
            self.before += if s.exit.is_none() { 1 } else { -1 };
        }
        match s.exit {
            None => {
                if first {
                    s.woke = exact.then_some(at.max(s.enter));
                    s.by_tick = tick;
                }
                s.delayed |= !tick;
            }
            Some(exit) if exact && (s.enter..=exit).contains(&at) => {
                if first {
                    let (state, ns) = (s.state, exit - at);
                    self.out.measured(state, ns, tick);
                }
                if !tick && !s.delayed {
                    s.delayed = true;
                    self.out.delays.push(exit - at);
                }
            }
            Some(_) => {}
        }
    }

    /// The last answer of the timer code holds until `time`.
    fn told_until(&mut self, time: i64) {
        if let Some((from, at)) = self.told.take() {
            self.out.pending.push(Pending { from, until: time, at });
        }
    }
}

/// Takes a trace's events.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    tables: BTreeMap<u32, (Table, StateSet)>,
    cpus: BTreeMap<u32, Cpu>,
    timers: HashMap<Vec<u8>, Armed>,
    /// Tasks that were woken and have not run yet: when, and by which cause.
    woken: HashMap<i32, (i64, Option<(u32, u32)>)>,
    /// Timers of the wheel that may be deferred.
    deferrable: HashMap<Vec<u8>, Deferred>,
    /// The last tick that served the wheel: its number, and when it was due.
    jiffy: Option<(i64, i64)>,
    /// Length of a tick, ns, where two of them tell.
    tick: Option<i64>,
    /// For which cause a task works: CPU and number.
    owner: HashMap<i32, (u32, u32)>,
    /// Requests by device and sector: for which cause they were made.
    asked: HashMap<Vec<u8>, (u32, u32)>,
    has_timers: bool,
    has_switches: bool,
    has_told: bool,
    last: i64,
}

impl Causes {
    /// Takes tables of CPUs, for what sleeps of unknown cause take to leave.
    pub(super) fn new(tables: BTreeMap<u32, (Table, StateSet)>) -> Causes {
        Causes { tables, ..Causes::default() }
    }

    /// Wake-ups by CPU, if the trace says enough to know them: timers as they
    /// are armed, and switches of tasks.
    pub(super) fn finish(mut self) -> BTreeMap<u32, Wakes> {
        if !(self.has_timers && self.has_switches) {
            return BTreeMap::new();
        }
        let last = self.last;
        // What would have come next.
        for armed in self.timers.values().filter(|a| a.wakes && a.relative) {
            let Some((n, wake)) = armed.by.filter(|by| by.0 == armed.cpu) else { continue };
            let Some(c) = self.cpus.get_mut(&n) else { continue };
            let after = Some(After { wake, moves: true });
            let at = armed.expires.max(last);
            c.out.list.push(Wake { at, timer: true, open: true, after, ..Wake::default() });
        }
        // What the end of the trace cuts off.
        let running =
            self.cpus.values().filter_map(|c| self.owner.get(&c.task).filter(|_| c.task != 0));
        // Who was on its way to a CPU; a task that runs can be woken too, and then
        // it never comes to one.
        let waiting = self.woken.values().filter(|w| last - w.0 < CUT).filter_map(|w| w.1.as_ref());
        for (n, wake) in running.chain(waiting).copied().collect::<Vec<_>>() {
            if let Some(w) = self.cpus.get_mut(&n).and_then(|c| c.out.list.get_mut(wake as usize)) {
                w.open = true;
            }
        }
        for &(n, wake) in self.asked.values() {
            if let Some(c) = self.cpus.get_mut(&n) {
                let after = Some(After { wake, moves: true });
                c.out.list.push(Wake { at: last, open: true, after, ..Wake::default() });
            }
        }
        if !self.has_told {
            for armed in self.timers.values() {
                if let Some(c) = self.cpus.get_mut(&armed.cpu) {
                    c.out.pending.push(Pending { from: armed.at, until: last, at: armed.expires });
                }
            }
        }
        let close = |(n, mut c): (u32, Cpu)| {
            c.told_until(last);
            c.out.end = last;
            c.out.handles_first = c.before > 0;
            c.out.turn = median(&mut c.slices).max(0);
            c.out.costs = Costs {
                begin: median(&mut c.begins),
                end: median(&mut c.ends),
                again: median(&mut c.agains),
                more: median(&mut c.mores),
            };
            for e in c.out.exits.iter_mut().chain(&mut c.out.tick_exits) {
                e.sort_unstable();
            }
            c.out.pending.sort_unstable_by_key(|p| (p.from, p.at));
            (n, c.out)
        };
        self.cpus.into_iter().filter(|(_, c)| c.slept.is_some()).map(close).collect()
    }

    /// A governor begins: while it is exchanged CPUs sleep without one
    /// (cpuidle_switch_governor, drivers/cpuidle/governor.c, 6.12), so everything
    /// begins here.
    fn begin(&mut self) {
        self.owner.clear();
        self.woken.clear();
        self.asked.clear();
        for timer in self.deferrable.values_mut() {
            timer.by = None;
        }
        for armed in self.timers.values_mut() {
            armed.by = None;
        }
        for c in self.cpus.values_mut() {
            *c = Cpu { task: c.task, since: c.since, ..Cpu::default() };
        }
    }

    fn latency(&self, cpu: u32, state: u32) -> i64 {
        let table = self.tables.get(&cpu).map(|t| &t.0);
        table.and_then(|t| t.states().get(state as usize)).map_or(0, |s| s.latency)
    }

    fn enter(&mut self, n: u32, time: i64, state: u32) {
        // A sleep that nothing explains: its interrupt was not recorded.
        if let Some(c) = self.cpus.get_mut(&n).filter(|c| c.slept.is_some_and(|s| !s.explained)) {
            // No task ran: the clock's event of a cancelled HRTICK, where there was one.
            let stray = !c.ran && std::mem::take(&mut c.turns);
            if !stray {
                self.unknown(n, time);
            }
        }
        let polls = self
            .tables
            .get(&n)
            .is_some_and(|t| t.0.states().get(state as usize).is_some_and(|s| s.polls));
        let c = self.cpus.entry(n).or_default();
        match c.slept.and_then(|s| s.exit) {
            None if c.slept.is_none() => c.out.start = time,
            None => {}
            Some(_) if c.ran => c.ends.push(time - c.since),
            Some(exit) => c.agains.push(time - exit),
        }
        c.slept = Some(Slept {
            state,
            enter: time,
            exit: None,
            woke: None,
            explained: false,
            by_tick: false,
            delayed: false,
            polls,
            timers: None,
        });
        (c.handler, c.ran, c.since) = (Handler::None, false, time);
    }

    fn exit(&mut self, n: u32, time: i64) {
        let Some(c) = self.cpus.get_mut(&n) else { return };
        let Some(s) = &mut c.slept else { return };
        s.exit = Some(time);
        (c.handler, c.since) = (Handler::None, time);
        // At its limit polling ends without a cause.
        s.explained |= s.polls;
        if let Some(woke) = s.woke {
            let (state, delayed) = (s.state, s.delayed);
            let more = s.timers.map_or(0, |(first, last)| last - first);
            c.out.measured(state, time - woke - more, s.by_tick);
            if delayed {
                c.out.delays.push(time - woke);
            }
        }
    }

    /// A cause of which only the sleep that it ended is known.
    fn unknown(&mut self, n: u32, time: i64) -> u32 {
        let slept = self.cpus.get(&n).and_then(|c| c.slept);
        let at = match slept {
            Some(Slept { state, enter, exit: Some(exit), explained: false, .. }) => {
                exit.saturating_sub(self.latency(n, state)).max(enter)
            }
            _ => time,
        };
        self.cause(n, time, Wake { at, ..Wake::default() }, false)
    }

    /// Adds a cause that is seen at `time`; gives its number.
    fn cause(&mut self, n: u32, time: i64, wake: Wake, exact: bool) -> u32 {
        let c = self.cpus.entry(n).or_default();
        // A timer with slack may be served before its time.
        c.explain(wake.at.min(time), exact, false);
        let number = c.out.list.len() as u32;
        c.out.list.push(Wake { done: time, ..wake });
        number
    }

    /// A timer interrupt serves a timer.
    fn expired(&mut self, n: u32, time: i64, text: &[u8]) {
        let now = number(text, b"now").map_or(time, |v| v as i64);
        let armed = word(text, b"hrtimer").and_then(|p| self.timers.remove(p));
        let off = if (time - now).abs() < SAME_CLOCK { 0 } else { time - now };
        let at = armed.map_or(now, |a| a.expires) + off;
        // It ends the turn of a task that works.
        if word(text, b"function") == Some(HRTICK) {
            return;
        }
        let c = self.cpus.entry(n).or_default();
        if let Some(s) = c.slept.as_mut().filter(|s| s.exit.is_none()) {
            let (first, last) = s.timers.unwrap_or((time, time));
            c.mores.extend(s.timers.map(|_| time - last));
            s.timers = Some((first, time));
        }
        if word(text, b"function").is_some_and(|f| f.starts_with(b"tick_")) {
            c.out.phase = at;
            c.explain(at, true, true);
            (c.handler, c.handled, c.entered) = (Handler::Tick(at), time, time);
            return;
        }
        let slack = armed.map_or(0, |a| (a.expires - a.soft).max(0));
        let by = armed.and_then(|a| a.by).filter(|by| by.0 == n);
        let after = by.map(|(_, wake)| After { wake, moves: armed.is_some_and(|a| a.relative) });
        let wake = Wake { at, slack, timer: true, after, ..Wake::default() };
        let number = self.cause(n, time, wake, true);
        self.handled(n, time, number);
    }

    fn handled(&mut self, n: u32, time: i64, number: u32) {
        let c = self.cpus.entry(n).or_default();
        (c.handler, c.handled, c.entered) = (Handler::Cause(number), time, time);
    }

    /// A tick serves a timer of the wheel.
    fn wheel(&mut self, n: u32, time: i64, text: &[u8]) {
        let Some(Handler::Tick(at)) = self.cpus.get(&n).map(|c| c.handler) else { return };
        let jiffies = number(text, b"now").map(|j| j as i64);
        if let Some(now) = jiffies {
            if let Some((before, then)) = self.jiffy.filter(|j| j.0 < now) {
                self.tick = Some((at - then) / (now - before)).filter(|t| (1..=TICK).contains(t));
            }
            self.jiffy = Some((now, at));
        }
        let wake = Wake { at, timer: true, wheel: true, ..Wake::default() };
        let number = self.cause(n, time, wake, true);
        self.handled(n, time, number);
        let timer = word(text, b"timer").and_then(|t| self.deferrable.remove(t));
        let Some(timer) = timer else { return };
        let late = jiffies.zip(timer.due).map_or(0, |(now, due)| (now - due).max(0));
        let after = timer.by.filter(|by| by.0 == n && by.1 < number);
        if let Some(w) = self.cpus.get_mut(&n).and_then(|c| c.out.list.get_mut(number as usize)) {
            w.at = at.saturating_sub(self.tick.unwrap_or(0).saturating_mul(late));
            w.deferrable = true;
            w.after = after.map(|(_, wake)| After { wake, moves: true });
        }
    }

    /// The cause for which a CPU does what it does.
    fn now(&mut self, n: u32, time: i64) -> Option<(u32, u32)> {
        let c = self.cpus.entry(n).or_default();
        // A trace does not say when a handler is over and its task goes on.
        let handler =
            if c.task != 0 && time - c.handled > HANDLER { Handler::None } else { c.handler };
        match handler {
            Handler::Cause(number) => Some((n, number)),
            Handler::Tick(at) => {
                let wake = Wake { at, ..Wake::default() };
                let number = self.cause(n, time, wake, true);
                self.handled(n, time, number);
                Some((n, number))
            }
            Handler::None if c.task != 0 => self.owner.get(&c.task).copied(),
            Handler::None => None,
        }
    }

    fn switch(&mut self, n: u32, time: i64, prev: i32, next: i32) {
        let c = self.cpus.entry(n).or_default();
        c.handler = Handler::None;
        let before = c.since;
        if prev != 0 {
            let own = self.owner.get(&prev).filter(|o| o.0 == n).map(|o| o.1);
            // What is not known to work for anything works for the last cause.
            let number = own.or((c.out.list.len() as u32).checked_sub(1));
            if let Some(w) = number.and_then(|i| c.out.list.get_mut(i as usize)) {
                w.work += time - before;
                (w.done, w.leaves) = (time, true);
            }
        } else if let Some(exit) = c.slept.and_then(|s| s.exit).filter(|_| !c.ran) {
            c.begins.push(time - exit);
        }
        c.turns &= prev != 0;
        (c.since, c.task) = (time, next);
        if next == 0 {
            c.entered = time;
            return;
        }
        c.ran = true;
        let unexplained = prev == 0 && c.slept.is_some_and(|s| s.exit.is_some() && !s.explained);
        let here = |o: Option<(u32, u32)>| o.filter(|o| o.0 == n);
        let own = match self.woken.remove(&next) {
            // Woken from here.
            Some((_, by)) if here(by).is_some() => by,
            // From another CPU.
            Some((at, _)) => {
                let at = at.min(time);
                Some((n, self.cause(n, time, Wake { at, ..Wake::default() }, true)))
            }
            // What it worked for before the last sleep is no cause of its end.
            None if unexplained => None,
            None => here(self.owner.get(&next).copied()),
        };
        let own = own.unwrap_or_else(|| (n, self.unknown(n, time)));
        self.owner.insert(next, own);
        if let Some(w) = self.cpus.get_mut(&n).and_then(|c| c.out.list.get_mut(own.1 as usize)) {
            w.leaves = true;
            if w.task == 0 {
                w.task = next.unsigned_abs();
            }
        }
    }

    /// The timer code told a governor that the next timer comes in `ns`.
    fn told(&mut self, n: u32, time: i64, ns: i64, event: i64) {
        self.has_told = true;
        let entered = self.cpus.get(&n).map_or(time, |c| c.entered.min(time));
        let at = entered.saturating_add(ns);
        // After an interrupt that was not seen it counts from then, in the last sleep.
        let first = match self.cpus.get(&n).and_then(|c| c.slept) {
            Some(s) if !s.explained => entered.min(s.enter),
            _ => entered,
        };
        let range = first.saturating_add(ns) - NEAR..at.saturating_add(NEAR);
        let near = |a: &Armed| a.cpu == n && range.contains(&a.expires);
        // Where both answers are one it may be the tick.
        let known = ns == event && ns <= TICK || self.timers.values().any(near);
        let Some(c) = self.cpus.get_mut(&n) else { return };
        c.told_until(time);
        c.told = (!known).then_some((time - NEAR, at));
    }
}

/// No tick is longer (CONFIG_HZ=100), ns.
const TICK: i64 = 10_000_000;

fn median(list: &mut [i64]) -> i64 {
    list.sort_unstable();
    list.get(list.len() / 2).copied().unwrap_or(0)
}

/// Device and sector of an event of a request: `254,0 R 4096 () 1234 + 8 …`.
fn request(text: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<&[u8]> =
        text.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty()).collect();
    let plus = words.iter().position(|w| *w == b"+")?;
    Some([*words.first()?, b" ", *words.get(plus.checked_sub(1)?)?].concat())
}

/// A number that may be negative.
fn signed(text: &[u8], key: &[u8]) -> Option<i64> {
    std::str::from_utf8(word(text, key)?).ok()?.parse().ok()
}

impl EventSink for Causes {
    fn wants(&self, event: &[u8]) -> bool {
        matches!(
            event,
            b"cpu_idle"
                | b"sched_switch"
                | b"sched_waking"
                | b"hrtimer_start"
                | b"hrtimer_cancel"
                | b"hrtimer_expire_entry"
                | b"timer_start"
                | b"timer_expire_entry"
                | b"irq_handler_entry"
                | b"block_rq_issue"
                | b"block_rq_complete"
                | b"idle_sl"
                | b"idle_en"
        )
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        if let TraceEvent::Lost { .. } = event {
            // Nobody knows what follows what any more.
            self.begin();
        }
        let TraceEvent::Other { name, text } = event else { return };
        let (n, time) = (stamp.cpu, stamp.time.0);
        self.last = self.last.max(time);
        if name == b"cpu_idle" {
            match (number(text, b"state"), number(text, b"cpu_id")) {
                (_, Some(cpu)) if word(text, b"state").is_some_and(is_awake) => {
                    self.exit(cpu as u32, time);
                }
                (Some(state), Some(cpu)) if state < 64 => {
                    self.enter(cpu as u32, time, state as u32);
                }
                _ => {}
            }
            return;
        }
        match name {
            b"idle_en" => self.begin(),
            b"hrtimer_start" => {
                self.has_timers = true;
                let Some((pointer, expires)) = word(text, b"hrtimer").zip(number(text, b"expires"))
                else {
                    return;
                };
                let by = self.armed_by(n);
                if word(text, b"function") == Some(HRTICK) {
                    let c = self.cpus.entry(n).or_default();
                    c.turns = true;
                    c.slices.push(expires as i64 - time);
                }
                let armed = Armed {
                    cpu: n,
                    expires: expires as i64,
                    soft: number(text, b"softexpires").unwrap_or(expires) as i64,
                    relative: word(text, b"mode").is_some_and(|m| m.starts_with(b"REL")),
                    wakes: word(text, b"function") == Some(b"hrtimer_wakeup"),
                    at: time,
                    by,
                };
                self.timers.insert(pointer.to_vec(), armed);
            }
            b"sched_waking" => {
                let knows = self.cpus.get(&n).is_some_and(|c| c.slept.is_some());
                let by = if knows { self.now(n, time) } else { None };
                if let Some(pid) = signed(text, b"pid") {
                    self.woken.insert(pid as i32, (time, by));
                }
            }
            // Before a CPU first sleeps nothing is known of it.
            b"sched_switch" if self.has_not_slept(n) => {
                self.has_switches = true;
                let c = self.cpus.entry(n).or_default();
                c.task = signed(text, b"next_pid").unwrap_or(0) as i32;
                c.since = time;
            }
            _ if self.has_not_slept(n) => {}
            b"hrtimer_cancel" => {
                let gone = word(text, b"hrtimer").and_then(|p| self.timers.remove(p));
                if let Some(a) = gone.filter(|a| a.expires > time && !self.has_told)
                    && let Some(c) = self.cpus.get_mut(&a.cpu)
                {
                    c.out.pending.push(Pending { from: a.at, until: time, at: a.expires });
                }
            }
            b"hrtimer_expire_entry" => self.expired(n, time, text),
            b"timer_start" => {
                let by = self.armed_by(n);
                let may_wait = word(text, b"flags").is_some_and(|f| f.contains(&b'D'));
                match word(text, b"timer") {
                    Some(timer) if may_wait => {
                        let due = number(text, b"bucket_expiry").map(|j| j as i64);
                        self.deferrable.insert(timer.to_vec(), Deferred { by, due });
                    }
                    Some(timer) => {
                        self.deferrable.remove(timer);
                    }
                    None => {}
                }
            }
            b"timer_expire_entry" => self.wheel(n, time, text),
            b"irq_handler_entry" => {
                let asleep = self
                    .cpus
                    .get(&n)
                    .and_then(|c| c.slept)
                    .is_some_and(|s| s.exit.is_none() || s.explained);
                let number = if asleep {
                    self.cause(n, time, Wake { at: time, ..Wake::default() }, true)
                } else {
                    self.unknown(n, time)
                };
                self.handled(n, time, number);
            }
            b"sched_switch" => {
                self.has_switches = true;
                if let (Some(a), Some(b)) = (signed(text, b"prev_pid"), signed(text, b"next_pid")) {
                    self.switch(n, time, a as i32, b as i32);
                }
            }
            b"block_rq_issue" => {
                if let (Some(key), Some(by)) = (request(text), self.armed_by(n)) {
                    self.asked.insert(key, by);
                }
            }
            b"block_rq_complete" => {
                let by = request(text).and_then(|key| self.asked.remove(&key));
                if let Some(c) = self.cpus.get_mut(&n)
                    && let Handler::Cause(number) = c.handler
                    && let Some(w) = c.out.list.get_mut(number as usize)
                    && let Some((_, wake)) = by.filter(|by| by.0 == n && by.1 < number)
                {
                    w.after = Some(After { wake, moves: true });
                }
            }
            b"idle_sl" => {
                if let (Some(ns), Some(event)) = (signed(text, b"ret"), signed(text, b"dt")) {
                    self.told(n, time, ns, event);
                }
            }
            _ => {}
        }
    }
}

impl Causes {
    fn has_not_slept(&self, n: u32) -> bool {
        self.cpus.get(&n).is_none_or(|c| c.slept.is_none())
    }

    /// For which cause a CPU arms a timer or asks a disk now.
    fn armed_by(&self, n: u32) -> Option<(u32, u32)> {
        let c = self.cpus.get(&n)?;
        if c.task != 0 {
            return self.owner.get(&c.task).copied();
        }
        match c.handler {
            Handler::Cause(number) => Some((n, number)),
            Handler::Tick(_) | Handler::None => None,
        }
    }
}

#[cfg(test)]
mod tests;

/// State of `cpu_idle` that says a CPU is awake (`PWR_EVENT_EXIT`, -1 as u32, which
/// some programs print as they please).
pub(crate) fn is_awake(state: &[u8]) -> bool {
    matches!(state, b"4294967295" | b"-1" | b"18446744073709551615" | b"0xffffffff")
}
