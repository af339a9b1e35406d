//! `check` with a budget: a verdict on recorded cycles, with its exit code.

use super::words::said;
use serde_json::Value;

/// Two sleeps of a small log: the first resumes in 40 ms, the second in 90 ms.
const TWO: &str = "\
[  100.000000] PM: suspend entry (s2idle)
[  100.010000] calling  4-2+ @ 77, parent: usb4
[  100.030000] call 4-2+ returned 0 after 20000 usecs
[  100.040000] PM: suspend of devices complete after 35.000 msecs
[  105.000000] calling  4-2+ @ 77, parent: usb4
[  105.039000] call 4-2+ returned 0 after 39000 usecs
[  105.040000] PM: resume of devices complete after 40.000 msecs
[  105.041000] PM: suspend exit
[  200.000000] PM: suspend entry (s2idle)
[  200.010000] calling  4-2+ @ 78, parent: usb4
[  200.030000] call 4-2+ returned 0 after 20000 usecs
[  200.040000] PM: suspend of devices complete after 35.000 msecs
[  205.000000] calling  4-2+ @ 78, parent: usb4
[  205.089000] call 4-2+ returned 0 after 89000 usecs
[  205.090000] PM: resume of devices complete after 90.000 msecs
[  205.091000] PM: suspend exit
";

fn judged(budget: &[&str], input: &str) -> (Option<i32>, Value) {
    let mut words = vec!["check", "-", "--json"];
    words.extend(budget);
    let (code, text) = said(&words, input);
    let end = text.rfind('}').map_or(0, |at| at + 1);
    (code, serde_json::from_str(&text[..end]).unwrap_or(Value::Null))
}

#[test]
fn a_budget_is_met_or_not_by_every_cycle() {
    let (code, json) = judged(&["--resume", "60ms"], TWO);
    assert_eq!(code, Some(4), "{json}");
    assert_eq!(json["resume"]["verdict"], "over");
    assert_eq!(json["resume"]["over"][0]["cycle"], 2);
    assert_eq!((&json["suspend"], &json["schema"]), (&Value::Null, &"dormouse-check/1".into()));
    let (code, json) = judged(&["--resume", "150ms", "--suspend", "1s"], TWO);
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(json["suspend"]["verdict"], "met");
    let (_, text) = said(&["check", "-", "--resume", "60ms"], TWO);
    assert!(text.starts_with("Resume is over its budget: 1 of 2 cycles takes more"), "{text}");
    assert!(text.contains("--cycle 2"), "{text}");
}

#[test]
fn what_cannot_be_judged_is_no_success() {
    let aborted = TWO.lines().take(4).collect::<Vec<_>>().join("\n");
    let (code, json) = judged(&["--resume", "60ms"], &aborted);
    assert_eq!(code, Some(1), "{json}");
    assert_eq!(json["resume"]["verdict"], "unknown");
}
