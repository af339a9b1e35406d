//! Ends of sleeps of which a text does not have the beginnings: a kernel's last line alone, and
//! what services say when the machine is back.

use super::turns;
use crate::attempt::Attempt;
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Trust;
use crate::night::{Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// The rule: what it says is all that is known, and no all-clear.
pub(crate) const WOKE: &str = "night-woke";

/// Services speak of one end within so many ms.
const TOGETHER: i64 = 30_000;

/// So many lines are shown.
const LINES: usize = 4;

/// Where a service says that a machine is back from an attempt of which the kernel's end is not
/// in the text.
pub(crate) fn back<'a>(case: &'a Case, a: &Attempt) -> Option<&'a Item> {
    if a.closed {
        return None;
    }
    let first = case.messages[a.first].line;
    let next = case.attempts.iter().map(|b| case.messages[b.first].line).find(|l| *l > first);
    let within = |i: &&Item| i.line > first && next.is_none_or(|n| i.line < n);
    case.night.items.iter().filter(within).find(|i| matches!(i.fact, Fact::Woke(_)))
}

/// Ends of sleeps, the lines of each together: the first of them.
fn ends(case: &Case) -> Vec<(&Item, i64)> {
    let mut out: Vec<(&Item, i64)> = Vec::new();
    let end = |f: &Fact| match f {
        Fact::Woke(ms) | Fact::Clock { begins: false, ms, .. } => Some(*ms),
        _ => None,
    };
    for (item, ms) in case.night.of(end) {
        let known = out.iter().any(|(_, t)| (t - ms).abs() < TOGETHER);
        if !known {
            out.push((item, ms));
        }
    }
    out
}

/// Who says it: the program in front of its words.
fn teller(text: &str) -> &'static str {
    const TELLERS: [&str; 3] = ["NetworkManager", "bluetoothd", "systemd"];
    TELLERS.iter().find(|t| text.contains(*t)).copied().unwrap_or("the kernel")
}

/// What Bluetooth's controller says of its part in it (include/net/bluetooth/mgmt.h:
/// MGMT_WAKE_REASON_NON_BT_WAKE, MGMT_WAKE_REASON_REMOTE_WAKE, 5.11 to 7.3).
fn bluetooth(case: &Case) -> &'static str {
    const EVENT: &str = "Controller resume with wake event ";
    let of = |i: &Item| i.text.split_once(EVENT).map(|e| e.1.trim().to_owned());
    let all: Vec<String> = case.night.items.iter().filter_map(of).collect();
    match &all[..] {
        [] => "",
        all if all.iter().all(|e| e == "0x0") => {
            " By Bluetooth's own word (wake event 0x0) it was not Bluetooth that woke it."
        }
        all if all.iter().all(|e| e == "0x2") => {
            " A Bluetooth device woke it, by Bluetooth's own word (wake event 0x2)."
        }
        _ => "",
    }
}

fn span(ms: i64) -> String {
    say::span(Ns(ms.saturating_mul(1_000_000)))
}

/// Behind all other rules: one end tells nothing that others do not tell better.
pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    if let [a] = &case.attempts[..]
        && let Some(item) = back(case, a)
    {
        out.push(finding(format!(
            "The machine came back from the sleep of the text, by the word of {}: the kernel's own end of it is not there.",
            teller(&item.text)
        )).shown_by([Evidence::from(item)]));
        return;
    }
    if !case.attempts.is_empty() || !case.parts.is_empty() || !turns::turns(case).is_empty() {
        return;
    }
    let all = ends(case);
    let shown = all.iter().take(LINES).map(|e| Evidence::from(e.0));
    match &all[..] {
        [] => stamped(case, out),
        // The one that was told of the sleep too is another rule's.
        [_] if !out.is_empty() || case.messages.has("sleep requested (sleeping: ") => {}
        [_] => {
            let words = format!(
                "The machine came back from a sleep, by the word of {}: neither the beginning of the sleep nor its length is in the text.{}",
                tellers(case),
                bluetooth(case)
            );
            out.push(finding(words).shown_by(shown));
        }
        several => {
            let waits: Vec<i64> = several.windows(2).map(|w| (w[1].1 - w[0].1).abs()).collect();
            let sum = waits.iter().fold(0, |s: i64, w| s.saturating_add(*w));
            let mean = span(sum / i64::try_from(waits.len()).unwrap_or(1));
            let every = match (waits.iter().min(), waits.iter().max()) {
                (Some(a), Some(b)) if a != b => {
                    format!("{mean} on the average ({} to {})", span(*a), span(*b))
                }
                _ => mean,
            };
            let words = format!(
                "The machine came back from a sleep {}, by the word of {}: one end follows the other after {every}. When each sleep began is not in the text.{}",
                say::once(several.len()),
                tellers(case),
                bluetooth(case)
            );
            out.insert(0, finding(words).shown_by(shown));
        }
    }
}

/// All who say it, in the order of the text.
fn tellers(case: &Case) -> String {
    let mut by: Vec<&str> = Vec::new();
    for i in case.night.items.iter().filter(|i| is_end(&i.fact)) {
        let who = teller(&i.text);
        if !by.contains(&who) {
            by.push(who);
        }
    }
    by.join(" and ")
}

fn is_end(f: &Fact) -> bool {
    matches!(f, Fact::Woke(_) | Fact::Clock { begins: false, .. })
}

fn finding(sentence: String) -> Finding {
    Finding::new((WOKE, Area::Mode, Level::Note), Confidence::Certain).says(sentence).look(
        "For how long it slept and what woke it the kernel says: journalctl -k -o short-precise.",
    )
}

/// Ends that have the kernel's own stamps alone, which stand still in a sleep.
fn stamped(case: &Case, out: &mut Vec<Finding>) {
    let exits =
        || case.messages.having("suspend exit").map(|m| m.1).filter(|m| m.says("suspend exit"));
    let n = exits().count();
    if n == 0 || !out.is_empty() || exits().any(|m| !m.trust.is_of_a_kernel()) {
        return;
    }
    // One without a stamp may be typed.
    if n == 1 && exits().any(|m| m.trust != Trust::Logged) {
        return;
    }
    let words = match n {
        1 => "The machine came back from a sleep, by the word of the kernel: the text has its end and nothing else of it.".into(),
        n => format!("The text has the ends of {n} sleeps and nothing else of them."),
    };
    out.push(finding(words).shown_by(exits().take(LINES).map(Evidence::from)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_sleep_alone_is_of_one_that_came_back() {
        let told = |case: &Case| {
            let mut out = Vec::new();
            judge(case, &mut out);
            out.pop().map(|f| f.sentence)
        };
        let end = Case::of_log(&[(7, "PM: suspend exit"), (9, "elm 7-1: link is up")]);
        assert!(told(&end).is_some_and(|s| s.starts_with("The machine came back from a sleep")));
        assert_eq!(told(&Case::shown(&["PM: suspend exit"])), None);
        assert_eq!(told(&Case::of_log(&[(9, "elm 7-1: link is up")])), None);
    }
}
