//! Programs and services of systemd that could not put the machine to sleep.

use super::libc::{self, EBUSY};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say;

/// A program that could not write to `/sys/power/state`, as it says itself: AMD's script
/// for s2idle prints the error of Python, shells and rtcwake that of the C library.
/// Where something else tells why, this says no more.
pub(super) fn refused(case: &Case, out: &mut Vec<Finding>) {
    if out.iter().any(|f| matches!(f.area, Area::Abort | Area::Freezer)) {
        return;
    }
    let python = |m: &Message| {
        let (_, rest) = m.text.split_once("[Errno ")?;
        rest.split_once(']')?.0.parse::<i32>().ok()
    };
    let mut said: Vec<(&Message, i32)> = Vec::new();
    let words = [
        "Failed to write /sys/power/state: ",
        "System resumed again: ",
        "Failed to suspend",
        "write error: Device or resource busy",
    ];
    for (i, m) in case.messages.having_any(&words) {
        // systemd before 240 names the file.
        let systemd = || m.after("Failed to write /sys/power/state: ");
        let errno = if let Some(why) = m.after("System resumed again: ").or_else(systemd) {
            libc::said_by_libc(why)
        } else if m.has("Failed to suspend") {
            case.messages[i + 1..].iter().take(2).find_map(python)
        } else {
            m.text.ends_with("write error: Device or resource busy").then_some(EBUSY)
        };
        said.extend(errno.map(|e| (m, e)));
    }
    let Some(&(_, errno)) = said.first() else { return judge(case, out) };
    let text = format!(
        "A program could not put the machine to sleep{}: {}. The text has no line of the kernel that says why.",
        say::and_times(said.len()),
        say::told(-errno)
    );
    let rule = ("write-refused", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Likely)
        .says(text)
        .look("Take the kernel's own log of that moment: journalctl -k -o short-monotonic. A pending wakeup gives EBUSY too.")
        .of_error(-errno)
        .times(said.len())
        .shown_by(lines(said.iter().map(|s| s.0)));
    out.push(f);
}

/// One failed, and nothing else tells why.
fn judge(case: &Case, out: &mut Vec<Finding>) {
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
