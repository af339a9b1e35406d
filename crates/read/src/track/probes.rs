//! What probed functions took inside callbacks.

use super::Tracker;
use super::current::Current;
use super::probe_text::{caller, lock, printed, quoted};
use super::probed::{HAD, Open, Told, WANTED, Who, function};
use crate::event::{self, Stamp};
use dormouse_base::inside::{Inside, LONG, Wait};
use dormouse_base::loss::Severity;
use dormouse_base::names::Sym;
use dormouse_base::time::Ns;

/// Deepest nesting of probed functions in one thread; deeper is damage: a probe at a return
/// misses some where too many run at once.
const MAX_DEEP: usize = 64;

/// Functions that wait, or count time, and run no other probed function meanwhile
/// (kernel/time/sleep_timeout.c, kernel/time/timer.c, lib/delay.c).
const LEAVES: [&[u8]; 3] = [b"schedule_timeout", b"usleep_range", b"udelay"];

/// What a completion's waiter sleeps in, and the beginnings of the functions that call it then.
/// Who waits for the completion was said before.
const SLEEPS_IN: &[u8] = b"schedule_timeout";
const COMPLETIONS: [&[u8]; 3] = [b"wait_for_", b"__wait_for_common", b"do_wait_for_common"];

/// What is no function: it begins each time before it sleeps, and ends where others end that
/// never slept. Both tell who it is in.
const EVENT: &[u8] = b"wait_event";

/// What a holder of a mutex calls if somebody waits for it.
const UNLOCK: &[u8] = b"mutex_unlock";

/// How far back an entry of the same device and phase is looked for.
const LATEST: usize = 256;

/// Most pairs of a callback and a function in one cycle.
const MAX_KINDS: usize = 100_000;

/// Most threads that are known to wait for the same mutex.
const MAX_WAITERS: usize = 64;

impl Tracker {
    /// A probe. Outside a callback it says nothing here, but for who held a mutex.
    pub(super) fn probe_event(&mut self, stamp: &Stamp<'_>, name: &[u8], text: &[u8]) {
        let (function, told) = match function(name) {
            Some(f) => f,
            None if name == WANTED || name == HAD => (name, Told::Return),
            None => return,
        };
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over) else {
            self.unused.add(event::Kind::Unknown, 1);
            return;
        };
        let thread = usize::from(c.threads.id(stamp.pid, stamp.comm, &mut self.names).0);
        let callback = c.threads.open[thread].last().map(|o| o.0);
        if c.probes.open.len() <= thread {
            c.probes.open.resize_with(thread + 1, Vec::new);
            c.probes.who.resize(thread + 1, None);
        }
        let stack = &mut c.probes.open[thread];
        // What a callback that has ended left open had a return that was missed.
        stack.retain(|o| Some(o.callback) == callback);
        let unlocks = told == Told::Who && function == UNLOCK;
        if unlocks && let Some(lock) = lock(text) {
            c.unlock(thread, lock, stamp.time);
        }
        let Some(callback) = callback else {
            if !unlocks {
                self.unused.add(event::Kind::Unknown, 1);
            }
            return;
        };
        if function == WANTED || function == HAD {
            let (stack, printed) = (&mut c.probes.open[thread], printed(text));
            if function == WANTED {
                // A spin lock inside is another one.
                let mutex = text.windows(5).any(|w| w == b"MUTEX");
                let open = stack.last_mut().filter(|o| mutex && o.lock.is_some());
                if let Some(o) = open {
                    o.printed = printed;
                }
            } else if let Some(at) =
                stack.iter().rposition(|o| o.printed.is_some() && o.printed == printed)
            {
                let ended = stack[at];
                stack.truncate(at);
                c.end_probe(thread, ended, stamp.time, Some(ended.caller));
            }
            return;
        }
        let function = self.names.add_bytes(function);
        // Where the thread does something else, a wait is over whose return was missed.
        let stack = &mut c.probes.open[thread];
        if let Some(top) = stack.last().copied()
            && (told != Told::Return || top.function != function)
            && LEAVES.contains(&self.names.bytes(top.function))
        {
            stack.pop();
            c.end_probe(thread, top, stamp.time, None);
        }
        match told {
            Told::Who if unlocks => {}
            Told::Who => {
                let caller = self.names.add_bytes(caller(text));
                c.probes.who[thread] = Some(Who { callback, function, caller });
            }
            // It woke, found nothing, and sleeps again.
            Told::Call
                if self.names.bytes(function) == EVENT
                    && c.probes.open[thread].last().is_some_and(|o| o.function == function) => {}
            Told::Call => {
                let stack = &mut c.probes.open[thread];
                if stack.len() >= MAX_DEEP {
                    stack.remove(0);
                }
                let (start, lock) = (stamp.time, lock(text));
                stack.push(Open {
                    callback,
                    function,
                    caller: self.names.add_bytes(caller(text)),
                    start,
                    inner: Ns::ZERO,
                    same: Ns::ZERO,
                    what: self.names.add_bytes(quoted(text)),
                    lock,
                    printed: None,
                    holder: (Sym::EMPTY, None),
                    held: (Ns::ZERO, start),
                });
                if let Some(lock) = lock {
                    let waiters = c.probes.locks.entry(lock).or_default();
                    if waiters.len() < MAX_WAITERS {
                        waiters.push(thread);
                    }
                }
            }
            Told::Return => {
                let stack = &mut c.probes.open[thread];
                let Some(at) = stack.iter().rposition(|o| o.function == function) else {
                    if self.names.bytes(function) == EVENT {
                        return;
                    }
                    self.losses.add(
                        "probe_without_call",
                        1,
                        Severity::Info,
                        "a probed function returned whose call is not in the callback: its time \
                         is not counted",
                        Some(stamp.at),
                    );
                    return;
                };
                let mut ended = stack[at];
                stack.truncate(at);
                let by = caller(text);
                let mut caller = self.names.add_bytes(by);
                if self.names.bytes(function) == SLEEPS_IN
                    && COMPLETIONS.iter().any(|f| by.starts_with(f))
                    && let Some(who) = c.probes.who[thread].filter(|w| w.callback == callback)
                {
                    (ended.function, caller) = (who.function, who.caller);
                }
                c.end_probe(thread, ended, stamp.time, Some(caller));
            }
        }
    }
}

impl Current {
    /// A call of `thread` has ended and is no longer in its stack: by its return to that
    /// function, or without one.
    fn end_probe(&mut self, thread: usize, ended: Open, time: Ns, caller: Option<Sym>) {
        if let Some(lock) = ended.lock {
            self.leave(thread, lock);
        }
        let stack = &mut self.probes.open[thread];
        let took = time.since(ended.start);
        let own = took.since(ended.inner);
        // Its calls to itself are part of it. One below that never returns, because the probe
        // missed that, counts nothing.
        if let Some(outer) = stack.iter_mut().rev().find(|o| o.function == ended.function) {
            outer.same += took;
        }
        let outermost = match stack.last_mut() {
            Some(outer) => {
                outer.inner += took;
                false
            }
            None => true,
        };
        if outermost {
            self.add_wait(&ended, took, caller);
        }
        let Some(place) = self.place_of(ended) else { return };
        let i = &mut self.cycle.inside[place];
        i.calls += 1;
        i.missed += u64::from(caller.is_none());
        i.own += own;
        i.total += took.since(ended.same);
        if own >= LONG {
            i.long += own;
        }
    }

    /// A call that no other probed function made.
    fn add_wait(&mut self, ended: &Open, took: Ns, caller: Option<Sym>) {
        let Some(b) = self.cycle.callbacks.get(ended.callback as usize) else { return };
        let (device, phase) = (b.device, b.phase);
        let (holder, holds_for) = ended.holder;
        let by = caller.unwrap_or(Sym::EMPTY);
        let key = (device, phase, [ended.function, by, ended.what, holder], holds_for);
        let list = &mut self.cycle.waits;
        let place = match self.probes.waits.get(&key) {
            Some(&place) => place as usize,
            None if list.len() >= MAX_KINDS => return,
            None => {
                self.probes.waits.insert(key, list.len() as u32);
                list.push(Wait {
                    device,
                    phase,
                    function: ended.function,
                    caller: by,
                    what: ended.what,
                    holder,
                    holds_for,
                    calls: 0,
                    missed: 0,
                    total: Ns::ZERO,
                    least: took,
                    most: took,
                });
                list.len() - 1
            }
        };
        let w = &mut list[place];
        w.calls += 1;
        w.missed += u64::from(caller.is_none());
        w.total += took;
        w.least = w.least.min(took);
        w.most = w.most.max(took);
    }

    /// `thread` gives a mutex away for which others wait: it held it since the last that did.
    fn unlock(&mut self, thread: usize, lock: u64, time: Ns) {
        let Some(waiters) = self.probes.locks.get_mut(&lock) else { return };
        let callback = self.threads.open[thread].last().map(|o| o.0 as usize);
        let device = callback.and_then(|b| self.cycle.callbacks.get(b)).map(|b| b.device);
        let name = self.threads.list[thread].name;
        let open = &mut self.probes.open;
        waiters.retain(|&waiter| {
            let call = open.get_mut(waiter).and_then(|stack| {
                stack.iter_mut().rev().find(|o| o.lock == Some(lock) && waiter != thread)
            });
            let Some(o) = call else { return false };
            let (longest, since) = o.held;
            let held = time.since(since);
            if held >= longest {
                o.holder = (name, device);
            }
            o.held = (longest.max(held), time);
            true
        });
    }

    /// `thread` waits for that mutex no longer.
    fn leave(&mut self, thread: usize, lock: u64) {
        if let Some(waiters) = self.probes.locks.get_mut(&lock) {
            waiters.retain(|&w| w != thread);
        }
    }

    /// Where the function of a callback stands in the list; `None` if the list is full.
    fn place_of(&mut self, call: Open) -> Option<usize> {
        let (list, key) = (&mut self.cycle.inside, (call.callback, call.function));
        if let Some(&place) = self.probes.place.get(&key) {
            return Some(place as usize);
        }
        let b = self.cycle.callbacks.get(call.callback as usize)?;
        let (device, phase, function) = (b.device, b.phase, call.function);
        // Another callback of the same device in the same phase adds to it; they follow each
        // other closely.
        let same = |i: &Inside| (i.device, i.phase, i.function) == (device, phase, function);
        let from = list.len().saturating_sub(LATEST);
        let place = match list[from..].iter().rposition(same) {
            Some(at) => from + at,
            None if list.len() >= MAX_KINDS => return None,
            None => {
                let (total, own, long) = (Ns::ZERO, Ns::ZERO, Ns::ZERO);
                let (calls, missed) = (0, 0);
                list.push(Inside { device, phase, function, total, own, long, calls, missed });
                list.len() - 1
            }
        };
        self.probes.place.insert(key, place as u32);
        Some(place)
    }
}
