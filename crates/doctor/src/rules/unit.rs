//! Services of systemd that put the machine to sleep, and the words of programs for errors.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say;

/// One failed, and nothing else tells why.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = ".service: Failed with result ";
    const UNITS: [&str; 4] = ["suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate"];
    let of = |m: &Message| {
        let (before, _) = m.text.split_once(WORDS)?;
        let (_, unit) = before.rsplit_once("systemd-")?;
        UNITS.into_iter().find(|u| *u == unit)
    };
    let said: Vec<&Message> = case.messages.iter().filter(|m| of(m).is_some()).collect();
    let Some(unit) = said.first().and_then(|m| of(m)) else { return };
    let rule = ("write-refused", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!(
            "systemd could not put the machine to sleep ({unit}){}. The text has no line that says why.",
            say::and_times(said.len())
        ))
        .look("Take the whole log of that moment, with the kernel's lines: journalctl -b -o short-monotonic.")
        .times(said.len())
        .shown_by(lines(said));
    out.push(f);
}

/// The number of an error that the C library put into words, of those that a write to
/// `/sys/power/state` can give.
pub(super) fn said_by_libc(why: &str) -> Option<i32> {
    const WORDS: [(&str, i32); 9] = [
        ("Operation not permitted", 1),
        ("Interrupted system call", 4),
        ("Input/output error", 5),
        ("Cannot allocate memory", 12),
        ("Device or resource busy", 16),
        ("No such device", 19),
        ("Invalid argument", 22),
        ("No space left on device", 28),
        ("Connection timed out", 110),
    ];
    WORDS.iter().find(|w| why.starts_with(w.0)).map(|w| w.1)
}
