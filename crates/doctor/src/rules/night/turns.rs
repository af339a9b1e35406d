//! Sleeps of a text by the clock on the wall.

use crate::attempt::Attempt;
use crate::case::Case;
use crate::message::{Message, seconds, timekeeping};
use crate::night::{Fact, Item};
use crate::rules::abort;
use crate::stage::passed;
use dormouse_base::time::Ns;

/// One sleep: begin and end in ms of the wall clock, and its lines.
pub(crate) struct Turn<'a> {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) begin: &'a Item,
    pub(crate) end: &'a Item,
}

/// Sleeps of a text by the wall clock, in order.
pub(crate) fn turns(case: &Case) -> Vec<Turn<'_>> {
    let clock = |i: &'_ Item| match i.fact {
        Fact::Clock { begins, ms, precise } => Some((begins, ms, precise)),
        _ => None,
    };
    let exact = case.night.items.iter().filter_map(clock).any(|c| c.2);
    let mut out: Vec<Turn<'_>> = Vec::new();
    let mut open: Option<(&Item, i64)> = None;
    // What services say of the end counts where no kernel says it.
    let mut back: Option<Turn<'_>> = None;
    for item in &case.night.items {
        if let (Fact::Woke(to), Some((begin, from)), None, false) = (&item.fact, open, &back, exact)
            && *to >= from
        {
            back = Some(Turn { from, to: *to, begin, end: item });
        }
        let Some((begins, ms, precise)) = clock(item) else { continue };
        if precise != exact {
            continue;
        }
        let back = back.take_if(|b| !begins || b.to <= ms);
        match (begins, open) {
            // Both the daemon and the kernel tell of one begin.
            (true, Some((_, from))) if back.is_none() && (0..TOGETHER).contains(&(ms - from)) => {}
            (true, _) => {
                out.extend(back);
                open = Some((item, ms));
            }
            (false, Some((begin, from))) if ms >= from => {
                out.push(Turn { from, to: ms, begin, end: item });
                open = None;
            }
            (false, Some(_)) => open = None,
            // The kernel tells of the end after tasks were started.
            (false, None) => {}
        }
    }
    out.extend(back);
    out
}

/// The messages of a turn, and `more` behind it.
pub(super) fn messages_of<'a>(case: &'a Case, t: &Turn<'_>, more: usize) -> &'a [Message] {
    let first = case.messages.partition_point(|m| m.line < t.begin.line);
    let end = case.messages.partition_point(|m| m.line <= t.end.line) + more;
    case.messages.get(first..end.min(case.messages.len())).unwrap_or_default()
}

/// Whether the messages of a turn say that it was given up: no sleep, however long it took.
pub(crate) fn was_refused(case: &Case, t: &Turn<'_>) -> bool {
    messages_of(case, t, 0).iter().any(abort::gives_up)
}

/// Lines of one begin stand so many ms apart at most.
const TOGETHER: i64 = 30_000;

/// How long an attempt slept by the kernel's own clock, in ms: what ran of it between entry and
/// exit, and what timekeeping says stood still (kernel/time/timekeeping_debug.c).
fn by_kernel(case: &Case, a: &Attempt) -> Option<i64> {
    let stood = stood(case, a);
    let ran = a.exit.zip(a.entry).map_or(0, |(to, from)| (to.0 - from.0).max(0));
    // Nobody is awake for hours inside an attempt: the clock on the wall was set meanwhile.
    let calendar = a.entry.is_some_and(|t| t > Ns::CALENDAR);
    let ran = if calendar && stood > 0 { ran - hours(ran - stood) } else { ran };
    // Stamps that went on have in them what timekeeping counts once more.
    let went_on = jumps(case, a).saturating_mul(1_000_000) >= stood;
    let stood_beside = if went_on && ran >= stood { 0 } else { stood };
    (stood > 0).then(|| stood_beside.saturating_add(ran) / 1_000_000)
}

/// So many whole hours, in ns, are in a time that should be next to none: a clock was set on, as
/// summer time does it.
fn hours(ns: i64) -> i64 {
    const ONE: i64 = HOUR * 1_000_000;
    let whole = ns.max(0) / ONE * ONE;
    if ns - whole <= BESIDE { whole } else { 0 }
}

/// Beside whole hours so much may have passed, in ns.
const BESIDE: i64 = 60_000_000_000;

/// How far the stamps of an attempt go on behind the last words of its way down, in ms
/// (drivers/acpi/ec.c:acpi_ec_enter_noirq, kernel/power/suspend.c:s2idle_loop, 6.12): the clock of
/// x86 counts on in s2idle. What follows `resume from suspend-to-idle` is no sleep. What stands
/// before it is: the loop goes on after events that the kernel handles and arms its wake-up again
/// for (drivers/acpi/sleep.c:acpi_s2idle_wake returns false then).
fn jumps(case: &Case, a: &Attempt) -> i64 {
    let ends = |m: &Message| m.has("resume from suspend-to-idle");
    let last = |m: &Message| {
        m.has("EC: interrupt blocked") || m.has("suspend-to-idle") && !m.has("resume from")
    };
    let timed = |m: &&Message| m.trust.is_of_a_kernel() && m.time.is_some();
    let said: Vec<&Message> = case.of(a).iter().filter(timed).collect();
    let gap = |at: usize| {
        let behind = &said[at + 1..];
        let turn = behind.iter().position(|m| last(m)).unwrap_or(behind.len());
        let over = behind[..turn].iter().find(|m| ends(m)).or(behind.first())?;
        Some(over.time? - said[at].time?)
    };
    let gaps = (0..said.len()).filter(|at| last(said[*at])).filter_map(gap);
    gaps.map(|gap| gap.0.max(0) / 1_000_000).fold(0, i64::saturating_add)
}

/// How long an attempt slept by such stamps alone, in ms.
fn by_jump(case: &Case, a: &Attempt) -> Option<i64> {
    const JUMP: i64 = 10_000;
    Some(jumps(case, a)).filter(|ms| *ms >= JUMP)
}

/// How long whoever keeps a log by the calendar was frozen with the tasks, in ms, where the text
/// has no end of the attempt: he wrote of its begin, and of what follows when tasks ran again
/// (systemd, src/journal/journald-kmsg.c). The kernel itself says that what lies between took no
/// such time.
pub(crate) fn thawed(case: &Case, a: &Attempt) -> Option<i64> {
    const LONG: i64 = 120_000_000_000;
    const DOWN: [&str; 3] = ["Filesystems sync: ", "Freezing user space", "OOM killer disabled"];
    if a.closed {
        return None;
    }
    let of_calendar = |m: &&Message| m.time.is_none_or(|t| t > Ns::CALENDAR);
    let kernel = case.of(a).iter().filter(|m| m.trust.is_of_a_kernel());
    let mut said = kernel.filter(of_calendar).take(SOON);
    let mut last =
        said.next().filter(|m| m.says("suspend entry") || m.says("hibernation entry"))?;
    said.find_map(|m| {
        let gap = passed(std::mem::replace(&mut last, m), m)?.0;
        let own = seconds(m.after("Filesystems sync: ").unwrap_or("")).map_or(0, |t| t.0);
        let down = DOWN.iter().any(|w| m.says(w));
        (down && gap - own >= LONG).then_some(gap / 1_000_000)
    })
}

/// So many lines tell of the begin of an attempt.
const SOON: usize = 6;

/// What timekeeping says stood still in an attempt, in ns; 0 if it says nothing.
fn stood(case: &Case, a: &Attempt) -> i64 {
    case.of(a).iter().filter_map(timekeeping).map(|t| t.0).fold(0, i64::saturating_add)
}

/// Lengths of the sleeps of a text, each with its first line, in ms: by the kernel's own word,
/// else by the clock on the wall.
pub(in crate::rules) fn lengths(case: &Case) -> Vec<(u64, i64)> {
    let own = |a: &Attempt| {
        Some((case.messages[a.first].line, by_kernel(case, a).or_else(|| by_jump(case, a))?))
    };
    let slept = |a: &&Attempt| a.closed && !a.inside && !abort::ended_early(case, a);
    // What the kernel itself printed is no less than it was.
    let printed = |line: u64| {
        let own = case.attempts.iter().find(|a| case.messages[a.first].line == line);
        own.map_or(0, |a| stood(case, a) / 1_000_000)
    };
    let attempts = |lines: &std::ops::RangeInclusive<u64>| {
        let lines = lines.clone();
        case.attempts.iter().filter(move |a| lines.contains(&case.messages[a.first].line))
    };
    let told = case.attempts.iter().filter(slept).filter_map(own);
    let mut told: Vec<(u64, i64)> = told.collect();
    // In a text that stands the newest line first the last sleep is the first.
    let mut reversed = false;
    for t in turns(case).into_iter().filter(|t| !was_refused(case, t)) {
        let wall = t.to - t.from;
        reversed |= t.end.line < t.begin.line;
        let lines = t.begin.line.min(t.end.line)..=t.begin.line.max(t.end.line);
        match told.iter_mut().find(|k| lines.contains(&k.0)) {
            // Stamps of an attempt may be of the wall clock, which counts the sleep already.
            Some(k) if k.1 > wall + STAMP => k.1 = wall.max(printed(k.0)),
            Some(_) => {}
            None => {
                let set = attempts(&lines).map(|a| a.clock_set.0 / 1_000_000).sum::<i64>();
                told.push((t.begin.line, wall - set));
            }
        }
    }
    let thawed = case
        .attempts
        .iter()
        .filter(|a| !a.inside)
        .filter_map(|a| Some((case.messages[a.first].line, thawed(case, a)?)));
    for (line, ms) in thawed {
        if told.iter().all(|t| t.0 != line) {
            told.push((line, ms));
        }
    }
    told.sort_by_key(|t| if reversed { u64::MAX - t.0 } else { t.0 });
    told
}

/// A stamp of the wall clock may be so many ms off.
const STAMP: i64 = 1_000;

/// How long the one sleep of a text was, in ms: without its way down and up, where timekeeping
/// says what stood still.
pub(in crate::rules) fn slept(case: &Case) -> Option<i64> {
    let [(line, whole)] = lengths(case)[..] else { return None };
    let own = case.attempts.iter().find(|a| case.messages[a.first].line == line);
    let stood = own.map_or(0, |a| stood(case, a));
    Some(if stood > 0 { (stood / 1_000_000).min(whole) } else { whole })
}

/// How long the longest night of a text was asleep, in s: sleeps with less than an hour awake
/// between them are one night.
pub(super) fn longest_night(case: &Case) -> Option<i64> {
    let all: Vec<Turn<'_>> = turns(case).into_iter().filter(|t| !was_refused(case, t)).collect();
    let nights = all.chunk_by(|a, b| (0..HOUR).contains(&(b.from - a.to)));
    nights.map(|n| n.iter().map(|t| (t.to - t.from) / 1_000).sum()).max()
}

/// In ms.
const HOUR: i64 = 3_600_000;

/// How long the sleeps of a text took in all, in s, and how many they are.
pub(in crate::rules) fn asleep(case: &Case) -> Option<(i64, usize)> {
    let all = lengths(case);
    (!all.is_empty()).then(|| (all.iter().map(|l| l.1 / 1_000).sum(), all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(lines: &[(i64, &str)]) -> Option<i64> {
        let mut case = Case::of_log(lines);
        let (entry, exit) = (case.messages[0].time, case.messages[lines.len() - 1].time);
        let attempt = Attempt { end: lines.len(), entry, exit, closed: true, ..Attempt::default() };
        case.attempts.push(attempt);
        lengths(&case).first().map(|l| l.1)
    }

    #[test]
    fn stamps_that_go_on_in_a_sleep_are_not_counted_twice() {
        let stood = |wake: i64| {
            length(&[
                (0, "PM: suspend entry (s2idle)"),
                (700, "PM: suspend-to-idle"),
                (wake, "PM: Timekeeping suspended for 12.178 seconds"),
                (wake + 700, "PM: suspend exit"),
            ])
        };
        assert_eq!(stood(13_700), Some(14_400), "the clock counted the sleep");
        assert_eq!(stood(710), Some(13_588), "it stood still");
    }

    #[test]
    fn a_jump_behind_the_way_down_is_a_sleep_and_a_hang_behind_it_is_none() {
        let jump = |words: &str| {
            length(&[
                (0, "PM: suspend entry (s2idle)"),
                (300, words),
                (60_300, "oak 3-1: firmware is up"),
                (60_400, "PM: suspend exit"),
            ])
        };
        assert_eq!(jump("ACPI: EC: interrupt blocked"), Some(60_000));
        assert_eq!(jump("PM: suspend-to-idle"), Some(60_000));
        assert_eq!(jump("PM: resume from suspend-to-idle"), None);
    }
    #[test]
    fn a_sleep_goes_on_where_the_kernel_arms_its_wake_up_again() {
        let slept = length(&[
            (0, "PM: suspend entry (s2idle)"),
            (400, "ACPI: EC: interrupt blocked"),
            (500, "PM: suspend-to-idle"),
            (30_500, "PM: Triggering wakeup from IRQ 9"),
            (30_501, "ACPI: EC: ACPI EC GPE dispatched"),
            (30_502, "ACPI: PM: Rearming ACPI SCI for wakeup"),
            (70_500, "PM: Triggering wakeup from IRQ 9"),
            (70_501, "ACPI: PM: Rearming ACPI SCI for wakeup"),
            (95_500, "PM: Triggering wakeup from IRQ 9"),
            (95_501, "ACPI: PM: Wakeup after ACPI Notify sync"),
            (95_502, "PM: resume from suspend-to-idle"),
            (96_000, "PM: suspend exit"),
        ]);
        assert_eq!(slept, Some(95_102));
    }
}
