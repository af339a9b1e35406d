//! What can only be said when a cycle, or everything, was seen.

use super::current::Current;
use super::rules;
use super::{END_ALONE, Tracker};
use crate::merge::UNPROVEN;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Mode, Outcome, PhaseSpan, PmTestLevel, ThreadId};
use dormouse_base::device::{Device, DeviceId};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::names::Sym;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::collections::{HashMap, HashSet};

/// `pm_test` waits 5 seconds by default where it turns round; an abort turns
/// round at once. Between the two lies this.
const PM_TEST_WAIT: Ns = Ns(900_000_000);

/// Turns the working state into a cycle.
pub(super) fn cycle(current: Current, losses: &mut Losses) -> Cycle {
    let Current { mut cycle, threads, whole, over, last, failed, disk, told, reaches, .. } =
        current;
    cycle.threads = threads.list;
    cycle.lines.begun |= whole;
    cycle.lines.closed = over;
    if threads.overflow > 0 {
        losses.add(
            "too_many_threads",
            threads.overflow,
            Severity::Warning,
            "more threads than can be told apart; some callbacks are filed under a wrong one",
            None,
        );
    }
    cycle.end = last.max(cycle.start);
    infer_spans(&mut cycle, &reaches);
    // A fragment begins with whatever it shows first.
    let first = cycle.phases.iter().map(|p| p.start).chain(cycle.callbacks.iter().map(|c| c.start));
    cycle.start = first.fold(cycle.start, Ns::min);
    if !whole {
        from_the_first_line(&mut cycle);
    }
    close_spans(&mut cycle);
    close_callbacks(&mut cycle, losses);
    count_switches(&cycle, losses);
    name_threads(&mut cycle);
    sleep_bracket(&mut cycle);
    if disk {
        cycle.mode = Mode::Disk;
    }
    // Deep asks for wake-ups on the way down alone, the last time with one CPU left, and
    // then it does not sleep (kernel/power/suspend.c, suspend_enter(), 6.1 to 7.3). s2idle
    // asks while it sleeps.
    if told.wakeup && cycle.mode == Mode::Deep {
        cycle.asleep = None;
        cycle.phases.retain(|p| p.phase != Phase::Asleep);
    }
    let freeze_undone = current.freeze_undone || told.freeze_failed.is_some();
    let came_back = over && whole;
    let reached = |phase: Phase| cycle.phases.iter().any(|p| p.phase == phase);
    let turn = turning_wait(&cycle);
    cycle.outcome = if freeze_undone {
        Outcome::FreezeFailed { errno: told.freeze_failed.unwrap_or(0) }
    } else if let Some((device, errno)) = failed
        && cycle.asleep.is_none()
    {
        Outcome::AbortedByDevice { device: Some(device), errno }
    } else if told.image_failed {
        Outcome::ImageFailed
    } else if told.aborted && cycle.asleep.is_none() && !told.wakeup {
        // Whatever else the text has of it.
        Outcome::AbortedByDevice { device: None, errno: told.error.unwrap_or(0) }
    } else if told.aborted && cycle.asleep.is_none() {
        Outcome::AbortedByWakeup
    } else if !came_back {
        Outcome::Partial
    } else if cycle.asleep.is_some() {
        Outcome::Slept
    } else if told.wakeup {
        Outcome::AbortedByWakeup
    } else if told.pm_test || !told.is_log && turn.is_some_and(|(_, wait)| wait >= PM_TEST_WAIT) {
        // A log says that it waits (kernel/power/suspend.c:suspend_test); where it
        // says nothing, silence is what it does not print.
        if let Some((level, _)) = turn {
            cycle.mode = Mode::PmTest(level);
        }
        Outcome::Slept
    } else if told.is_log {
        Outcome::Slept
    } else if reached(Phase::Prepare) {
        losses.add(
            UNPROVEN,
            1,
            Severity::Info,
            "no callback failed, so a wakeup event is taken as the cause; the kernel log tells",
            None,
        );
        cycle.warn(UNPROVEN);
        Outcome::AbortedByWakeup
    } else {
        Outcome::FreezeFailed { errno: 0 }
    };
    if told.is_log && cycle.outcome == Outcome::Slept {
        unmarked_sleep(&mut cycle, losses);
    }
    cycle
}

/// Makes room for what the firmware took around the sleep: the clock of the trace stood then.
pub(super) fn add_firmware(cycle: &mut Cycle, down: Ns, up: Ns) -> Option<()> {
    let (from, to) = cycle.asleep?;
    // The sleep itself keeps its place.
    let is_sleep = |p: &PhaseSpan| p.phase == Phase::Asleep;
    let spans = cycle.phases.iter_mut().filter(|p| !is_sleep(p));
    let spans = spans.flat_map(|p| [&mut p.start, &mut p.end]);
    let calls = cycle.callbacks.iter_mut().flat_map(|b| [&mut b.start, &mut b.end]);
    let switches = cycle.switches.iter_mut().flat_map(|s| [&mut s.start, &mut s.end]);
    let events = cycle.events.iter_mut().map(|e| &mut e.time);
    let complaints = cycle.complaints.iter_mut().map(|c| &mut c.time);
    let ends = [&mut cycle.start, &mut cycle.end].into_iter().chain(&mut cycle.exit);
    for time in spans.chain(calls).chain(switches).chain(events).chain(complaints).chain(ends) {
        if *time <= from {
            *time -= down;
        } else if *time >= to {
            *time += up;
        }
    }
    Some(())
}

/// A kernel log that shows both ways and nothing of the sleep between: it was
/// somewhere between the last device down and the first device up.
fn unmarked_sleep(cycle: &mut Cycle, losses: &mut Losses) {
    if cycle.asleep.is_some() || matches!(cycle.mode, Mode::PmTest(_)) {
        return;
    }
    let Some(at) = cycle.phases.iter().rposition(|p| p.phase.direction() == Direction::Suspend)
    else {
        return;
    };
    let (down, Some(up)) = (cycle.phases[at], cycle.phases.get(at + 1).copied()) else { return };
    if !down.phase.has_devices() || !up.phase.has_devices() || up.start <= down.end {
        return;
    }
    cycle.asleep = Some((down.end, up.start));
    cycle.phases.insert(
        at + 1,
        PhaseSpan {
            phase: Phase::Asleep,
            event: rules::plain_event(Phase::Asleep),
            start: down.end,
            end: up.start,
            cpu: 0,
            complete: false,
            printed: None,
        },
    );
    losses.add(
        "sleep_unmarked",
        1,
        Severity::Warning,
        "the log does not say when sleep began and ended; it is taken to last from the last device down to the first up: write 1 to /sys/power/pm_debug_messages",
        None,
    );
    cycle.warn("sleep_unmarked");
}

/// A device phase without brackets spans its callbacks, also those of which only
/// the end is there (`reaches`), and is marked. A hibernation runs the same phase for
/// several events.
fn infer_spans(cycle: &mut Cycle, reaches: &[(Phase, Ns, Ns)]) {
    let mut missing: Vec<PhaseSpan> = Vec::new();
    let absent: Vec<Phase> =
        Phase::DEVICE.into_iter().filter(|&d| cycle.phases.iter().all(|p| p.phase != d)).collect();
    let spanned = |c: &Callback| {
        !absent.contains(&c.phase)
            && (!rules::is_hibernation(c.event)
                || cycle.phases.iter().any(|p| p.phase == c.phase && p.event == c.event))
    };
    for c in cycle.callbacks.iter().filter(|c| c.phase.has_devices() && !spanned(c)) {
        let found = missing.iter_mut().find(|s| s.phase == c.phase && s.event == c.event);
        if let Some(span) = found {
            span.start = span.start.min(c.start);
            span.end = span.end.max(c.end);
        } else {
            missing.push(PhaseSpan {
                phase: c.phase,
                event: c.event,
                start: c.start,
                end: c.end,
                cpu: 0,
                complete: false,
                printed: None,
            });
        }
    }
    for &(phase, start, end) in reaches {
        let mut spans = missing.iter_mut().filter(|s| s.phase == phase);
        if let (Some(span), None) = (spans.next(), spans.next()) {
            (span.start, span.end) = (span.start.min(start), span.end.max(end));
        }
    }
    // Where no line but ends of callbacks tells of the way up, they do: that time is none of the
    // way down.
    let is_up = |p: &PhaseSpan| p.phase.direction() == Direction::Resume;
    if !cycle.phases.iter().chain(&missing).any(is_up) {
        let up = reaches.iter().filter(|r| r.0.direction() == Direction::Resume);
        missing.extend(up.map(|&(phase, start, end)| PhaseSpan {
            phase,
            event: rules::plain_event(phase),
            start,
            end,
            cpu: 0,
            complete: false,
            printed: None,
        }));
    }
    missing.sort_by_key(|s| s.phase);
    until_the_next(cycle, &mut missing);
    cycle.phases.extend(missing);
}

/// A fragment that begins with the line of a callback begins inside its phase: printing
/// that line is no gap before it.
fn from_the_first_line(cycle: &mut Cycle) {
    let start = cycle.start;
    let first = cycle.phases.iter_mut().min_by_key(|p| p.start);
    if let Some(first) = first.filter(|p| !p.complete && p.phase.has_devices()) {
        first.start = first.start.min(start);
    }
}

/// Where the callback that began last in a phase has no end, it may have run until
/// the next phase of the same way began: the time between is no gap.
fn until_the_next(cycle: &Cycle, missing: &mut [PhaseSpan]) {
    for i in 0..missing.len() {
        let s = missing[i];
        let of_span = |c: &&Callback| c.phase == s.phase && c.event == s.event;
        let list = cycle.callbacks.iter().filter(of_span);
        let open = list.max_by_key(|c| c.start).is_some_and(|c| !c.complete);
        let next = missing.iter().chain(&cycle.phases).filter(|n| n.start >= s.end);
        if let Some(next) = next.min_by_key(|n| n.start)
            && open
            && next.phase.has_devices()
            && next.phase.direction() == s.phase.direction()
        {
            missing[i].end = next.start;
        }
    }
}

/// Brackets without an end last until the next phase, or until the cycle ends.
fn close_spans(cycle: &mut Cycle) {
    if !cycle.phases.is_sorted_by_key(|p| p.start) {
        cycle.phases.sort_by_key(|p| p.start);
    }
    let last = cycle.phases.iter().map(|p| p.end).max().unwrap_or(cycle.end);
    cycle.end = cycle.end.max(last);
    let mut next = cycle.end;
    for span in cycle.phases.iter_mut().rev() {
        if !span.complete && span.end == span.start {
            span.end = next;
        }
        // Phases never overlap. Brackets of a damaged input, or made from
        // printed durations, may: the later begin is the surer of the two.
        span.end = span.end.min(next).max(span.start);
        next = span.start;
    }
}

/// Callbacks without an end last until their thread begins the next one, at most
/// until their phase ends: every phase waits for all its callbacks. Without a
/// phase they last until the cycle ends.
fn close_callbacks(cycle: &mut Cycle, losses: &mut Losses) {
    let mut unfinished = 0;
    // A thread runs one callback after another: whatever it begins next, the one
    // before has ended.
    let mut next: HashMap<ThreadId, Vec<Ns>> = HashMap::new();
    if cycle.callbacks.iter().any(|c| !c.complete) {
        let known = |c: &&Callback| cycle.threads[usize::from(c.thread.0)].pid != 0;
        for c in cycle.callbacks.iter().filter(known) {
            next.entry(c.thread).or_default().push(c.start);
        }
        next.values_mut().for_each(|starts| starts.sort_unstable());
    }
    for c in cycle.callbacks.iter_mut().filter(|c| !c.complete) {
        unfinished += 1;
        let at = cycle.phases.partition_point(|p| p.start <= c.start);
        let span = cycle.phases[..at].iter().rev().take(4).find(|p| p.phase == c.phase);
        let starts = next.get(&c.thread).map_or(&[][..], Vec::as_slice);
        let begun = starts.get(starts.partition_point(|&s| s <= c.start)).copied();
        let end = span.map_or(cycle.end, |p| p.end);
        c.end = begun.map_or(end, |b| b.min(end)).max(c.start);
    }
    losses.add(
        "callback_without_end",
        unfinished,
        Severity::Warning,
        "callbacks began and their end is missing; they are shown up to the next one of their thread, or the end of their phase",
        None,
    );
    if !cycle.callbacks.is_sorted_by_key(|c| c.start) {
        cycle.callbacks.sort_by_key(|c| c.start);
    }
}

/// Power domains that a sleep switched, by when nobody knows. Others may still be on
/// their way when a cycle ends.
fn count_switches(cycle: &Cycle, losses: &mut Losses) {
    let slept = |p: Option<Phase>| matches!(p, Some(Phase::Noirq | Phase::ResumeNoirq));
    let open = cycle.switches.iter().filter(|s| !s.complete && slept(s.phase)).count();
    losses.add(
        "switch_without_end",
        open as u64,
        Severity::Warning,
        "power domains began to be switched and the end is missing; their time is in that of their device",
        None,
    );
}

/// Whoever is not the main thread is known not to be, once that one is known.
fn name_threads(cycle: &mut Cycle) {
    let known = cycle.threads.iter().any(|t| t.is_main == Some(true));
    if !known {
        // Prepare and complete run on the main thread only.
        let serial = |p: Phase| matches!(p, Phase::Prepare | Phase::Complete);
        if let Some(c) = cycle.callbacks.iter().find(|c| serial(c.phase))
            && cycle.threads[usize::from(c.thread.0)].pid != 0
        {
            cycle.threads[usize::from(c.thread.0)].is_main = Some(true);
        }
    }
    if cycle.threads.iter().any(|t| t.is_main == Some(true)) {
        for t in &mut cycle.threads {
            t.is_main = t.is_main.or(Some(false));
        }
    }
}

/// From the begin of the first turn to the end of the last.
fn sleep_bracket(cycle: &mut Cycle) {
    let mut turns = cycle.phases.iter().filter(|p| p.phase == Phase::Asleep && p.complete);
    if let Some(first) = turns.next() {
        let last = turns.next_back().unwrap_or(first);
        cycle.asleep = Some((first.start, last.end));
    }
}

/// Where a cycle that never slept turned round, and how long it stood there.
fn turning_wait(cycle: &Cycle) -> Option<(PmTestLevel, Ns)> {
    let down = cycle.phases.iter().rposition(|p| p.phase.direction() == Direction::Suspend)?;
    let up = cycle.phases.get(down + 1)?;
    let down = &cycle.phases[down];
    let level = match down.phase {
        Phase::Freeze | Phase::FreezeUser | Phase::FreezeKernel => PmTestLevel::Freezer,
        Phase::Prepare | Phase::Suspend => PmTestLevel::Devices,
        Phase::Late | Phase::Noirq => PmTestLevel::Platform,
        Phase::CpuOff => PmTestLevel::Processors,
        Phase::SyscoreSuspend => PmTestLevel::Core,
        _ => return None,
    };
    // In the core test the wait lies inside the syscore bracket, or between.
    let wait = up.start.since(down.end);
    let wait = if level == PmTestLevel::Core { wait.max(down.duration()) } else { wait };
    Some((level, wait))
}

/// Orders devices, finds parents, and hands everything over.
pub(super) fn capture(mut t: Tracker) -> Capture {
    // The log of a cycle may have told why it was given up.
    let unproven = t.done.iter().flat_map(|c| &c.warned).filter(|w| w.0 == UNPROVEN);
    let left: u64 = unproven.map(|w| w.1).sum();
    t.losses.list.retain_mut(|l| {
        l.count = if l.kind == UNPROVEN { left } else { l.count };
        l.count > 0
    });
    if t.split_seen {
        rename_split_devices(&mut t);
    }
    order_devices(&mut t);
    find_parents(&mut t);
    prove_async(&mut t);
    without_callbacks(&mut t);
    quoted_ends(&mut t);
    let Tracker { names, machine, graph, done, ranked, losses, unused, .. } = t;
    let unused_events = unused.kinds().map(|(kind, count)| (kind.name(), count)).collect();
    Capture {
        names,
        machine,
        graph,
        domains: Vec::new(),
        cycles: done,
        ranked,
        losses,
        unused_events,
    }
}

/// One end alone is a line that somebody quotes, and no list, where the input has
/// whole callbacks.
fn quoted_ends(t: &mut Tracker) {
    if t.done.iter().all(|c| c.callbacks.is_empty()) {
        return;
    }
    let losses = &mut t.losses;
    t.ranked.retain(|r| {
        if r.rows.len() == 1 {
            losses.add(END_ALONE.0, 1, Severity::Warning, END_ALONE.1, Some(r.at));
        }
        r.rows.len() > 1
    });
}

/// A kernel log without callbacks can be had with them: name the knobs.
fn without_callbacks(t: &mut Tracker) {
    let mut totals = 0;
    let mut nothing = 0;
    for (cycle, note) in t.done.iter().zip(&t.notes) {
        let asked = note.kind == super::Kind::Log && cycle.callbacks.is_empty();
        let entered = cycle.phases.iter().any(|p| p.phase != Phase::Sync);
        if asked && cycle.phases.iter().any(|p| p.phase.has_devices()) {
            totals += 1;
        } else if asked && entered {
            nothing += 1;
        }
    }
    t.losses.add(
        "no_callbacks",
        totals,
        Severity::Warning,
        "the log has totals of phases and no device: echo 1 > /sys/power/pm_print_times, then suspend again",
        None,
    );
    t.losses.add(
        "no_phases",
        nothing,
        Severity::Warning,
        "the log tells neither devices nor phases: echo 1 > /sys/power/pm_print_times, echo 1 > /sys/power/pm_debug_messages, then suspend again",
        None,
    );
}

/// A device text with several blanks was split at the last one. Where another
/// split gives a name that the source uses elsewhere as a device's (`Fixed
/// MDIO bus.0` is the parent of `fixed-0`), that one is right; and a device
/// without a driver on the platform bus is printed as `platform NAME`.
fn rename_split_devices(t: &mut Tracker) {
    if t.graph.devices.iter().all(|d| !t.names.get(d.driver).contains(' ')) {
        return;
    }
    let parents: HashSet<Sym> = t.graph.devices.iter().map(|d| d.parent_name).collect();
    let listed: HashSet<Sym> = t.listed.iter().copied().collect();
    for i in 0..t.graph.devices.len() {
        let d = &t.graph.devices[i];
        let driver = t.names.get(d.driver);
        if !driver.contains(' ') {
            continue;
        }
        let text = format!("{driver} {}", t.names.get(d.name));
        // Kernel names are short; a hostile text of blanks must not be quadratic.
        let blanks: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).take(8).collect();
        let split_in = |set: &HashSet<Sym>| {
            let known =
                |at: &&usize| t.names.find(&text[*at + 1..]).is_some_and(|s| set.contains(&s));
            blanks.iter().find(known).copied()
        };
        // A list made by splitting at blanks has the wrong names itself, so it
        // proves less than the parent of another device.
        let split = split_in(&parents)
            .or_else(|| text.starts_with("platform ").then_some("platform".len()))
            .or_else(|| split_in(&listed));
        if let Some(at) = split {
            let (driver, name) = (text[..at].to_owned(), text[at + 1..].to_owned());
            let d = &mut t.graph.devices[i];
            d.driver = t.names.add(&driver);
            d.name = t.names.add(&name);
        }
    }
}

/// The prepare phase walks `dpm_list` from head to tail, so the cycle that
/// prepared the most devices shows the order; others follow as they were met.
fn order_devices(t: &mut Tracker) {
    let prepared = |c: &Cycle| c.callbacks.iter().filter(|b| b.phase == Phase::Prepare).count();
    let Some((best, count)) = t.done.iter().map(prepared).enumerate().rev().max_by_key(|&(_, n)| n)
    else {
        return;
    };
    if count == 0 {
        return;
    }
    t.graph.order_known = true;
    let total = t.graph.devices.len();
    let mut place = vec![u32::MAX; total];
    let mut order: Vec<u32> = Vec::with_capacity(total);
    let listed = t.done[best].callbacks.iter().filter(|b| b.phase == Phase::Prepare);
    for id in listed.map(|b| b.device.0).chain(0..total as u32) {
        if place[id as usize] == u32::MAX {
            place[id as usize] = order.len() as u32;
            order.push(id);
        }
    }
    if order.is_sorted() {
        return;
    }
    let mut devices: Vec<Device> = Vec::with_capacity(total);
    for &id in &order {
        let mut d = std::mem::take(&mut t.graph.devices[id as usize]);
        d.parent = d.parent.map(|p| DeviceId(place[p.index()]));
        devices.push(d);
    }
    t.graph.devices = devices;
    for l in &mut t.graph.links {
        l.consumer = DeviceId(place[l.consumer.index()]);
        l.supplier = DeviceId(place[l.supplier.index()]);
    }
    for r in t.ranked.iter_mut().flat_map(|r| &mut r.rows) {
        r.device = DeviceId(place[r.device.index()]);
    }
    for c in &mut t.done {
        c.renumber(|d| Some(DeviceId(place[d.index()])));
    }
}

/// A parent's name means the nearest device of that name before the child:
/// superiors stand before subordinates. In an unordered graph it means the
/// only one of that name.
fn find_parents(t: &mut Tracker) {
    let mut before: Vec<Option<DeviceId>> = vec![None; t.names.len()];
    let mut missing = Vec::new();
    for id in t.graph.ids() {
        let d = &mut t.graph.devices[id.index()];
        if d.parent.is_none() && !d.parent_name.is_empty() {
            match before[d.parent_name.0 as usize] {
                Some(p) if t.graph.order_known => d.parent = Some(p),
                _ => missing.push(id),
            }
        }
        before[d.name.0 as usize] = Some(id);
    }
    for id in missing {
        let d = &t.graph.devices[id.index()];
        let parent = before[d.parent_name.0 as usize].filter(|&p| p != id);
        t.graph.devices[id.index()].parent = parent;
    }
    cut_loops(t);
}

/// Names guessed in an unordered graph may lead round in a circle.
fn cut_loops(t: &mut Tracker) {
    let total = t.graph.devices.len();
    let mut seen = vec![0u32; total];
    for start in 0..total {
        let mark = start as u32 + 1;
        let mut at = start;
        loop {
            if seen[at] == mark {
                t.graph.devices[at].parent = None;
                break;
            }
            if seen[at] != 0 {
                break;
            }
            seen[at] = mark;
            match t.graph.devices[at].parent {
                Some(p) => at = p.index(),
                None => break,
            }
        }
    }
}

/// A callback in a worker proves that a device is async. One on the main
/// thread in a phase that has workers proves that it is not, if the same
/// capture shows workers at all (otherwise `pm_async` may be off).
fn prove_async(t: &mut Tracker) {
    let total = t.graph.devices.len();
    let mut worker = vec![false; total];
    let mut main = vec![false; total];
    for c in &t.done {
        for b in c.callbacks.iter().filter(|b| b.phase.may_be_async()) {
            match c.threads[usize::from(b.thread.0)].is_main {
                Some(true) => main[b.device.index()] = true,
                Some(false) => worker[b.device.index()] = true,
                None => {}
            }
        }
    }
    let any = worker.iter().any(|&w| w);
    for (i, d) in t.graph.devices.iter_mut().enumerate() {
        if worker[i] {
            d.async_flag = Some(true);
        } else if d.async_flag.is_none() {
            d.async_flag = t.async_by_name.get(d.name.0 as usize).copied().flatten().flatten();
        }
        if d.async_flag.is_none() && main[i] && any {
            d.async_flag = Some(false);
        }
    }
    if any && t.machine.pm_async.is_none() {
        t.machine.pm_async = Some(true);
    }
}
