//! How long sleeps were, and whether they ended before their alarm: the plain facts of a night.

use super::turns;
use crate::attempt::Attempt;
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, seconds, timekeeping};
use crate::night::{Fact, Item};
use crate::rules::{abort, unit, wake};
use crate::stage::passed;
use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A shorter sleep is no night, in ms.
const NIGHT: i64 = 300_000;
/// The kernel begins so many lines behind the word of a daemon at most.
const NEAR: u64 = 30;
/// So many are listed.
const LISTED: usize = 6;
/// Whoever opens a lid does so this close to the return of the machine, in ms.
const TOGETHER: i64 = 3_000;
/// An alarm of a PC is set in whole seconds, and the way down and up takes some, in ms.
const SECONDS: i64 = 15_000;

fn span(ms: i64) -> String {
    say::span(Ns(ms.saturating_mul(1_000_000)))
}

/// The attempt of a sleep that begins in a line: of the daemon's word, or of the kernel's own.
fn attempt(case: &Case, line: u64) -> Option<&Attempt> {
    let first = |a: &Attempt| case.messages[a.first].line;
    let near = |a: &&Attempt| first(a).abs_diff(line) < NEAR;
    case.attempts.iter().filter(near).min_by_key(|a| first(a).abs_diff(line))
}

/// What somebody did as a machine came back from the sleep that begins in a line: a lid that
/// was opened, a key that was pressed.
fn user<'a>(case: &'a Case, line: u64) -> Option<(&'static str, &'a Step)> {
    let steps = &case.way.steps;
    let attempt = attempt(case, line)?;
    let last = case.messages[attempt.end.checked_sub(1)?].line;
    let (first, last) = (line.min(last), line.max(last));
    let within = |s: &&Step| s.kind == Kind::Back && (first..=last).contains(&s.line);
    let back = steps.iter().find(within)?;
    let near = |s: &&Step| s.run == back.run && (s.ms - back.ms).abs() <= TOGETHER;
    let by = |s: &'a Step| match s.kind {
        Kind::Opened => Some(("The lid was opened at that moment", s)),
        Kind::Asked if s.text.contains("Power key pressed") && s.ms >= back.ms => {
            Some(("The power key was pressed at that moment", s))
        }
        _ => None,
    };
    steps.iter().filter(near).find_map(by)
}

/// A lid that was closed before the sleep that begins in a line, and that somebody opened only long
/// behind the return: the words, and the two lines.
fn shut(case: &Case, line: u64) -> Option<(String, [&Step; 2])> {
    let steps = &case.way.steps;
    let back = steps.iter().position(|s| s.kind == Kind::Back && s.line > line)?;
    let (before, rest) = steps.split_at(back);
    let back = &steps[back];
    let of_lid = |s: &&Step| s.run == back.run && (s.kind == Kind::Opened || is_shut(s));
    let closed = before.iter().rfind(of_lid).filter(|s| is_shut(s) && s.line <= line)?;
    let same_night = |s: &&Step| s.run == back.run && !matches!(s.kind, Kind::Sleeps | Kind::Entry);
    let opened = rest.iter().take_while(same_night).find(of_lid).filter(|s| !is_shut(s))?;
    let ms = opened.ms - back.ms;
    (ms > TOGETHER + opened.grain).then(|| {
        let words = format!(
            " The lid, closed before it (line {}), was opened only {} after the return (line {}): something else woke it.",
            closed.line,
            span(ms),
            opened.line
        );
        (words, [closed, opened])
    })
}

fn is_shut(s: &Step) -> bool {
    s.kind == Kind::Asked && s.text.contains("Lid closed")
}

/// A sleep that was ordered for a time, and was over long before.
pub(super) fn early(case: &Case, out: &mut Vec<Finding>) {
    let ordered = |i: &'_ Item| match i.fact {
        Fact::Slept(Some(s)) if i.text.contains("rtcwake") => i64::try_from(s).ok(),
        _ => None,
    };
    let mut all = case.night.items.iter().filter_map(|i| Some((i, ordered(i)?)));
    let (Some((item, seconds)), None) = (all.next(), all.next()) else { return };
    let [(line, ms)] = turns::lengths(case)[..] else { return };
    let refused = out.iter().any(|f| f.area == Area::Abort && f.level != Level::Note);
    let told = out.iter().any(|f| f.id == "night-woke-early");
    // Half of a short test may be the way down and up.
    let alarm = seconds.saturating_mul(1_000);
    if refused || told || ms <= 0 || ms > alarm - SECONDS || ms > alarm * 9 / 10 {
        return;
    }
    let who = user(case, line);
    let by = match &who {
        Some((words, _)) => format!(" {words}: somebody woke it."),
        None if out.iter().any(wake::names_a_waker) => String::new(),
        None => " No rule finds what woke it.".into(),
    };
    let level = if who.is_some() { Level::Note } else { Level::Risk };
    let begin = case.messages.iter().find(|m| m.line == line);
    let f = Finding::new(("night-woke-early", Area::Mode, level), Confidence::Likely)
        .says(format!(
            "Something woke the machine before its alarm: it was to sleep for {} and was back after {}.{by}",
            span(alarm),
            span(ms)
        ))
        .look("Name the waker: cat /sys/power/pm_wakeup_irq after it, and pm_debug_messages; compare /sys/kernel/debug/wakeup_sources before and after.")
        .shown_by([Evidence::from(item)])
        .shown_by(begin.map(Evidence::from))
        .shown_by(who.map(|w| w.1.shown()));
    out.push(f);
}

/// Nobody sends a machine to sleep for less; what is over at once has a rule of its own.
const SHORT: std::ops::Range<Ns> = Ns::from_ms(1_000)..Ns::from_ms(10_000);

/// The rule of sleeps that were over at once, which are no night.
pub(crate) const AT_ONCE: &str = "night-short";

/// All sleeps of a text were over at once, by the kernel's own word. What ended them may stand
/// beside; a device that failed meanwhile is no reason to be silent.
fn short(case: &Case, out: &mut Vec<Finding>) {
    let count = case.attempts.iter().filter(|a| !a.inside).count() + case.parts.len();
    let stood = case.messages.having("uspended for ");
    let stood: Vec<(&Message, Ns)> =
        stood.filter_map(|(_, m)| Some((m, timekeeping(m)?))).collect();
    let ordered = case.messages.has("rtcwake")
        || case.night.items.iter().any(|i| {
            matches!(i.fact, Fact::Slept(_) | Fact::Lasted(_) | Fact::Report(_) | Fact::Round(_))
        });
    let tells = |f: &Finding| match f.area {
        // It failed on the way up, which is no reason to be woken.
        Area::Abort if f.about.direction == Some(Direction::Resume) => false,
        Area::Abort | Area::Mode => f.level != Level::Note || wake::names_a_waker(f),
        _ => wake::names_a_waker(f) || f.id.starts_with("night-"),
    };
    let all = stood.len() == count && stood.iter().all(|s| SHORT.contains(&s.1));
    if !all || count == 0 || ordered || out.iter().any(tells) {
        return;
    }
    let spans: Vec<String> = stood.iter().take(LISTED).map(|s| say::span(s.1)).collect();
    let what = match count {
        1 => format!("The one sleep of the text was over after {}.", spans[0]),
        n if n > LISTED => format!("Each of the {n} sleeps of the text was over within 10 s."),
        n => format!("The {n} sleeps of the text were over after {}.", say::names(&spans)),
    };
    let them = if count == 1 { "it" } else { "them" };
    let f = Finding::new((AT_ONCE, Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("{what} {}woke {them}.", crate::reason::NONE))
        .look("If nobody did: cat /sys/power/pm_wakeup_irq after the next one, and pm_debug_messages.")
        .shown_by(stood.iter().take(LISTED).map(|s| Evidence::from(s.0)));
    out.push(f);
}

/// Sleeps of which a text has no beginnings, by what timekeeping says stood still in each.
fn parts(case: &Case, out: &mut Vec<Finding>) {
    if !case.attempts.is_empty() || case.parts.len() < 2 {
        return;
    }
    let ends = case.parts.iter().skip(1).map(|p| p.0).chain([case.messages.len()]);
    let of = |(first, end): (usize, usize)| {
        let stood = || case.messages[first..end].iter().filter(|m| timekeeping(m).is_some());
        let sum: Ns = stood().filter_map(timekeeping).sum();
        Some((stood().next()?, sum))
    };
    let all: Option<Vec<_>> = case.parts.iter().map(|p| p.0).zip(ends).map(of).collect();
    let Some(all) = all else { return };
    let list: Vec<String> = all.iter().take(LISTED).map(|p| say::span(p.1)).collect();
    let more = all.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let f = Finding::new(("night-slept", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!(
            "The {} sleeps of the text, of which it has no beginnings, took in their order: {}{more}, by the clock that stood still.",
            all.len(),
            list.join(", ")
        ))
        .shown_by(all.iter().take(LISTED).map(|p| Evidence::from(p.0)));
    out.push(f);
}

/// How far the stamps of an attempt jump while tasks freeze, in ms, beside what the kernel says that
/// took (kernel/power/process.c:try_to_freeze_tasks, 6.12), and the line behind the jump: whoever
/// keeps the log was frozen with them, and wrote the rest when he ran again (systemd,
/// src/journal/journald-kmsg.c). The sleep lies in that jump.
fn hidden<'a>(case: &'a Case, a: &Attempt) -> Option<(i64, &'a Message)> {
    const REST: Ns = Ns::from_ms(2_000);
    if !a.closed || a.inside || abort::ended_early(case, a) {
        return None;
    }
    let of_keeper = |m: &&Message| m.time.map_or(m.second.is_some(), |t| t > Ns::CALENDAR);
    let kernel = case.of(a).iter().filter(|m| m.trust.is_of_a_kernel());
    let said: Vec<&Message> = kernel.filter(of_keeper).collect();
    let begins = |m: &Message| ["Freezing ", "Filesystems sync: "].iter().any(|w| m.says(w));
    let jump = |w: &[&'a Message]| {
        let took = w[1].says("Freezing ").then(|| w[1].after("(elapsed ")).flatten()?;
        let by = passed(w[0], w[1])? - seconds(took)?;
        (begins(w[0]) && by.0 >= FEW_SECONDS * 1_000_000).then_some((by.0 / 1_000_000, w[1]))
    };
    let (by, at) = said.windows(2).find_map(jump)?;
    passed(at, said.last()?).filter(|rest| *rest <= REST)?;
    Some((by, at))
}

/// Sleeps that such jumps alone show.
fn jumped(case: &Case) -> Option<Finding> {
    let all: Vec<(i64, &Message)> = case.attempts.iter().filter_map(|a| hidden(case, a)).collect();
    let whole = case.attempts.iter().filter(|a| !a.inside).count() == all.len();
    let list: Vec<String> = all.iter().take(LISTED).map(|l| span(l.0)).collect();
    let more = all.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let sleeps = match all.len() {
        0 => return None,
        _ if !whole => return None,
        1 => format!("the sleep of the text lies in that jump and took about {}", list[0]),
        n => format!(
            "the {n} sleeps of the text lie in such jumps and took, in their order, about {}{more}",
            list.join(", ")
        ),
    };
    Some(
        Finding::new(("night-slept", Area::Mode, Level::Note), Confidence::Likely)
            .says(format!(
                "Whoever keeps the log was frozen with the tasks, and his stamps jump there: {sleeps}, \
                 with the way of its devices down and up."
            ))
            .shown_by(all.iter().take(LISTED).map(|l| Evidence::from(l.1))),
    )
}

/// The last attempt of a text that has no end in it, and shows that the way down turned: the
/// embedded controller was silenced in the last phase of devices, and heard again behind it
/// (drivers/acpi/ec.c:acpi_ec_enter_noirq, acpi_ec_leave_noirq, 4.10 to 7.3).
fn turned(case: &Case) -> Option<Finding> {
    let a = case.attempts.iter().rfind(|a| !a.inside).filter(|a| !a.closed && !a.failed)?;
    let said = || case.of(a).iter().filter(|m| m.trust.is_of_a_kernel());
    let down = said().find(|m| m.has("EC: interrupt blocked"))?;
    let up = said().find(|m| m.line > down.line && m.has("EC: interrupt unblocked"))?;
    if abort::ended_early(case, a) || said().any(|m| m.line > up.line && m.has("interrupt blocked"))
    {
        return None;
    }
    let first = &case.messages[a.first];
    let whole = passed(first, up).filter(|t| *t > Ns::ZERO);
    let whole = whole.map_or(String::new(), |t| {
        format!(" From its begin to there {} pass by the stamps of the text.", say::span(t))
    });
    Some(
        Finding::new(("night-turned", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!(
                "The last attempt of the text came down to the last phase of its devices, and back from it: the embedded controller was silenced in line {} and heard again in line {}.{whole} How long the machine slept between the two, and the rest of its way up, are not there.",
                down.line, up.line
            ))
            .look("Give the lines that follow, up to \"suspend exit\".")
            .shown_by([Evidence::from(down), Evidence::from(up)]),
    )
}

/// Whether the lines of an attempt prove that the machine slept for as long as they are apart:
/// its end is there, and it was not given up before devices went down
/// (drivers/base/power/wakeup.c:pm_print_active_wakeup_sources, 6.12). What is frozen before a sleep may
/// be stamped behind it, and a machine that waited looks the same.
fn is_sure(case: &Case, a: &Attempt) -> bool {
    let gives_up = |m: &Message| m.has("active wakeup source: ") || m.has("Wakeup pending");
    a.closed && (a.devices || !case.of(a).iter().any(gives_up))
}

/// Where a text has little else of a sleep, its length is told from here on, in ms.
const FEW_SECONDS: i64 = 5_000;
/// So many lines of an attempt at most.
const BARE: usize = 4;

/// Whether of each attempt there is hardly more than begin and end.
fn is_bare(case: &Case) -> bool {
    let lines = |a: &Attempt| case.of(a).iter().filter(|m| m.trust.is_of_a_kernel()).count();
    !case.attempts.is_empty() && case.attempts.iter().all(|a| lines(a) <= BARE)
}

/// How long the sleeps of a text were, where no other finding tells.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut all = turns::lengths(case);
    all.retain(|l| attempt(case, l.0).is_none_or(|a| !unit::failed_behind(case, a)));
    let tells = |f: &Finding| {
        f.id == "mode-wake-source" && wake::tells_lengths(case)
            || matches!(f.id, "wake-loop" | "wake-again" | "night-woke-early")
    };
    if out.iter().any(tells) {
        return;
    }
    let least = if is_bare(case) { FEW_SECONDS } else { NIGHT };
    if !all.iter().any(|l| l.1 >= least) {
        let told = out.iter().any(|f| f.id.starts_with("night-") || wake::names_a_waker(f));
        if let Some(f) = jumped(case).filter(|_| !told) {
            return out.push(f);
        }
        parts(case, out);
        let mode = |f: &Finding| f.area == Area::Mode || wake::names_a_waker(f);
        if !out.iter().any(mode) {
            out.extend(turned(case));
        }
        return short(case, out);
    }
    let mode = |line: u64| attempt(case, line).map_or("", |a| a.mode.as_str());
    let words = |l: &(u64, i64)| match mode(l.0) {
        "" => span(l.1),
        mode => format!("{} ({mode})", span(l.1)),
    };
    let list: Vec<String> = all.iter().take(LISTED).map(words).collect();
    let more = all.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let users: Vec<(&str, &Step)> = all.iter().filter_map(|l| user(case, l.0)).collect();
    let by = match (&users[..], all.len()) {
        ([one], 1) => format!(" {}: somebody woke it.", one.0),
        _ => String::new(),
    };
    let shut =
        all.first().filter(|_| all.len() == 1 && by.is_empty()).and_then(|l| shut(case, l.0));
    let by = shut.as_ref().map_or(by, |s| s.0.clone());
    let sentence = match all.len() {
        1 => format!("The sleep of the text took {}.{by}", list[0]),
        n => format!("The {n} sleeps of the text took, in their order: {}{more}.", list.join(", ")),
    };
    let shown = all.iter().take(LISTED).filter_map(|l| {
        let message = case.messages.iter().find(|m| m.line == l.0).map(Evidence::from);
        message.or_else(|| case.night.items.iter().find(|i| i.line == l.0).map(Evidence::from))
    });
    let sure = match all.iter().all(|l| attempt(case, l.0).is_none_or(|a| is_sure(case, a))) {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    let f = Finding::new(("night-slept", Area::Mode, Level::Note), sure)
        .says(sentence)
        .shown_by(shown)
        .shown_by(users.iter().take(1).filter(|_| all.len() == 1).map(|u| u.1.shown()))
        .shown_by(shut.into_iter().flat_map(|s| s.1).map(Step::shown));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of an attempt whose freezing of tasks ends `frozen` ms after its begin, and
    /// whose exit comes `rest` ms behind that.
    fn told(frozen: i64, rest: i64, middle: &str) -> Option<String> {
        // Of the calendar.
        const DAY: i64 = 1_900_000_000_000;
        let froze = DAY + frozen;
        let log = [
            (DAY, "PM: suspend entry (s2idle)"),
            (DAY + 10, "Freezing user space processes"),
            (froze, "Freezing user space processes completed (elapsed 0.002 seconds)"),
            (froze + 1, middle),
            (froze + rest, "PM: suspend exit"),
        ];
        let mut case = Case::of_log(&log);
        case.attempts.push(Attempt { end: log.len(), closed: true, ..Attempt::default() });
        jumped(&case).map(|f| f.sentence)
    }

    #[test]
    fn a_sleep_in_the_jump_of_a_keeper_who_was_frozen_is_told() {
        let said = told(14_010, 200, "OOM killer disabled.").expect("a sleep");
        assert!(
            said.contains("the sleep of the text lies in that jump and took about 14.0 s"),
            "{said}"
        );
        assert_eq!(told(1_000, 200, "OOM killer disabled."), None, "no jump");
        assert_eq!(told(14_010, 9_000, "OOM killer disabled."), None, "he ran meanwhile");
        let refused = "PM: Some devices failed to suspend, or early wake event detected";
        assert_eq!(told(14_010, 200, refused), None);
    }
}
