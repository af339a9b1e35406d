//! Short sleeps again and again: a loop, by the clock on the wall.

use super::rounds;
use super::turns::{Turn, messages_of, turns, was_refused};
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::night::machine::Owner;
use crate::night::{Fact, Item};
use crate::rules::abort::ended_early;
use crate::rules::{irq, wake};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A sleep that is at least so long is no turn of a loop.
const LONG: i64 = 900;
/// A shorter one was tried and refused, in ms.
pub const TRIED: i64 = 1_000;
/// Awake for less between two sleeps: nobody came.
const BREAK: i64 = 90;
/// So many sleeps in a row are a loop.
pub(crate) const TURNS: usize = 3;

/// The most sleeps in a row that are all short and follow each other so closely that nobody can
/// have come between; `times` gives the begin and the end of each and how long it slept, ms, or
/// nothing of what was no sleep.
pub(crate) fn closest<T>(all: &[T], times: impl Fn(&T) -> Option<(i64, i64, i64)>) -> &[T] {
    let near = |a: &T, b: &T| {
        let (Some(a), Some(b)) = (times(a), times(b)) else { return false };
        let short = |ms: i64| (TRIED..LONG * 1_000).contains(&ms);
        let awake = b.0.saturating_sub(a.1);
        short(a.2) && short(b.2) && (0..BREAK * 1_000).contains(&awake)
    };
    let mut best: &[T] = &[];
    for run in all.chunk_by(near) {
        if run.len() > best.len() {
            best = run;
        }
    }
    best
}

fn span(ms: i64) -> String {
    say::span(Ns(ms.saturating_mul(1_000_000)))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<Turn<'_>> = turns(case).into_iter().filter(|t| !was_refused(case, t)).collect();
    let best = closest(&all, |t| Some((t.from, t.to, t.to - t.from)));
    // Its own clock wakes a machine that a program sends to sleep in a loop.
    if best.len() >= TURNS && rounds::are_ordered(case) {
        return;
    }
    if best.len() < TURNS {
        if !rounds::are_ordered(case) && !even(&all, case, out) {
            soon(&all, case, out);
        }
        return;
    }
    let lengths: Vec<i64> = best.iter().map(|t| t.to - t.from).collect();
    let (least, most) =
        (lengths.iter().min().copied().unwrap_or(0), lengths.iter().max().copied().unwrap_or(0));
    let first = &best[0];
    let period = best
        .last()
        .map_or(0, |l| (l.from - first.from) / i64::try_from(best.len() - 1).unwrap_or(1));
    let awake = best.windows(2).map(|w| w[1].from - w[0].to).max().unwrap_or(0);
    let who = wakers(case, best, out);
    let times = if least / 1_000 == most / 1_000 {
        span(most)
    } else {
        format!("{} to {}", span(least), span(most))
    };
    let f = Finding::new(("wake-loop", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!("A loop: {} in a row, of {times} each by the clock on the wall, with at most {} awake between them; one begins every {} on the average.{who}", say::plural(best.len(), "sleep"), span(awake.max(1)), span(period)))
        .look("Name the waker: echo 1 > /sys/power/pm_debug_messages, then the log says \"Triggering wakeup from IRQ\"; on Android see wakeup_sources and last_resume_reason.")
        .times(best.len())
        .shown_by([Evidence::from(first.begin), Evidence::from(first.end)])
        .shown_by(best.last().map(|l| Evidence::from(l.end)));
    out.push(f);
}

/// Who woke each of these sleeps, in a sentence; nothing where another finding says it.
fn wakers(case: &Case, turns: &[Turn<'_>], out: &[Finding]) -> String {
    let mut by: Vec<(String, usize)> = Vec::new();
    for t in turns {
        for who in irq::named_in(messages_of(case, t, AFTER)) {
            match by.iter_mut().find(|b| b.0 == who) {
                Some(b) => b.1 += 1,
                None => by.push((who, 1)),
            }
        }
    }
    by.sort_by_key(|b| std::cmp::Reverse(b.1));
    match by.first() {
        Some((who, n)) if *n == turns.len() => format!(" {who} woke it each time."),
        Some((who, n)) => format!(" {who} woke it {}.", say::once(*n)),
        None if out.iter().any(wake::names_a_waker) => String::new(),
        None => match case.night.items.iter().rev().find_map(|i| match i.fact {
            Fact::Owner(Owner::WakeupIrq(n)) => Some(n),
            _ => None,
        }) {
            Some(n) => {
                format!(" The text has IRQ {n} as what ended the last of them (pm_wakeup_irq).")
            }
            None => " No rule finds what woke it.".into(),
        },
    }
}

/// Times of sleeps that a timer of the system orders differ by less, in ms.
const EVEN: i64 = 2_500;

/// Short sleeps, each of which begins the same time after the end of the one before it: what
/// sends the machine to sleep works, and something wakes it each time.
fn even(all: &[Turn<'_>], case: &Case, out: &mut Vec<Finding>) -> bool {
    let awake = |w: &[Turn<'_>]| w[1].from - w[0].to;
    let short = |t: &Turn<'_>| (TRIED..LONG * 1_000).contains(&(t.to - t.from));
    let waits: Vec<i64> = all.windows(2).map(awake).collect();
    let (Some(least), Some(most)) = (waits.iter().min(), waits.iter().max()) else { return false };
    if all.len() < TURNS || !all.iter().all(short) || most - least > EVEN || *least < BREAK * 1_000
    {
        return false;
    }
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return false };
    let lengths = || all.iter().map(|t| t.to - t.from);
    out.push(
        Finding::new(("wake-loop", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!(
                "{}, of {} to {} each, asleep for {} of {} in all. Each begins {} after the one before it ended, as a timer orders: it is sent to sleep, and something wakes it soon.{}",
                say::plural(all.len(), "short sleep"),
                span(lengths().min().unwrap_or(0)),
                span(lengths().max().unwrap_or(0)),
                span(lengths().sum()),
                span(last.to - first.from),
                span(*most),
                wakers(case, all, out)
            ))
            .look("Name the waker: echo 1 > /sys/power/pm_debug_messages, then the log says \"Triggering wakeup from IRQ\"; /sys/power/pm_wakeup_irq has the last.")
            .times(all.len())
            .shown_by([Evidence::from(first.begin), Evidence::from(first.end)])
            .shown_by([Evidence::from(last.end)]),
    );
    true
}

/// So soon after a wake-up nobody asked for the next sleep.
const SOON: i64 = 5_000;

/// A sleep that began right after the one before it.
fn soon(all: &[Turn<'_>], case: &Case, out: &mut Vec<Finding>) {
    let clock = |i: &'_ Item| match i.fact {
        Fact::Clock { begins, ms, precise } => Some((begins, ms, precise)),
        _ => None,
    };
    let marks: Vec<(&Item, (bool, i64, bool))> =
        case.night.items.iter().filter_map(|i| Some((i, clock(i)?))).filter(|m| m.1.2).collect();
    let pair = marks
        .windows(2)
        .find(|w| !w[0].1.0 && w[1].1.0 && (0..SOON).contains(&(w[1].1.1 - w[0].1.1)));
    let Some([woke, slept]) = pair else { return };
    // What was refused is tried again.
    let failed = || case.attempts.iter().any(|a| ended_early(case, a));
    if all.len() >= TURNS || failed() || out.iter().any(|f| f.area == Area::Abort) {
        return;
    }
    let f = Finding::new(("wake-again", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("It went to sleep again {} after it woke: nothing held it awake. That is how Android sleeps; the text shows too few turns to call it a loop.", span((slept.1.1 - woke.1.1).max(1))))
        .shown_by([Evidence::from(woke.0), Evidence::from(slept.0)]);
    out.push(f);
}

/// What woke a machine may be printed so many messages behind the end of its sleep.
const AFTER: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn case(marks: &[(i64, i64)]) -> Case {
        let of = |(begins, ms): (bool, i64)| Fact::Clock { begins, ms, precise: true };
        let facts = marks.iter().flat_map(|&(a, b)| [of((true, a)), of((false, b))]);
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        Case { night: Night { items, ..Night::default() }, ..Case::default() }
    }

    #[test]
    fn short_sleeps_in_a_row_are_a_loop_by_the_wall_clock() {
        let mut out = Vec::new();
        judge(&case(&[(0, 20_500), (21_000, 60_000), (60_300, 90_000)]), &mut out);
        let words = &out[0].sentence;
        assert!(words.contains("3 sleeps in a row, of 20.5 s to 39.0 s"), "{words}");
        assert!(words.contains("500 ms awake") && words.contains("No rule finds"), "{words}");
        out.clear();
        judge(&case(&[(0, 3_000_000), (6_600_000, 7_200_000), (9_000_000, 9_060_000)]), &mut out);
        assert!(out.is_empty());
        judge(&case(&[(0, 20_000), (20_400, 90_000)]), &mut out);
        assert_eq!(out[0].id, "wake-again");
        out.clear();
        let hour = |at: i64, s: i64| (at * 1_000, (at + s) * 1_000);
        judge(&case(&[hour(0, 20), hour(3_620, 61), hour(7_282, 300)]), &mut out);
        assert!(out[0].sentence.contains("Each begins 1 h"), "{}", out[0].sentence);
        out.clear();
        judge(&case(&[hour(0, 20), hour(3_620, 61), hour(9_000, 300)]), &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn who_woke_it_is_looked_for_before_it_is_said_to_be_missing() {
        let hour = |at: i64, s: i64| (at * 1_000, (at + s) * 1_000);
        let mut case = case(&[hour(0, 20), hour(3_620, 61), hour(7_282, 300)]);
        let woke: Vec<(i64, &str)> = vec![(0, "PM: Triggering wakeup from IRQ 41"); 6];
        case.messages = Case::of_log(&woke).messages;
        let mut out = Vec::new();
        judge(&case, &mut out);
        assert!(out[0].sentence.ends_with("IRQ 41 woke it each time."), "{}", out[0].sentence);
        case.messages = Vec::new().into();
        let rule = ("mode-wake-source", Area::Mode, Level::Note);
        let mut out = vec![Finding::new(rule, Confidence::Certain)];
        judge(&case, &mut out);
        assert!(out[1].sentence.ends_with("something wakes it soon."), "{}", out[1].sentence);
    }
}
