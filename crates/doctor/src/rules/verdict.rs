//! Tests of sleep that a text itself calls failed: reports of test systems.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say;

/// Names of tests that are of sleep have one of these.
const OF_SLEEP: [&str; 6] = ["sleep", "suspend", "resume", "rtcwake", "hibernat", "s2idle"];

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    if out.iter().any(|f| f.level == Level::Broken) {
        return;
    }
    let mut failed: Vec<(&Message, String)> = Vec::new();
    let words = [
        "failing since",
        "new failure",
        "RESULT=fail",
        "not ok ",
        "related suspend issues",
        " s2idle errors",
    ];
    for (at, m) in case.messages.having_any(&words) {
        let before = at.checked_sub(1).map(|b| &case.messages[b]);
        let name = below(before, m).or_else(|| signal(m)).or_else(|| tap(m)).map(String::from);
        let Some(name) = name.or_else(|| fwts(m)) else { continue };
        let lower = name.to_ascii_lowercase();
        if OF_SLEEP.iter().any(|w| lower.contains(w)) && failed.iter().all(|f| f.1 != name) {
            failed.push((m, name));
        }
    }
    if failed.is_empty() {
        return;
    }
    let names: Vec<String> = failed.iter().map(|f| f.1.clone()).collect();
    let what = if names.len() == 1 { "test" } else { "tests" };
    out.push(
        Finding::new(("test-failed", Area::Abort, Level::Risk), Confidence::Likely)
            .says(format!(
                "The text itself says that the {what} {} failed. In the lines that it shows no rule found why.",
                say::names(&names)
            ))
            .look("Get the whole log of the test: reports of test systems show its first and last lines.")
            .times(failed.len())
            .shown_by(lines(failed.iter().map(|f| f.0))),
    );
}

/// `* NAME: URL`, and below it `failing since 3 days (last pass: …)`: a report of KernelCI.
fn below<'a>(before: Option<&'a Message>, m: &Message) -> Option<&'a str> {
    let text = m.text.trim();
    let is = text.starts_with("failing since ") || text.starts_with("new failure ");
    let (name, link) = before.filter(|_| is)?.text.trim().strip_prefix("* ")?.split_once(": ")?;
    (link.starts_with("http") && !name.contains(' ')).then_some(name)
}

/// `<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=NAME RESULT=fail>`.
fn signal(m: &Message) -> Option<&str> {
    let name = m.after("TEST_CASE_ID=")?.split(' ').next()?;
    let result = m.after("RESULT=")?;
    result.starts_with("fail").then_some(name)
}

/// `not ok 4 - NAME`, `not ok 4 NAME # …`: a line of TAP.
fn tap(m: &Message) -> Option<&str> {
    let rest = m.text.trim().strip_prefix("not ok ")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches([' ', '-']);
    let (name, mark) = name.split_once('#').unwrap_or((name, ""));
    let meant = ["TODO", "SKIP", "XFAIL"].iter().any(|w| mark.contains(w));
    (rest.starts_with(|c: char| c.is_ascii_digit()) && !meant).then_some(name.trim())
}

/// `Found 2 PM related suspend issues.`, `Found 1 s2idle errors.`: the summary of the
/// firmware test suite (fwts, src/acpi/s3/s3.c and s2idle.c).
fn fwts(m: &Message) -> Option<String> {
    let text = m.text.trim();
    let (count, what) = text.strip_prefix("Found ")?.split_once(' ')?;
    let known = matches!(what, "PM related suspend issues." | "s2idle errors.");
    let some = known && count.parse::<u32>().is_ok_and(|n| n > 0);
    some.then(|| format!("of fwts (\"{}\")", text.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_of_sleep_that_the_text_calls_failed_is_told() {
        let said = |lines: &[&str]| {
            let lines: Vec<(i64, &str)> = lines.iter().map(|l| (0, *l)).collect();
            let mut out = Vec::new();
            judge(&Case::of_log(&lines), &mut out);
            out.pop().map(|f| f.sentence)
        };
        let kernelci =
            ["* power.suspend-4: https://example.org/7", "failing since 2 days (last pass: x)"];
        assert!(said(&kernelci).is_some_and(|s| s.contains("the test power.suspend-4 failed")));
        let lava = ["<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=rtcwake-deep RESULT=fail>"];
        assert!(said(&lava).is_some_and(|s| s.contains("rtcwake-deep")));
        let tap =
            ["ok 1 - suspend to idle", "not ok 2 - resume from deep", "not ok 3 - x # SKIP resume"];
        assert!(said(&tap).is_some_and(|s| s.contains("resume from deep failed")));
        for other in [
            ["not ok 4 - futex wait"],
            ["TEST_CASE_ID=suspend RESULT=pass"],
            ["not ok to suspend it"],
        ] {
            assert_eq!(said(&other), None, "{other:?}");
        }
    }
}
