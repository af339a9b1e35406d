//! What people write of nights, sentence by sentence: what they say is at most a suspicion.

use super::charge::{duration, quantities};
use super::count::number;
use super::line::{has, has_word, is_of_sleep};
use crate::text::places;
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::charge::{Drain, Gauge};
use dormouse_doctor::night::machine::Owner;
use dormouse_doctor::night::round::{End, Round, Stats, Teller};

/// So many words of letters alone are a sentence, which a person wrote.
const SENTENCE: usize = 9;
/// So many with a full stop at the end.
const SHORT: usize = 5;

/// Whether a line is of a sentence, and no row of a program.
pub(crate) fn is_sentence(text: &str) -> bool {
    let word =
        |w: &&str| w.trim_end_matches([',', '.', ';']).bytes().all(|b| b.is_ascii_alphabetic());
    let words = text.split_whitespace().filter(word).count();
    let ends = text.ends_with(['.', '!', '?']) && !text.contains([':', '|', '=']);
    words >= SENTENCE || ends && words >= SHORT
}

/// Sentences of a paragraph, each with the place where it begins.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let ends = |s: &str| s.find(". ").into_iter().chain(s.find("? ")).chain(s.find("! ")).min();
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|r| !r.is_empty())?;
        let end = ends(rest).map_or(rest.len(), |e| e + 2);
        at += end;
        Some((at - end, &rest[..end]))
    })
}

/// Whether a sentence says that something was so: it asks nothing, wishes nothing, tells of no
/// cure and of no time awake.
fn asserts(lower: &str) -> bool {
    let not = "?|no longer|fix| if |whether|works|working|should|would|expect|n't fail|not fail|n't hang|not hang|awake|while i|unrelated|please|less than|normal";
    !has(lower, not) && !lower.starts_with("if ")
}

/// Words for a machine that did not come back from a sleep.
const HUNG: &str =
    "hang|hung|froze|freezes|stuck|died| dead|black|crash|not come back|not wake|not resume";

/// Whether words below a round say that the machine hung, or that the sleep failed.
pub(crate) fn says_failed(lower: &str) -> bool {
    let machine = "machine|system|board|dut|laptop|device under test";
    let hung = has(lower, HUNG) && has(lower, machine);
    asserts(lower) && (hung || is_of_sleep(lower) && lower.contains("fail"))
}

/// What a sentence says; whether it or one before it in its paragraph is about sleep.
pub(crate) fn read(text: &str, lower: &str, of_sleep: bool) -> Vec<Fact> {
    let mut out = Vec::new();
    let digits = lower.bytes().any(|b| b.is_ascii_digit());
    if digits && asserts(lower) {
        if is_of_an_older(lower) {
            // What failed there is no round of this machine as it is now.
        } else if let Some(s) = share(lower) {
            out.push(Fact::Stats(s));
        } else if let Some(r) = round(text, lower) {
            let by = if of_sleep { Teller::Person } else { Teller::Unclear };
            out.push(Fact::Round(Round { by, ..r }));
        }
        out.extend(drain(lower).map(Fact::Drain));
    }
    if has_word(lower, "s0ix") && has(lower, "passed|has pass") && asserts(lower) {
        out.push(Fact::Passed);
    }
    if is_claim(text, lower, of_sleep) {
        out.push(Fact::Owner(Owner::Claim));
    }
    out
}

/// Whether a sentence tells of a release that was in use before: `in the old firmware`, `with
/// previous kernels`, `before the update`.
fn is_of_an_older(lower: &str) -> bool {
    const OLDER: [&str; 6] = ["old", "older", "previous", "earlier", "former", "last"];
    const RELEASES: [&str; 12] = [
        "firmware", "kernel", "version", "release", "bios", "uefi", "image", "build", "driver",
        "distro", "branch", "one",
    ];
    const CHANGES: [&str; 5] = ["update", "upgrade", "fix", "patch", "change"];
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let is = |w: &str, list: &[&str]| list.iter().any(|l| w.strip_suffix('s').unwrap_or(w) == *l);
    let near = |at: usize| words[at + 1..].iter().take(2);
    words.iter().enumerate().any(|(at, w)| {
        OLDER.contains(w) && near(at).any(|n| is(n, &RELEASES))
            || *w == "before" && near(at).any(|n| is(n, &CHANGES))
    })
}

/// Words for the times that somebody tried.
const TIMES: [&str; 10] =
    ["time", "cycle", "iteration", "round", "suspend", "tr", "attempt", "run", "loop", "resume"];

fn is_times(word: &str) -> bool {
    TIMES.iter().any(|t| word.starts_with(t)) || matches!(word, "s3" | "s2idle" | "sleeps")
}

/// A sentence without the numbers that stand alone in parentheses: `RESUME(7)` is a state of a
/// driver, `Fedora (41)` a release, and neither is a round.
fn without_asides(lower: &str) -> String {
    let mut out = String::with_capacity(lower.len());
    let mut rest = lower;
    while let Some((front, behind)) = rest.split_once('(') {
        out.push_str(front);
        let aside = behind.split_once(')');
        let number = aside.filter(|a| !a.0.is_empty() && a.0.bytes().all(|b| b.is_ascii_digit()));
        out.push_str(if number.is_some() { " - " } else { "(" });
        rest = number.map_or(behind, |a| a.1);
    }
    out + rest
}

/// The round that somebody says failed, by its number.
fn round(text: &str, lower: &str) -> Option<Round> {
    if !(has(lower, HUNG) || has(lower, "fail|timed out")) {
        return None;
    }
    let lower = without_asides(lower);
    let words: Vec<&str> = lower
        .split([' ', ',', ';', '(', ')'])
        .map(|w| w.trim_end_matches(['.', ':', '!']))
        .filter(|w| !w.is_empty())
        .collect();
    let ordinal = |w: &str| {
        let (n, rest) = number(w)?;
        matches!(rest, "th" | "nd" | "rd" | "st").then_some(n)
    };
    let whole = |w: &str| number(w.trim_start_matches('#')).filter(|n| n.1.is_empty()).map(|n| n.0);
    // `every 5th`, `1 time in 5`, `1 to 5`: how often, and not which.
    let often = |at: usize| {
        let before = at.checked_sub(1).map(|b| words[b]);
        let mut rest = words[at + 1..].iter().skip_while(|w| is_times(w));
        let joins = rest.next().is_some_and(|w| matches!(*w, "in" | "out" | "to" | "or"));
        let of = rest.find(|w| **w != "of").and_then(|w| whole(w)).is_some();
        matches!(before, Some("every" | "each")) || joins && of
    };
    let pair = |(at, p): (usize, &[&str])| match (ordinal(p[0]), whole(p[1])) {
        (Some(n), _) if is_times(p[1]) => Some(n).filter(|_| !often(at)),
        (_, Some(n)) if TIMES.contains(&p[0]) => Some(n).filter(|_| !often(at + 1)),
        _ => None,
    };
    // `after 412 cycles`.
    let after = |at: usize| {
        let rest = words.get(at + 1..)?.iter().position(|w| whole(w).is_some())?;
        let at = at + 1 + rest;
        // `after 3 attempts to reset the link`.
        let tries = words.get(at + 2) == Some(&"to");
        let is = rest < 3 && !tries && is_times(words.get(at + 1)?) && !often(at);
        is.then(|| whole(words[at])).flatten()
    };
    let number = words
        .windows(2)
        .enumerate()
        .find_map(pair)
        .or_else(|| words.iter().position(|w| *w == "after").and_then(after))
        .filter(|n| (1..1_000_000).contains(n))?;
    let of = words
        .windows(2)
        .filter(|p| is_times(p[1]) && p[1].ends_with('s'))
        .find_map(|p| whole(p[0]).filter(|of| *of >= number));
    let of = of.filter(|_| !lower.contains("after "));
    let said = text.trim().into();
    Some(Round { number, of, end: End::Failed, said, by: Teller::Unclear })
}

/// Counts of a run that somebody gives: so many of so many, or none of so many.
fn share(lower: &str) -> Option<Stats> {
    if !is_of_sleep(lower) {
        return None;
    }
    let stats =
        |of, bad| Stats { done: Some(of), failed: Some((String::new(), bad)), by_program: false };
    let fails = has(lower, "fail") || has(lower, HUNG);
    for word in [" out of ", " in ", " of ", "/"] {
        for at in places(lower, word) {
            let digits = lower.as_bytes()[..at].iter().rev().take_while(|b| b.is_ascii_digit());
            let begin = at - digits.count();
            let Some((bad, "")) = number(&lower[begin..at]) else { continue };
            let Some((of, rest)) = number(&lower[at + word.len()..]) else { continue };
            let whole = !rest
                .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | ':'))
                && !lower[..begin].ends_with(['/', '.', ':', '-']);
            let of_times = rest.split_whitespace().next().is_none_or(|w| {
                let w = w.trim_end_matches([',', '.', ')', ':']);
                w.is_empty() || is_times(w) || has(w, "fail|hang|hung")
            });
            let numbered = lower[..begin].trim_end().rsplit(' ').next().is_some_and(is_times);
            if whole && fails && of_times && !numbered && bad > 0 && of > bad && of >= 5 {
                return Some(stats(of, bad));
            }
        }
    }
    let words: Vec<&str> =
        lower.split([' ', ',', ';', '(', ')']).filter(|w| !w.is_empty()).collect();
    let before = |of: &dyn Fn(&str) -> bool| {
        words.windows(2).find(|p| of(p[1])).and_then(|p| p[0].parse::<u64>().ok())
    };
    let done = before(&|w| is_times(w) && w.ends_with('s'))?;
    let none = "without a single fail|without fail|without any fail|no fail|zero fail";
    let bad = if has(lower, none) { 0 } else { before(&|w| w.starts_with("fail"))? };
    Some(stats(done, bad))
}

/// What somebody says that a sleep took of a battery.
fn drain(lower: &str) -> Option<Drain> {
    // Of two systems on one machine this is about Linux.
    let clause = lower.split(", ").find(|c| c.contains('%') && !c.contains("windows"))?;
    let clause = if lower.contains("windows") { clause } else { lower };
    let verbs = "burn|lost|lose|losing|drain|consum|used|drop|battery loss|discharged";
    let begins = |at: &usize| !clause[..*at].ends_with(|c: char| c.is_alphanumeric());
    let at = verbs.split('|').filter_map(|v| clause.find(v).filter(begins)).min()?;
    let night = has(lower, "overnight|over night|by morning|through the night");
    let of_sleep = is_of_sleep(lower);
    // What a machine loses in a night is of its battery; so is what it loses asleep, if it drains.
    let battery = clause.contains("batter")
        || of_sleep && has(clause, "drain|discharg")
        || night && is_machine(&clause[..at]);
    // Two figures of one kind are readings.
    let all: Vec<_> = quantities(clause).into_iter().filter(|q| q.2 == Gauge::Percent).collect();
    let near = all.first().filter(|q| battery && all.len() == 1 && q.0.abs_diff(at) <= NEAR)?;
    // Nothing loses more than all of it, and a screen that was left on is no sleep.
    if near.3 > 100_000 || has(lower, "screen on|not suspended|not asleep|awake") {
        return None;
    }
    let hourly = has(&clause[near.1..], "per hour|/h|an hour|hourly");
    let about = hourly
        || clause[..near.0].ends_with('~')
        || has(clause, "about|around|almost|roughly|nearly");
    // The length that stands behind the figure, else the one before.
    let seconds = if hourly {
        Some(3_600)
    } else {
        duration(&clause[near.1..]).or_else(|| duration(&clause[..near.0]))
    };
    Some(Drain { percent: Some(near.3), energy: None, seconds, about, of_sleep, by_program: false })
}

/// Whether the words before a verb end with a machine, or nothing stands before it.
fn is_machine(before: &str) -> bool {
    const MACHINES: [&str; 12] = [
        "it", "laptop", "machine", "notebook", "computer", "system", "tablet", "phone", "device",
        "thinkpad", "mbp", "macbook",
    ];
    let mut last = before.split(|c: char| !c.is_alphanumeric()).rev().filter(|w| !w.is_empty());
    last.next().is_none_or(|w| MACHINES.contains(&w))
}

/// So far from its verb a figure may stand, in bytes.
const NEAR: usize = 60;

/// So many per cent of a sentence are letters and blanks.
const WORDY: usize = 80;

/// Whether a sentence says what wakes a machine: it says that the machine wakes, and names an
/// interrupt, a pin, an event, an ACPI device or node.
fn is_claim(sentence: &str, lower: &str, of_sleep: bool) -> bool {
    // A log, a table or a source file is no sentence.
    let letters = sentence.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let is_words = letters * 100 >= sentence.chars().count() * WORDY
        && sentence.matches(": ").count() < 2
        && !sentence.contains(['|', '[', '=', '+'])
        && !has(sentence, "PM: |/*|//");
    let wakes = ["wake", "wakes", "woke", "woken", "waking"].iter().any(|w| has_word(lower, w));
    // A time, not a cause: what follows is of the machine that is awake.
    let since = has(lower, "after waking|after wake|upon wak|once awake|after it w");
    if since && !has(lower, " by | from irq| due to | because of ") {
        return false;
    }
    let object = ["machine", "laptop", "system", "notebook", "computer", "it", "itself"];
    let of_machine = of_sleep || object.iter().any(|w| has_word(lower, w));
    if !is_words || !wakes || !of_machine || lower.contains('?') {
        return false;
    }
    let number = |word: &str| {
        places(lower, word).any(|at| {
            let rest = lower[at + word.len()..].trim_start_matches([' ', '#', 's']);
            let rest = rest.strip_prefix("pin").map_or(rest, |r| r.trim_start_matches([' ', '#']));
            rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let upper = |w: &str| w.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let device = sentence.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| {
        // `ELAN0688`, `INT34C5`, or a node of the tables: `XHC0`, `GPP6`, `RP09`.
        let id = matches!(w.len(), 7 | 8)
            && w[..3].bytes().all(|b| b.is_ascii_uppercase())
            && upper(w)
            && w[w.len() - 4..].bytes().all(|b| b.is_ascii_hexdigit());
        let node = matches!(w.len(), 3 | 4)
            && upper(w)
            && w[..2].bytes().all(|b| b.is_ascii_uppercase())
            && w.ends_with(|c: char| c.is_ascii_digit())
            && !["CPU", "PCI", "MMC", "USB", "PC", "DDR", "QT", "GTK", "KDE", "MP"]
                .iter()
                .any(|x| w.trim_end_matches(|c: char| c.is_ascii_digit()) == *x);
        id || node
    });
    device || ["irq", "interrupt", "gpio", "gpe"].iter().any(|w| number(w))
}

/// `70-minute suspend`, `slept 8h 30m`, `after 5 h suspend`: how long somebody says that a
/// sleep was.
pub(crate) fn lasted(text: &str, lower: &str) -> Option<i64> {
    if !(is_of_sleep(lower) || has(lower, "overnight")) || lower.contains('?') {
        return None;
    }
    let times = super::charge::clocks(text);
    if let [first, last] = times[..]
        && has(lower, "→|->| to |until|–| - |woke at|woken at|resumed at|opened at|back at")
    {
        return Some((last - first).rem_euclid(86_400));
    }
    duration(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Fact> {
        let lower = text.to_ascii_lowercase();
        read(text, &lower, is_of_sleep(&lower))
    }

    fn round_of(text: &str) -> Option<(u64, Option<u64>, Teller)> {
        of(text).into_iter().find_map(|f| match f {
            Fact::Round(r) => Some((r.number, r.of, r.by)),
            _ => None,
        })
    }

    #[test]
    fn rounds_that_somebody_says_failed_are_told_from_wishes_and_cures() {
        use Teller::{Person, Unclear};
        for (text, want) in [
            ("Test for 500 times, it hung at 123rd time", Some((123, Some(500), Unclear))),
            ("fails on the 41st suspend", Some((41, None, Person))),
            ("It hangs after 37 suspends", Some((37, None, Person))),
            (
                "We slept it in a loop, then on cycle 812 the board did not come back.",
                Some((812, None, Person)),
            ),
            ("The DUT died on s2idle iteration 77", Some((77, None, Person))),
            ("With the old image S3 hung at the 6th cycle, now it does not.", None),
            ("Previous kernels failed to suspend on the 6th cycle.", None),
            ("Before the update it hung on the 6th suspend.", None),
            ("My old board hung on the 6th suspend.", Some((6, None, Person))),
            ("Suspend got stuck at the 19th cycle.", Some((19, None, Person))),
            ("the 2nd monitor failed to resume", None),
            ("it failed after 3 minutes of sleep", None),
            ("It no longer hangs after 30 suspend cycles.", None),
            ("Failed to set the state: RESUME(9) ret: -110 blocks suspend", None),
            ("Suspend failed after update: Oakland (17) suspend", None),
            ("Suspend hung after a night (412 cycles)", Some((412, None, Person))),
            ("Does it hang after 20 suspends for you too?", None),
            ("Suspend works, but playback failed after 12 iterations.", None),
            ("On resume it fails after 3 attempts to reset the link.", None),
            ("Crash after 5 resume attempts fixed.", None),
            ("Every 5th suspend fails.", None),
            ("The laptop fails to resume 1 time in 5.", None),
            ("It hangs after every 5 suspends.", None),
            ("Suspend fails in cycle 2 out of 5 or so.", None),
            ("It hung after 5 suspends out of the blue.", Some((5, None, Person))),
        ] {
            assert_eq!(round_of(text), want, "{text}");
        }
    }

    #[test]
    fn shares_of_sleeps_are_counts_and_others_are_none() {
        let stats = |t: &str| {
            of(t).into_iter().find_map(|f| match f {
                Fact::Stats(s) => Some((s.done, s.failed.map(|f| f.1))),
                _ => None,
            })
        };
        assert_eq!(stats("3 out of 200 suspends failed"), Some((Some(200), Some(3))));
        assert_eq!(stats("The resume fails 1 in 20 times"), Some((Some(20), Some(1))));
        assert_eq!(
            stats("About every tenth suspend hangs (roughly 12 of 120 tries)."),
            Some((Some(120), Some(12)))
        );
        assert_eq!(
            stats("We ran 412 suspends without a single failure"),
            Some((Some(412), Some(0)))
        );
        for none in [
            "3 out of 20 members failed to vote",
            "port 1/3 failed",
            "480 passed, 20 failed in 3 iterations",
        ] {
            assert_eq!(stats(none), None, "{none}");
        }
    }

    #[test]
    fn drains_are_of_batteries() {
        let drain = |t: &str| {
            of(t).into_iter().find_map(|f| match f {
                Fact::Drain(d) => Some((d.percent.unwrap_or(0), d.seconds, d.of_sleep)),
                _ => None,
            })
        };
        assert_eq!(
            drain("it lost about 33% of the battery in 7 hours"),
            Some((33_000, Some(25_200), false))
        );
        assert_eq!(drain("battery drains 2% per hour in s2idle"), Some((2_000, Some(3_600), true)));
        assert_eq!(
            drain(
                "On Windows it loses 1% per hour in standby, on Linux s2idle drains 4% per hour."
            ),
            Some((4_000, Some(3_600), true))
        );
        for none in [
            "it should lose less than 2% of the battery per hour",
            "My phone lost 12% in 3 hours on the train",
            "Chrome drains 20% of my battery in 2 hours while I watch videos.",
        ] {
            assert_eq!(drain(none), None, "{none}");
        }
        let slept = |t: &str| lasted(t, &t.to_ascii_lowercase());
        assert_eq!(slept("asleep (23:50:00 → 06:20:30)"), Some(23_430));
        assert_eq!(slept("slept 8h 30m"), Some(30_600));
        assert_eq!(slept("The build takes 40 minutes"), None);
    }

    #[test]
    fn claims_of_a_writer_are_told_from_words() {
        let claim = |t: &str| of(t).contains(&Fact::Owner(Owner::Claim));
        for is in [
            "It is woken by IRQ 23 of the touchpad.",
            "The sensor ABCD0123 wakes it.",
            "It keeps waking up unless XHC1 is disabled.",
        ] {
            assert!(claim(is), "{is}");
        }
        for none in [
            "It wakes up fine.",
            "IRQ 23 is the touchpad.",
            "What wakes the machine, IRQ 4?",
            "The main loop is woken by the timer every 250 ms.",
            "IRQ 12 wakes the worker thread.",
            "After waking up from sleep (PC10), the GPU of the laptop is slow.",
            "The machine wakes from PC8 fine and QT6 redraws.",
            "CPU1 is up PM: noirq resume complete after 9 msecs PM: Finishing wakeup.",
            "P: /devices/LNXSYSTM:00/ACPI0003:00/wakeup/wakeup30",
        ] {
            assert!(!claim(none), "{none}");
        }
    }
}
