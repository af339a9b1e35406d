//! What probed functions took inside callbacks.

use super::Tracker;
use super::current::Current;
use super::probed::{Open, function};
use crate::event::{self, Stamp};
use dormouse_base::inside::{Inside, LONG};
use dormouse_base::loss::Severity;
use dormouse_base::time::Ns;

/// Deepest nesting of probed functions in one thread; deeper is damage: a probe at a return
/// misses some where too many run at once.
const MAX_DEEP: usize = 64;

/// Functions that wait, or count time, and run no other probed function meanwhile
/// (kernel/time/sleep_timeout.c, kernel/time/timer.c, lib/delay.c).
const LEAVES: [&[u8]; 3] = [b"schedule_timeout", b"usleep_range", b"udelay"];

/// How far back an entry of the same device and phase is looked for.
const LATEST: usize = 256;

/// Most pairs of a callback and a function in one cycle.
const MAX_KINDS: usize = 100_000;

impl Tracker {
    /// A probe. Outside a callback it says nothing here.
    pub(super) fn probe_event(&mut self, stamp: &Stamp<'_>, name: &[u8]) {
        let Some((function, call)) = function(name) else { return };
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over) else {
            self.unused.add(event::Kind::Unknown, 1);
            return;
        };
        let thread = usize::from(c.threads.id(stamp.pid, stamp.comm, &mut self.names).0);
        let callback = c.threads.open[thread].last().map(|o| o.0);
        if c.probes.open.len() <= thread {
            c.probes.open.resize_with(thread + 1, Vec::new);
        }
        let stack = &mut c.probes.open[thread];
        // What a callback that has ended left open had a return that was missed.
        stack.retain(|o| Some(o.callback) == callback);
        let Some(callback) = callback else {
            self.unused.add(event::Kind::Unknown, 1);
            return;
        };
        let function = self.names.add_bytes(function);
        // Where the thread does something else, a wait is over whose return was missed.
        if let Some(top) = stack.last().copied()
            && (call || top.function != function)
            && LEAVES.contains(&self.names.bytes(top.function))
        {
            stack.pop();
            c.end_probe(thread, top, stamp.time, true);
        }
        let stack = &mut c.probes.open[thread];
        if call {
            if stack.len() >= MAX_DEEP {
                stack.remove(0);
            }
            let (inner, same) = (Ns::ZERO, Ns::ZERO);
            stack.push(Open { callback, function, start: stamp.time, inner, same });
            return;
        }
        match stack.iter().rposition(|o| o.function == function) {
            Some(at) => {
                let ended = stack[at];
                stack.truncate(at);
                c.end_probe(thread, ended, stamp.time, false);
            }
            None => self.losses.add(
                "probe_without_call",
                1,
                Severity::Info,
                "a probed function returned whose call is not in the callback: its time is not \
                 counted",
                Some(stamp.at),
            ),
        }
    }
}

impl Current {
    /// A call of `thread` has ended and is no longer in its stack.
    fn end_probe(&mut self, thread: usize, ended: Open, time: Ns, missed: bool) {
        let stack = &mut self.probes.open[thread];
        let took = time.since(ended.start);
        let own = took.since(ended.inner);
        // Its calls to itself are part of it. One below that never returns, because the probe
        // missed that, counts nothing.
        if let Some(outer) = stack.iter_mut().rev().find(|o| o.function == ended.function) {
            outer.same += took;
        }
        if let Some(outer) = stack.last_mut() {
            outer.inner += took;
        }
        let Some(place) = self.place_of(ended) else { return };
        let i = &mut self.cycle.inside[place];
        i.calls += 1;
        i.missed += u64::from(missed);
        i.own += own;
        i.total += took.since(ended.same);
        if own >= LONG {
            i.long += own;
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
