//! The log and the trace of the same cycle become one.
//!
//! The trace is the base: its brackets are exact. The log adds what only it
//! tells: durations that the kernel printed, functions, time asleep by a clock
//! that kept running, who would not freeze, why a cycle was given up.

use crate::track::{CycleNote, Kind};
use dormouse_base::cycle::{Cycle, Mode, Outcome, ThreadId};
use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// Joins what belongs together; `notes` is parallel to `cycles`. Gives the sources of
/// each log and trace that were joined.
pub(crate) fn merge(
    cycles: &mut Vec<Cycle>,
    notes: &mut Vec<CycleNote>,
    sources: u32,
) -> Vec<(u32, u32)> {
    let pairs = pairs(cycles, notes, sources);
    let mut joined: Vec<(u32, u32)> = Vec::new();
    if pairs.is_empty() {
        return joined;
    }
    let mut gone = vec![false; cycles.len()];
    for (log, trace) in pairs {
        joined.push((notes[log].source, notes[trace].source));
        let from = std::mem::take(&mut cycles[log]);
        join(from, &mut cycles[trace]);
        gone[log] = true;
    }
    let mut keep = gone.iter().map(|g| !g);
    cycles.retain(|_| keep.next().unwrap_or(true));
    let mut keep = gone.iter().map(|g| !g);
    notes.retain(|_| keep.next().unwrap_or(true));
    joined.dedup();
    joined
}

/// Which log cycle is which trace cycle: by the stamp that both carry, else by
/// time, among sources of one folder or if there are just two.
fn pairs(cycles: &[Cycle], notes: &[CycleNote], sources: u32) -> Vec<(usize, usize)> {
    let mut groups: HashMap<(Sym, Sym), [Vec<usize>; 2]> = HashMap::new();
    for (i, n) in notes.iter().enumerate() {
        let folder = if sources == 2 { Sym::EMPTY } else { n.folder };
        let key = (n.stamp, folder);
        groups.entry(key).or_default()[usize::from(n.kind == Kind::Log)].push(i);
    }
    let mut found = Vec::new();
    for ((stamp, _), [traces, logs]) in groups {
        if !stamp.is_empty() && traces.len() == logs.len() {
            found.extend(logs.into_iter().zip(traces));
        } else {
            by_time(cycles, notes, logs, traces, &mut found);
        }
    }
    found.sort_unstable();
    found
}

/// Pairs cycles that overlap by more than half of the shorter one. Both lists
/// are walked once.
fn by_time(
    cycles: &[Cycle],
    notes: &[CycleNote],
    mut logs: Vec<usize>,
    mut traces: Vec<usize>,
    found: &mut Vec<(usize, usize)>,
) {
    logs.sort_by_key(|&i| cycles[i].start);
    traces.sort_by_key(|&i| cycles[i].start);
    let mut traces = traces.into_iter().peekable();
    for log in logs {
        let l = &cycles[log];
        while traces.next_if(|&t| cycles[t].end <= l.start).is_some() {}
        let Some(&trace) = traces.peek() else { break };
        let t = &cycles[trace];
        let common = l.end.min(t.end).since(l.start.max(t.start));
        let shorter = (l.end - l.start).min(t.end - t.start);
        if common.0.saturating_mul(2) > shorter.0 && notes[log].source != notes[trace].source {
            found.push((log, trace));
            traces.next();
        }
    }
}

/// Adds to `trace` what `log` knows better.
fn join(log: Cycle, trace: &mut Cycle) {
    if trace.host.is_empty() {
        trace.host = log.host;
    }
    if trace.kernel.is_empty() {
        trace.kernel = log.kernel;
    }
    if trace.mode == Mode::Unknown || matches!(log.mode, Mode::PmTest(_)) {
        trace.mode = log.mode;
    }
    trace.outcome = match (trace.outcome, log.outcome) {
        // The trace alone only guesses at these.
        (Outcome::AbortedByWakeup | Outcome::FreezeFailed { errno: 0 }, known)
            if known != Outcome::Partial =>
        {
            // What the trace lacked is known now.
            trace.warned.retain(|w| w.0 != UNPROVEN);
            known
        }
        (ours, _) => ours,
    };
    trace.asleep_elsewhere = trace.asleep_elsewhere.or(log.asleep_elsewhere);
    if let Some(asleep) = trace.asleep_elsewhere {
        place_sleep(asleep, trace);
    }
    trace.first_after_boot |= log.first_after_boot;
    trace.freeze_delays.extend(log.freeze_delays.iter().copied());
    trace.image.extend(log.image.iter().copied());
    printed(&log, trace);
    if trace.callbacks.is_empty() {
        take_callbacks(log, trace);
    } else {
        take_functions(&log, trace);
    }
}

/// Nothing proves why a cycle was given up.
pub(crate) const UNPROVEN: &str = "abort_cause_unproven";

/// Below this, time missing by one clock is not a sleep.
pub(crate) const SHORTEST_SLEEP: Ns = Ns(1_000_000);

/// Puts the time asleep where it was: `asleep` by a clock that kept running.
///
/// The boot clock stands still while timekeeping is suspended and catches up
/// when it is resumed. In suspend-to-RAM that is inside the system core's
/// bracket on the way up, which would then hold the sleep. In suspend-to-idle
/// it is inside the sleep itself, and other clocks never catch up: then nothing
/// is to be done.
pub(crate) fn place_sleep(asleep: Ns, cycle: &mut Cycle) {
    let last = |phase| cycle.phases.iter().rposition(|p| p.phase == phase && p.complete);
    let (Some(turn), Some(core)) = (last(Phase::Asleep), last(Phase::SyscoreResume)) else {
        return;
    };
    // Clocks are read, and logs print, at slightly other moments.
    let length = cycle.phases[core].duration();
    if asleep < SHORTEST_SLEEP || length + SHORTEST_SLEEP < asleep || turn > core {
        return;
    }
    let caught_up = asleep.min(length);
    cycle.phases[turn].end += caught_up;
    cycle.phases[core].start += caught_up;
    if let Some((_, up)) = &mut cycle.asleep {
        *up += caught_up;
    }
    cycle.asleep_elsewhere = None;
}

/// The k-th time a phase is printed belongs to the k-th bracket.
fn printed(log: &Cycle, trace: &mut Cycle) {
    for phase in Phase::DEVICE {
        let mut known = log.phases.iter().filter(|p| p.phase == phase).map(|p| p.printed);
        for span in trace.phases.iter_mut().filter(|p| p.phase == phase) {
            if let Some(printed) = known.next() {
                span.printed = span.printed.or(printed);
            }
        }
    }
}

/// A trace of steps only gets the callbacks of the log, by the trace's clock.
fn take_callbacks(log: Cycle, trace: &mut Cycle) {
    trace.lost.extend(log.lost.iter().copied());
    let end_of = |c: &Cycle| {
        let mut ends = c.phases.iter().filter(|p| p.phase.has_devices() && p.complete);
        ends.find(|p| p.phase == Phase::Suspend).map(|p| p.end)
    };
    let shift = match (end_of(&log), end_of(trace)) {
        (Some(ours), Some(theirs)) => theirs - ours,
        _ => Ns::ZERO,
    };
    let mut thread = Vec::with_capacity(log.threads.len());
    for t in &log.threads {
        let known = trace.threads.iter().position(|k| k.pid == t.pid && t.pid != 0);
        let at = known.unwrap_or_else(|| {
            trace.threads.push(t.clone());
            trace.threads.len() - 1
        });
        thread.push(ThreadId(u16::try_from(at).unwrap_or(u16::MAX)));
    }
    if trace.threads.len() > usize::from(u16::MAX) {
        return;
    }
    if trace.threads.iter().any(|t| t.is_main == Some(true)) {
        for t in &mut trace.threads {
            t.is_main = t.is_main.or(Some(false));
        }
    }
    for mut c in log.callbacks {
        c.start += shift;
        c.end += shift;
        c.thread = thread[usize::from(c.thread.0)];
        trace.callbacks.push(c);
    }
}

/// A trace tells `bus`, a log tells `pci_pm_suspend`.
fn take_functions(log: &Cycle, trace: &mut Cycle) {
    let named: HashMap<(DeviceId, Phase), Sym> = log
        .callbacks
        .iter()
        .filter(|c| !c.function.is_empty())
        .map(|c| ((c.device, c.phase), c.function))
        .collect();
    if named.is_empty() {
        return;
    }
    for c in &mut trace.callbacks {
        if let Some(&function) = named.get(&(c.device, c.phase)) {
            c.function = function;
        }
    }
}
