//! Runtime power management across a sleep, in a recording with its events
//! (`record --with rpm`; drivers/base/power/runtime.c and main.c, 6.12 and 7.3).
//!
//! A device that is suspended at run time can be left so (direct-complete). Many are
//! woken instead, only to be suspended again by other means.

use crate::evidence::{cycles, device, seen};
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level, Remedy};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// So much to save is worth a line of its own.
const WORTH: Ns = Ns(1_000_000);
/// Suspended again so soon after the sleep, and unused.
const SOON: Ns = Ns(2_000_000_000);
/// `EACCES`: runtime PM of the device is off.
const REFUSED: i32 = -13;
/// Two times are alike if they differ by a fifth of the larger at most.
const ALIKE: i64 = 5;
/// So many lines are shown.
const LINES: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Suspend,
    Resume,
    Idle,
}

/// One call, from its event to its return.
struct Call {
    function: Function,
    device: DeviceId,
    start: Ns,
    end: Ns,
    ret: i32,
    /// The call of the same thread that it was made in.
    within: Option<usize>,
}

/// The calls of a cycle that returned, in order of their begin.
fn calls(capture: &Capture, c: &Cycle, named: &BTreeMap<&str, DeviceId>) -> Vec<Call> {
    let mut all: Vec<Call> = Vec::new();
    let mut returned: Vec<bool> = Vec::new();
    // By thread: calls that have not returned.
    let mut open: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for e in &c.events {
        let function = match capture.names.get(e.name) {
            "rpm_suspend" => Function::Suspend,
            "rpm_resume" => Function::Resume,
            "rpm_idle" => Function::Idle,
            "rpm_return_int" => {
                let text = capture.names.get(e.text);
                let Some((ret, stack)) =
                    ret(text).zip(open.get_mut(&e.thread.0).filter(|s| !s.is_empty()))
                else {
                    continue;
                };
                let (function, name, ret) = ret;
                let fits = |&i: &usize| {
                    all[i].function == function && named.get(name) == Some(&all[i].device)
                };
                if let Some(place) = stack.iter().rposition(fits) {
                    let i = stack[place];
                    (all[i].end, all[i].ret, returned[i]) = (e.time, ret, true);
                    stack.truncate(place);
                }
                continue;
            }
            _ => continue,
        };
        // `NAME flags-4 cnt-1  dep-0 …`
        let text = capture.names.get(e.text);
        let name = text.split_once(" flags-").map_or(text, |t| t.0);
        let Some(&device) = named.get(name) else { continue };
        let stack = open.entry(e.thread.0).or_default();
        let within = stack.last().copied();
        // What never returns must not grow for ever.
        if stack.len() < 64 {
            stack.push(all.len());
        }
        all.push(Call { function, device, start: e.time, end: e.time, ret: 0, within });
        returned.push(false);
    }
    // A call without a return proves nothing; the places of the others stay.
    for (call, returned) in all.iter_mut().zip(returned) {
        if !returned {
            call.ret = i32::MIN;
        }
    }
    all
}

/// `rpm_resume+0x124/0x6d8:mmc0:0001 ret=0`.
fn ret(text: &str) -> Option<(Function, &str, i32)> {
    let (head, number) = text.trim().rsplit_once(" ret=")?;
    let (call, name) = head.split_once(':')?;
    let function = match call.split('+').next()? {
        "rpm_suspend" => Function::Suspend,
        "rpm_resume" => Function::Resume,
        "rpm_idle" => Function::Idle,
        _ => return None,
    };
    Some((function, name, number.trim().parse().ok()?))
}

/// A device with what it is about, its cycle, and the time that would be saved there.
struct Found {
    device: DeviceId,
    by: Option<DeviceId>,
    at: usize,
    time: Ns,
    saving: Ns,
}

/// Judges what runtime PM did around each sleep.
pub(crate) fn judge(capture: &Capture, out: &mut Vec<Finding>) {
    let is_rpm = |c: &Cycle| c.events.iter().any(|e| capture.names.get(e.name).starts_with("rpm_"));
    if !capture.cycles.iter().any(is_rpm) {
        return;
    }
    let mut named: BTreeMap<&str, DeviceId> = BTreeMap::new();
    for id in capture.graph.ids() {
        named.entry(capture.names.get(capture.graph.get(id).name)).or_insert(id);
    }
    let (mut woken, mut held, mut after, mut late) = (vec![], vec![], vec![], vec![]);
    let mut twins = vec![];
    for (at, c) in cycles(capture) {
        let calls = calls(capture, c, &named);
        twins_in(at, c, &calls, &mut twins);
        woken_in(at, c, &calls, &mut woken, &mut held);
        late_in(at, c, &calls, &mut late);
        after_in(at, c, &calls, &mut after);
        if at == 0 {
            missed(capture, c, &calls, &woken, out);
        }
    }
    twin(capture, twins, out);
    report(capture, out, "rpm-woken", woken, "was resumed at run time for the sleep");
    report(capture, out, "rpm-parent-held", held, "was resumed because of");
    report(capture, out, "rpm-after", after, "was suspended again after");
    report(capture, out, "rpm-late-use", late, "could not be resumed any more");
}

fn callback(c: &Cycle, device: DeviceId, phase: Phase) -> Option<&Callback> {
    c.callbacks.iter().find(|x| x.device == device && x.phase == phase)
}

fn phase_start(c: &Cycle, phase: Phase) -> Option<Ns> {
    c.phases.iter().find(|s| s.phase == phase).map(|s| s.start)
}

/// What its callbacks of the way down and up take, in the phases that direct-complete
/// would spare (drivers/base/power/main.c:device_suspend).
fn spared(c: &Cycle, device: DeviceId) -> Ns {
    let middle =
        |x: &&Callback| x.device == device && !matches!(x.phase, Phase::Prepare | Phase::Complete);
    c.callbacks.iter().filter(middle).map(Callback::duration).sum()
}

/// Devices that were resumed on the way down, between prepare and their late callback,
/// and those above that were resumed only with them.
fn woken_in(at: usize, c: &Cycle, calls: &[Call], woken: &mut Vec<Found>, held: &mut Vec<Found>) {
    let Some(prepare) = phase_start(c, Phase::Prepare) else { return };
    let late = phase_start(c, Phase::Late).unwrap_or(Ns::MAX);
    let up = phase_start(c, Phase::ResumeNoirq).or(phase_start(c, Phase::Resume));
    let down = |t: Ns| t >= prepare && t < late.min(up.unwrap_or(Ns::MAX));
    // 1 says that it was awake.
    let really = |x: &Call| x.function == Function::Resume && x.ret == 0 && down(x.start);
    for x in calls.iter().filter(|x| really(x)) {
        let own = callback(c, x.device, Phase::Late).map_or(Ns::MAX, |l| l.start);
        if x.start > own {
            continue;
        }
        let outer = x.within.map(|i| &calls[i]).filter(|o| really(o) && o.device != x.device);
        let inside = callback(c, x.device, Phase::Suspend)
            .is_some_and(|s| s.start <= x.start && x.end <= s.end);
        let resume = x.end.since(x.start);
        let saving = spared(c, x.device) + if inside { Ns::ZERO } else { resume };
        let by = outer.map(|o| o.device);
        let list = if by.is_some() { &mut *held } else { &mut *woken };
        // What is spared of one that is held is the part above its own: the resume.
        let saving = if by.is_some() { resume } else { saving };
        if !list.iter().any(|f| f.device == x.device && f.at == at) {
            list.push(Found { device: x.device, by, at, time: x.start, saving });
        }
    }
}

/// Resumes that were refused because runtime PM is off from late to early.
fn late_in(at: usize, c: &Cycle, calls: &[Call], late: &mut Vec<Found>) {
    let Some(begin) = phase_start(c, Phase::Late) else { return };
    let early = c.phases.iter().rfind(|s| s.phase == Phase::ResumeEarly);
    let end = early.map_or(c.end, |s| s.end);
    let refused = |x: &&Call| {
        x.function == Function::Resume && x.ret == REFUSED && x.start >= begin && x.start <= end
    };
    for x in calls.iter().filter(refused) {
        let found = Found { device: x.device, by: None, at, time: x.start, saving: Ns::ZERO };
        late.push(found);
    }
}

/// Devices that were suspended again soon after the sleep, and that nobody had asked for.
fn after_in(at: usize, c: &Cycle, calls: &[Call], after: &mut Vec<Found>) {
    for (i, x) in calls.iter().enumerate() {
        if x.function != Function::Suspend || x.ret != 0 {
            continue;
        }
        let Some(up) = callback(c, x.device, Phase::Resume) else { continue };
        let complete = callback(c, x.device, Phase::Complete).map_or(up.end, |d| d.start);
        // Up to there the PM core holds every device.
        let used =
            |y: &Call| y.device == x.device && y.function == Function::Resume && y.start >= up.end;
        let soon = x.start >= complete && x.start.since(complete) < SOON;
        if !soon || calls[..i].iter().any(used) {
            continue;
        }
        let found = Found { device: x.device, by: None, at, time: x.start, saving: up.duration() };
        after.push(found);
    }
}

/// A device that was suspended in both ways in one cycle.
struct Pair {
    device: DeviceId,
    at: usize,
    /// Its callback of system sleep, and the function that it ran, if the source says.
    system: Callback,
    runtime: Ns,
}

fn twins_in(at: usize, c: &Cycle, calls: &[Call], twins: &mut Vec<Pair>) {
    for x in calls.iter().filter(|x| x.function == Function::Suspend && x.ret == 0) {
        let Some(&system) = callback(c, x.device, Phase::Suspend) else { continue };
        // What it calls itself is a part of it.
        let inside = x.start >= system.start && x.end <= system.end;
        if !inside && system.complete && system.error == 0 {
            twins.push(Pair { device: x.device, at, system, runtime: x.end.since(x.start) });
        }
    }
}

/// Devices whose callback of system sleep takes as long as the one of runtime PM: most
/// likely both do the same work. `pm_runtime_force_suspend`, which runs the latter, is the
/// remedy, and looks the same without names.
fn twin(capture: &Capture, twins: Vec<Pair>, out: &mut Vec<Finding>) {
    let alike = |p: &&Pair| {
        let (a, b) = (p.system.duration(), p.runtime);
        a.min(b) >= WORTH && (a.0 - b.0).abs() * ALIKE <= a.max(b).0
    };
    let mut seen_of: BTreeMap<DeviceId, Vec<&Pair>> = BTreeMap::new();
    for p in &twins {
        seen_of.entry(p.device).or_default().push(p);
    }
    for (d, all) in seen_of {
        let first = all[0];
        let function = capture.names.get(first.system.function);
        if !all.iter().all(alike) || function.contains("force_suspend") {
            continue;
        }
        let own = device(capture, d);
        let text = |p: &&Pair| {
            let (a, b) = (p.system.duration().0 / 1_000, p.runtime.0 / 1_000);
            let text = format!("{} took {a} us to suspend, and {b} us at run time", own.name);
            seen(capture, p.at, p.system.start, &text)
        };
        let evidence: Vec<Evidence> = all.iter().take(LINES).map(text).collect();
        // A trace names kinds of callbacks, a kernel log functions.
        let named = function.contains('_');
        let confidence = if named { Confidence::Likely } else { Confidence::Guess };
        let f = Finding::new(("rpm-twin", Area::Rpm, Level::Note), confidence)
            .says(format!(
                "{} takes {} to suspend for a sleep and {} at run time: most likely both do the same work.",
                say::device(&own),
                say::span(first.system.duration()),
                say::span(first.runtime)
            ))
            .look("One pair does for both: pm_runtime_force_suspend() and pm_runtime_force_resume() as callbacks of system sleep, or DPM_FLAG_SMART_SUSPEND, which spares the second suspend of a device that is suspended.")
            .of_devices([own])
            .shown_by(evidence);
        out.push(f);
    }
}

/// Devices of the first cycle that were suspended at run time, stayed so, and had to run
/// their callbacks all the same; sysfs was read before that cycle alone.
fn missed(capture: &Capture, c: &Cycle, calls: &[Call], woken: &[Found], out: &mut Vec<Finding>) {
    let status = |d: DeviceId| capture.names.get(capture.graph.get(d).facts.runtime_status);
    let resumed: BTreeSet<DeviceId> = calls
        .iter()
        .filter(|x| x.function == Function::Resume && x.ret == 0)
        .map(|x| x.device)
        .collect();
    let ran: BTreeSet<DeviceId> = c
        .callbacks
        .iter()
        .filter(|x| x.phase.direction() == Direction::Suspend && x.phase != Phase::Prepare)
        .map(|x| x.device)
        .collect();
    let mut children: BTreeMap<DeviceId, Vec<DeviceId>> = BTreeMap::new();
    for id in capture.graph.ids() {
        if let Some(p) = capture.graph.get(id).parent {
            children.entry(p).or_default().push(id);
        }
    }
    let mut list: Vec<(DeviceId, Option<DeviceId>)> = Vec::new();
    for &d in &ran {
        let known = capture.graph.get(d);
        let stayed = status(d) == "suspended" && !resumed.contains(&d);
        if !stayed || known.facts.wakeup == Some(true) || woken.iter().any(|w| w.device == d) {
            continue;
        }
        // Who below it ran: the kernel leaves nothing alone above a device that suspends
        // (dpm_clear_superiors_direct_complete).
        let mut below = children.get(&d).cloned().unwrap_or_default();
        let mut by = None;
        let mut awake = false;
        let mut steps = 0;
        while let Some(x) = below.pop().filter(|_| steps < capture.graph.devices.len()) {
            steps += 1;
            awake |= status(x) == "active";
            if ran.contains(&x) && by.is_none() {
                by = Some(x);
            }
            below.extend(children.get(&x).into_iter().flatten());
        }
        if !awake {
            list.push((d, by));
        }
    }
    if list.is_empty() {
        return;
    }
    list.sort_by_key(|l| std::cmp::Reverse(spared(c, l.0)));
    let text = |&(d, by): &(DeviceId, Option<DeviceId>)| -> Evidence {
        let (name, took) = (device(capture, d).name, spared(c, d).0 / 1_000);
        let who =
            by.map_or("".into(), |b| format!("; {} below it ran too", device(capture, b).name));
        let text =
            format!("{name} was suspended at run time, and its callbacks took {took} us{who}");
        seen(capture, 0, callback(c, d, Phase::Suspend).map_or(c.start, |s| s.start), &text)
    };
    let devices: Vec<Device> = list.iter().map(|l| device(capture, l.0)).collect();
    let by = list[0].1.map(|b| device(capture, b));
    let f = direct_missed(devices, by.as_ref())
        .costs(list.iter().map(|l| spared(c, l.0)).max().unwrap_or_default())
        .shown_by(list.iter().take(LINES).map(text));
    out.push(f);
}

/// Devices that were suspended at run time and not left alone, and who below the first ran.
fn direct_missed(devices: Vec<Device>, by: Option<&Device>) -> Finding {
    let (verb, own) = if devices.len() == 1 { ("was", "its") } else { ("were", "their") };
    let first = devices.first().map_or("NAME", |d| &d.name).to_string();
    let who = match by {
        Some(b) if devices.len() == 1 => {
            format!(" {} below it ran, which forbids that.", say::device(b))
        }
        Some(b) => format!(" Below the first {} ran, which forbids that.", say::device(b)),
        None => " Nothing below ran: the driver does not ask for it, or forbids it.".into(),
    };
    let rule = ("rpm-direct-missed", Area::Rpm, Level::Note);
    let f = Finding::new(rule, Confidence::Likely).says(format!(
        "{} {verb} suspended at run time and could have been left so; {own} callbacks ran.{who}",
        say::devices(&devices)
    ));
    let f = match by {
        Some(b) => f.look(format!(
            "Look at {} first: what it does on the way down keeps all above it from being left alone.",
            b.name
        )),
        None => f
            .look(format!(
                "In its driver: prepare returns 1 where the state at run time fits the sleep. What it gains: dormouse predict FILE --leave-suspended {first}."
            ))
            .remedy([Remedy::LeaveSuspended(first)]),
    };
    f.of_devices(devices)
}

/// One finding of each device, with its cycles as evidence; the dearest first.
fn report(
    capture: &Capture,
    out: &mut Vec<Finding>,
    id: &'static str,
    list: Vec<Found>,
    what: &str,
) {
    let mut by: Vec<(DeviceId, Vec<Found>)> = Vec::new();
    for f in list {
        match by.iter_mut().find(|b| b.0 == f.device) {
            Some(b) => b.1.push(f),
            None => by.push((f.device, Vec::from([f]))),
        }
    }
    for (d, all) in by {
        let saving = all.iter().map(|f| f.saving).max().unwrap_or_default();
        let own = device(capture, d);
        let text = |f: &Found| {
            let other = f.by.map_or("".into(), |b| format!(" {}", device(capture, b).name));
            let rest = match id {
                "rpm-after" => " the sleep",
                _ => "",
            };
            seen(capture, f.at, f.time, &format!("{} {what}{other}{rest}", own.name))
        };
        let other = all[0].by.map(|b| device(capture, b));
        let (who, took) = (say::device(&own), say::ms(saving));
        let worth = if saving >= WORTH { Level::Slow } else { Level::Note };
        let rule = |level, confidence| Finding::new((id, Area::Rpm, level), confidence);
        let mut f = match id {
            "rpm-woken" => rule(worth, Confidence::Likely)
                .says(format!(
                    "{who} was suspended at run time and was resumed, only to be suspended for the sleep: {took} ms of callbacks."
                ))
                .look(format!(
                    "In its driver: DPM_FLAG_SMART_SUSPEND, or a prepare that returns 1; see first whether its power/wakeup differs from what it needs at run time. What it gains: dormouse predict FILE --leave-suspended {}.",
                    own.name
                ))
                .remedy([Remedy::LeaveSuspended(own.name.clone())]),
            "rpm-parent-held" => {
                let child = other.unwrap_or_default();
                rule(Level::Note, Confidence::Certain)
                    .says(format!(
                        "{who} was resumed at run time only because {} below it was: {took} ms.",
                        say::device(&child)
                    ))
                    .look(format!(
                        "Let {} stay suspended; this is gained once, whoever of its children wakes it.",
                        child.name
                    ))
            }
            "rpm-after" => rule(Level::Note, Confidence::Likely)
                .says(format!(
                    "{who} was resumed from the sleep and suspended again at once, unused: its resume took {took} ms."
                ))
                .look("In its driver: DPM_FLAG_MAY_SKIP_RESUME, so that it stays suspended."),
            _ => rule(Level::Risk, Confidence::Certain)
                .says(format!(
                    "{who} was asked for when runtime power management was off, between late and early: it could not be resumed."
                ))
                .look("Let its user resume it in its suspend callback and hold it until its resume, or make a device link with DL_FLAG_PM_RUNTIME."),
        };
        f.costs = Some(saving).filter(|s| *s > Ns::ZERO);
        let evidence: Vec<Evidence> = all.iter().take(LINES).map(text).collect();
        out.push(f.of_devices([own.clone()]).shown_by(evidence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::{SideEvent, ThreadId};
    use dormouse_base::device::Device as Known;
    use dormouse_base::phase::PmEvent;

    const MS: i64 = 1_000_000;

    /// A device whose suspend callback runs `function` for 10 ms, and that is suspended
    /// at run time, for so many ms, at a time.
    fn found(function: &str, runtime: i64, at: i64) -> Vec<(&'static str, Confidence)> {
        let mut c = Capture::default();
        let known = Known { name: c.names.add("cam"), ..Known::default() };
        let device = c.graph.push(known);
        let system = Callback {
            device,
            phase: Phase::Suspend,
            event: PmEvent::Suspend,
            thread: ThreadId(0),
            function: c.names.add(function),
            start: Ns(0),
            end: Ns(10 * MS),
            error: 0,
            complete: true,
        };
        let mut event = |time: i64, name: &str, text: &str| SideEvent {
            time: Ns(time * MS),
            name: c.names.add(name),
            thread: ThreadId(0),
            cpu: 0,
            text: c.names.add(text),
        };
        let events = vec![
            event(at, "rpm_suspend", "cam flags-a cnt-0"),
            event(at + runtime, "rpm_return_int", "rpm_suspend+0x1/0x2:cam ret=0"),
        ];
        c.cycles = vec![Cycle { callbacks: vec![system], events, ..Cycle::default() }];
        let mut out = Vec::new();
        judge(&c, &mut out);
        out.iter().filter(|f| f.id == "rpm-twin").map(|f| (f.id, f.confidence)).collect()
    }

    #[test]
    fn two_callbacks_that_take_as_long_are_one_unless_they_are_known_to_be() {
        assert_eq!(found("cam_suspend", 11, 500), [("rpm-twin", Confidence::Likely)]);
        assert_eq!(found("driver", 9, 500), [("rpm-twin", Confidence::Guess)]);
        assert!(found("cam_suspend", 14, 500).is_empty(), "they differ");
        assert!(found("pm_runtime_force_suspend", 10, 500).is_empty(), "the remedy is there");
        assert!(found("cam_suspend", 9, 0).is_empty(), "it calls the other");
    }
}
