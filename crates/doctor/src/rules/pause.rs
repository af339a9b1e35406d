//! Waits that lines of a kernel log enclose: on the way up between two lines, in a phase, in a
//! callback; on a way down that was given up between two lines.

use super::abort::gives_up;
use super::hung;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::{Message, thousandths};
use crate::stage::{self, passed};
use crate::waits;
use crate::{said, stack};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A wait from here on is slow.
pub(super) const SLOW: i64 = 2_000_000_000;
/// More than that is a clock that was moved, or another log.
pub(super) const JUMP: i64 = 200_000_000_000;
/// A callback from here on.
const CALLBACK: i64 = 100_000_000;
/// A callback of a sleep whose head is cut off: of a whole one a longer phase is no fault.
const OF_A_PART: i64 = 400_000_000;
/// So many lines alike make a series, whose distances differ by a twentieth at most.
const SERIES: usize = 3;
const EVEN: i64 = 20;

/// A kernel that has just come back says one of these before its devices resume.
const UP: [&str; 6] = [
    // kernel/power/suspend.c:s2idle_loop, 6.12, with pm_debug_messages.
    "resume from suspend-to-idle",
    "Low-level resume complete",
    "Restoring platform NVS memory",
    "Waking up from system sleep state",
    "Enabling non-boot CPUs",
    // A text may begin with the last of them.
    "resume of devices complete",
];

/// These end the way up, or begin the way down: after an image is made its kernel goes on
/// down.
const OVER: [&str; 12] = [
    "Creating image",
    "Creating hibernation image",
    "Compressing and saving image data",
    "Saving image data pages",
    "thaw of devices complete",
    "Image saving progress",
    "suspend exit",
    "hibernation exit",
    "Restarting tasks",
    "OOM killer enabled",
    "Disabling non-boot CPUs",
    "suspend of devices complete",
];

/// Another attempt has begun: what passed before is of none.
const NEXT: [&str; 7] = [
    "suspend entry",
    "hibernation entry",
    "Syncing filesystems",
    "Freezing user space",
    "Freezing of tasks",
    "Freezing remaining",
    "Wakeup pending, aborting",
];

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let first = out.len();
    phases(case, out);
    if out.len() == first {
        gaps(case, out);
    }
    refused(case, out);
    cut_off(case, out);
    callbacks(case, out);
}

/// A long time between two lines on the way down of an attempt that was given up: no sleep lies
/// in it. Where the keeper has whole seconds alone, by those. The freezer tells itself how long
/// it tried, and some rules how long a device was waited for.
fn refused(case: &Case, out: &mut Vec<Finding>) {
    let mut longest: Option<(Ns, &Message, &Message)> = None;
    for a in &case.attempts {
        let kernel = || case.of(a).iter().filter(|m| m.trust.is_of_a_kernel());
        let Some(end) = kernel().position(gives_up) else { continue };
        let mut last: Option<&Message> = None;
        // What came before is of freezing and of images, which tell themselves how long they
        // took. Whoever keeps a log by the calendar may be frozen with the tasks, and writes of
        // what he missed when they run again.
        let mark = |word: &str| kernel().position(|m| m.has(word));
        let marks = ["Suspending console(s)", "OOM killer disabled", "Freezing remaining"];
        let Some(from) = marks.into_iter().find_map(mark) else { continue };
        for m in
            kernel().take(end + 1).skip(from).filter(|m| m.time.is_some() || m.second.is_some())
        {
            let gap = last.replace(m).and_then(|a| Some((passed(a, m)?, a)));
            let Some((gap, a)) = gap.filter(|g| (SLOW..JUMP).contains(&g.0.0)) else { continue };
            let told = |m: &Message| {
                ["Freezing ", "Filesystems sync: ", "hibernation: ", "Preallocating "]
                    .iter()
                    .any(|w| m.says(w))
                    && !m.has("(elapsed ")
            };
            if !told(m) && !told(a) && longest.is_none_or(|l| gap > l.0) {
                longest = Some((gap, a, m));
            }
        }
    }
    let Some((gap, a, b)) = longest else { return };
    let knows = |f: &Finding| {
        let here = f.evidence.iter().any(|e| e.line == a.line || e.line == b.line);
        let lasts = matches!(f.area, Area::Freezer | Area::Sync) || f.costs.is_some();
        let waits =
            matches!(f.id, "device-hang" | "device-slow" | "phase-hung-task" | "phase-stall");
        here && lasts || waits
    };
    if out.iter().any(knows) {
        return;
    }
    let device = waits::late(&b.text);
    let who = device.as_ref().map_or(String::new(), |d| {
        format!(" The line at its end says who was waited for: {}.", say::device(d))
    });
    out.push(down((gap, b.time.is_none()), [a, b], &who, device).look("The device that the line at its end speaks of, or what runs before it, kept the machine waiting: boot with initcall_debug, or record with dormouse record."));
}

/// The finding of a time between two lines on a way down, by stamps that may be of whole seconds;
/// `who` says what is known of it.
pub(super) fn down(
    (gap, coarse): (Ns, bool),
    [a, b]: [&Message; 2],
    who: &str,
    device: Option<Device>,
) -> Finding {
    let (about, sure) = match coarse {
        false => ("", Confidence::Certain),
        true => ("About ", Confidence::Likely),
    };
    Finding::new(("phase-pause", Area::Phase, Level::Slow), sure)
        .says(format!(
            "{about}{} pass on the way down between \"{}\" and \"{}\".{who}",
            say::span(gap),
            a.text.trim(),
            b.text.trim()
        ))
        .of_devices(device)
        .when(Some(Direction::Suspend), None)
        .at("suspend")
        .costs(gap)
        .shown_by(lines([a, b]))
}

/// Stamps of whole seconds, of which two show a wait as much too short or too long: from here on
/// it is one all the same.
const COARSE: i64 = 3_000_000_000;

/// How two lines of a kernel tell a time by its own clock, which stands still in a sleep: in
/// full, or by the whole seconds of `dmesg -T`, which then are told to be that.
pub(super) fn by_own_clock(case: &Case, a: &Message, b: &Message) -> Option<(Ns, bool)> {
    let own = |m: &Message| match m.time {
        Some(t) => t <= Ns::CALENDAR,
        None => case.dated.binary_search(&m.line).is_ok(),
    };
    let gap = passed(a, b).filter(|_| own(a) && own(b))?;
    let coarse = b.time.is_none();
    (!coarse || gap.0 >= COARSE).then_some((gap, coarse))
}

/// A driver whose time ran out on the way down, in a log that ends soon behind it: the time before
/// its line is what it waited. By the kernel's own clock.
fn cut_off(case: &Case, out: &mut Vec<Finding>) {
    let known = |m: &Message, out: &[Finding]| {
        out.iter().flat_map(|f| &f.evidence).any(|e| e.line == m.line)
    };
    for a in case.attempts.iter().filter(|a| !a.closed && !a.inside && !a.failed) {
        let kernel = hung::of_the_kernel(case.of(a));
        let ends = |m: &&Message| hung::is_up(m) || hung::is_through(m) || gives_up(m);
        let from = kernel.iter().position(|m| {
            let s = stage::begins(m);
            s.is_some_and(|s| s.phase == Some(Phase::Suspend) && s.direction == Direction::Suspend)
        });
        let Some(from) = from.filter(|_| !kernel.iter().any(ends)) else { continue };
        let waited = |pair: &[&'_ Message]| {
            let (gap, coarse) = by_own_clock(case, pair[0], pair[1])?;
            let late = (SLOW..JUMP).contains(&gap.0) && timed_out(&pair[1].text);
            late.then(|| waits::speaker(&pair[1].text)).flatten().map(|d| (gap, d, coarse))
        };
        let pairs = kernel[from..].windows(2);
        let all = pairs.filter_map(|p| Some((p[0], p[1], waited(p)?)));
        let Some((before, m, (gap, device, coarse))) = all.max_by_key(|w| w.2.0) else { continue };
        if known(m, out) {
            continue;
        }
        let (about, grain) = match coarse {
            true => ("About ", " The stamps are of whole seconds: it may be one more or less."),
            false => ("", ""),
        };
        out.push(
            Finding::new(("phase-pause", Area::Phase, Level::Slow), Confidence::Likely)
                .says(format!(
                    "{about}{} pass without a word on the way down, and then {} says that its time ran out: \"{}\". Its driver waited for an answer.{grain} The text ends soon behind it and does not show whether the sleep failed.",
                    say::span(gap),
                    say::device(&device),
                    m.text.trim()
                ))
                .look("Look at what that driver asks its device or its firmware on the way down, and give the lines that follow.")
                .of_devices([device])
                .of_error(TIMED_OUT)
                .when(Some(Direction::Suspend), None)
                .at("suspend")
                .costs(gap)
                .shown_by(lines([before, m])),
        );
    }
}

/// What drivers return when nothing answered in time (`ETIMEDOUT`).
const TIMED_OUT: i32 = -110;

/// Whether a message says so, in words or by its error.
fn timed_out(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let number = |c: char| !c.is_ascii_digit() && c != '-';
    lower.contains("timed out")
        || lower.contains("timeout")
        || text.split(number).any(|w| w.parse() == Ok(TIMED_OUT))
}

/// What stands before the time of a phase, in ms.
const PHASE: &str = " of devices complete after ";

/// A long time between two lines on the way up.
fn gaps(case: &Case, out: &mut Vec<Finding>) {
    let mut longest: Option<(i64, &Message, &Message)> = None;
    let dated = |m: &Message| m.time.is_none() && case.dated.binary_search(&m.line).is_ok();
    let timed = |m: &&Message| m.trust.is_of_a_kernel() && (m.time.is_some() || dated(m));
    let mut begins: Vec<usize> = case.parts.iter().map(|p| p.0).collect();
    begins.extend(case.attempts.iter().map(|a| a.first));
    begins.sort_unstable();
    let mut walk = |span: std::ops::Range<usize>| {
        let mut last: Option<&Message> = None;
        let here = case.messages[span.clone()].iter().enumerate().filter(|(_, m)| timed(m));
        for (i, m) in here {
            // What passes between two sleeps is none of either.
            last = last.filter(|_| begins.binary_search(&(span.start + i)).is_err());
            let gap = last.and_then(|a| match dated(a) || dated(m) {
                true => by_own_clock(case, a, m).map(|g| g.0.0),
                false => Some(at(m).saturating_sub(at(a))),
            });
            let gap = gap.unwrap_or(0);
            let a = last.replace(m);
            if (SLOW..JUMP).contains(&gap) && longest.is_none_or(|l| gap > l.0) {
                longest = a.map(|a| (gap, a, m));
            }
        }
    };
    let words = [&UP[..], &OVER, &NEXT].concat();
    let mut since: Option<usize> = None;
    for (at, m) in case.messages.having_any(&words).filter(|(_, m)| timed(m)) {
        let next = NEXT.iter().any(|w| m.has(w));
        if let Some(from) = since {
            walk(from..if next { at } else { at + 1 });
        }
        since = (!next && !OVER.iter().any(|w| m.has(w))).then_some(at);
    }
    if let Some(from) = since {
        walk(from..case.messages.len());
    }
    let Some((gap, a, b)) = longest else { return };
    // Another rule says what it was.
    let is_here = |line: u64| line == a.line || line == b.line;
    let knows = |f: &Finding| f.level <= Level::Slow && f.evidence.iter().any(|e| is_here(e.line));
    if out.iter().any(knows) {
        return;
    }
    let of_acpi = b.text.starts_with("ACPI");
    let device = waits::late(&b.text).filter(|_| !of_acpi);
    let ec = if of_acpi { waits_for_ec(case, b) } else { None };
    // The core counts itself how long a callback took.
    let ran = returned(b).filter(|r| r.2 >= gap / 2);
    let device = ran.map(|r| owner(r.0)).or(device);
    let ran_in = ran.zip(device.as_ref()).map(|((_, function, took), d)| {
        let took = say::span(Ns(took));
        // Kernels before 4.20 print no function.
        let what = if function == d.name { "A callback" } else { function };
        format!("{what} of {} ran in between: it took {took}.", say::device(d))
    });
    // So does the core of its phases.
    let of_phase = b.after(PHASE).and_then(thousandths).map(|t| t as i64 * 1_000);
    let rest = match (ec.or(ran_in), &device) {
        (Some(told), _) => told,
        _ if of_phase.is_some_and(|took| took < gap / 2) => format!(
            "Its devices took {} of that, by its own count: what passed before them, or whether the clock was set meanwhile, no line says.",
            say::span(Ns(of_phase.unwrap_or(0)))
        ),
        _ if b.has(PHASE) => "Devices took it; no line says which.".into(),
        (None, Some(d)) => {
            format!("The line at its end says who was waited for: {}.", say::device(d))
        }
        (None, None) => "No line says what ran in between, or whether it was the firmware.".into(),
    };
    let (about, grain, sure) = match dated(b) {
        true => (
            "About ",
            " The stamps are of whole seconds: it may be one more or less.",
            Confidence::Likely,
        ),
        false => ("", "", Confidence::Certain),
    };
    out.push(
        Finding::new(("phase-pause", Area::Phase, Level::Slow), sure)
            .says(format!(
                "{about}{} pass on the way up between \"{}\" and \"{}\".{grain} {rest}",
                say::span(Ns(gap)),
                a.text.trim(),
                b.text.trim()
            ))
            .look(match ran {
                Some(_) => LOOK_INTO,
                None => "Boot with initcall_debug and no_console_suspend, or record with dormouse record: then callbacks and firmware can be told apart.",
            })
            .of_function(ran.map(|r| r.1))
            .of_devices(device)
            .when(Some(Direction::Resume), None)
            .costs(Ns(gap))
            .shown_by(lines([a, b])),
    );
}

/// Lines of one error of ACPI stand so near each other, in ns and messages.
const ERROR: i64 = 50_000_000;
const LINES: usize = 24;

/// ACPICA's words for a method that waited for the embedded controller in vain
/// (drivers/acpi/acpica/evregion.c and psparse.c: AE_TIME, 5.4 to 7.3).
fn waits_for_ec(case: &Case, b: &Message) -> Option<String> {
    let from = case.messages.iter().position(|m| std::ptr::eq(m, b))?;
    let near = |m: &&Message| m.time.is_none_or(|_| (0..ERROR).contains(&(at(m) - at(b))));
    let said = || case.messages[from..].iter().take(LINES).take_while(near);
    let waited = |m: &Message| {
        m.has("Timeout from EC hardware") || m.has("AE_TIME") && m.has("[EmbeddedControl]")
    };
    said().any(waited).then_some(())?;
    let method = said().find_map(|m| m.after("Aborting method ")?.split(' ').next());
    let of = said().find_map(|m| {
        let method = m.after("are initialized for Method ")?;
        Some(method.split(']').next()?.trim_start_matches('['))
    });
    let method = method.or(of).map_or("ACPI".into(), |m| format!("the ACPI method {m}"));
    Some(format!(
        "The lines at its end say who waited: {method}, for the embedded controller, which did not answer in time."
    ))
}

/// Lines that differ in names and numbers alone are alike: words in lower case stay.
fn alike(a: &str, b: &str) -> bool {
    let fixed = |w: &&str| w.bytes().any(|c| c.is_ascii_lowercase());
    let mut x = a.split_whitespace();
    let mut y = b.split_whitespace();
    let mut same = 0;
    loop {
        match (x.next(), y.next()) {
            (None, None) => return same >= 2,
            (Some(p), Some(q)) if p == q => same += 1,
            (Some(p), Some(q)) if !fixed(&p) && !fixed(&q) => {}
            _ => return false,
        }
    }
}

/// Phases on the way up that took long, with lines that come at an even pace inside.
fn phases(case: &Case, out: &mut Vec<Finding>) {
    for (i, m) in case.messages.having(" of devices complete after ") {
        let Some((head, rest)) = m.text.split_once(" of devices complete after ") else { continue };
        let (Some(end), Some(us)) = (m.time, thousandths(rest)) else { continue };
        let took = i64::try_from(us).unwrap_or(0).saturating_mul(1_000);
        let up = head.ends_with("resume") || head.ends_with("restore");
        if !up || took < SLOW || !m.trust.is_of_a_kernel() {
            continue;
        }
        let begin = end.0.saturating_sub(took);
        // Backwards to its begin, so that many phases cost no more than their lines.
        let mut inside: Vec<&Message> = case.messages[..i]
            .iter()
            .rev()
            .take_while(|x| x.time.is_none_or(|t| t.0 >= begin))
            .filter(|x| x.time.is_some_and(|t| t.0 <= end.0))
            .collect();
        inside.reverse();
        let Some(series) = series(&inside, took) else { continue };
        let last = at(series[series.len() - 1]);
        let step = last.saturating_sub(at(series[0])) / (series.len() as i64 - 1);
        let sum = last.saturating_sub(begin);
        out.push(
            Finding::new(("phase-series", Area::Phase, Level::Slow), Confidence::Certain)
                .says(format!("{} of devices took {}. {} lines like \"{}\" come every {} in it; from its begin to the last of them {} pass. What each of them waits for is not in the text.", head.trim_start_matches("PM: "), say::span(Ns(took)), series.len(), series[0].text.trim(), say::span(Ns(step)), say::span(Ns(sum))))
                .when(Some(Direction::Resume), None)
                .costs(Ns(took))
                .shown_by(lines(series.into_iter().chain([m]))),
        );
    }
}

fn at(m: &Message) -> i64 {
    m.time.unwrap_or_default().0
}

/// Lines alike at an even pace that make up most of a phase.
fn series<'a>(inside: &[&'a Message], took: i64) -> Option<Vec<&'a Message>> {
    inside.iter().take(64).find_map(|first| {
        let all: Vec<&Message> =
            inside.iter().filter(|m| alike(&m.text, &first.text)).take(64).copied().collect();
        let gaps: Vec<i64> = all.windows(2).map(|w| at(w[1]).saturating_sub(at(w[0]))).collect();
        let (least, most) = (gaps.iter().min()?, gaps.iter().max()?);
        let even = *least > 0 && most.saturating_sub(*least).saturating_mul(EVEN) <= *most;
        let share = most.saturating_mul(all.len() as i64) >= took / 2;
        (all.len() >= SERIES && even && share).then_some(all)
    })
}

/// What to do about a callback of which the core itself says how long it took.
pub(super) const LOOK_INTO: &str = "What that callback waits for, its driver's messages before that line tell, or a trace of it: set_graph_function of ftrace.";

/// Who `DRIVER DEVICE` is, as lines of callbacks name him.
pub(super) fn owner(of: &str) -> Device {
    let (driver, name) = of.rsplit_once(' ').unwrap_or(("", of));
    Device { name: name.into(), driver: driver.into() }
}

/// The callback that made up half of a phase that ended in the message at `end` and took
/// `took`: its line, its device, its function and its time.
pub(super) fn longest(case: &Case, end: usize, took: Ns) -> Option<(&Message, Device, &str, Ns)> {
    let begin = at(case.messages.get(end)?).saturating_sub(took.0);
    let inside =
        |m: &&Message| !m.has(" of devices complete after ") && m.time.is_none_or(|t| t.0 >= begin);
    let ran = case.messages[..end].iter().rev().take_while(inside);
    let all = ran.filter_map(|m| Some((m, returned(m)?)));
    let (m, (of, function, time)) = all.max_by_key(|(_, r)| r.2)?;
    // Units of 1,024 ns may be read where they are none.
    let slack = if function == of { took.0 / 40 } else { 0 };
    let most = time >= took.0 / 2 && time <= took.0.saturating_add(CALLBACK + slack);
    most.then(|| (m, owner(of), function, Ns(time)))
}

/// The time in which half of a phase and more passed without a word, where the line that ends it
/// is an error of a device: that line, the device, and the time. The phase ended in the message
/// at `end` and took `took`.
pub(super) fn silence(case: &Case, end: usize, took: Ns) -> Option<(&Message, Device, Ns)> {
    let last = &case.messages[end];
    let inside = |m: &&Message| passed(m, last).is_none_or(|gap| gap <= Ns(took.0 + CALLBACK));
    let kernel = |m: &&Message| m.trust.is_of_a_kernel() && passed(m, last).is_some();
    let ran: Vec<&Message> =
        case.messages[..=end].iter().rev().filter(kernel).take_while(inside).collect();
    let gaps = ran.windows(2).filter_map(|w| Some((passed(w[1], w[0])?, w[0])));
    let (gap, m) = gaps.max_by_key(|g| g.0)?;
    let told = said::complains(&m.text) && !m.has("orrected error");
    let device = waits::speaker(&m.text).filter(|_| told)?;
    let most = gap.0 >= took.0 / 2 && gap.0 <= took.0.saturating_add(1_000_000_000);
    (most && gap.0 >= SLOW).then_some((m, device, gap))
}

/// `pca 1-0074: PM: pci_pm_resume+0x0/0x110 returned 0 after 9415 usecs`.
pub(super) fn returned(m: &Message) -> Option<(&str, &str, i64)> {
    let (head, rest) = m.text.split_once(" returned ")?;
    // Who left the device out may write it behind an arrow.
    let arrow = ["←", "<--", "<-"].iter().find_map(|a| rest.split_once(a));
    let (rest, remark) = arrow.map_or((rest, ""), |(r, who)| (r.trim_end(), who.trim()));
    let us = rest.split_once(" after ")?.1.strip_suffix(" usecs")?.trim().parse::<i64>().ok()?;
    // `call serio1+ returned 0 after 974280 usecs` of kernels before 5.x: no function, and units
    // of 1,024 ns (drivers/base/power/main.c:initcall_debug_report).
    let bare = head.strip_prefix("call ").and_then(|h| h.strip_suffix('+'));
    if let Some(device) = bare.filter(|d| !d.contains(' ')) {
        return Some((device, device, us.saturating_mul(1_024)));
    }
    let (device, function) = head.rsplit_once(' ')?;
    let function = function.split('+').next()?;
    let device = device.trim_end_matches("PM:").trim_end().trim_end_matches(':');
    let bare = device.chars().all(|c| matches!(c, '.' | '…' | ' '));
    let device = if bare && !remark.is_empty() { remark } else { device };
    // What runs at boot is no callback of a sleep, whatever its name.
    if device == "initcall" || device.ends_with(" initcall") {
        return None;
    }
    let known = ["suspend", "resume", "freeze", "thaw", "poweroff", "restore"];
    known.iter().any(|w| function.contains(w)).then_some((
        device,
        function,
        us.saturating_mul(1_000),
    ))
}

/// So many callbacks of an excerpt are listed.
const NAMED_CALLBACKS: usize = 8;

/// Callbacks with a timeout inside; and, where a text has nothing else, what they took.
fn callbacks(case: &Case, out: &mut Vec<Finding>) {
    let mut all: Vec<(&Message, &str, i64)> = Vec::new();
    for (i, m) in case.messages.having(" returned ") {
        let Some((device, function, took)) = returned(m) else { continue };
        all.push((m, device, took));
        let (Some(end), true) = (m.time, took >= CALLBACK) else { continue };
        // Its call has a line of its own where initcall_debug is on.
        let mut above = case.messages[..i].iter().rev().take(40);
        let called = above.find(|x| x.has("calling ") && x.has(function)).and_then(|x| x.time);
        let begin = called.map_or(end.0.saturating_sub(took), |t| t.0);
        let early = case.messages[..i].iter().rev().take(40).rev();
        let vain = early
            .filter(|x| x.time.is_some_and(|t| t.0 > begin))
            // The watchdog tells of the callback itself, and functions of how one waits.
            .filter(|x| !x.has("**** DPM device timeout") && stack::whole_frame(&x.text).is_none())
            .find(|x| x.has("timed out") || x.has("timeout") || x.has("Timeout"));
        let Some(vain) = vain else { continue };
        let waited = at(vain).saturating_sub(begin);
        if waited < took / 2 {
            continue;
        }
        out.push(
            Finding::new(("callback-timeout", Area::Phase, Level::Slow), Confidence::Certain)
                .says(format!("{function} of {device} took {}: about {} of them pass before \"{}\". It waited for that in vain.", say::span(Ns(took)), say::span(Ns(waited)), vain.text.trim()))
                .costs(Ns(took))
                .of_function(Some(function))
                .shown_by(lines([vain, m])),
        );
    }
    // Of a sleep that the text has a part of alone these are all that is known.
    let part = !case.parts.is_empty() && all.len() <= NAMED_CALLBACKS;
    let lone = case.attempts.is_empty() && (case.parts.is_empty() || part);
    let part_is_slow = !part || all.iter().any(|x| x.2 >= OF_A_PART);
    if !all.is_empty() && out.is_empty() && lone && part_is_slow {
        let rows: Vec<String> = all
            .iter()
            .take(NAMED_CALLBACKS)
            .map(|x| format!("{} {} ms", x.1, say::ms(Ns(x.2))))
            .collect();
        let slow = all.iter().max_by_key(|x| x.2).filter(|x| x.2 >= CALLBACK);
        let (level, rest) = match slow {
            Some((_, device, took)) => (
                Level::Slow,
                format!(
                    "{} in one of {device} is slow; what it waited for is not in these lines.",
                    say::span(Ns(*took))
                ),
            ),
            None => (
                Level::Note,
                format!(
                    "None of them takes {}: nothing in these lines is slow.",
                    say::span(Ns(CALLBACK))
                ),
            ),
        };
        out.push(
            Finding::new(("callback-times", Area::Phase, level), Confidence::Certain)
                .says(format!(
                    "{} returned: {}. {rest}",
                    say::plural(all.len(), "callback"),
                    rows.join(", "),
                ))
                .shown_by(lines(all.iter().take(NAMED_CALLBACKS).map(|x| x.0))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    #[test]
    fn waits_on_the_way_up_are_named_by_their_lines() {
        let mut out = Vec::new();
        let up = [
            (100, "ACPI: PM: Low-level resume complete"),
            (101, "ACPI: PM: Restoring platform NVS memory"),
            (6_101, "Enabling non-boot CPUs ..."),
            (6_200, "PM: suspend exit"),
            (90_000, "usb 1-1: new high-speed USB device"),
        ];
        judge(&Case::of_log(&up), &mut out);
        assert_eq!(
            (out.len(), out[0].id, out[0].costs),
            (1, "phase-pause", Some(Ns(6_000_000_000)))
        );
        out.clear();
        let image = [
            (100, "Enabling non-boot CPUs ..."),
            (130, "PM: Compressing and saving image data (900 pages)..."),
            (4_130, "PM: Image saving progress:   0%"),
            (9_130, "PM: Image saving progress:  10%"),
        ];
        judge(&Case::of_log(&image), &mut out);
        assert!(out.is_empty(), "the image is written on the way down");
        let even = [
            (4_000, "pwr_call: Set AAA to 1"),
            (6_000, "pwr_call: Set BB to 1"),
            (8_000, "pwr_call: Set C9 to 1"),
            (8_010, "PM: noirq resume of devices complete after 6005.000 msecs"),
        ];
        judge(&Case::of_log(&even), &mut out);
        assert_eq!(out[0].id, "phase-series");
        assert!(out[0].sentence.contains("every 2.0 s"), "{}", out[0].sentence);
    }

    #[test]
    fn a_callback_whose_time_stands_there_is_what_ran_in_between() {
        let log = [
            (500, "PM: noirq resume of devices complete after 12.200 msecs"),
            (700, "ehci-pci 0000:00:1d.0: PM: pci_pm_resume+0x0/0xe0 returned 0 after 88000 usecs"),
            (4_300, "tg3 0000:03:00.0: PM: pci_pm_resume+0x0/0xe0 returned 0 after 3551000 usecs"),
            (4_410, "PM: resume of devices complete after 3710.400 msecs"),
        ];
        let mut out = Vec::new();
        judge(&Case::of_log(&log[..3]), &mut out);
        let said = &out[0].sentence;
        assert!(
            said.ends_with("pci_pm_resume of 0000:03:00.0 (tg3) ran in between: it took 3.6 s."),
            "{said}"
        );
        let whole = Case::of_log(&log);
        let told = longest(&whole, 3, Ns::from_ms(3_710));
        assert_eq!(told.map(|t| t.1.name), Some("0000:03:00.0".into()));
        // What took less than half explains no phase.
        assert!(longest(&Case::of_log(&[log[1], log[3]]), 1, Ns::from_ms(3_710)).is_none());
    }

    #[test]
    fn a_silence_that_an_error_of_a_device_ends_names_it() {
        let log = [
            (1_000, "PM: suspend entry (s2idle)"),
            (1_100, "oakport 0000:00:1c.3: workaround enabled"),
            (9_300, "elmhid 3-7:1.3: suspend error -5"),
            (9_350, "PM: suspend devices took 8.300 seconds"),
        ];
        let of = |log: &[(i64, &str)], took| {
            let case = Case::of_log(log);
            silence(&case, log.len() - 1, Ns::from_ms(took)).map(|s| (s.1.name, s.2))
        };
        assert_eq!(of(&log, 8_300), Some(("3-7:1.3".into(), Ns::from_ms(8_200))));
        assert_eq!(of(&log, 20_000), None, "less than half of it");
        let mut fine = log;
        fine[2].1 = "elmhid 3-7:1.3: all is well";
        assert_eq!(of(&fine, 8_300), None, "no error");
    }

    #[test]
    fn a_wait_behind_an_idle_sleep_is_told_and_the_sleep_is_none() {
        let log = [
            (1_000, "PM: suspend entry (s2idle)"),
            (2_000, "PM: suspend-to-idle"),
            (90_000, "PM: resume from suspend-to-idle"),
            (96_400, "foo 0000:02:00.0: firmware is up"),
            (96_500, "Restarting tasks ... done."),
            (96_510, "PM: suspend exit"),
        ];
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        assert!(out[0].sentence.starts_with("6.4 s pass on the way up"), "{}", out[0].sentence);
        out.clear();
        judge(
            &Case::of_log(&[log[0], log[1], log[2], (90_400, log[3].1), (90_410, log[5].1)]),
            &mut out,
        );
        assert!(out.is_empty(), "{out:?}");
    }

    #[test]
    fn a_wait_on_a_way_down_that_was_given_up_is_told() {
        let log = [
            (1_000, "PM: suspend entry (s2idle)"),
            (1_100, "printk: Suspending console(s) (use no_console_suspend to debug)"),
            (7_100, "foo 3-1: PM: failed to suspend: error -110"),
            (7_200, "PM: suspend exit"),
        ];
        let of = |log: &[(i64, &str)]| {
            let mut case = Case::of_log(log);
            let attempt = Attempt { end: log.len(), closed: true, ..Attempt::default() };
            case.attempts.push(attempt);
            let mut out = Vec::new();
            refused(&case, &mut out);
            out.pop().map(|f| f.sentence)
        };
        assert!(of(&log).is_some_and(|s| s.starts_with("6.0 s pass on the way down")));
        // It may have slept, or freezing tells itself.
        assert_eq!(of(&[log[0], log[1], (7_100, "PM: noirq resume of x"), log[3]]), None);
        // By the calendar, whoever keeps the log stands still from freezing on.
        let year = 1_900_000_000_000;
        let log = log.map(|(ms, text)| (ms + year, text));
        assert_eq!(of(&[log[0], (year + 6_050, "Freezing user space processes"), log[3]]), None);
        assert!(of(&log).is_some());
        let log = log.map(|(ms, text)| (ms - year, text));
        let freezing = (21_000, "Freezing of tasks failed after 20.000 seconds (1 tasks refusing");
        assert_eq!(of(&[log[0], freezing, (21_010, log[3].1)]), None);
        // Memory for an image tells itself how long it took.
        let image = [
            log[0],
            (1_010, "OOM killer disabled."),
            (1_020, "PM: hibernation: Preallocating image memory"),
            (9_020, "PM: hibernation: Image allocation is 7 pages short"),
            (9_030, "PM: Some devices failed to suspend, or early wake event detected"),
        ];
        assert_eq!(of(&image), None);
    }

    #[test]
    fn behind_a_resume_that_failed_no_time_passes_on_the_way_down() {
        let of = |second: &str| {
            let log = [
                (1_000, "PM: suspend entry (s2idle)"),
                (1_100, "printk: Suspending console(s) (use no_console_suspend to debug)"),
                (1_500, second),
                (7_100, "elm 0000:0b:00.0: vex 77 timeout"),
            ];
            let mut case = Case::of_log(&log);
            case.attempts.push(Attempt { end: log.len(), ..Attempt::default() });
            let mut out = Vec::new();
            cut_off(&case, &mut out);
            out.pop().map(|f| f.sentence)
        };
        let down = of("elm 0000:0b:00.0: goes down").expect("a wait");
        assert!(down.starts_with("5.6 s pass without a word on the way down"), "{down}");
        assert_eq!(of("elm 0000:0b:00.0: PM: failed to resume async: error -5"), None);
    }

    #[test]
    fn a_timeout_in_a_callback_is_its_wait_and_short_ones_are_not_slow() {
        let mut out = Vec::new();
        let vain = [
            (190, "spi-foo 9.spi: transfer timed out"),
            (210, "codec 2-001a: codec_resume+0x0/0x90 returned -110 after 205000 usecs"),
        ];
        judge(&Case::of_log(&vain), &mut out);
        assert_eq!(out[0].id, "callback-timeout");
        out.clear();
        let boot = [
            (10, "initcall suspend_foo_init+0x0/0x10 returned 0 after 900000 usecs"),
            (11, "initcall resume_foo_init+0x0/0x10 returned 0 after 900000 usecs"),
        ];
        judge(&Case::of_log(&boot), &mut out);
        assert!(out.is_empty(), "{out:?}");
        let short = [
            (10, "nic 0000:81:00.0: PM: pci_pm_resume+0x0/0x110 returned 0 after 3000 usecs"),
            (11, "nic 0000:81:00.1: PM: pci_pm_resume+0x0/0x110 returned 0 after 3100 usecs"),
        ];
        judge(&Case::of_log(&short), &mut out);
        assert!(out[0].sentence.contains("nothing in these lines is slow"));
        out.clear();
        let long = [
            (900, "nic 0000:81:00.0: PM: pci_pm_suspend+0x0/0x110 returned 0 after 433000 usecs"),
            (911, "nic 0000:81:00.0: PM: pci_pm_suspend_late+0x0/0x110 returned 0 after 3 usecs"),
        ];
        judge(&Case::of_log(&long), &mut out);
        assert_eq!((out[0].id, out[0].level), ("callback-times", Level::Slow));
        let mut one = Vec::new();
        judge(&Case::of_log(&long[..1]), &mut one);
        assert!(one[0].sentence.starts_with("1 callback returned"), "{}", one[0].sentence);
        one.clear();
        let bare = [(900, "call elm1+ returned 0 after 905000 usecs")];
        judge(&Case { parts: vec![(0, false)], ..Case::of_log(&bare) }, &mut one);
        assert!(one[0].sentence.contains("elm1 926"), "{}", one[0].sentence);
        one.clear();
        let part = Case { parts: vec![(0, false)], ..Case::of_log(&long[..1]) };
        judge(&part, &mut one);
        assert_eq!(one[0].id, "callback-times", "a part of a sleep, and this is all of it");
        one.clear();
        let usual = [(900, "card 1-1: PM: mmc_bus_resume+0x0/0x110 returned 0 after 140000 usecs")];
        judge(&Case { parts: vec![(0, false)], ..Case::of_log(&usual) }, &mut one);
        assert!(one.is_empty(), "a head that was cut off makes no fault: {one:?}");
        assert!(
            out[0].sentence.contains("433 ms in one of nic 0000:81:00.0"),
            "{}",
            out[0].sentence
        );
    }
}
