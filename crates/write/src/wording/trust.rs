//! How far an answer may be trusted: where it comes from, and what was wrong
//! with it.

use super::device::{device, name};
use super::losses::{touches_the_answer, warning};
use super::number::{names, plural};
use crate::text::safe;
use dormouse_model::capture::Capture;
use dormouse_model::complete::LostKind;
use dormouse_model::cycle::{Began, Callback, Cycle, Mode, Outcome, PhaseSpan};
use dormouse_model::loss::{Loss, Losses};
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::CycleView;

/// A real sleep is longer: the firmware alone takes more. A bracket that is
/// shorter was timed by a clock that stops during sleep.
pub const SHORTEST_SLEEP: Ns = Ns::from_ms(10);

/// How long the machine slept, where that is known.
pub fn asleep(cycle: &Cycle, view: &CycleView) -> Option<Ns> {
    if matches!(cycle.mode, Mode::PmTest(_) | Mode::Simulated) {
        return None;
    }
    if hole_in_sleep(cycle) {
        return None;
    }
    let bracket = cycle.asleep.map(|(down, up)| up.since(down));
    let known = cycle.asleep_elsewhere.or(bracket.filter(|_| view.rows.not_counted > Ns::ZERO))?;
    (known >= SHORTEST_SLEEP || cycle.mode == Mode::S2idle).then_some(known)
}

/// Whether the log has a hole that holds the end of one way and the begin of the
/// other: what is taken for sleep is the hole.
pub fn hole_in_sleep(cycle: &Cycle) -> bool {
    let guessed = |p: &PhaseSpan| p.phase == Phase::Asleep && !p.complete;
    cycle.has_hole(Direction::Suspend)
        && cycle.has_hole(Direction::Resume)
        && cycle.phases.iter().any(guessed)
}

/// When it began, as the source tells it; nothing where it does not.
pub fn began(capture: &Capture, cycle: &Cycle) -> String {
    match cycle.when {
        Began::Stamped => {
            let ms = cycle.start.0 / 1_000_000;
            format!("at {}.{:03} s", ms / 1_000, ms % 1_000)
        }
        Began::Words(text) => format!("at {}", safe(capture.names.get(text))),
        Began::Unsaid => String::new(),
    }
}

/// `15.0 ms asleep (not counted)`, or why that is not known.
fn slept(cycle: &Cycle, view: &CycleView) -> Option<String> {
    if view.rows.clock_jump > Ns::ZERO {
        return Some(format!("clock jump of {} not counted", view.rows.clock_jump));
    }
    match asleep(cycle, view) {
        Some(t) => Some(format!("{t} asleep (not counted)")),
        None if cycle.asleep.is_some() && !matches!(cycle.mode, Mode::PmTest(_)) => {
            Some("time asleep not known".into())
        }
        None => None,
    }
}

/// Vendors of machines that are none, as DMI or the device tree names them.
const GUESTS: [(&str, &str); 6] = [
    ("QEMU", "a QEMU guest"),
    ("linux,dummy-virt", "a QEMU guest"),
    ("VMware", "a VMware guest"),
    ("innotek", "a VirtualBox guest"),
    ("Microsoft Corporation Virtual", "a Hyper-V guest"),
    ("Xen", "a Xen guest"),
];

/// The kind of guest that a machine of this vendor and model is; `None` for hardware.
pub fn guest_of(model: &str) -> Option<&'static str> {
    GUESTS.iter().find(|(vendor, _)| model.starts_with(vendor)).map(|g| g.1)
}

/// The emulator that the machine of `capture` ran in; `None` for hardware, and where
/// the source does not say.
pub fn guest(capture: &Capture) -> Option<&'static str> {
    let name = |s| capture.names.get(s);
    // Its init is started by this word (docs/capture-format.md).
    match name(capture.machine.command_line).contains("dormouse.lab=") {
        true => Some("the laboratory's QEMU guest"),
        false => guest_of(name(capture.machine.model)),
    }
}

/// What that means for every time on the screen.
pub fn emulated(guest: &str) -> String {
    format!("The recording is of {guest}: its CPU time is the emulator's, not the hardware's.")
}

/// Kernel, mode, outcome and sleep.
pub fn facts(capture: &Capture, cycle: &Cycle, view: &CycleView) -> String {
    let mut parts = vec![match capture.names.get(cycle.kernel) {
        "" => "kernel unknown".to_string(),
        k => format!("kernel {}", safe(k)),
    }];
    parts.push(state(cycle.mode).to_string());
    if cycle.outcome != Outcome::Slept {
        parts.push(outcome(capture, cycle));
    }
    if cycle.first_after_boot {
        parts.push("first after boot".into());
    }
    parts.extend(slept(cycle, view));
    parts.extend(guest(capture).map(|g| format!("in {g}")));
    parts.join(", ")
}

/// The sleep state, where "unknown" alone would not say what.
pub fn state(mode: Mode) -> String {
    match mode {
        Mode::Unknown => "sleep state unknown".into(),
        Mode::PmTest(level) => format!("pm_test={} (test, no real sleep)", level.name()),
        m => m.name().into(),
    }
}

/// Devices whose callbacks failed on the way up: `usb1 (error -71) failed to resume.`
/// The kernel goes on without them (drivers/base/power/main.c:pm_dev_err).
pub fn not_resumed<'a>(
    cycles: impl IntoIterator<Item = (&'a Capture, &'a Cycle)>,
) -> Option<String> {
    let mut failed: Vec<String> = Vec::new();
    let (mut of, mut hit) = (0, 0);
    for (capture, cycle) in cycles {
        of += 1;
        let up = |c: &&Callback| c.phase.direction() == Direction::Resume && c.error < 0;
        hit += usize::from(cycle.callbacks.iter().any(|c| up(&c)));
        for c in cycle.callbacks.iter().filter(up) {
            let label = device(capture, c.device);
            let text = match label.strip_suffix(')') {
                Some(front) => format!("{front}, error {})", c.error),
                None => format!("{label} (error {})", c.error),
            };
            if !failed.contains(&text) {
                failed.push(text);
            }
        }
    }
    let within = if of > 1 { format!(" in {hit} of {of} cycles") } else { String::new() };
    (!failed.is_empty()).then(|| format!("{} failed to resume{within}.", names(&failed)))
}

/// The first sentence of a cycle in which the machine did not sleep.
pub fn failed(capture: &Capture, cycle: &Cycle) -> Option<String> {
    match cycle.outcome {
        Outcome::Slept | Outcome::Partial => None,
        _ => Some(format!("This sleep failed: {}.", outcome(capture, cycle))),
    }
}

/// How it ended.
pub fn outcome(capture: &Capture, cycle: &Cycle) -> String {
    match cycle.outcome {
        Outcome::Slept => "slept".into(),
        Outcome::AbortedByDevice { device: None, errno: 0 } => {
            "aborted, cause not in this log".into()
        }
        Outcome::AbortedByDevice { device, errno } => {
            let by = device.map_or("a device", |d| name(capture, d));
            let errno = if errno == 0 { String::new() } else { format!(" (error {errno})") };
            format!("aborted by {}{errno}", safe(by))
        }
        Outcome::AbortedByWakeup if capture.losses.count("abort_cause_unproven") > 0 => {
            "aborted, probably by a wakeup event".into()
        }
        Outcome::AbortedByWakeup => "aborted by a wakeup event".into(),
        Outcome::FreezeFailed { errno: 0 } => "tasks would not freeze".into(),
        Outcome::FreezeFailed { errno } => format!("tasks would not freeze (error {errno})"),
        Outcome::Partial => "only part of a cycle is in the log".into(),
    }
}

/// Durations of an old kernel were read in its unit; no loss of anything.
const SHIFTED: &str = "units_of_old_kernels";

/// Why times differ from the numbers that the log prints, if they do.
pub fn unit_of_log(captures: &[&Capture]) -> Option<&'static str> {
    let shifted = |c: &&&Capture| c.losses.count(SHIFTED) > 0;
    let known = |c: &Capture| {
        let cycles = c.cycles.iter().map(|c| c.kernel);
        let mut all = cycles.chain(c.ranked.iter().map(|r| r.kernel));
        all.any(|k| !c.names.get(k).is_empty())
    };
    Some(match captures.iter().find(shifted) {
        None => return None,
        Some(c) if known(c) => {
            "The usecs that this kernel (before 5.14) prints are units of 1.024 us, so the times \
             here are 2.4 % above its numbers."
        }
        Some(_) => {
            "The log does not name its kernel. Its lines have the form of kernels before 5.14, \
             whose usecs are units of 1.024 us, so the times here are 2.4 % above its numbers."
        }
    })
}

/// What was wrong with all inputs, worst first.
pub fn warnings(captures: &[&Capture]) -> Vec<Loss> {
    let mut merged = Losses::default();
    for c in captures {
        merged.merge(c.losses.clone());
    }
    let mut list = merged.list;
    // The first lines of a screen say these, with the commands.
    list.retain(|l| !matches!(l.kind, "no_callbacks" | "no_phases" | SHIFTED));
    list.sort_by_key(|l| (std::cmp::Reverse(touches_the_answer(l)), std::cmp::Reverse(l.severity)));
    list
}

/// What was wrong with the cycle of index `i`, worst first: what other cycles of
/// the input lost is no matter of it. A loss that no cycle counts is one of all.
pub fn warnings_of(capture: &Capture, i: usize) -> Vec<Loss> {
    let mut list = warnings(&[capture]);
    for l in &mut list {
        let each: Vec<u64> = capture.cycles.iter().map(|c| of_kind(l.kind, c)).collect();
        let (here, all) = (each[i], each.iter().sum::<u64>());
        if capture.cycles.len() > 1 && all > 0 && here < l.count {
            // The place is that of the first of all.
            l.first_at = l.first_at.filter(|_| each.iter().position(|n| *n > 0) == Some(i));
            l.count = here;
        }
    }
    list.retain(|l| l.count > 0);
    list
}

/// How much a cycle itself counts of a kind of loss.
fn of_kind(kind: &str, cycle: &Cycle) -> u64 {
    let lost =
        |kind: LostKind| cycle.lost.iter().filter(|l| l.kind == kind).map(|l| l.count).sum::<u64>();
    match kind {
        "callback_without_end" => cycle.callbacks.iter().filter(|c| !c.complete).count() as u64,
        "end_without_start" => lost(LostKind::Starts),
        "time_backwards" => lost(LostKind::Order),
        "dropped_messages" | "lost_events" => lost(LostKind::Messages),
        "log_hole" => lost(LostKind::Holes),
        "lines_left_out" => lost(LostKind::Places),
        "cut_line" => lost(LostKind::Lines),
        _ => 0,
    }
}

/// Line 2, where the answer rests on something uncertain.
pub fn caution(captures: &[&Capture]) -> Option<String> {
    worst(&warnings(captures), captures, None)
}

/// The same of one cycle.
pub fn caution_of(capture: &Capture, i: usize) -> Option<String> {
    worst(&warnings_of(capture, i), &[capture], capture.cycles.get(i))
}

fn worst(list: &[Loss], captures: &[&Capture], cycle: Option<&Cycle>) -> Option<String> {
    let worst = list.iter().find(|l| touches_the_answer(l))?;
    Some(format!("Caution: {}", warning(worst, captures, cycle)))
}

/// `No warnings.`, `2 warnings below.` A device that `failed` is one above.
pub fn count_of_warnings(list: &[Loss], failed: bool) -> String {
    match list.len() {
        0 if failed => String::new(),
        0 => "No warnings.".into(),
        n => format!("{} below.", plural(n, "warning")),
    }
}
