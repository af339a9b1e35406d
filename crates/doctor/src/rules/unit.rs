//! Services of systemd that put the machine to sleep.

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
    let said: Vec<&Message> =
        case.messages.having(WORDS).map(|(_, m)| m).filter(|m| of(m).is_some()).collect();
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
