//! Measurements of the kernel that a writer quotes inside of his sentences, in marks of code or in
//! quotation marks, where the text has no log of them: told by his word.

use super::{back, image};
use crate::case::Case;
use crate::earlier;
use crate::finding::{Confidence, Device, Finding};
use crate::message::{Message, Trust, thousandths};
use crate::stage::phase_took;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// So many lines below the sentence a list of devices may stand.
const BELOW: usize = 12;
/// So many devices of it are named.
const NAMED: usize = 4;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let kernel = |m: &Message| m.trust.is_of_a_kernel() && is_measured(m);
    if !case.attempts.is_empty() || !case.parts.is_empty() || case.messages.iter().any(kernel) {
        return;
    }
    let prose = case.messages.iter().filter(|m| m.trust == Trust::Prose);
    let said: Vec<Message> = prose.filter_map(quote).collect();
    // Of several, which is how it is now only his words tell.
    let [one] = &said[..] else { return };
    if is_over(case, one.line) {
        return;
    }
    let quoted = Case { messages: said.iter().cloned().collect(), ..Case::default() };
    let mut found = Vec::new();
    back::long(&quoted, &mut found);
    image::judge(&quoted, &mut found);
    for mut f in found {
        f.confidence = Confidence::Guess;
        f.sentence = f.sentence.trim_end().to_owned()
            + " That is a line which the writer quotes: the text has no log of it.";
        let (words, devices) = listed(case, one.line);
        f.sentence += &words;
        out.push(f.of_devices(devices));
    }
}

/// Whether the sentence of line `line`, with the lines that it is wrapped into, tells of an
/// earlier time: nothing is said of now by it.
fn is_over(case: &Case, line: u64) -> bool {
    const OVER: [&str; 8] = [
        "used to",
        "old kernel",
        "older kernel",
        "no longer",
        "fixed since",
        "cannot reproduce",
        "can't reproduce",
        "gone",
    ];
    let Some(at) = case.messages.iter().position(|m| m.line == line) else { return false };
    let goes_on = |m: &Message| !m.text.trim_end().ends_with(['.', '!', '?']);
    let own = &case.messages[at];
    let beside = |m: &Message| m.trust == Trust::Prose && m.line.abs_diff(line) == 1;
    let before = at.checked_sub(1).map(|b| &case.messages[b]);
    let before = before.filter(|m| beside(m) && goes_on(m));
    let after = case.messages.get(at + 1).filter(|m| goes_on(own) && beside(m));
    let parts = before.into_iter().chain([own]).chain(after);
    let said = parts.map(|m| m.text.trim().to_string()).collect::<Vec<_>>().join(" ");
    let lower = said.to_ascii_lowercase();
    let said = [said];
    OVER.iter().any(|w| lower.contains(w)) || earlier::tells_of_then(&said, &said)
}

/// Whether a message tells how long a phase or an image took.
fn is_measured(m: &Message) -> bool {
    phase_took(m).is_some() || image::took(m).is_some()
}

/// The measurement that a sentence quotes, as the message that it was.
fn quote(m: &Message) -> Option<Message> {
    let quotes = |mark: char| m.text.split(mark).skip(1).step_by(2);
    let all = quotes('`').chain(quotes('"')).chain([m.text.as_str()]);
    let mut all = all.filter(|q| {
        // What is no line of its own needs marks around it.
        let inside = q.len() < m.text.len();
        q.starts_with("PM: ") || inside && q.contains(" of devices complete after ")
    });
    let text = all.next()?;
    let message = Message {
        text: text.trim().into(),
        trust: Trust::Shown,
        time: None,
        second: None,
        ..m.clone()
    };
    is_measured(&message).then_some(message)
}

/// The slowest devices of a list below line `line`: `pcieport 0000:06:00.0 (left) 6.16 s`.
fn listed(case: &Case, line: u64) -> (String, Vec<Device>) {
    let below = case.messages.iter().skip_while(|m| m.line <= line).take(BELOW);
    let row = |m: &Message| {
        let words: Vec<&str> = m.text.split_whitespace().collect();
        let [driver, name, .., value, unit] = words[..] else { return None };
        let thousand = match unit.trim_end_matches(['.', ',']) {
            "s" | "sec" | "seconds" => 1_000_000,
            "ms" | "msec" | "msecs" => 1_000,
            _ => return None,
        };
        let plain = driver.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        let address = name.contains(':') && name.contains('.') && name.ends_with(char::is_numeric);
        let number = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let took = i64::try_from(thousandths(value)?).ok()?.checked_mul(thousand)?;
        let device = Device { name: name.into(), driver: driver.into() };
        (plain && address && number).then_some((Ns(took), device))
    };
    let mut rows: Vec<(Ns, Device)> = below.filter_map(row).collect();
    rows.sort_by_key(|r| std::cmp::Reverse(r.0));
    rows.truncate(NAMED);
    let list: Vec<String> =
        rows.iter().map(|(t, d)| format!("{} {}", say::device(d), say::span(*t))).collect();
    let words = match list.is_empty() {
        true => String::new(),
        false => format!(" The slowest by his list: {}.", list.join(", ")),
    };
    (words, rows.into_iter().map(|r| r.1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&Case::of_prose(text), &mut out);
        out
    }

    #[test]
    fn a_measurement_that_a_writer_quotes_is_told_by_his_word() {
        for (text, id, words) in [
            (
                "It takes ages, and dmesg says `PM: resume of devices complete after 17077.5 msecs` here.",
                "phase-long",
                "17.1 s",
            ),
            (
                "So \"PM: hibernation: Allocated 7000 kbytes in 77.7 seconds (0.1 MB/s)\" it says.",
                "hib-allocate-slow",
                "77.7 s",
            ),
            (
                "Before: `PM: hibernation: Allocated 7000 kbytes in 77.7s (0.1 MB/s)` each time",
                "hib-allocate-slow",
                "77.7 s",
            ),
            (
                "PM: hibernation: Allocated 7000 kbytes in 77.7s (0.1 MB/s)",
                "hib-allocate-slow",
                "77.7 s",
            ),
            (
                "I see `PM: Wrote 7000 kbytes in 177.2 seconds (0.1 MB/s)` each time",
                "hib-image-time",
                "177.2",
            ),
        ] {
            let found = told(text);
            assert_eq!((found[0].id, found[0].confidence), (id, Confidence::Guess), "{text}");
            assert!(found[0].sentence.contains(words), "{}", found[0].sentence);
        }
        let list = told(
            "Here it goes: `noirq resume of devices complete after 17077 msecs`, of which\n\
             elmport 0000:0b:00.0  (left)   7.17 s\n\
             elmport 0000:0c:00.0  (right)  900 ms\n",
        );
        let words = &list[0].sentence;
        assert!(words.contains("list: 0000:0b:00.0 (elmport) 7.2 s, 0000:0c:00.0"), "{words}");
    }

    #[test]
    fn what_is_quick_or_said_twice_is_not() {
        for text in [
            "dmesg says `PM: resume of devices complete after 177.5 msecs` here.",
            "It was `PM: resume of devices complete after 17077.5 msecs`.\n\
             Now it is `PM: resume of devices complete after 777.5 msecs`.",
            "It used to say `PM: resume of devices complete after 17077.5 msecs` here.",
            "On the old kernel I had\n`PM: resume of devices complete after 17077.5 msecs` here.",
            "It said `PM: resume of devices complete after 17077.5 msecs`, which is fixed since.",
            "The `PM: resume of devices complete after 17077.5 msecs` is gone.",
            "It says `PM: suspend exit` here.",
            "The resume of devices complete after 17077 msecs is long.",
        ] {
            assert!(told(text).is_empty(), "{text}");
        }
    }
}
