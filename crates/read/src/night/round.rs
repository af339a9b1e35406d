//! Rounds of endurance runs, by the lines of the programs that drive them.

use super::count::number;
use super::line::{has, has_word};
use super::prose::is_sentence;
use crate::text::places;
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::round::{End, Round, Stats, Teller};

/// Words that a program puts before the number of a round.
const WORDS: [&str; 10] = [
    "cycle",
    "round",
    "iteration",
    "iter",
    "suspend",
    "test run",
    "loop",
    "attempt",
    "run",
    "test",
];

/// Whether a program's line says itself that its round is a sleep. Files are sent to S3 too,
/// loops sleep between tries, and downloads are resumed.
fn is_of_sleep(lower: &str) -> bool {
    let words = ["suspend", "suspend/resume", "suspending", "hibernate", "hibernation", "rtcwake"];
    let states = ["s3", "s4", "s2idle", "s0ix", "sleep", "sleep/wake", "suspend-resume"];
    // `s3 cycle 4`, `S3: iteration 4`.
    let numbered = |s: &&str| {
        places(lower, s).any(|at| {
            let rest = lower[at + s.len()..].trim_start_matches([' ', ':', '-', '_']);
            !lower[..at].ends_with(char::is_alphanumeric)
                && WORDS.iter().any(|w| {
                    rest.strip_prefix(w).is_some_and(|r| !r.starts_with(char::is_alphabetic))
                })
        })
    };
    words.iter().any(|w| has_word(lower, w)) || states.iter().any(numbered)
}

fn failed(lower: &str) -> bool {
    let no =
        "0 fail|no fail|failed: 0|failures: 0|not fail|fatal|fail:0|fail=0|fails: 0|n't fail|fixed";
    has(lower, "fail|hang|hung|did not resume|timed out|timeout|crash") && !has(lower, no)
}

/// `cycle 96 of 100`, `Suspend     2 of 10:`, `Round(14/15)`, `iteration 7/50`, `Cycle: 12`.
fn numbered(lower: &str) -> Option<(u64, Option<u64>)> {
    for word in WORDS {
        for at in places(lower, word) {
            let glued = lower[..at].ends_with(|c: char| c.is_alphanumeric());
            let rest = &lower[at + word.len()..];
            // A program's line begins with it: `==== Round(4) ====`, `[12.5] cycle (4)`.
            let aside = rest.trim_start().starts_with('(');
            let front = lower[..at].rsplit(']').next().unwrap_or("");
            let begins = !front.contains(char::is_alphabetic);
            let rest = rest.trim_start_matches([' ', '\t', '(', ':', '#', '=', '[']);
            let Some((n, rest)) = number(rest).filter(|_| !glued) else { continue };
            let rest = rest.trim_start();
            let of = rest
                .strip_prefix("of ")
                .or_else(|| rest.strip_prefix('/'))
                .or_else(|| rest.strip_prefix("out of "));
            let of = of.and_then(|r| number(r.trim_start())).map(|n| n.0);
            let sure = of.is_some()
                || !matches!(word, "suspend" | "run" | "test" | "test run" | "loop" | "attempt");
            let ends =
                rest.is_empty() || of.is_some() || rest.starts_with([':', ')', ']', ',', '.', '-']);
            // `5 iterations` counts them; versions and times are no rounds.
            let fits = (1..1_000_000).contains(&n) && of.is_none_or(|of| of >= n);
            // `in an earlier run 3 of 3` counts what failed.
            let counts = matches!(word, "run" | "test" | "loop" | "attempt") && is_sentence(front);
            if sure && ends && fits && !counts && (!aside || of.is_some() || begins) {
                return Some((n, of));
            }
        }
    }
    None
}

/// How a round ended, by what stands behind its number.
fn end(lower: &str) -> End {
    if is_shallow(lower) {
        End::Shallow
    } else if failed(lower) {
        End::Failed
    } else if has(lower, "pass|success|succeed| ok|done|wake for|resumed") {
        End::Back
    } else {
        End::Unknown
    }
}

/// fwts tells a sleep that was not deep from one that failed (src/acpi/s3/s3.c), and so does
/// ChromeOS' suspend_stress_test.
fn is_shallow(lower: &str) -> bool {
    has(lower, "notdeepest|s0ix count did|residency did not")
}

/// Whether fwts fails a sleep: its tests of S3, S4 and s2idle name their failures by it
/// (src/acpi/s3, src/acpi/s4), those of the firmware do not.
fn fwts_fails(text: &str) -> bool {
    let name = text.strip_prefix("FAILED [").and_then(|r| r.split_once("] "));
    name.and_then(|n| n.1.split(':').next())
        .is_some_and(|n| has(n, "S3|S4|S2idle|Suspend|Hibernat|PMAction"))
}

/// What a line of a program below a round ends it with: `Suspend failed`, `FAILED [HIGH]
/// S2idleNotDeepest`, `pm-action returned 0`; or that it was sent to sleep by, `rtcwake: wakeup from
/// "mem"`; and whether the
/// line needs no round before it.
pub(crate) fn outcome(text: &str, lower: &str) -> Option<(End, bool)> {
    if is_shallow(lower) {
        return Some((End::Shallow, fwts_fails(text)));
    }
    if text.starts_with("FAILED [") {
        return Some((End::Failed, fwts_fails(text)));
    }
    let suspend = lower.starts_with("suspend failed") || lower.contains("...suspend failed");
    let rtcwake = lower.starts_with("rtcwake: ") && has(lower, "error|failed");
    if suspend || rtcwake || lower.contains("pm-action failed") {
        return Some((End::Failed, false));
    }
    // Printed before the sleep (util-linux sys-utils/rtcwake.c:main, 2.40).
    if lower.contains("rtcwake: wakeup from") {
        return Some((End::Asked, false));
    }
    let back = has(lower, "pm-action returned 0|passed: test");
    back.then_some((End::Back, false))
}

/// `Finished 2 iterations.`, `Suspend_failures: 1`, `s0ix errors: 0` of suspend_stress_test,
/// `s3: 12 passed, 1 failed` of fwts.
fn stats(text: &str, lower: &str, runs: bool) -> Option<Stats> {
    let stats = |done, failed| Some(Stats { done, failed, by_program: true });
    if let Some((n, rest)) = lower.strip_prefix("finished ").and_then(number) {
        return rest.starts_with(" iterations").then(|| stats(Some(n), None)).flatten();
    }
    if let Some((name, value)) = text.split_once(':') {
        let counts = ["suspend_failures", "firmware log errors", "s0ix errors", "suspend failures"];
        let n = number(value.trim()).filter(|(_, r)| r.is_empty());
        if let Some((n, _)) =
            n.filter(|_| counts.iter().any(|c| name.trim().eq_ignore_ascii_case(c)))
        {
            return stats(None, Some((name.trim().into(), n)));
        }
    }
    let words: Vec<&str> =
        lower.split([' ', ',', ';', '(', ')']).filter(|w| !w.is_empty()).collect();
    // `200 passed`, `passed: 200`.
    let of = |w: &str| {
        let at = words.iter().position(|x| x.starts_with(w))?;
        let at = if words[at].ends_with(':') { at + 1 } else { at.checked_sub(1)? };
        words.get(at)?.parse::<u64>().ok()
    };
    let (passed, bad) = (of("pass")?, of("fail")?);
    let sleeps =
        runs || is_of_sleep(lower) || ["s3", "s4", "s2idle"].iter().any(|s| lower.starts_with(s));
    let done = Some(passed.saturating_add(bad));
    sleeps.then(|| stats(done, Some((String::new(), bad)))).flatten()
}

/// Whether a line announces a run of sleeps: `suspend loop: rtcwake -m mem -s 9, 50 rounds`.
pub(crate) fn announces(lower: &str) -> bool {
    has_word(lower, "rtcwake") && has(lower, "loop|rounds|cycles|iterations")
}

/// What a line of a program says of rounds, which may be of a run of sleeps.
pub(crate) fn read(text: &str, lower: &str, runs: bool) -> Option<Fact> {
    let comment = text.starts_with("//") || text.starts_with("/*");
    if !text.bytes().any(|b| b.is_ascii_digit()) || is_sentence(text) || comment {
        return None;
    }
    if let Some(s) = stats(text, lower, runs) {
        return Some(Fact::Stats(s));
    }
    let (number, of) = numbered(lower)?;
    let by = if runs || is_of_sleep(lower) { Teller::OfSleep } else { Teller::OfAnything };
    Some(Fact::Round(Round { number, of, end: end(lower), said: text.trim().into(), by }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Fact> {
        read(text, &text.to_ascii_lowercase(), false)
    }

    #[test]
    fn rounds_of_every_driver_are_read_and_told_from_others() {
        use Teller::{OfAnything, OfSleep};
        for (text, want) in [
            ("s3 cycle 7 of 30", Some((7, Some(30), End::Unknown, OfSleep))),
            (
                "Suspend    4 of 25: sleep for 9 seconds... wake for 6 seconds...",
                Some((4, Some(25), End::Back, OfSleep)),
            ),
            (
                "Suspend    5 of 25: sleep for 9 seconds...Suspend failed.",
                Some((5, Some(25), End::Failed, OfSleep)),
            ),
            ("12:00 [INFO] ===== Round(3/8) =====", Some((3, Some(8), End::Unknown, OfAnything))),
            ("Iteration 12/100: PASS", Some((12, Some(100), End::Back, OfAnything))),
            ("suspend/resume iteration 9/20: FAIL", Some((9, Some(20), End::Failed, OfSleep))),
            ("S3 upload: attempt 2/3 failed", Some((2, Some(3), End::Failed, OfAnything))),
            (
                "Attempt 2/3 failed, sleep 10 before the next",
                Some((2, Some(3), End::Failed, OfAnything)),
            ),
            (
                "attempt 4 of 5 to resume the download failed",
                Some((4, Some(5), End::Failed, OfAnything)),
            ),
            ("==== Round(4) ====", Some((4, None, End::Unknown, OfAnything))),
            ("mhi: Failed to set state: CYCLE(7) ret: -110 blocks suspend", None),
            ("Running 10 iterations with:", None),
            ("suspend 5 devices", None),
            ("The board hung in 2 of 7 cycles of today, in an earlier run 4 of 4", None),
        ] {
            let round = match of(text) {
                Some(Fact::Round(r)) => Some((r.number, r.of, r.end, r.by)),
                _ => None,
            };
            assert_eq!(round, want, "{text}");
        }
    }

    #[test]
    fn counts_and_outcomes_are_read() {
        let stats = |t: &str| match of(t) {
            Some(Fact::Stats(s)) => Some((s.done, s.failed.map(|f| f.1))),
            _ => None,
        };
        assert_eq!(stats("Finished 9 iterations."), Some((Some(9), None)));
        assert_eq!(stats("Suspend_failures: 2"), Some((None, Some(2))));
        assert_eq!(stats("s3 results: 29 passed, 1 failed, 0 aborted"), Some((Some(30), Some(1))));
        assert_eq!(stats("suspend rounds: 40  passed: 39  failed: 1"), Some((Some(40), Some(1))));
        for none in
            ["Results: 22 PASS, 1 FAIL, 0 SKIP", "errors_fatal: true", "Finished 3 of 9 jobs"]
        {
            assert_eq!(stats(none), None, "{none}");
        }
        let end = |t: &str| outcome(t, &t.to_ascii_lowercase());
        assert_eq!(
            end("FAILED [HIGH] S2idleNotDeepest: Test 1, Expected"),
            Some((End::Shallow, true))
        );
        assert_eq!(end("FAILED [HIGH] KlogIoMemoryAddress: Test 1"), Some((End::Failed, false)));
        assert_eq!(
            end("rtcwake: wakeup from \"mem\" using /dev/rtc0 at x"),
            Some((End::Asked, false))
        );
        assert_eq!(end("pm-action returned 0 after 7 seconds."), Some((End::Back, false)));
        assert_eq!(end("fwts results"), None);
    }
}
