//! Rounds of endurance runs, by the programs that drive them and by what people write.

use super::count::number;
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::round::{End, Round, Stats};

/// Words that a program puts before the number of a round.
const WORDS: [&str; 9] =
    ["cycle", "round", "iteration", "iter", "suspend", "test run", "loop", "attempt", "run"];

fn failed(lower: &str) -> bool {
    let no = [
        "0 failed",
        "no fail",
        "failed: 0",
        "failures: 0",
        "not failed",
        "fatal",
        "fail:0",
        "fails: 0",
        "didn't fail",
        "errors_fatal",
    ];
    ["fail", "hang", "hung", "did not resume", "timed out", "timeout", "crash"]
        .iter()
        .any(|w| lower.contains(w))
        && !no.iter().any(|w| lower.contains(w))
}

/// `cycle 96 of 100`, `Suspend     2 of 10:`, `Round(14/15)`, `iteration 7/50`, `Cycle: 12`.
fn numbered(text: &str, lower: &str) -> Option<(u64, Option<u64>)> {
    for word in WORDS {
        let mut from = 0;
        while let Some(at) = lower[from..].find(word).map(|a| from + a) {
            from = at + word.len();
            let glued = lower[..at].ends_with(|c: char| c.is_alphanumeric());
            let rest = text.get(from..)?.trim_start_matches([' ', '\t', '(', ':', '#', '=', '[']);
            let Some((n, rest)) = number(rest).filter(|_| !glued) else { continue };
            let rest = rest.trim_start();
            let of = rest
                .strip_prefix("of ")
                .or_else(|| rest.strip_prefix('/'))
                .or_else(|| rest.strip_prefix("out of "));
            let of = of.and_then(|r| number(r.trim_start())).map(|n| n.0);
            let sure = of.is_some()
                || !matches!(word, "suspend" | "run" | "test run" | "loop" | "attempt");
            let ends = rest.is_empty()
                || of.is_some()
                || rest.starts_with([':', ')', ']', ',', '.', '-'])
                || failed(lower);
            // `5 iterations` counts them; versions and times are no rounds.
            let fits = n > 0 && n < 1_000_000 && of.is_none_or(|of| of >= n);
            if sure && ends && fits && !rest.starts_with("th ") {
                return Some((n, of));
            }
        }
    }
    None
}

/// `failed at 200th time`, `hangs on the 37th suspend`, `after 412 cycles it failed`, `fails at
/// cycle 12`: a round that somebody says failed.
fn in_words(text: &str, lower: &str) -> Option<Round> {
    if !failed(lower) {
        return None;
    }
    if let Some(r) = after(text, lower) {
        return Some(r);
    }
    let (at, suffix) = ["th ", "nd ", "rd ", "st "].iter().find_map(|s| {
        let at = lower.find(s)?;
        lower[..at].ends_with(|c: char| c.is_ascii_digit()).then_some((at, *s))
    })?;
    let begin = digits_before(lower, at);
    let n = number(&lower[begin..at])?.0;
    let what = lower[at + suffix.len()..].split_whitespace().next()?;
    let what = what.trim_end_matches(['.', ',', ':', ')']);
    let known = [
        "time",
        "cycle",
        "iteration",
        "round",
        "suspend",
        "try",
        "attempt",
        "run",
        "loop",
        "resume",
    ];
    if !known.contains(&what) {
        return None;
    }
    let of = lower
        .split([' ', ','])
        .collect::<Vec<_>>()
        .windows(2)
        .find(|w| ["times", "cycles", "iterations", "rounds"].iter().any(|t| w[1].starts_with(t)))
        .and_then(|w| w[0].parse().ok())
        .filter(|of| *of >= n);
    Some(Round { number: n, of, end: End::Failed, said: text.trim().into() })
}

/// Where the digits begin that end at `at`.
fn digits_before(text: &str, at: usize) -> usize {
    at - text.as_bytes()[..at].iter().rev().take_while(|b| b.is_ascii_digit()).count()
}

/// `failed after 412 cycles`, `hangs after 37 suspends`.
fn after(text: &str, lower: &str) -> Option<Round> {
    let (_, rest) = lower.split_once("after ")?;
    let rest = rest.trim_start_matches(['~', ' ']);
    let rest =
        ["about ", "around ", "only "].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
    let (n, rest) = number(rest)?;
    let what = rest.split_whitespace().next()?;
    let units = [
        "cycle",
        "iteration",
        "suspend",
        "round",
        "times",
        "attempt",
        "loop",
        "s3",
        "s2idle",
        "resume",
    ];
    let counts = units.iter().any(|u| what.starts_with(u)) && n > 0;
    counts.then(|| Round { number: n, of: None, end: End::Failed, said: text.trim().into() })
}

/// `3 out of 100 suspends fail`, `2/50 failed`, `fails 1 in 20`.
fn share(lower: &str) -> Option<Stats> {
    for word in [" out of ", " in ", "/"] {
        for (at, _) in lower.match_indices(word) {
            let begin = digits_before(lower, at);
            let Some((bad, "")) = number(&lower[begin..at]) else { continue };
            let Some((of, rest)) = number(&lower[at + word.len()..]) else { continue };
            let whole = !rest
                .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | ':'))
                && !lower[..begin].ends_with(['/', '.', ':', '-']);
            let near = lower[at..].find("fail").is_some_and(|d| d < 40)
                || lower[..at].rfind("fail").is_some_and(|f| at - f < 16);
            if whole && near && bad > 0 && of > bad && of >= 5 {
                return Some(Stats { done: Some(of), failed: Some((String::new(), bad)) });
            }
        }
    }
    None
}

/// How a round ended, by what stands behind its number.
fn end(lower: &str) -> End {
    if failed(lower) {
        End::Failed
    } else if ["pass", "success", " ok", "done", "wake for", "resumed"]
        .iter()
        .any(|w| lower.contains(w))
    {
        End::Back
    } else {
        End::Unknown
    }
}

/// Whether what a program says below a round ends it, and how: `Suspend failed`, `FAILED
/// [HIGH] S2idleNotDeepest`, `rtcwake: wakeup from "mem"`, `pm-action returned 0`.
pub(crate) fn outcome(text: &str) -> Option<End> {
    let lower = text.to_lowercase();
    // fwts tells a sleep that was not deep from one that failed (src/acpi/s3/s3.c).
    if lower.contains("notdeepest")
        || lower.contains("s0ix count did")
        || lower.contains("residency did not")
    {
        return Some(End::Shallow);
    }
    if text.starts_with("FAILED [")
        || lower.contains("suspend failed")
        || lower.contains("pm-action failed")
    {
        return Some(End::Failed);
    }
    if lower.starts_with("rtcwake: ") && (lower.contains("error") || lower.contains("failed")) {
        return Some(End::Failed);
    }
    let back = ["rtcwake: wakeup from", "pm-action returned 0", "passed: test"];
    back.iter().any(|w| lower.contains(w)).then_some(End::Back)
}

/// Whether words below a round say that it failed: `the machine hung`, `Suspend test failed`.
pub(crate) fn says_failed(text: &str) -> bool {
    let lower = text.to_lowercase();
    let of = ["suspend", "resume", "machine", "system", "sleep", "hung", "s3"];
    failed(&lower) && of.iter().any(|w| lower.contains(w)) && !lower.ends_with('?')
}

/// `Finished 2 iterations.`, `Suspend_failures: 1`, `s0ix errors: 0`, `12 passed, 1 failed`,
/// `500 cycles, 0 failures`.
fn stats(text: &str, lower: &str) -> Option<Stats> {
    if let Some(rest) = lower.strip_prefix("finished ") {
        return Some(Stats { done: number(rest).map(|n| n.0), failed: None });
    }
    if let Some((name, value)) = text.split_once(':') {
        let name = name.trim();
        let lower = name.to_lowercase();
        let counts = ["suspend_failures", "firmware log errors", "s0ix errors", "suspend failures"];
        let value = value.trim();
        let n = number(value).filter(|(_, r)| r.is_empty());
        if let Some((n, _)) = n.filter(|_| counts.contains(&lower.as_str())) {
            return Some(Stats { done: None, failed: Some((name.into(), n)) });
        }
    }
    let word = |w: &[&str]| {
        let words: Vec<&str> =
            lower.split([' ', ',', ';', '(', ')']).filter(|w| !w.is_empty()).collect();
        words
            .windows(2)
            .find(|p| w.iter().any(|w| p[1].starts_with(w)))
            .and_then(|p| p[0].parse::<u64>().ok())
    };
    if let Some(s) = share(lower).filter(|_| !lower.contains("cycle ") && !lower.contains("round"))
    {
        return Some(s);
    }
    // Other tests pass and fail too.
    let about = ["s3", "s4", "suspend", "sleep", "resume", "cycle", "iteration", "round", "fwts"];
    if !about.iter().any(|w| lower.contains(w)) {
        return None;
    }
    let clean =
        ["without a single fail", "without fail", "without any fail", "no fail", "zero fail"];
    let failures = if clean.iter().any(|w| lower.contains(w)) { 0 } else { word(&["fail"])? };
    let done = word(&["pass", "success", "cycles", "iterations", "suspends", "rounds"])?;
    let passed = ["pass", "success"].iter().any(|w| lower.contains(w));
    let done = if passed { done.saturating_add(failures) } else { done };
    Some(Stats { done: Some(done), failed: Some((String::new(), failures)) })
}

/// What a line says of rounds.
pub(crate) fn read(text: &str) -> Option<Fact> {
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let lower = text.to_lowercase();
    if let Some(s) = stats(text, &lower) {
        return Some(Fact::Stats(s));
    }
    if let Some(r) = in_words(text, &lower) {
        return Some(Fact::Round(r));
    }
    let (number, of) = numbered(text, &lower)?;
    // `Running 10 iterations with:` announces them.
    let mut end = end(&lower);
    if lower.contains("s0ix count did") {
        end = End::Shallow;
    }
    Some(Fact::Round(Round { number, of, end, said: text.trim().into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> Option<(u64, Option<u64>, End)> {
        match read(text) {
            Some(Fact::Round(r)) => Some((r.number, r.of, r.end)),
            _ => None,
        }
    }

    #[test]
    fn rounds_of_every_driver_are_read() {
        for (text, want) in [
            ("s3 cycle 7 of 30", Some((7, Some(30), End::Unknown))),
            (
                "Suspend    4 of 25: sleep for 9 seconds... wake for 6 seconds...",
                Some((4, Some(25), End::Back)),
            ),
            (
                "Suspend    5 of 25: sleep for 9 seconds...Suspend failed.",
                Some((5, Some(25), End::Failed)),
            ),
            ("12:00 [INFO] ===== Round(3/8) =====", Some((3, Some(8), End::Unknown))),
            ("Iteration 12/100: PASS", Some((12, Some(100), End::Back))),
            ("Test for 500 times, it hung at 123rd time", Some((123, Some(500), End::Failed))),
            ("fails on the 41st suspend", Some((41, None, End::Failed))),
            ("Running 10 iterations with:", None),
            ("the 2nd monitor failed", None),
            ("It hangs after 37 suspends", Some((37, None, End::Failed))),
            ("it failed after 3 minutes", None),
            ("suspend 5 devices", None),
        ] {
            assert_eq!(round(text), want, "{text}");
        }
    }

    #[test]
    fn counts_and_outcomes_are_read() {
        let of = |t: &str| match read(t) {
            Some(Fact::Stats(s)) => Some((s.done, s.failed.map(|f| f.1))),
            _ => None,
        };
        assert_eq!(of("Finished 9 iterations."), Some((Some(9), None)));
        assert_eq!(of("Suspend_failures: 2"), Some((None, Some(2))));
        assert_eq!(of("500 cycles, 3 failures"), Some((Some(500), Some(3))));
        assert_eq!(of("s3 results: 29 passed, 1 failed, 0 aborted"), Some((Some(30), Some(1))));
        assert_eq!(of("ran 412 cycles without a single failure"), Some((Some(412), Some(0))));
        assert!(says_failed("Suspend test failed") && !says_failed("Firmware failed to load"));
        assert_eq!(of("3 out of 200 suspends failed"), Some((Some(200), Some(3))));
        assert_eq!(of("it fails 1 in 20 times"), Some((Some(20), Some(1))));
        assert_eq!(of("port 1/3 failed"), None);
        assert_eq!(of("Results: 22 PASS, 1 FAIL, 0 SKIP"), None);
        assert_eq!(of("errors_fatal: true"), None);
        assert_eq!(outcome("FAILED [HIGH] S2idleNotDeepest: Test 1, Expected"), Some(End::Shallow));
        assert_eq!(outcome("rtcwake: wakeup from \"mem\" using /dev/rtc0 at x"), Some(End::Back));
        assert_eq!(outcome("fwts results"), None);
    }
}
