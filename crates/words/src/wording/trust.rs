//! How far an answer may be trusted: where it comes from, and what was wrong
//! with it.

use super::device::{device, name};
use super::losses::{touches_the_answer, warning};
use super::number::{names, plural};
use crate::text::safe;
use dormouse_base::capture::Capture;
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::{Began, Callback, Cycle, Mode, Outcome};
use dormouse_base::loss::{Loss, Losses, Severity};
use dormouse_base::phase::Direction;
use dormouse_base::say::moment;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;

/// When it began, as the source tells it; nothing where it does not.
pub fn began(capture: &Capture, cycle: &Cycle) -> String {
    match cycle.when {
        Began::Stamped => format!("at {}", moment(cycle.start - cycle.moved, 3)),
        Began::Words(text) => format!("at {}", safe(capture.names.get(text))),
        Began::Unsaid => String::new(),
    }
}

/// `15.0 ms asleep (not counted)`, or why that is not known.
fn slept(cycle: &Cycle, view: &CycleView) -> Option<String> {
    if view.rows.clock_jump > Ns::ZERO {
        return Some(format!("clock jump of {} not counted", view.rows.clock_jump));
    }
    match view.rows.asleep(cycle) {
        Some(t) => Some(format!("{t} asleep (not counted)")),
        None if cycle.asleep.is_some() && !matches!(cycle.mode, Mode::PmTest(_)) => {
            Some("time asleep not known".into())
        }
        None => None,
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
    parts.extend(capture.guest().map(|g| format!("in {g}")));
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
pub(crate) fn not_resumed<'a>(
    cycles: impl IntoIterator<Item = (&'a Capture, &'a Cycle)>,
) -> Option<String> {
    // Each with how many cycles it failed in.
    let mut failed: Vec<(String, usize)> = Vec::new();
    let mut of = 0;
    for (capture, cycle) in cycles {
        of += 1;
        let up = |c: &&Callback| c.phase.direction() == Direction::Resume && c.error < 0;
        let mut here: Vec<String> = Vec::new();
        for c in cycle.callbacks.iter().filter(up) {
            let label = device(capture, c.device);
            let text = match label.strip_suffix(')') {
                Some(front) => format!("{front}, error {})", c.error),
                None => format!("{label} (error {})", c.error),
            };
            if !here.contains(&text) {
                here.push(text);
            }
        }
        for text in here {
            match failed.iter_mut().find(|f| f.0 == text) {
                Some(f) => f.1 += 1,
                None => failed.push((text, 1)),
            }
        }
    }
    let most = failed.iter().map(|f| f.1).max()?;
    let (often, rest): (Vec<_>, Vec<_>) = failed.into_iter().partition(|f| f.1 == most);
    let list = |l: &[(String, usize)]| names(&l.iter().map(|f| f.0.clone()).collect::<Vec<_>>());
    let within = match of {
        0 | 1 => String::new(),
        _ if most == of => format!(" in all {of} cycles"),
        _ => format!(" in {most} of {of} cycles"),
    };
    let fewer = match rest.iter().map(|f| f.1).max() {
        None => String::new(),
        Some(1) => format!(", {} in one of them", list(&rest)),
        Some(n) => format!(", {} in at most {n} of them", list(&rest)),
    };
    Some(format!("{} failed to resume{within}{fewer}.", list(&often)))
}

/// The first sentence of a cycle in which the machine did not sleep.
pub fn failed(capture: &Capture, cycle: &Cycle) -> Option<String> {
    match cycle.outcome {
        Outcome::Slept | Outcome::Partial => None,
        // The kernel that reads an image puts nothing to sleep.
        _ if cycle.reads_image => {
            Some(format!("The restore from hibernation failed: {}.", outcome(capture, cycle)))
        }
        _ => Some(format!("This sleep failed: {}.", outcome(capture, cycle))),
    }
}

/// The same where all that tells of it is in doubt.
pub(crate) fn suspected(failed: &str) -> String {
    match failed.strip_prefix("This sleep") {
        Some(rest) => format!("A suspicion: a sleep{rest}"),
        None => format!("A suspicion: {failed}"),
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
            let by = device.map(|d| format!(" by {}", safe(name(capture, d)))).unwrap_or_default();
            let errno = if errno == 0 { String::new() } else { format!(" (error {errno})") };
            format!("aborted{by}{errno}")
        }
        Outcome::AbortedByWakeup if capture.losses.count("abort_cause_unproven") > 0 => {
            "aborted, probably by a wakeup event".into()
        }
        Outcome::AbortedByWakeup => "aborted by a wakeup event".into(),
        // EBUSY is what it always is (kernel/power/process.c:try_to_freeze_tasks), and no line
        // says so.
        Outcome::FreezeFailed { errno: 0 | -16 } => "tasks would not freeze".into(),
        Outcome::FreezeFailed { errno } => format!("tasks would not freeze (error {errno})"),
        Outcome::ImageFailed => "the image of the hibernation was not written".into(),
        Outcome::Partial => "only part of a cycle is in the log".into(),
    }
}

/// Durations of an old kernel were read in its unit; no loss of anything.
const SHIFTED: &str = "units_of_old_kernels";

/// Why times differ from the numbers that the log prints, if they do.
pub(crate) fn unit_of_log(captures: &[&Capture]) -> Option<String> {
    let filled = |c: &&&Capture| !c.cycles.is_empty() || !c.ranked.is_empty();
    let of: Vec<&Capture> =
        captures.iter().filter(|c| c.losses.count(SHIFTED) > 0).copied().collect();
    let known = |c: &Capture| {
        let cycles = c.cycles.iter().map(|c| c.kernel);
        let mut all = cycles.chain(c.ranked.iter().map(|r| r.kernel));
        all.any(|k| !c.names.get(k).is_empty())
    };
    let first = *of.first()?;
    Some(if captures.iter().filter(filled).count() > 1 {
        let files: Vec<String> = of.iter().map(|c| file_of(c)).collect();
        format!(
            "The usecs that kernels before 5.14 print are units of 1.024 us, so times here are \
             2.4 % above the numbers of {}.",
            names(&files)
        )
    } else if known(first) {
        "The usecs that this kernel (before 5.14) prints are units of 1.024 us, so the times \
         here are 2.4 % above its numbers."
            .into()
    } else {
        "The log does not name its kernel. Its lines have the form of kernels before 5.14, \
         whose usecs are units of 1.024 us, so the times here are 2.4 % above its numbers."
            .into()
    })
}

/// The name of the file that a capture is of, without its folders; of several files, the
/// first.
pub fn file_of(c: &Capture) -> String {
    let cycles = c.cycles.iter().map(|c| c.source).chain(c.ranked.iter().map(|r| r.source));
    let source = { cycles }.next().map_or("", |s| c.names.get(s));
    let file = super::next::file_of(source);
    safe(file.rsplit('/').next().unwrap_or(file)).into_owned()
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
pub(crate) fn warnings_of(capture: &Capture, i: usize) -> Vec<Loss> {
    warnings_in(capture, &[i])
}

/// The same of several cycles of one capture.
pub(crate) fn warnings_in(capture: &Capture, cycles: &[usize]) -> Vec<Loss> {
    let mut list = warnings(&[capture]);
    for l in &mut list {
        let each = each_of(l.kind, capture);
        let here: u64 = cycles.iter().filter_map(|&i| each.get(i)).sum();
        let all: u64 = each.iter().sum();
        if capture.cycles.len() > 1 && all > 0 && here < l.count && here < all {
            // The place is that of the first of all.
            let first = each.iter().position(|n| *n > 0);
            l.first_at = l.first_at.filter(|_| first.is_some_and(|f| cycles.contains(&f)));
            l.count = here;
        }
    }
    list.retain(|l| l.count > 0);
    list
}

/// How much each cycle of a capture counts of a kind of loss.
fn each_of(kind: &str, capture: &Capture) -> Vec<u64> {
    capture.cycles.iter().map(|c| of_kind(kind, c)).collect()
}

/// Which cycles a loss is of, by index, where it is not of all.
pub fn cycles_of(kind: &str, capture: &Capture) -> Option<Vec<usize>> {
    let each = each_of(kind, capture);
    let list: Vec<usize> = (0..each.len()).filter(|&i| each[i] > 0).collect();
    (!list.is_empty() && list.len() < each.len()).then_some(list)
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
        _ => cycle.warned.iter().filter(|w| w.0 == kind).map(|w| w.1).sum(),
    }
}

/// Line 2 of what is said of some cycles of captures, where that rests on something
/// uncertain.
pub(crate) fn caution_in<'a>(
    of: impl IntoIterator<Item = (&'a Capture, Vec<usize>)>,
) -> Option<String> {
    let list = of.into_iter().filter_map(|(c, cycles)| worst(&warnings_in(c, &cycles), c, None));
    list.max_by_key(|w| w.0).map(|w| w.1)
}

/// The same of one cycle.
pub(crate) fn caution_of(capture: &Capture, i: usize) -> Option<String> {
    worst(&warnings_of(capture, i), capture, capture.cycles.get(i)).map(|w| w.1)
}

fn worst(list: &[Loss], capture: &Capture, cycle: Option<&Cycle>) -> Option<(Severity, String)> {
    let worst = list.iter().find(|l| touches_the_answer(l))?;
    Some((worst.severity, format!("Caution: {}", warning(worst, &[capture], cycle))))
}

/// `No warnings.`, `2 warnings below.` They are of the reading: where something is `wrong` none
/// of them would look like an all-clear.
pub(crate) fn count_of_warnings(count: usize, wrong: bool) -> String {
    match count {
        0 if wrong => String::new(),
        0 => "No warnings.".into(),
        n => format!("{} below.", plural(n, "warning")),
    }
}
