//! Trouble that a kernel reports of itself inside a sleep, or right after one.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level, Task};
use crate::message::Message;
use crate::stack::Frame;
use crate::stage::{self, Stage, Stages, Work, ends, is_over, passed};
use crate::trouble::{Kind, Trouble, troubles};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// How long after a sleep a report counts as of it: a crash or a warning at once, a CPU
/// that does not get on after the 21 to 60 s of kernel/rcu/update.c, a task after the 120 s
/// of kernel/hung_task.c.
const SOON: Ns = Ns(60_000_000_000);
const MINUTES: Ns = Ns(300_000_000_000);
/// The same where lines have no times, by their number.
const LINES: usize = 60;

/// The rule of a report that came long behind a sleep.
pub(crate) const LATER: &str = "crash-later";

/// When a report came.
#[derive(Clone, Copy)]
enum When {
    /// Inside a sleep.
    Inside(Stage),
    /// In a callback whose name alone tells of a sleep.
    Named(Stage),
    /// Behind a request to sleep, and no line of the kernel tells of a sleep: it may be over.
    Asked,
    /// So long after one, if the lines tell.
    After(Option<Ns>),
}

impl When {
    fn words(self) -> String {
        match self {
            When::Inside(s) => s.words(),
            When::Named(s) => {
                let does = if s.direction == Direction::Suspend { "suspended" } else { "resumed" };
                format!("while a device {does} (by the name of a function)")
            }
            When::Asked => {
                "in a sleep that was asked for (on the way down or up, no line shows)".into()
            }
            When::After(Some(t)) => format!("{} after the sleep", say::span(t)),
            When::After(None) => "right after the sleep".into(),
        }
    }

    /// Whether two reports came at the same stage of a sleep.
    fn is_like(self, other: When) -> bool {
        match (self, other) {
            (When::Inside(a), When::Inside(b)) | (When::Named(a), When::Named(b)) => a == b,
            (When::After(_), When::After(_)) | (When::Asked, When::Asked) => true,
            _ => false,
        }
    }
}

fn when(case: &Case, stages: &Stages<'_>, over: &[usize], t: &Trouble<'_>) -> Option<When> {
    // What the processor was in is called by the first of the others.
    let frames: Vec<Frame> = t.place.iter().chain(&t.frames).cloned().collect();
    let s = stages.at(t.at, &frames);
    // Where lines leave the phase open, or tell of one in which no callback of a device runs, its
    // name may tell which way it went.
    let open = |s: Stage| {
        s.work == Some(Work::Unproven)
            || matches!(s.phase, Some(Phase::Sync | Phase::FreezeUser | Phase::FreezeKernel))
    };
    let by = t.culprit().and_then(stage::by_callback).filter(|_| s.is_some_and(open));
    if let Some(by) = by {
        return Some(When::Named(by));
    }
    if let Some(s) = s.filter(|s| s.phase != Some(Phase::Thaw)) {
        return Some(When::Inside(s));
    }
    if let Some(s) = enclosed(case, t.at) {
        return Some(When::Inside(s));
    }
    let Some(&end) = over[..over.partition_point(|&i| i < t.at)].last() else {
        let asked = asked(case, t).then_some(When::Asked);
        // Where the text shows a sleep, what stands apart from it is of none.
        let alone = case.attempts.is_empty() && case.parts.is_empty();
        let called = || stage::of_the_called(&frames).map(When::Inside);
        let named = || stage::by_name(&frames).map(When::Named);
        return asked.or_else(|| if alone { called().or_else(named) } else { None });
    };
    if !is_over(&case.messages, end) {
        return None;
    }
    let most = if matches!(t.kind, Kind::Hung | Kind::Stall) { MINUTES } else { SOON };
    match passed(&case.messages[end], &case.messages[t.at]) {
        Some(passed) => (Ns::ZERO..=most).contains(&passed).then_some(When::After(Some(passed))),
        None => (t.at - end <= LINES).then_some(When::After(None)),
    }
}

/// The phase that a line behind a report says lasted from before it on, in a text that does not
/// show how the phase began.
fn enclosed(case: &Case, at: usize) -> Option<Stage> {
    let time = case.messages[at].time?;
    let behind = case.messages[at..].iter().take(LONGEST);
    behind.filter(|m| m.trust.is_of_a_kernel()).find_map(|m| {
        let (direction, name, took) = crate::stage::phase_took(m)?;
        let word = name.strip_prefix("PM: ").unwrap_or(&name);
        let phase = match (direction, word.split(' ').next()?) {
            (Direction::Suspend, "late") => Phase::Late,
            (Direction::Suspend, "noirq") => Phase::Noirq,
            (Direction::Suspend, _) => Phase::Suspend,
            (Direction::Resume, "early") => Phase::ResumeEarly,
            (Direction::Resume, "noirq") => Phase::ResumeNoirq,
            (Direction::Resume, _) => Phase::Resume,
        };
        let stage = Stage::new(direction, Some(phase));
        m.time.is_some_and(|end| end >= time && end - took <= time).then_some(stage)
    })
}

/// So many messages behind a report the line of its phase stands.
const LONGEST: usize = 400;

/// Programs that do no more than to write /sys/power/state, and wait until the machine is back.
const WRITERS: [&str; 8] = [
    "systemd-sleep",
    "rtcwake",
    "pm-suspend",
    "pm-hibernate",
    "s2ram",
    "s2disk",
    "s2both",
    "sleepgraph.py",
];

/// Whether systemd was putting the machine to sleep a few lines before a report, or the report is
/// of a task that does so, in a text whose kernel says nothing of a sleep.
fn asked(case: &Case, t: &Trouble<'_>) -> bool {
    let asks = |m: &Message| {
        let unit = ["System Suspend", "System Hibernate", "System Hybrid Suspend"];
        let starts = m.has("systemd[1]: Starting ") && unit.iter().any(|u| m.has(u));
        starts || m.has("Performing sleep operation")
    };
    let near = &case.messages[t.at.saturating_sub(LINES)..t.at];
    let writer = t.task.as_ref().is_some_and(|task| {
        // Xen's own thread waits for devices in a sleep that its host asked for
        // (drivers/xen/manage.c:do_suspend).
        let of_xen = task.0 == "xenwatch"
            && t.frames.iter().any(|f| f.function.starts_with("async_synchronize"));
        WRITERS.contains(&task.0.as_str()) || of_xen
    });
    case.attempts.is_empty() && case.parts.is_empty() && (writer || near.iter().any(asks))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = troubles(&case.messages);
    if all.is_empty() {
        return;
    }
    let stages = Stages::new(&case.messages);
    let is_end = |m: &Message| ends(m) || m.says("OOM killer enabled") || m.has("Restarting tasks");
    let over: Vec<usize> = case
        .messages
        .iter()
        .enumerate()
        .filter(|(_, m)| m.trust.is_of_a_kernel() && is_end(m))
        .map(|m| m.0)
        .collect();
    let told = |t: &Trouble<'_>, out: &[Finding]| {
        // What an area of its own says better: its evidence, or the panic that ends it.
        let mut lines = out.iter().flat_map(|f| &f.evidence).map(|e| e.line);
        // A driver's own words stand before the warning that they are of.
        let first = reason(case, t).map_or(case.messages[t.at].line, |m| m.line);
        let last = case.messages[t.at..t.end].last().map_or(first, |m| m.line);
        lines.any(|l| l > 0 && first <= l && l <= last)
            || t.words.contains("unrecoverable failure")
                && out.iter().any(|f| f.id == "device-hang")
    };
    // One finding of each kind and function in a phase, however often.
    let mut groups: Vec<(When, Vec<&Trouble<'_>>)> = Vec::new();
    let same = |a: &Trouble<'_>, b: &Trouble<'_>| {
        a.kind == b.kind && a.culprit() == b.culprit() && a.task == b.task
            || a.kind == b.kind && a.kind != Kind::Hung && a.culprit() == b.culprit()
    };
    // Reports of no sleep, by kind and function.
    let mut elsewhere: Vec<&Trouble<'_>> = Vec::new();
    // It measures how long all devices took, and is none of them
    // (kernel/power/suspend_test.c:suspend_test_finish).
    let is_clock = |t: &Trouble<'_>| {
        let by = t.culprit().is_some_and(|f| f.function == "suspend_test_finish");
        by && [" devices took ", "Component: "].iter().any(|w| case.messages.has(w))
    };
    for t in &all {
        if is_clock(t) || told(t, out) {
            continue;
        }
        // The grace period that does not end is reported again and again.
        let again = |g: &&mut (When, Vec<&Trouble<'_>>)| {
            let period = grace_period(case, t);
            period.is_some() && g.1.iter().any(|x| grace_period(case, x) == period)
        };
        if let Some(g) = groups.iter_mut().find(again) {
            g.1.push(t);
            continue;
        }
        let Some(w) = when(case, &stages, &over, t) else {
            if !elsewhere.iter().any(|x| same(x, t)) {
                elsewhere.push(t);
            }
            continue;
        };
        // A device that is gone makes tasks wait and CPUs stand.
        let gone = out.iter().any(|f| f.id == "phase-device-lost");
        if gone && matches!((w, t.kind), (When::After(_), Kind::Hung | Kind::Stall)) {
            continue;
        }
        // A machine that had it before did not get it from sleeping.
        if matches!(w, When::After(_)) && elsewhere.iter().any(|x| same(x, t)) {
            continue;
        }
        match groups.iter_mut().find(|g| g.0.is_like(w) && same(g.1[0], t)) {
            Some(g) => g.1.push(t),
            None => groups.push((w, Vec::from([t]))),
        }
    }
    let hibernated = out.iter().any(|f| matches!(f.id, "hib-crash" | "rpm-crash"));
    for (w, list) in groups {
        if hibernated && list[0].kind == Kind::Crash {
            continue;
        }
        out.push(found(case, w, &list));
    }
    out.extend(later(case, &over, &elsewhere));
}

/// The first crash, stuck task or stuck CPU that came long behind a sleep of the same boot: it is
/// named, so that nobody takes the text for a healthy one, and blamed on nothing.
fn later(case: &Case, over: &[usize], elsewhere: &[&Trouble<'_>]) -> Option<Finding> {
    let grave = |t: &Trouble<'_>| {
        matches!(t.kind, Kind::Crash | Kind::Hung | Kind::Stall)
            && found_by_a_check(t.words).is_none()
    };
    // What the machine had before it slept, too, says nothing of a sleep.
    let slept = |t: &Trouble<'_>| {
        let end = *over[..over.partition_point(|&i| i < t.at)].last()?;
        let passed = passed(&case.messages[end], &case.messages[t.at])?;
        let is = stage::ends_sleep(&case.messages[end]) && passed > SOON;
        is.then_some((end, passed))
    };
    if elsewhere.iter().any(|t| grave(t) && slept(t).is_none()) {
        return None;
    }
    let (t, (end, passed)) =
        elsewhere.iter().filter(|t| grave(t)).find_map(|t| Some((t, slept(t)?)))?;
    let what = match t.kind {
        Kind::Hung => "A task hung",
        Kind::Stall => "A CPU did not get on",
        _ => "The kernel crashed",
    };
    let place = match t.where_words() {
        p if p.is_empty() => p,
        p => format!(", {p}"),
    };
    let culprit = t.culprit().map(|f| f.function.clone());
    let (exit, first) = (&case.messages[end], &case.messages[t.at]);
    Some(
        Finding::new((LATER, Area::Phase, Level::Note), Confidence::Certain)
            .says(format!(
                "{what} {} after the sleep that ends in line {}{place}. No line ties that to the sleep.",
                say::span(passed),
                exit.line
            ))
            .look("See whether it comes without a sleep, too: then it is none of sleeping.")
            .of_function(culprit.as_deref())
            .shown_by(lines([first])),
    )
}

/// What KASAN, KFENCE, KMSAN, KCSAN or UBSAN reports (lib/ubsan.c, mm/kasan/report.c, mm/kfence,
/// mm/kmsan, kernel/kcsan/report.c, 6.12): the kernel goes on.
fn found_by_a_check(words: &str) -> Option<&str> {
    let report = words.strip_prefix("BUG: ").unwrap_or(words);
    let (who, _) = report.split_once(": ")?;
    let checks = ["KASAN", "KFENCE", "KMSAN", "KCSAN", "UBSAN"];
    checks.contains(&who).then(|| report.split(" in ").next().unwrap_or(report))
}

fn found(case: &Case, w: When, list: &[&Trouble<'_>]) -> Finding {
    let t = list[0];
    let (id, level) = match t.kind {
        Kind::Crash => ("phase-crash", Level::Broken),
        Kind::Warning => ("phase-warning", Level::Risk),
        Kind::Locks => ("phase-locks", Level::Risk),
        Kind::Hung => ("phase-hung-task", Level::Broken),
        Kind::Stall => ("phase-stall", Level::Broken),
    };
    let confidence = match w {
        When::Inside(_) => Confidence::Certain,
        When::After(_) | When::Asked | When::Named(_) => Confidence::Likely,
    };
    let place = match t.where_words() {
        p if p.is_empty() => p,
        p => format!(", {p}"),
    };
    let (at, often) = (w.words(), say::times(list.len()));
    let text = match t.kind {
        _ if let Some(what) = found_by_a_check(t.words) => {
            format!("A check of the kernel found a fault{often} {at}: {what}{place}.")
        }
        Kind::Crash => format!("The kernel crashed{often} {at}{place}.{}", earlier(case, t)),
        Kind::Warning => format!("The kernel warned{often} {at}{place}."),
        Kind::Locks => {
            let what = t.words.trim_start_matches("WARNING: ").trim_end_matches(" detected");
            format!("The kernel's check of locks found a fault{often} {at}: {what}{place}.")
        }
        Kind::Hung => {
            let who = t.task.as_ref().map_or("A task".into(), |(name, pid)| {
                say::task(&Task { name: name.clone(), pid: *pid })
            });
            let long = t.words.split_once("blocked for more than ").map_or("", |(_, r)| r);
            let long = long.split('.').next().unwrap_or("").replace("seconds", "s");
            format!("{who} had waited for more than {long}{often} {at}{place}.")
        }
        Kind::Stall => {
            // The last one tells how long.
            let last = list.last().map_or(t.words, |t| t.words);
            let what = last.trim_end_matches([':', ' ', '{']);
            format!("A CPU was stuck{often} {at}{place}: \"{what}\".")
        }
    };
    let direction = match w {
        When::Inside(s) | When::Named(s) => Some(s.direction),
        When::Asked => None,
        When::After(_) => Some(Direction::Resume),
    };
    let phase = match w {
        When::Inside(s) => s.phase,
        When::After(_) | When::Asked | When::Named(_) => None,
    };
    let row = if direction == Some(Direction::Resume) { "resume" } else { "suspend" };
    let mut evidence: Vec<Evidence> =
        list.iter().take(3).map(|t| Evidence::from(&case.messages[t.at])).collect();
    if let Some(m) = reason(case, t).filter(|m| m.line != case.messages[t.at].line) {
        evidence.insert(0, Evidence::from(m));
    }
    let culprit = t.culprit().map(|f| f.function.clone());
    let f = Finding::new((id, Area::Phase, level), confidence)
        .says(text)
        .look(advice(t))
        .of_function(culprit.as_deref())
        .of_tasks(
            t.task
                .iter()
                .filter(|_| t.kind == Kind::Hung)
                .map(|(name, pid)| Task { name: name.clone(), pid: *pid }),
        )
        .times(list.len())
        .when(direction, phase)
        .at(row)
        .shown_by(evidence);
    match (reason(case, t), t.culprit()) {
        (Some(m), _) => f.because(format!("It says: \"{}\"", m.text.trim())),
        (None, None) => match before(case, t) {
            Some(m) => f
                .because(format!("The line before it says: \"{}\"", m.text.trim()))
                .shown_by(lines([m])),
            None => f,
        },
        (None, Some(_)) => f,
    }
}

/// The kernel's line just before a warning that names no function.
fn before<'a>(case: &'a Case, t: &Trouble<'_>) -> Option<&'a Message> {
    const SOON: Ns = Ns(100_000_000);
    let m = case.messages.get(t.at.checked_sub(1)?).filter(|_| t.kind == Kind::Warning)?;
    let passed = passed(m, &case.messages[t.at]).is_some_and(|p| (Ns::ZERO..=SOON).contains(&p));
    (m.trust.is_of_a_kernel() && passed && stage::begins(m).is_none()).then_some(m)
}

/// The number of the grace period that a stall holds up: `(detected by 0, t=6302 jiffies,
/// g=4609, q=17)`, `(t=21003 jiffies g=4609 q=12)` (kernel/rcu/tree_stall.h, 4.14 to 7.3).
fn grace_period<'a>(case: &'a Case, t: &Trouble<'_>) -> Option<&'a str> {
    let near = case.messages[t.at..].iter().take(8).filter(|_| t.kind == Kind::Stall);
    near.filter(|m| m.has(" jiffies")).find_map(|m| m.after(" g=")?.split([',', ' ', ')']).next())
}

/// `[#2]`: the crash is not the first of its boot (die_counter of
/// arch/*/kernel/), and the first is not in the text.
fn earlier(case: &Case, t: &Trouble<'_>) -> String {
    let number =
        case.messages[t.at].after("[#").and_then(|r| r.split(']').next()?.parse::<u32>().ok());
    let first = case.messages[..t.at].iter().any(|m| m.has("[#1]"));
    match number {
        Some(n) if n > 1 && !first => format!(
            " It is number {n} since the start: the first is not in the text, and may have caused it."
        ),
        _ => String::new(),
    }
}

/// The words that a driver gave its warning stand between the mark and the warning itself
/// (kernel/panic.c:__warn_printk), or behind it, above what is said of the machine
/// (warn_slowpath_fmt of kernels and architectures that have no other).
pub(super) fn reason<'a>(case: &'a Case, t: &Trouble<'_>) -> Option<&'a Message> {
    if t.kind != Kind::Warning {
        return None;
    }
    let said = |at: usize| case.messages.get(at);
    // Its first line says it all.
    if t.culprit().is_some() && ["BUG: ", "UBSAN: "].iter().any(|w| t.words.starts_with(w)) {
        return said(t.at);
    }
    let before = t.at.checked_sub(1).and_then(said);
    let mark = t.at.checked_sub(2).and_then(said);
    let is = |m: Option<&Message>| m.is_some_and(|m| m.has("[ cut here ]"));
    if is(mark) && !is(before) {
        return before;
    }
    let of_machine = |m: &Message| ["Modules linked in", "CPU: "].iter().any(|w| m.says(w));
    let head = (t.at + 2..t.at + 4).find(|&at| said(at).is_some_and(of_machine))?;
    said(head - 1).filter(|m| !m.has("+0x") && !of_machine(m))
}

fn advice(t: &Trouble<'_>) -> &'static str {
    match t.kind {
        Kind::Crash => {
            "Report it to the maintainer of the driver that the function belongs to, with the whole crash; until then keep that driver unloaded across a sleep."
        }
        // kernel/sched/core.c:__schedule_bug, __might_sleep.
        Kind::Warning if t.words.starts_with("BUG: s") && t.culprit().is_none() => {
            "It means that code which must not wait did wait. Give the lines below it: its call trace names the driver."
        }
        Kind::Warning if t.culprit().is_none() => {
            "Give the lines below it: its call trace names the driver."
        }
        Kind::Warning => {
            "A warning alone ends no sleep. Report it to the maintainer of the driver that the function belongs to, with the whole report."
        }
        // kernel/locking/lockdep.c:lockdep_rcu_suspicious.
        Kind::Locks if t.words.contains("RCU usage") => {
            "It is data that was read without the protection that RCU asks for, which may go away meanwhile: report it to the maintainer of that driver, with the whole report."
        }
        Kind::Locks => {
            "It is a deadlock that can happen, not one that did: report it to the maintainer of that driver, with the whole report."
        }
        Kind::Hung => {
            "The functions below that line say what it waits for; a device or disk that did not come back is the usual cause (errors and resets in the lines before)."
        }
        // kernel/workqueue.c:show_one_workqueue.
        Kind::Stall if t.words.contains("workqueue lockup") => {
            "No work of that pool of workers made progress: the lines \"in-flight\" below it name the work that holds it up."
        }
        // kernel/watchdog.c:watchdog_timer_fn is an interrupt of that CPU: it is taken there.
        Kind::Stall if t.words.contains("soft lockup") => {
            "That CPU took interrupts, and came to no other task: its backtrace says in which function it went round or waited, with preemption off."
        }
        Kind::Stall if t.words.contains("hard LOCKUP") || t.words.contains("Hard LOCKUP") => {
            "The backtrace of that CPU says what it does with interrupts off: look at the driver or firmware call of that function."
        }
        Kind::Stall => {
            "The backtrace of that CPU says what it does: look at the driver or firmware call of that function."
        }
    }
}
