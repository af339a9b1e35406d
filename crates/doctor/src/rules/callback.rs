//! A callback that took seconds, where nothing else says so: by the end that the core prints of
//! it (drivers/base/power/main.c:initcall_debug_report, 6.12), or by its two events in a trace.

use super::pause::{LOOK_INTO, SLOW, owner, returned};
use crate::case::Case;
use crate::evidence::{cycles, device, lines, seen};
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::message::Message;
use dormouse_base::capture::Capture;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// So many besides the longest are named.
const OTHERS: usize = 3;

/// One callback that took long.
struct Slow {
    device: Device,
    /// Empty where the line or the event names none.
    function: String,
    direction: Option<Direction>,
    phase: Option<Phase>,
    took: Ns,
    shown: Evidence,
}

impl Slow {
    /// `foo_resume of 0000:01:00.0 (foo)`.
    fn name(&self) -> String {
        let device = say::device(&self.device);
        match (self.function.as_str(), self.phase) {
            ("", Some(phase)) => format!("{} of {device}", phase.title()),
            ("", None) => format!("a callback of {device}"),
            (function, _) => format!("{function} of {device}"),
        }
    }
}

/// The ends that a log has.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let ends = case.messages.having(" returned ").filter(|(_, m)| m.trust.is_of_a_kernel());
    let slow = |m: &Message| {
        let (of, function, took) = returned(m)?;
        let device = owner(of);
        // Kernels before 4.20 print no function.
        let function = if function == of { "" } else { function };
        let (direction, phase) = told(function);
        let took = Ns(took);
        let shown = lines([m]).pop()?;
        Some(Slow { device, function: function.into(), direction, phase, took, shown })
    };
    let all = ends.filter_map(|(_, m)| slow(m)).filter(|s| s.took.0 >= SLOW).collect();
    let Some(f) = finding(all, out) else { return };
    out.push(f);
}

/// The callbacks of a recording.
pub(crate) fn recorded(capture: &Capture, out: &mut Vec<Finding>) {
    let mut all = Vec::new();
    for (at, c) in cycles(capture) {
        for x in c.callbacks.iter().filter(|x| x.complete && x.duration().0 >= SLOW) {
            let text = |sym| capture.names.get(sym).to_string();
            let device = device(capture, x.device);
            let title = x.phase.title();
            let line = format!("{title} of {} took {} us", device.name, x.duration().0 / 1_000);
            // A trace has the kind of callback in place of its function: `bus`, `noirq driver`.
            let function = text(x.function);
            let function = if function.contains('_') { function } else { String::new() };
            all.push(Slow {
                device,
                function,
                direction: Some(x.phase.direction()),
                phase: Some(x.phase),
                took: x.duration(),
                shown: seen(capture, at, x.end, &line),
            });
        }
    }
    let Some(f) = finding(all, out) else { return };
    out.push(f);
}

/// Direction and phase by the name of a function.
fn told(function: &str) -> (Option<Direction>, Option<Phase>) {
    let has = |words: &[&str]| words.iter().filter_map(|w| function.rfind(w)).max();
    let down = has(&["suspend", "freeze", "poweroff"]);
    let up = has(&["resume", "thaw", "restore"]);
    let direction = match (down, up) {
        (None, None) => return (None, None),
        (down, up) if down > up => Direction::Suspend,
        _ => Direction::Resume,
    };
    // What compilers put behind a dot is no part of the name; a phase is the last word of it.
    let name = function.split(['.', '+']).next().unwrap_or_default();
    let middle = name.ends_with("_late") || name.ends_with("_early");
    let phase = match (direction, name.ends_with("_noirq"), middle) {
        (Direction::Suspend, true, _) => Phase::Noirq,
        (Direction::Suspend, _, true) => Phase::Late,
        (Direction::Suspend, ..) => Phase::Suspend,
        (Direction::Resume, true, _) => Phase::ResumeNoirq,
        (Direction::Resume, _, true) => Phase::ResumeEarly,
        (Direction::Resume, ..) => Phase::Resume,
    };
    (Some(direction), Some(phase))
}

/// The longest that no finding tells of, with the others.
fn finding(mut all: Vec<Slow>, known: &[Finding]) -> Option<Finding> {
    let told = |s: &Slow| {
        let of = |f: &&Finding| {
            let here = f.evidence.iter().any(|e| e.line == s.shown.line && e.text == s.shown.text);
            here || f.about.devices.iter().any(|d| d.name == s.device.name)
        };
        known.iter().filter(|f| f.level <= Level::Slow).any(|f| of(&f))
    };
    all.retain(|s| !told(s));
    all.sort_by_key(|s| std::cmp::Reverse(s.took));
    // Of each device the longest.
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|s| seen.insert(s.device.name.clone()));
    let first = all.first()?;
    let name = match first.function.as_str() {
        "" => say::capital(&first.name()),
        _ => first.name(),
    };
    let more: Vec<String> = all[1..]
        .iter()
        .take(OTHERS)
        .map(|s| format!("{} {}", s.name(), say::seconds(s.took)))
        .collect();
    let more = match more[..] {
        [] => String::new(),
        [..] => format!(" Others that took {} and more: {}.", say::span(Ns(SLOW)), more.join(", ")),
    };
    let f = Finding::new(("callback-slow", Area::Phase, Level::Slow), Confidence::Certain)
        .says(format!("{name} took {}.{more}", say::seconds(first.took)))
        .look(LOOK_INTO)
        .of_function(Some(first.function.as_str()).filter(|f| !f.is_empty()))
        .of_devices(all.iter().take(1 + OTHERS).map(|s| s.device.clone()))
        .when(first.direction, first.phase)
        .costs(first.took)
        .shown_by(all.iter().take(3).map(|s| s.shown.clone()));
    Some(match first.direction {
        Some(d) => f.at(d.name()),
        None => f,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(log: &[(i64, &str)]) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&Case::of_log(log), &mut out);
        out
    }

    #[test]
    fn a_callback_of_seconds_is_slow_and_a_quick_one_is_not() {
        let log = [
            (1_000, "PM: suspend entry (deep)"),
            (9_000, "elm 0000:05:00.0: PM: pci_pm_resume+0x0/0xf0 returned 0 after 5310200 usecs"),
            (9_100, "oak 3-2: PM: usb_dev_suspend+0x0/0x20 returned 0 after 2700100 usecs"),
            (9_200, "PM: suspend exit"),
        ];
        let f = found(&log).pop().unwrap();
        assert_eq!((f.id, f.level), ("callback-slow", Level::Slow));
        assert_eq!(
            f.sentence,
            "pci_pm_resume of 0000:05:00.0 (elm) took 5.3 s. Others that took 2.0 s and more: usb_dev_suspend of 3-2 (oak) 2.7 s."
        );
        assert_eq!(f.about.direction, Some(Direction::Resume));
        assert!(
            found(&[(9, "elm 1-1: PM: usb_dev_resume returned 0 after 1900000 usecs")]).is_empty()
        );
        let remark = "... PM: pci_pm_resume returned 0 after 4000000 usecs   <- elm 0000:05:00.0";
        let f = found(&[(9, remark)]).pop().unwrap();
        assert_eq!(f.sentence, "pci_pm_resume of 0000:05:00.0 (elm) took 4.0 s.");
        let bare = found(&[(9_000, "call elm7+ returned 0 after 3000000 usecs")]).pop().unwrap();
        assert_eq!(bare.sentence, "A callback of elm7 took 3.1 s.");
    }

    #[test]
    fn the_last_word_of_a_function_tells_its_phase() {
        for (function, phase) in [
            ("oak_suspend_late", Phase::Late),
            ("oak_suspend_noirq", Phase::Noirq),
            ("oak_resume_early.cfi_jt", Phase::ResumeEarly),
            ("foo_latency_resume", Phase::Resume),
            ("foo_noirqs_suspend", Phase::Suspend),
        ] {
            assert_eq!(super::told(function).1, Some(phase), "{function}");
        }
    }

    #[test]
    fn who_is_told_of_already_is_not_told_twice() {
        let case = Case::of_log(&[(
            9_000,
            "elm 1-1: PM: usb_dev_resume+0x0/0x20 returned 0 after 5310200 usecs",
        )]);
        let elm = Device { name: "1-1".into(), driver: "elm".into() };
        let slow = Finding::new(("x", Area::Phase, Level::Slow), Confidence::Certain);
        let mut out = Vec::from([slow.of_devices([elm])]);
        judge(&case, &mut out);
        assert_eq!(out.len(), 1);
    }
}
