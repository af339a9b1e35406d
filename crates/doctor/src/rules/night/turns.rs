//! Sleeps of a text by the clock on the wall.

use crate::attempt::Attempt;
use crate::case::Case;
use crate::message::{Message, timekeeping};
use crate::night::{Fact, Item};
use crate::rules::abort;

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
    (stood > 0).then(|| stood.saturating_add(ran) / 1_000_000)
}

/// How long an attempt slept by a clock that goes on in s2idle, as that of x86 does, in ms: a
/// jump behind the last words of the way down (drivers/acpi/ec.c:acpi_ec_enter_noirq,
/// kernel/power/suspend.c:s2idle_loop, 6.12).
fn by_jump(case: &Case, a: &Attempt) -> Option<i64> {
    const LAST: [&str; 2] = ["EC: interrupt blocked", "suspend-to-idle"];
    const JUMP: i64 = 10_000;
    let timed = |m: &&Message| m.trust.is_of_a_kernel() && m.time.is_some();
    let said: Vec<&Message> = case.of(a).iter().filter(timed).collect();
    said.windows(2).filter(|w| LAST.iter().any(|l| w[0].has(l))).find_map(|w| {
        let ms = (w[1].time?.0 - w[0].time?.0) / 1_000_000;
        (ms >= JUMP).then_some(ms)
    })
}

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
            Some(k) if k.1 > wall + STAMP => k.1 = wall,
            Some(_) => {}
            None => told.push((t.begin.line, wall)),
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
