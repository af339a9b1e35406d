//! Lines of a kernel that tell of failures and stand in a text without stamps and without a sleep,
//! where the writer's words, or the end of a sleep among them, put them behind one.

use super::abort::{is_address, owner};
use crate::aftermath::is_failure;
use crate::case::Case;
use crate::complaint::is_behind_a_sleep;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::{Message, Trust};
use crate::said::names_a_device;
use crate::stage;
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// The words stand so many lines ahead of the first line of the kernel at most.
const AHEAD: u64 = 8;
/// So many lines are shown.
const SHOWN: usize = 4;

/// The line as the kernel printed it: people put it into lists.
fn bare(m: &Message) -> Message {
    let text = m.text.trim_start();
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(*mark));
    Message { text: item.unwrap_or(text).trim_matches('`').into(), ..m.clone() }
}

/// Whether a sentence, in small letters, says that nothing is wrong, or that it is of a boot.
fn denies(lower: &str) -> bool {
    // `It works until a suspend`, `fine before, but not after it`: how it was before.
    let was = |at: usize| {
        let behind = &lower[at..];
        ["until", "before", "but not after", "but fail", "but break"]
            .iter()
            .any(|w| behind.contains(w))
    };
    let asked = |at: usize| {
        ["not ", "n't ", "no longer ", "nothing ", "never ", "stop", "none "]
            .iter()
            .any(|w| lower[..at].contains(w))
    };
    let good = ["works", "fine"].iter().filter_map(|w| lower.find(w));
    let mut good = good.filter(|at| !was(*at) && !asked(*at));
    let words = ["does not happen", "doesn't happen", "only at boot", "at boot", "not after"];
    let said = words.iter().filter(|w| lower.contains(*w));
    let mut said = said.filter(|w| **w != "not after" || !lower.contains("but not after"));
    good.next().is_some() || said.next().is_some()
}

/// Whether a line begins as one of a kernel does that no person types: a device of a bus by its
/// address, or a controller of Bluetooth.
fn is_printed(m: &Message) -> bool {
    let device = owner(&m.text);
    let address = is_address(&device.name) && !device.driver.is_empty();
    let bluetooth = m.text.strip_prefix("Bluetooth: hci");
    let bluetooth = bluetooth.is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    names_a_device(&m.text) && (address || bluetooth)
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let logged = |m: &Message| m.trust == Trust::Logged;
    if !case.attempts.is_empty() || !case.parts.is_empty() || case.messages.iter().any(logged) {
        return;
    }
    let of_text = case.messages.iter().filter(|m| m.trust != Trust::Quoted);
    let all: Vec<Message> = of_text.map(bare).filter(|m| is_printed(m) && is_failure(m)).collect();
    let Some(first) = all.first() else { return };
    let last = all.last().map_or(first.line, |m| m.line);
    let patch = |m: &Message| m.text.starts_with("diff --git ") || m.text.starts_with("@@ ");
    if case.messages.iter().any(patch) {
        return;
    }
    let near = |m: &&Message| m.line <= last && m.line + AHEAD >= first.line;
    let after = |m: &&Message| {
        let lower = m.text.to_ascii_lowercase();
        m.trust == Trust::Prose && is_behind_a_sleep(&lower) && !is_printed(&bare(m))
    };
    // Of several sentences the nearest counts.
    let away = |m: &&Message| {
        let next = all.partition_point(|x| x.line < m.line);
        let below = all.get(next).map_or(u64::MAX, |x| x.line - m.line);
        let above = next.checked_sub(1).map_or(u64::MAX, |at| m.line - all[at].line);
        below.min(above)
    };
    let words = case.messages.iter().filter(near).filter(after).min_by_key(away);
    // What stands from it to the lines may take it back.
    let denied = words.is_some_and(|words| {
        let from = all.iter().rev().map(|x| x.line).find(|l| *l < words.line);
        let to = all.iter().map(|x| x.line).find(|l| *l > words.line).unwrap_or(last);
        let from = if words.line < first.line { words.line } else { from.unwrap_or(words.line) };
        let between = case.messages.iter().filter(|m| (from..=to).contains(&m.line));
        let mut said = between.filter(|m| m.trust == Trust::Prose && !is_printed(&bare(m)));
        said.any(|m| denies(&m.text.to_ascii_lowercase()))
    });
    if denied {
        return;
    }
    let exit = case.messages.iter().find(|m| stage::ends_sleep(m));
    let (by, shown) = match (words, exit) {
        (Some(m), _) => {
            let said: String =
                m.text.trim().trim_end_matches([':', '.']).chars().take(MOST).collect();
            (format!("the writer's words put them behind a sleep: \"{said}\""), m)
        }
        (None, Some(m)) => (format!("\"{}\" stands among them", m.text.trim()), m),
        (None, None) => return,
    };
    let mut devices: Vec<Device> = Vec::new();
    for device in all.iter().map(|m| owner(&m.text)) {
        if devices.iter().all(|d| d.name != device.name) {
            devices.push(device);
        }
    }
    // What another rule tells of it says more.
    if out.iter().any(|f| f.about.devices.iter().any(|d| devices.iter().any(|x| x.name == d.name)))
    {
        return;
    }
    let (reports, errors) = match (devices.len(), all.len()) {
        (1, 1) => ("reports", "an error".to_string()),
        (1, n) => ("reports", format!("{n} errors")),
        (_, n) => ("report", format!("{n} errors")),
    };
    let f = Finding::new(("errors-quoted", Area::Phase, Level::Risk), Confidence::Guess)
        .says(format!(
            "{} {reports} {errors}, the first: \"{}\". No stamp and no line of a sleep is beside them; {by}.",
            say::devices(&devices),
            first.text.trim()
        ))
        .look("Look whether the device works afterwards; the log of the kernel from the entry of the sleep on tells whether they are of it.")
        .times(all.len())
        .of_devices(devices)
        .at("resume")
        .when(Some(Direction::Resume), None)
        .shown_by(lines(all.iter().take(SHOWN)))
        .shown_by(lines([shown]));
    out.push(f);
}

/// So many letters of the writer's words are quoted.
const MOST: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<Finding> {
        let mut out = Vec::new();
        judge(&Case::of_prose(text), &mut out);
        out.pop()
    }

    #[test]
    fn errors_without_stamps_are_put_behind_a_sleep_by_words_alone() {
        let one = "elmwifi 0000:0c:00.0: failed to write VEX register, addr=0x77\n\
                   elmwifi 0000:0c:00.0: mac start fail, ret: -110\n";
        let f = told(&format!("The network is gone after resume:\n\n{one}")).expect("told");
        assert_eq!((f.level, f.confidence), (Level::Risk, Confidence::Guess));
        assert!(
            f.sentence.starts_with("0000:0c:00.0 (elmwifi) reports 2 errors"),
            "{}",
            f.sentence
        );
        assert!(f.sentence.contains("\"The network is gone after resume\""), "{}", f.sentence);
        let near = told(&format!("It is gone after resume.\nThe wifi breaks on wake:\n{one}"));
        let near = near.expect("told").sentence;
        assert!(near.contains("\"The wifi breaks on wake\""), "{near}");
        for fault in
            ["It works until I suspend, it is gone after resume:", "Nothing works after resume:"]
        {
            assert!(told(&format!("{fault}\n\n{one}")).is_some(), "{fault}");
        }
        let radio = "Errors upon resume:\n- Bluetooth: hci7: Opcode 0x2077 failed: -19\n";
        assert!(told(radio).is_some_and(|f| f.sentence.starts_with("hci7 reports an error")));
        let end = told(&format!("{one}PM: suspend exit\n")).expect("told");
        assert!(
            end.sentence.contains("\"PM: suspend exit\" stands among them"),
            "{}",
            end.sentence
        );
        for none in [
            one.to_string(),
            format!("The network is gone after a boot:\n\n{one}"),
            format!("After resume the wifi works. At start I see:\n\n{one}"),
            format!("After resume I looked.\nThe errors come only at boot:\n\n{one}"),
            format!("This is not after resume:\n\n{one}"),
            format!("Errors after resume.\nIt does not happen any more:\n\n{one}"),
            "Errors after resume:\n\nkernel 6.77: failed to write VEX register, error -5".into(),
            "Errors after resume:\n\nelm-vex re-try7: failed to write it, error -5".into(),
            "Errors after resume:\n\nsee bug-1277: the driver failed with error -5".into(),
            format!("It fails after resume.\n\ndiff --git a/x b/x\n{one}"),
            "The network is gone after resume, it failed.".into(),
            format!("It is gone after resume.{}{one}", "\n".repeat(20)),
        ] {
            assert!(told(&none).is_none(), "{none}");
        }
    }
}
