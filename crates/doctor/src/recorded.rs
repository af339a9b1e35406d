//! What a recording shows by its phases and callbacks: a trace or a capture, which has
//! no messages to read.

use crate::evidence::{cycles, device, seen};
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level, Remedy, Unchecked};
use crate::report::{Report, Sleep, sorted};
use crate::rules::{abort, callback, ended, freezer, mode, sync};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Mode, Outcome};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;

/// A sync this long, or this share of going to sleep and not nothing, is a finding.
const SYNC: (Ns, i64) = (Ns(500_000_000), 10);
/// Less than this is nothing.
const SOME: Ns = Ns(50_000_000);
/// Freezing takes about 1 ms where nobody is slow.
const FREEZING: Ns = Ns(1_000_000_000);
/// From here on a callback that runs with interrupts off must be waiting.
const WAITS: Ns = Ns(5_000_000);
/// So many turns of one s2idle sleep.
const TURNS: usize = 3;
/// So many lines are shown.
const LINES: usize = 3;

/// Judges the cycles of a recording.
pub fn judge(capture: &Capture) -> Report {
    let mut findings = Vec::new();
    for rule in [
        failed,
        not_resumed,
        woken,
        sync,
        freezing,
        turns,
        noirq,
        callback::recorded,
        stepped,
        crate::freezing::judge,
        crate::runtime::judge,
        crate::switch::judge,
        crate::link::judge,
    ] {
        rule(capture, &mut findings);
    }
    findings.extend(crate::phases::judge(capture));
    sorted(&mut findings);
    let sleep = |c: &Cycle| Sleep {
        mode: c.mode.name().into(),
        line: 0,
        begun: true,
        closed: c.outcome != Outcome::Partial,
    };
    let mut unchecked = Vec::from([Unchecked::Messages]);
    let rpm = |c: &Cycle| c.events.iter().any(|e| capture.names.get(e.name).starts_with("rpm_"));
    if !capture.cycles.iter().any(rpm) {
        unchecked.push(Unchecked::RuntimePm);
    }
    if capture.cycles.iter().any(|c| c.mode == Mode::S2idle) {
        unchecked.push(Unchecked::Hardware);
    }
    Report {
        findings,
        unchecked,
        sleeps: capture.cycles.iter().map(sleep).collect(),
        recorded: true,
        ..Report::default()
    }
}

/// A device ended attempts: of several the one that did most often.
fn failed(capture: &Capture, out: &mut Vec<Finding>) {
    // Cycle and time.
    type At = (usize, Ns);
    let mut by: Vec<(DeviceId, i32, Vec<At>)> = Vec::new();
    for (at, c) in cycles(capture) {
        let Outcome::AbortedByDevice { device: Some(d), errno } = c.outcome else { continue };
        let end = c.callbacks.iter().find(|x| x.device == d && x.error != 0).map(|x| x.end);
        let time = end.unwrap_or(c.end);
        match by.iter_mut().find(|b| b.0 == d && b.1 == errno) {
            Some(b) => b.2.push((at, time)),
            None => by.push((d, errno, Vec::from([(at, time)]))),
        }
    }
    for (d, error, times) in by {
        let text = |&(at, t): &(usize, Ns)| {
            let name = device(capture, d).name;
            seen(capture, at, t, &format!("a callback of {name} returned {error}"))
        };
        let usb = capture.names.get(capture.graph.get(d).subsystem) == "usb";
        let f = ended::device_failed(device(capture, d), error, times.len(), usb, None);
        out.push(f.shown_by(times.iter().take(LINES).map(text)));
    }
}

/// Devices that failed on the way up, those of one error together.
fn not_resumed(capture: &Capture, out: &mut Vec<Finding>) {
    let mut by: Vec<(i32, Vec<DeviceId>, Vec<Evidence>)> = Vec::new();
    for (at, c) in cycles(capture) {
        let up = |x: &&Callback| x.error < 0 && x.phase.direction() == Direction::Resume;
        for x in c.callbacks.iter().filter(up) {
            if !by.iter().any(|b| b.0 == x.error) {
                by.push((x.error, Vec::new(), Vec::new()));
            }
            let Some(b) = by.iter_mut().find(|b| b.0 == x.error) else { continue };
            if !b.1.contains(&x.device) {
                b.1.push(x.device);
            }
            if b.2.len() < LINES {
                let name = device(capture, x.device).name;
                let text = format!("{} of {name} returned {}", x.phase.title(), x.error);
                b.2.push(seen(capture, at, x.end, &text));
            }
        }
    }
    for (error, devices, evidence) in by {
        let devices = devices.into_iter().map(|d| device(capture, d)).collect();
        out.push(abort::not_resumed(devices, error).shown_by(evidence));
    }
}

/// A wakeup ended attempts on the way down; a trace does not say whose.
fn woken(capture: &Capture, out: &mut Vec<Finding>) {
    let ended = cycles(capture).filter(|(_, c)| c.outcome == Outcome::AbortedByWakeup);
    let text = "the way down ended, and no callback had failed";
    let evidence: Vec<Evidence> =
        ended.take(LINES).map(|(at, c)| seen(capture, at, c.end, text)).collect();
    if evidence.is_empty() {
        return;
    }
    out.push(abort::woken(&[], false, Confidence::Likely).shown_by(evidence));
}

/// The time of `phases` of each cycle that has one, the longest first.
fn spans(capture: &Capture, phases: &[Phase]) -> Vec<(Ns, usize)> {
    let time = |(at, c): (usize, &Cycle)| {
        let all = c.phases.iter().filter(|s| phases.contains(&s.phase) && s.complete);
        let t: Ns = all.map(|s| s.duration()).sum();
        (t > Ns::ZERO).then_some((t, at))
    };
    let mut list: Vec<(Ns, usize)> = cycles(capture).filter_map(time).collect();
    list.sort_by_key(|s| std::cmp::Reverse(s.0));
    list
}

fn spent(capture: &Capture, list: &[(Ns, usize)], what: &str) -> Vec<Evidence> {
    let text = |&(t, at): &(Ns, usize)| {
        seen(capture, at, capture.cycles[at].start, &format!("{what} took {} us", t.0 / 1_000))
    };
    list.iter().take(LINES).map(text).collect()
}

/// A sync that takes long, or a large part of going to sleep.
fn sync(capture: &Capture, out: &mut Vec<Finding>) {
    let list = spans(capture, &[Phase::Sync]);
    let Some(&(worst, _)) = list.first() else { return };
    let mut times: Vec<Ns> = list.iter().map(|l| l.0).collect();
    let typical = middle(&mut times, Ns::mean).unwrap_or_default();
    let share = |&(t, at): &(Ns, usize)| {
        capture.cycles[at].suspend_time().is_some_and(|all| t.0 >= all.0 / 100 * SYNC.1)
    };
    let often = list.iter().filter(|l| share(l)).count() * 2 > list.len();
    if typical < SYNC.0 && !(often && typical >= SOME) {
        return;
    }
    let evidence = spent(capture, &list, "sync_filesystems");
    out.push(sync::took_long(typical, list.len(), worst).shown_by(evidence));
}

/// Tasks that take long to freeze.
fn freezing(capture: &Capture, out: &mut Vec<Finding>) {
    let list = spans(capture, &[Phase::Freeze, Phase::FreezeUser, Phase::FreezeKernel]);
    let slow = list.iter().filter(|l| l.0 >= FREEZING).count();
    if slow == 0 {
        return;
    }
    let evidence = spent(capture, &list[..slow], "freeze_processes");
    out.push(freezer::took_long(list[0].0, slow, list.len()).shown_by(evidence));
}

/// An s2idle sleep that was interrupted again and again (kernel/power/suspend.c:
/// s2idle_loop): a pair of marks each turn.
fn turns(capture: &Capture, out: &mut Vec<Finding>) {
    let count = |c: &Cycle| c.phases.iter().filter(|s| s.phase == Phase::Asleep).count();
    let most =
        cycles(capture).filter(|(_, c)| c.mode == Mode::S2idle).max_by_key(|(_, c)| count(c));
    let Some((at, c)) = most.filter(|(_, c)| count(c) >= TURNS) else { return };
    let text = format!("machine_suspend began {} times", count(c));
    out.push(mode::interrupted(count(c) - 1).shown_by([seen(capture, at, c.start, &text)]));
}

/// Whether the bus itself runs this callback, as PCI saves and restores its devices'
/// state in noirq (drivers/pci/pci-driver.c:pci_pm_suspend_noirq), which is where that
/// belongs.
fn is_of_the_bus(capture: &Capture, x: &Callback) -> bool {
    let known = capture.graph.get(x.device);
    let [function, bus, name] =
        [x.function, known.subsystem, known.name].map(|sym| capture.names.get(sym));
    ["bus", "pci_pm", "domain"].iter().any(|w| function.contains(w)) || bus == "pci" || is_pci(name)
}

/// `0000:00:1f.2`
fn is_pci(name: &str) -> bool {
    let hex = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit());
    let mut parts = name.split([':', '.']);
    name.len() == 12 && parts.clone().count() == 4 && parts.all(hex)
}

/// Callbacks that wait where device interrupts are off.
fn noirq(capture: &Capture, out: &mut Vec<Finding>) {
    // How long, in which cycle, from when.
    type Took = (Ns, usize, Ns);
    let mut by: Vec<(DeviceId, Phase, Vec<Took>)> = Vec::new();
    for (at, c) in cycles(capture) {
        for x in &c.callbacks {
            let off = matches!(x.phase, Phase::Noirq | Phase::ResumeNoirq);
            if !off || !x.complete || x.duration() < WAITS || is_of_the_bus(capture, x) {
                continue;
            }
            let one = (x.duration(), at, x.start);
            match by.iter_mut().find(|b| b.0 == x.device && b.1 == x.phase) {
                Some(b) => b.2.push(one),
                None => by.push((x.device, x.phase, Vec::from([one]))),
            }
        }
    }
    // Once may be chance.
    by.retain(|b| b.2.len() * 2 > capture.cycles.len());
    for b in &mut by {
        b.2.sort_by_key(|t| std::cmp::Reverse(t.0));
    }
    by.sort_by_key(|b| std::cmp::Reverse(b.2[0].0));
    let Some(first) = by.first() else { return };
    let evidence = by.iter().take(LINES).map(|(d, phase, times)| {
        let (t, at, start) = times[0];
        let name = device(capture, *d).name;
        let text = format!("{} of {name} took {} us", phase.title(), t.0 / 1_000);
        seen(capture, at, start, &text)
    });
    let mut names: Vec<DeviceId> = Vec::new();
    for b in &by {
        if !names.contains(&b.0) {
            names.push(b.0);
        }
    }
    let devices: Vec<Device> = names.into_iter().map(|d| device(capture, d)).collect();
    let earlier = |d: &Device| Remedy::Move(d.name.clone(), Phase::Noirq, Phase::Late);
    let remedies: Vec<Remedy> = devices.iter().map(earlier).collect();
    let runs = if devices.len() == 1 { "runs" } else { "run" };
    // Without the switches of its thread it may as well compute.
    let rule = ("phase-noirq-sleeps", Area::Phase, Level::Note);
    let f = Finding::new(rule, Confidence::Guess)
        .says(format!(
            "{} {runs} up to {} ms in noirq, where interrupts of devices are off.",
            say::devices(&devices),
            say::ms(first.2[0].0)
        ))
        .look(format!(
            "If it needs no more than its own registers there, it may wait earlier: dormouse predict RECORDING --move '{}=noirq:late' says what that gains.",
            devices.first().map_or("DEVICE", |d| &d.name)
        ))
        .of_devices(devices)
        .remedy(remedies)
        .at("noirq")
        .shown_by(evidence);
    out.push(f);
}

/// A phase in which the boot clock took in the time asleep (drivers/rtc/class.c:
/// rtc_resume): longer by the stamps than the kernel says.
fn stepped(capture: &Capture, out: &mut Vec<Finding>) {
    let jumped = |c: &&Cycle| c.phases.iter().any(|s| s.measured().1);
    let text = |(at, c): (usize, &Cycle)| {
        let s = c.phases.iter().find(|s| s.measured().1)?;
        let (took, by) = (s.measured().0, s.duration() - s.measured().0);
        let text = format!(
            "{}: {} us, and the clock goes on by {} us in it",
            s.phase.title(),
            took.0 / 1_000,
            by.0 / 1_000
        );
        Some(seen(capture, at, s.start, &text))
    };
    let evidence: Vec<Evidence> = cycles(capture).filter_map(text).take(LINES).collect();
    if evidence.is_empty() {
        return;
    }
    let times = capture.cycles.iter().filter(jumped).count();
    let f = Finding::new(("clock-rtc-step", Area::Clock, Level::Note), Confidence::Certain)
        .says(format!(
            "In {times} of {} cycles the clock of the recording took in the time asleep inside a resume phase: that phase is no slower for it.",
            capture.cycles.len()
        ))
        .look("Compare medians, and do not blame the clock's device (rtc) for that time.")
        .at("resume")
        .shown_by(evidence);
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::PhaseSpan;
    use dormouse_base::cycle::ThreadId;
    use dormouse_base::device::Device as Known;
    use dormouse_base::phase::PmEvent;

    const MS: i64 = 1_000_000;

    /// Two cycles of a host, with these callbacks of it.
    fn recording(name: &str, callbacks: &[(Phase, i64, i32)]) -> Capture {
        let mut c = Capture::default();
        let known = Known { name: c.names.add(name), ..Known::default() };
        let device = c.graph.push(known);
        let one = |&(phase, ms, error): &(Phase, i64, i32)| Callback {
            device,
            phase,
            event: PmEvent::Suspend,
            thread: ThreadId(0),
            function: Default::default(),
            start: Ns(10 * MS),
            end: Ns((10 + ms) * MS),
            error,
            complete: true,
        };
        let cycle = Cycle {
            outcome: Outcome::Slept,
            callbacks: callbacks.iter().map(one).collect(),
            asleep: Some((Ns(1_000 * MS), Ns(2_000 * MS))),
            end: Ns(3_000 * MS),
            ..Cycle::default()
        };
        c.cycles = std::vec![cycle.clone(), cycle];
        c
    }

    fn ids(c: &Capture) -> Vec<&'static str> {
        judge(c).findings.iter().map(|f| f.id).collect()
    }

    #[test]
    fn a_callback_that_waits_in_noirq_is_a_suspicion_unless_its_bus_does_it() {
        let slow = [(Phase::Noirq, 20, 0)];
        let report = judge(&recording("host", &slow));
        let [f] = &report.findings[..] else { panic!("{:?}", report.findings) };
        assert_eq!((f.id, f.confidence), ("phase-noirq-sleeps", Confidence::Guess));
        assert_eq!(f.evidence[0].text, "cycle 1: noirq suspend of host took 20000 us");
        assert!(ids(&recording("0000:00:1f.2", &slow)).is_empty(), "PCI itself");
        assert!(ids(&recording("host", &[(Phase::Late, 20, 0)])).is_empty());
        assert!(ids(&recording("host", &[(Phase::Noirq, 4, 0)])).is_empty());
        let mut once = recording("host", &slow);
        once.cycles[1].callbacks.clear();
        once.cycles.push(once.cycles[1].clone());
        assert!(ids(&once).is_empty(), "once of three may be chance");
    }

    #[test]
    fn a_sync_counts_by_its_length_and_by_its_share() {
        let with = |ms: i64| {
            let mut c = recording("host", &[]);
            for cycle in &mut c.cycles {
                cycle.phases.push(PhaseSpan {
                    phase: Phase::Sync,
                    event: PmEvent::Suspend,
                    start: Ns(0),
                    end: Ns(ms * MS),
                    cpu: 0,
                    complete: true,
                    printed: None,
                });
            }
            ids(&c)
        };
        // Going to sleep takes 1 s here.
        assert_eq!([with(600), with(100)], [["sync-share"], ["sync-share"]]);
        assert!(with(99).is_empty() && with(0).is_empty());
    }

    #[test]
    fn devices_that_fail_are_told_by_error_and_half() {
        let mut c = recording("host", &[(Phase::Resume, 1, -110)]);
        assert_eq!(ids(&c), ["device-not-resumed"]);
        c = recording("host", &[(Phase::Suspend, 1, -16)]);
        for cycle in &mut c.cycles {
            let device = Some(cycle.callbacks[0].device);
            cycle.outcome = Outcome::AbortedByDevice { device, errno: -16 };
        }
        let report = judge(&c);
        let about = &report.findings[0].about;
        assert_eq!((about.times, about.error), (Some(2), Some(-16)));
        assert!(report.findings[0].evidence[0].text.contains("a callback of host returned -16"));
    }
}
