//! What messages say by their formats alone: errors that no rule knows, and which kernels
//! print them.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::formats::{Formats, Known, Meaning, all};
use crate::message::{Message, Trust};
use crate::refusal;
use crate::rules::abort::{owner, returned};
use dormouse_base::say;

/// A message of an attempt that tells of an error, and that no rule judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// Its line.
    pub line: u64,
    /// The part of the kernel that says it; empty where the format is not known.
    pub subject: &'static str,
    /// The device that it is said of; empty if of none, or if the format is not known.
    pub device: String,
}

/// Which kernels print what a text shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Those, of the kernels whose sources were read.
    pub kernels: Vec<&'static str>,
    /// A line that tells it.
    pub line: u64,
}

/// The message as an error that no rule judged, if it is one. What the source calls an error
/// or worse is one in whatever words; of other messages the words decide.
fn unjudged(m: &Message, known: Option<&Known<'_>>) -> Option<Unjudged> {
    let is = match known.map(|k| k.format) {
        Some(f) if f.meaning == Some(Meaning::Nothing) => false,
        Some(f) => f.is_error() || complains(&m.text),
        None => complains(&m.text),
    };
    // A row of a dump is one of what the dump tells.
    let is = is && m.trust == Trust::Logged && !sums_up(&m.text) && !is_frame(&m.text);
    is.then(|| Unjudged {
        line: m.line,
        subject: known.map_or("", |k| k.format.subject),
        device: known.and_then(|k| k.device).map_or(String::new(), |d| d.1.to_string()),
    })
}

/// The finding that there are errors that no rule knows: it judges none of them, so that they
/// are not passed over in silence.
pub(crate) fn not_judged(errors: &[(&Message, Unjudged)]) -> Option<Finding> {
    let (first, known) = errors.first()?;
    let device = match known.device.as_str() {
        "" => owner(&first.text),
        name => Device { name: name.into(), ..owner(&first.text) },
    };
    let who = !device.name.is_empty() && first.text.contains(&format!("{}: ", device.name));
    let of = if who { format!(" of {}", say::device(&device)) } else { String::new() };
    let text = first.text.trim();
    let sentence = match errors.len() {
        1 => format!("A line tells of an error{of} that no rule knows: \"{text}\"."),
        n => format!("{n} lines tell of errors that no rule knows, the first{of}: \"{text}\"."),
    };
    let f = Finding::new(("not-judged", Area::Phase, Level::Note), Confidence::Certain)
        .says(sentence)
        .look("Whether it has to do with the sleep is not judged: read the lines around it.")
        .times(errors.len())
        .of_devices(who.then_some(device))
        .shown_by(lines(errors.iter().map(|e| e.0)));
    Some(f)
}

/// Whether a message says nothing that those before it do not tell: the last words of
/// kernel/power/suspend.c:suspend_devices_and_enter and suspend_enter, and of
/// kernel/hung_task.c:check_hung_task.
fn sums_up(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("some devices failed to suspend")
        || text.contains("suspend of devices failed")
        || text.contains("disables this message")
}

/// Whether a message is a row of a dump: `? schedule_timeout+0x20/0x2a0`,
/// `[<c0611c1c>] (schedule_timeout+0x20/0x2a0) from …`, `#PF: error_code(0x0002) - …`.
fn is_frame(text: &str) -> bool {
    let text = text.trim_start();
    let word = text.trim_start_matches("? ").split(' ').next().unwrap_or_default();
    text.starts_with("[<")
        || text.starts_with("#PF: ")
        || word.contains("+0x") && word.contains("/0x")
}

/// Whether a message is what the core says more of a failure that a finding tells: the
/// callback that returned the error, or the device in words of which its name was lost.
pub(crate) fn is_told(m: &Message, findings: &[Finding]) -> bool {
    let of = |device: &str, error: i32| {
        findings.iter().any(|f| {
            f.about.error == Some(error)
                && (device.is_empty() || f.about.devices.iter().any(|d| d.name == device))
        })
    };
    let core = || refusal::of_core(&m.text).is_some() || refusal::of_image(&m.text).is_some();
    let refused = || refusal::of_device(&m.text).or_else(|| refusal::of_restore(&m.text));
    returned(m).is_some_and(|f| of(f.device, f.error))
        || refused().is_some_and(|r| r.device.is_empty() && of("", r.error))
        || core() && findings.iter().any(|f| matches!(f.area, Area::Abort | Area::Hibernation))
}

/// Whether a message tells of an error, by its words.
pub(crate) fn complains(text: &str) -> bool {
    // Each of the words has one of these pairs of letters, and few other lines have one. All
    // pairs are looked at, because a processor does many at a time.
    let bytes = text.as_bytes();
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    let any = pairs.fold(false, |any, (a, b)| {
        let (a, b) = (a | 32, b | 32);
        let is = |x: u8, y: u8| (a == x) & (b == y);
        any | is(b'r', b'r') | is(b'f', b'a') | is(b'i', b'm')
    });
    if !any {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let says = |word: &str| text.contains(word);
    (says(" error") || says("failed") || says("timed out") || says("timeout"))
        && !says("error 0")
        && !sums_up(&text)
        && !says("0 errors")
        && !says("no error")
}

/// What is said inside the attempts of a text by formats alone: errors that no rule may have
/// judged, and which kernels print all of it. Of the latter nothing if the text names its
/// kernel, if all do, or if none does, because the lines are of several or of another.
pub(crate) fn told(case: &Case) -> (Vec<(&Message, Unjudged)>, Option<Printed>) {
    // The banner, and the head of every report (kernel/panic.c:print_tainted).
    let named = || {
        let banner = |(_, m): (usize, &Message)| m.text.starts_with("Linux version ");
        case.messages.has("Not tainted ")
            || case.messages.has("Tainted: ")
            || case.messages.having("Linux version ").any(banner)
    };
    let formats: &'static Formats = all();
    let (mut errors, mut kernels, mut line) = (Vec::new(), formats.kernels.clone(), None);
    let said = case.attempts.iter().flat_map(|a| case.of(a));
    for m in said.filter(|m| m.trust.is_of_a_kernel()) {
        let known = formats.recognise(&m.text);
        errors.extend(unjudged(m, known.as_ref()).map(|u| (m, u)));
        let Some(known) = known.filter(|_| !kernels.is_empty()) else { continue };
        let before = kernels.len();
        kernels.retain(|k| known.kernels().any(|x| x == *k));
        if kernels.len() < before {
            line = Some(m.line);
        }
    }
    let line = line.filter(|_| !kernels.is_empty() && !named());
    (errors, line.map(|line| Printed { kernels, line }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    fn case(texts: &[&str]) -> Case {
        let message = |(i, text): (usize, &&str)| Message {
            line: i as u64 + 1,
            time: None,
            second: None,
            text: (*text).into(),
            trust: Trust::Logged,
        };
        let messages: Vec<Message> = texts.iter().enumerate().map(message).collect();
        let attempts = vec![Attempt { end: messages.len(), ..Attempt::default() }];
        Case { messages: messages.into(), attempts, ..Case::default() }
    }

    #[test]
    fn a_message_of_one_kernel_tells_it() {
        let told =
            |texts: &[&str]| super::told(&case(texts)).1.map(|p| (p.kernels.join(" "), p.line));
        let entry = "PM: suspend entry (deep)";
        assert_eq!(told(&[entry, "PM: suspend exit"]), None);
        assert_eq!(told(&[entry, "Restarting tasks: Starting"]), Some(("7.3".into(), 2)));
        let older = told(&[entry, "Restarting tasks ..."]);
        assert_eq!(older, Some(("6.1 6.12".into(), 2)));
        // Of two machines.
        assert_eq!(told(&["Restarting tasks: Starting", "Restarting tasks ..."]), None);
        assert_eq!(told(&["Linux version 6.19.2", "Restarting tasks: Starting"]), None);
    }

    #[test]
    fn what_the_source_calls_an_error_is_one_in_any_words() {
        let error = |text: &str| {
            told(&case(&[text])).0.into_iter().next().map(|(_, u)| (u.subject, u.device))
        };
        let dead = "xhci_hcd 0000:4c:00.3: HC died; cleaning up";
        assert_eq!(error(dead), Some(("usb", "0000:4c:00.3".into())));
        assert_eq!(error("zorble 7-1: the vex failed"), Some(("", String::new())));
        assert_eq!(error("PM: suspend exit"), None);
        assert_eq!(error("devtmpfs: error mounting -2"), None);
    }

    #[test]
    fn complaints_are_seen_in_any_case_of_letters() {
        for words in [" error", "failed", "timed out", "timeout"] {
            for text in [words.to_string(), words.to_uppercase(), words.replace('t', "T")] {
                assert!(complains(&format!("x: y{text}")), "{text}");
                assert!(!complains(&text[..text.len() - 1]), "{text}");
            }
        }
        assert!(!complains("x: error 0") && !complains("") && !complains("\u{e4}"));
    }
}
