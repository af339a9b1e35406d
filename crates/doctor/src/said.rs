//! What messages say by their formats alone: errors that no rule knows, and which kernels
//! print them.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::formats::{Formats, Meaning, all};
use crate::message::{Message, Trust};
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
pub(crate) fn unjudged(m: &Message) -> Option<Unjudged> {
    // A row of a dump is one of what the dump tells.
    if m.trust != Trust::Logged || sums_up(&m.text) || is_frame(&m.text) {
        return None;
    }
    let Some(known) = all().recognise(&m.text) else {
        return complains(&m.text).then(|| Unjudged {
            line: m.line,
            subject: "",
            device: String::new(),
        });
    };
    let is = if known.format.meaning == Some(Meaning::Nothing) {
        false
    } else {
        known.format.is_error() || complains(&m.text)
    };
    is.then(|| Unjudged {
        line: m.line,
        subject: known.format.subject,
        device: known.device.map_or(String::new(), |d| d.1.to_string()),
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

/// Whether a message is a function of a dump: `? schedule_timeout+0x20/0x2a0`,
/// `[<c0611c1c>] (schedule_timeout+0x20/0x2a0) from …`.
fn is_frame(text: &str) -> bool {
    let text = text.trim_start();
    let word = text.trim_start_matches("? ").split(' ').next().unwrap_or_default();
    text.starts_with("[<") || word.contains("+0x") && word.contains("/0x")
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
    returned(m).is_some_and(|f| of(f.device, f.error)) || nameless(m).is_some_and(|e| of("", e))
}

/// The error of `PM: failed to suspend async: error -16`, which somebody cut the device off.
fn nameless(m: &Message) -> Option<i32> {
    let rest = m.text.strip_prefix("PM: failed to ")?;
    rest.split_once(": error ")?.1.trim().parse().ok()
}

/// Whether a message tells of an error, by its words.
pub(crate) fn complains(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let says = |word: &str| text.contains(word);
    (says(" error") || says("failed") || says("timed out") || says("timeout"))
        && !says("error 0")
        && !sums_up(&text)
        && !says("0 errors")
        && !says("no error")
}

/// Which kernels print all that is said inside the attempts of a text that names none:
/// nothing if all do, or none does, because the lines are of several or of another.
pub(crate) fn printed(case: &Case) -> Option<Printed> {
    // The banner, and the head of every report (kernel/panic.c:print_tainted).
    let names = |m: &Message| {
        m.text.starts_with("Linux version ") || m.has("Not tainted ") || m.has("Tainted: ")
    };
    if case.messages.iter().any(names) {
        return None;
    }
    let formats: &'static Formats = all();
    let mut kernels = formats.kernels.clone();
    let mut line = None;
    let said = case.attempts.iter().flat_map(|a| case.of(a));
    for m in said.filter(|m| m.trust.is_of_a_kernel()) {
        let Some(known) = formats.recognise(&m.text) else { continue };
        let before = kernels.len();
        kernels.retain(|k| known.kernels().any(|x| x == *k));
        if kernels.len() < before {
            line = Some(m.line);
        }
    }
    Some(Printed { line: line.filter(|_| !kernels.is_empty())?, kernels })
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
        Case { messages, attempts, ..Case::default() }
    }

    #[test]
    fn a_message_of_one_kernel_tells_it() {
        let told = |texts: &[&str]| printed(&case(texts)).map(|p| (p.kernels.join(" "), p.line));
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
        let told = |text: &str| {
            let case = case(&[text]);
            unjudged(&case.messages[0]).map(|u| (u.subject, u.device))
        };
        let dead = "xhci_hcd 0000:4c:00.3: HC died; cleaning up";
        assert_eq!(told(dead), Some(("usb", "0000:4c:00.3".into())));
        assert_eq!(told("zorble 7-1: the vex failed"), Some(("", String::new())));
        assert_eq!(told("PM: suspend exit"), None);
        assert_eq!(told("devtmpfs: error mounting -2"), None);
    }
}
