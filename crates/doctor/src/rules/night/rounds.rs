//! Endurance runs: which round failed, of how many, and what none of so many shows.

use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::night::round::{End, Round, Stats, Teller};
use crate::night::{Fact, Item};
use crate::stage;
use dormouse_base::say;
use std::collections::HashMap;

/// A round that is one of sleep, and how sure that is.
struct Told<'a> {
    item: &'a Item,
    round: &'a Round,
    sure: Confidence,
    /// How it ended: of one that was sent to sleep the next one tells that it came back.
    end: End,
}

/// Lines where sleeps begin, by facts and by messages.
fn sleeps(case: &Case) -> Vec<u64> {
    let facts = case.night.items.iter().filter(|i| {
        matches!(i.fact, Fact::Slept(_) | Fact::Clock { begins: true, .. } | Fact::Report(_))
    });
    let attempts = case.attempts.iter().map(|a| a.first).chain(case.parts.iter().map(|p| p.0));
    let logged = attempts.map(|first| case.messages[first].line);
    let mut out: Vec<u64> = facts.map(|i| i.line).chain(logged).collect();
    out.sort_unstable();
    out
}

/// Rounds of sleep. A program that numbers anything tells of one where a sleep stands between
/// it and the next; that such a round failed, its own words prove only as much as that the
/// rounds in a row slept. What a person numbers is a suspicion.
fn rounds(case: &Case) -> Vec<Told<'_>> {
    let all: Vec<(&Item, &Round)> = case
        .night
        .of(|f| match f {
            Fact::Round(r) => Some(r),
            _ => None,
        })
        .collect();
    let sleeps = sleeps(case);
    let slept = |from: u64, to: u64| {
        sleeps.get(sleeps.partition_point(|l| *l < from)).is_some_and(|l| *l < to)
    };
    let next = |a: &Round, b: &Round| a.of == b.of && a.number.checked_add(1) == Some(b.number);
    // The last place of each number, and the line of what stands behind each round.
    let last: HashMap<(Option<u64>, u64), usize> =
        all.iter().enumerate().map(|(at, r)| ((r.1.of, r.1.number), at)).collect();
    let mut until = vec![u64::MAX; all.len()];
    for at in (1..all.len()).rev() {
        let (here, behind) = (all[at - 1].0.line, all[at].0.line);
        until[at - 1] = if behind > here { behind } else { until[at] };
    }
    let up = last_up(case);
    let more = Later::of(case);
    // Nothing else in the text says how its sleeps went.
    let lone = case.attempts.is_empty() && all.iter().all(|r| r.1.by == Teller::Unclear);
    let speaks = lone && case.messages.having("suspend").any(|(_, m)| m.trust.is_of_a_kernel());
    let mut out = Vec::new();
    for (at, (item, round)) in all.iter().enumerate() {
        let end = all.get(at + 1).map_or(u64::MAX, |n| n.0.line);
        let in_a_row = || {
            let before = at.checked_sub(1).map(|b| all[b]);
            let after = all.get(at + 1);
            before.is_some_and(|b| next(b.1, round) && slept(b.0.line, item.line))
                || after.is_some_and(|n| next(round, n.1) && slept(item.line, n.0.line))
        };
        // A line that says how its round went is printed when that is over.
        let own = round.end != End::Unknown
            && item.text.starts_with(round.said.get(..SAID).unwrap_or(&round.said));
        let proven = match round.end {
            End::Failed => Confidence::Guess,
            _ => Confidence::Certain,
        };
        let sure = match round.by {
            Teller::OfSleep => Some(Confidence::Certain),
            Teller::OfAnything if own => in_a_row().then_some(proven),
            Teller::OfAnything => slept(item.line, end).then_some(Confidence::Certain),
            Teller::Person => Some(Confidence::Guess),
            Teller::Unclear => speaks.then_some(Confidence::Guess),
        };
        let followed = || {
            let next = round.number.checked_add(1).and_then(|n| last.get(&(round.of, n)));
            next.is_some_and(|l| *l > at)
        };
        let goes_on =
            || followed() || up > item.line || more.is_said(item.line, until[at], &round.said);
        let end = match round.end {
            End::Asked if goes_on() => End::Back,
            end => end,
        };
        out.extend(sure.map(|sure| Told { item, round, sure, end }));
    }
    out
}

/// The last line by which the text tells that the machine came back from a sleep; 0 without one.
fn last_up(case: &Case) -> u64 {
    let closed = case.attempts.iter().filter(|a| a.closed).map(|a| case.messages[a.first].line);
    let exits = case.messages.iter().filter(|m| stage::ends_sleep(m)).map(|m| m.line);
    let woken = case.night.items.iter().filter(|i| matches!(i.fact, Fact::Woke(_)));
    closed.chain(exits).chain(woken.map(|i| i.line)).max().unwrap_or(0)
}

/// Whether the text tells behind a line that the machine came back from a sleep.
fn came_up(case: &Case, line: u64) -> bool {
    last_up(case) > line
}

/// What a program with a clock says later in a text without the log of a kernel, whose lines of
/// the way down have one too.
struct Later<'a> {
    messages: &'a [Message],
    /// The last line with a clock; 0 without one, or where a log of a kernel is there.
    last: u64,
}

impl<'a> Later<'a> {
    fn of(case: &'a Case) -> Later<'a> {
        let stamped = |m: &&Message| m.time.is_some() || m.second.is_some();
        let alone = case.attempts.is_empty() && case.parts.is_empty();
        let lines = case.messages.iter().filter(|_| alone).filter(stamped).map(|m| m.line);
        Later { messages: &case.messages, last: lines.max().unwrap_or(0) }
    }

    /// Whether more is said below the line `said` that sent the machine to sleep in the round of
    /// line `from`; the next round stands in line `until`.
    fn is_said(&self, from: u64, until: u64, said: &str) -> bool {
        if self.last <= from {
            return false;
        }
        let first = self.messages.partition_point(|m| m.line < from);
        let mut own = self.messages[first..].iter().take_while(|m| m.line < until);
        own.find(|m| m.text.contains(said)).is_some_and(|m| self.last > m.line)
    }
}

/// So much of a line tells it from another.
const SAID: usize = 100;

/// Whether rounds or a program of the text sent the machine to sleep and woke it by its clock.
pub(crate) fn are_ordered(case: &Case) -> bool {
    case.night.items.iter().any(|i| match &i.fact {
        Fact::Round(r) => r.by == Teller::OfSleep,
        Fact::Command(c) => c.contains("rtcwake"),
        Fact::Slept(_) => i.text.starts_with("rtcwake:"),
        _ => false,
    })
}

/// Counts of a program; where it gives none those of a person.
fn stats(case: &Case) -> Vec<(&Item, &Stats)> {
    let all: Vec<(&Item, &Stats)> = case
        .night
        .of(|f| match f {
            Fact::Stats(s) => Some(s),
            _ => None,
        })
        .collect();
    let program = all.iter().any(|s| s.1.by_program && s.1.failed.is_some());
    all.into_iter().filter(|s| s.1.by_program == program).collect()
}

fn sure_of(s: &Stats) -> Confidence {
    if s.by_program { Confidence::Certain } else { Confidence::Guess }
}

/// A number of `suspend_stats`: the last that the text shows.
fn counted(case: &Case, name: &str) -> Option<(u64, Evidence)> {
    let v = case.values.iter().rfind(|v| v.name() == name && v.path.contains("suspend_stats"))?;
    Some((v.count()?, value(v)))
}

/// `cycle 96 of 100`.
fn which(r: &Round) -> String {
    match (r.number, r.of) {
        (0, _) => "A round".into(),
        (n, Some(of)) => format!("Round {} of {}", say::grouped(n), say::grouped(of)),
        (n, None) => format!("Round {}", say::grouped(n)),
    }
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let rounds = rounds(case);
    let mut failed: Vec<&Told<'_>> =
        rounds.iter().filter(|r| matches!(r.end, End::Failed | End::Shallow)).collect();
    failed.sort_by_key(|f| f.sure);
    let Some(Told { item, round: first, sure, .. }) = failed.first() else {
        none_failed(case, &rounds, out);
        return;
    };
    let told = stats(case);
    let shallow = first.end == End::Shallow;
    let back = rounds
        .iter()
        .filter(|r| r.end == End::Back && (first.number == 0 || r.round.number < first.number))
        .count();
    let before = match back {
        0 => String::new(),
        n => format!(" {} before it in the text came back.", say::plural(n, "round")),
    };
    let more = failed.iter().filter(|f| f.sure == *sure).count() - 1;
    let more = if more > 0 {
        format!(" {} in the text failed too.", say::plural(more, "later round"))
    } else {
        String::new()
    };
    let counts: Vec<String> = told
        .iter()
        .filter_map(|(_, s)| {
            let (name, n) = s.failed.as_ref()?;
            (!name.is_empty()).then(|| format!("{name}: {n}"))
        })
        .collect();
    let counts = if counts.is_empty() {
        String::new()
    } else {
        format!(" Its counts: {}.", counts.join(", "))
    };
    let how = if shallow {
        "came back, and was not deep: the counter of the platform's sleep did not move. It is a shallow sleep, no hang"
    } else {
        "failed"
    };
    let rest = match first.of {
        Some(of) if of > first.number && first.number > 0 => {
            format!(
                " Of the {} behind it the text shows {}.",
                say::plural(usize::try_from(of - first.number).unwrap_or(0), "round"),
                if rounds.iter().any(|r| r.round.number > first.number) { "some" } else { "none" }
            )
        }
        _ => String::new(),
    };
    // That it woke too early is what failed.
    if first.number == 0 && out.iter().any(|f| f.id == "night-woke-early") {
        return;
    }
    let person = matches!(first.by, Teller::Person | Teller::Unclear);
    let (level, id) = match (shallow, person) {
        (true, _) => (Level::Risk, "round-shallow"),
        // A sentence alone breaks nothing.
        (false, true) => (Level::Risk, "round-failed"),
        (false, false) => (Level::Broken, "round-failed"),
    };
    let by = if person { ", by the writer's words" } else { "" };
    let beside = if person { came_back(case) } else { String::new() };
    let f = Finding::new((id, Area::Abort, level), *sure)
        .at("asleep")
        .says(format!("{} {how}{by}.{before}{more}{counts}{rest}{beside}", which(first)))
        .look(if shallow {
            "Compare what differs in that round: substate_requirements or slp_s0_debug_status right after it, and the log of it."
        } else {
            "Read the kernel's log of that round: its first error after \"suspend entry\"."
        })
        .shown_by([Evidence::from(*item)])
        .shown_by(told.iter().filter(|s| s.1.failed.as_ref().is_some_and(|f| f.1 > 0)).map(|s| Evidence::from(s.0)));
    let prints = !first.said.is_empty() && !item.text.contains(first.said.as_str());
    let f = if prints { f.because(format!("It prints: \"{}\".", first.said)) } else { f };
    out.push(match error(case, out).filter(|_| !prints) {
        Some(m) => f
            .because(format!("In the log beside it: \"{}\".", m.text.trim()))
            .shown_by([Evidence::from(m)]),
        None => f,
    });
}

/// What a log beside the words of a writer tells: that its own sleeps came back.
fn came_back(case: &Case) -> String {
    let whole: Vec<_> = case.attempts.iter().filter(|a| !a.inside).collect();
    if whole.is_empty() || whole.iter().any(|a| !a.closed || a.failed) {
        return String::new();
    }
    match whole.len() {
        1 => " The one sleep of which the text has a log came back.".into(),
        n => format!(" The {n} sleeps of which the text has a log came back."),
    }
}

/// The first error that a device's driver tells in a log without any sleep that is judged.
fn error<'a>(case: &'a Case, out: &[Finding]) -> Option<&'a Message> {
    if out.iter().any(|f| f.level == Level::Broken) {
        return None;
    }
    let words = ["timed out", "timeout", " error", "error:", "failed"];
    case.messages.iter().filter(|m| m.trust.is_of_a_kernel() && m.time.is_some()).find(|m| {
        let text = m.text.to_lowercase();
        words.iter().any(|w| text.contains(w))
    })
}

/// The rule of a round that has no end in the text.
pub(crate) const OPEN: &str = "round-open";

/// So many successes without a failure show a rate below 3 of them, at 95 % (the rule of
/// three).
const THREE: u64 = 3;

fn none_failed(case: &Case, rounds: &[Told<'_>], out: &mut Vec<Finding>) {
    // Of what was left out nothing is known.
    if case.night.left_out > 0 {
        return;
    }
    let success = counted(case, "success");
    let fail = counted(case, "fail");
    if let (Some((done, a)), Some((bad, b))) = (&success, &fail) {
        if *bad == 0 && *done > 0 {
            let shows = if *done >= 10 {
                format!(
                    " If its failures are by chance, less than 1 sleep in {} fails (95 %).",
                    done / THREE
                )
            } else {
                String::new()
            };
            let f = Finding::new(("round-counts", Area::Abort, Level::Note), Confidence::Certain)
                .at("asleep")
                .says(format!("No sleep failed: {} succeeded and 0 failed since the start, by suspend_stats.{shows} The counts say nothing of how deep they were.", say::plural(usize::try_from(*done).unwrap_or(usize::MAX), "sleep")))
                .shown_by([a.clone(), b.clone()]);
            out.push(f);
        }
        return;
    }
    let told = stats(case);
    let done = told.iter().find_map(|s| s.1.done.map(|d| (*s, d))).filter(|d| d.1 > 0);
    let clean = told.iter().any(|s| s.1.failed.is_some())
        && told.iter().all(|s| s.1.failed.as_ref().is_none_or(|f| f.1 == 0));
    if let Some(((item, s), n)) = done.filter(|_| clean) {
        let shows = if n >= 10 {
            format!(
                " If its failures are by chance, less than 1 round in {} fails (95 %).",
                n / THREE
            )
        } else {
            String::new()
        };
        let mut evidence = vec![Evidence::from(item)];
        let counts = told.iter().filter(|s| s.1.failed.is_some()).take(2);
        evidence.extend(counts.map(|s| Evidence::from(s.0)));
        evidence.dedup_by_key(|e| e.line);
        let f = Finding::new(("round-counts", Area::Abort, Level::Note), sure_of(s))
            .at("asleep")
            .says(format!(
                "No round failed: {} done, 0 failed, by the counts in the text.{shows}",
                say::grouped(n)
            ))
            .shown_by(evidence);
        out.push(f);
        return;
    }
    let bad = told.iter().find(|s| s.1.failed.as_ref().is_some_and(|f| f.1 > 0));
    if let Some((item, s)) = bad {
        let (name, n) = s.failed.clone().unwrap_or_default();
        let name = if name.is_empty() { name } else { format!(" ({name})") };
        let of = told.iter().find_map(|s| s.1.done).map_or(String::new(), |d| format!(" of {d}"));
        let (level, by) = match s.by_program {
            true => (Level::Broken, ""),
            false => (Level::Risk, ", by the writer's words"),
        };
        let f = Finding::new(("round-failed", Area::Abort, level), sure_of(s))
            .at("asleep")
            .says(format!(
                "Of the rounds {n}{of} failed{name}{by}; which, no line that was read shows."
            ))
            .look("Read the kernel's log of the round that failed.")
            .shown_by([Evidence::from(*item)]);
        out.push(f);
        return;
    }
    let Some(Told { item, round: last, end, sure }) = rounds.iter().rfind(|r| r.round.number > 0)
    else {
        return;
    };
    let back = rounds.iter().filter(|r| r.end == End::Back).count();
    // Prose numbers things too: only a round that came back says that it was one, or a program
    // that sent the machine to sleep in it.
    if back == 0 && (*end != End::Asked || *sure != Confidence::Certain) {
        return;
    }
    let of_sleep = *sure == Confidence::Certain && last.by == Teller::OfSleep;
    if *end == End::Asked || *end == End::Unknown && of_sleep && !came_up(case, item.line) {
        let said = match end {
            End::Asked => "The machine was sent to sleep in it",
            _ => "It was begun",
        };
        let before = match back {
            0 => String::new(),
            n => format!(" {} before it came back.", say::plural(n, "round")),
        };
        let f = Finding::new((OPEN, Area::Abort, Level::Note), Confidence::Certain)
            .at("asleep")
            .says(format!(
                "{} has no end in the text. {said}, and no line tells that it came back: it may have hung, or the text is cut there.{before}",
                which(last)
            ))
            .look("Give the lines that follow, or those of the kernel of that round.")
            .shown_by([Evidence::from(*item)]);
        out.push(f);
        return;
    }
    let words = match (back, last.of) {
        (n, Some(of)) if last.number < of || *end != End::Back => format!(
            "Nothing failed in this text: {} of it came back, the last that it shows is round {} of {of}. Whether a later one failed, it does not show.",
            say::plural(n, "round"),
            last.number
        ),
        (n, _) => {
            format!("Nothing failed in this text: {} of it came back.", say::plural(n, "round"))
        }
    };
    let f = Finding::new(("round-counts", Area::Abort, Level::Note), Confidence::Certain)
        .at("asleep")
        .says(words)
        .shown_by([Evidence::from(*item)]);
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;
    use crate::value::Value;

    fn judged(facts: Vec<Fact>, values: Vec<Value>) -> Finding {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line: {line}"), fact })
            .collect();
        let mut out = Vec::new();
        judge(
            &Case { night: Night { items, ..Night::default() }, values, ..Case::default() },
            &mut out,
        );
        out.remove(0)
    }

    fn round(number: u64, of: u64, end: End) -> Fact {
        Fact::Round(Round { number, of: Some(of), end, ..Round::default() })
    }

    #[test]
    fn the_round_that_failed_is_named_with_what_came_back_before() {
        let f = judged(vec![round(3, 40, End::Back), round(4, 40, End::Failed)], vec![]);
        assert!(
            f.level == Level::Broken
                && f.sentence.starts_with("Round 4 of 40 failed. 1 round before"),
            "{}",
            f.sentence
        );
        let shallow = judged(vec![round(38, 40, End::Shallow)], vec![]);
        assert!(shallow.level == Level::Risk && shallow.sentence.contains("no hang"));
    }

    #[test]
    fn what_a_person_numbers_breaks_nothing_and_hides_no_log() {
        let by = Round { number: 3, end: End::Failed, by: Teller::Person, ..Round::default() };
        let items =
            vec![Item { line: 9, text: "it hung on cycle 3".into(), fact: Fact::Round(by) }];
        let log = [(1_000, "PM: suspend entry (deep)"), (9_000, "PM: suspend exit")];
        let place = |closed| crate::attempt::Place {
            first: 1,
            last: 2,
            begun: true,
            closed,
            ..crate::attempt::Place::default()
        };
        for (closed, told) in [(true, true), (false, false)] {
            let messages = Case::of_log(&log).messages.iter().cloned().collect();
            let night = Night { items: items.clone(), ..Night::default() };
            let mut out = Vec::new();
            judge(&Case { night, ..Case::new(messages, &[place(closed)]) }, &mut out);
            assert_eq!(out[0].level, Level::Risk);
            assert!(out[0].sentence.starts_with("Round 3 failed, by the writer's words."));
            assert_eq!(out[0].sentence.contains("The one sleep"), told, "{}", out[0].sentence);
        }
    }

    #[test]
    fn a_round_without_an_end_is_none_that_came_back() {
        let open = |end| judged(vec![round(6, 9, End::Back), round(7, 9, end)], vec![]);
        for end in [End::Asked, End::Unknown] {
            let f = open(end);
            assert_eq!((f.id, f.level), (OPEN, Level::Note));
            assert!(
                f.sentence.starts_with("Round 7 of 9 has no end in the text."),
                "{}",
                f.sentence
            );
            assert!(f.sentence.ends_with("1 round before it came back."), "{}", f.sentence);
        }
        let alone = judged(vec![round(7, 9, End::Asked)], vec![]);
        assert!(alone.sentence.ends_with("or the text is cut there."), "{}", alone.sentence);
        // The next one tells that it came back, and so does the program.
        let said = "rtcwake: wakeup from \"mem\"".to_string();
        let by = Round { number: 7, of: Some(9), end: End::Asked, said, ..Round::default() };
        let items = vec![Item { line: 1, text: "round 7/9".into(), fact: Fact::Round(by) }];
        let log = [(1, "Round(7/9)"), (2, "rtcwake: wakeup from \"mem\" at 7"), (9_000, "wait")];
        for (shown, id) in [(2, OPEN), (3, "round-counts")] {
            let night = Night { items: items.clone(), ..Night::default() };
            let mut out = Vec::new();
            judge(&Case { night, ..Case::of_log(&log[..shown]) }, &mut out);
            assert_eq!(out[0].id, id);
        }
        let f = judged(vec![round(6, 9, End::Asked), round(7, 9, End::Back)], vec![]);
        assert!(f.sentence.contains("2 rounds of it came back"), "{}", f.sentence);
    }

    #[test]
    fn many_rounds_that_were_sent_to_sleep_are_read_in_time() {
        let mut facts: Vec<Fact> = (1..=20_000).map(|n| round(n, 20_000, End::Asked)).collect();
        let f = judged(facts.clone(), vec![]);
        assert!(f.sentence.contains("19,999 rounds before it came back"), "{}", f.sentence);
        // The next number stands before it, not behind.
        facts = vec![round(7, 9, End::Back), round(6, 9, End::Asked)];
        assert_eq!(judged(facts, vec![]).id, OPEN);
        assert_eq!(judged(vec![round(u64::MAX, 9, End::Asked)], vec![]).id, OPEN);
    }

    #[test]
    fn nothing_failed_is_said_with_its_counts() {
        let f = judged(vec![round(7, 9, End::Back)], vec![]);
        assert!(f.level == Level::Note && f.sentence.contains("round 7 of 9"), "{}", f.sentence);
        let of = |name: &str, n: &str| Value {
            line: 1,
            path: format!("/sys/power/suspend_stats/{name}"),
            value: n.into(),
        };
        let f = judged(vec![], vec![of("success", "300"), of("fail", "0")]);
        assert!(
            f.sentence.contains("300 sleeps") && f.sentence.contains("1 sleep in 100"),
            "{}",
            f.sentence
        );
    }
}
