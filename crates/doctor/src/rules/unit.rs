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
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let why = |f: &Finding| match f.area {
        Area::Abort | Area::Freezer => true,
        Area::Hibernation => f.level == Level::Broken,
        _ => false,
    };
    if out.iter().any(why) {
        return;
    }
    let python = |m: &Message| {
        let (_, rest) = m.text.split_once("[Errno ")?;
        rest.split_once(']')?.0.parse::<i32>().ok()
    };
    let mut said: Vec<(&Message, Option<i32>)> = Vec::new();
    let words = [
        "Failed to write /sys/power/state: ",
        "System resumed again: ",
        "Failed to suspend",
        "write error",
    ];
    for (i, m) in case.messages.having_any(&words) {
        // systemd before 240 names the file.
        let systemd = || m.after("Failed to write /sys/power/state: ");
        let errno = if let Some(why) = m.after("System resumed again: ").or_else(systemd) {
            libc::said_by_libc(why).map(Some)
        } else if m.has("Failed to suspend") {
            case.messages[i + 1..].iter().take(2).find_map(python).map(Some)
        } else if let Some(why) = m.text.trim().strip_prefix("rtcwake: write error") {
            // Most of its versions do not say which (util-linux, sys-utils/rtcwake.c).
            Some(libc::said_by_libc(why.trim_start_matches([':', ' '])))
        } else {
            m.text.ends_with("write error: Device or resource busy").then_some(Some(EBUSY))
        };
        said.extend(errno.map(|e| (m, e)));
    }
    let units = failed_units(case);
    let errno = said.iter().find_map(|s| s.1);
    if said.is_empty() {
        return of_units(&units, out);
    }
    let verb = match units.first() {
        Some((_, unit)) if unit.contains("hibernate") => "hibernate the machine",
        _ => "put the machine to sleep",
    };
    let often = said.len().max(units.len());
    let why = match errno.map(|e| say::told(-e)) {
        Some(told) if often == said.len() => format!(": {told}"),
        Some(told) => format!("; {} it says why: {told}", say::once(said.len())),
        None => String::new(),
    };
    let text = format!("A program could not {verb}{}{why}.", say::and_times(often));
    let rule = ("write-refused", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!("{text} The text has no line of the kernel that says more."))
        .look(format!(
            "Take the kernel's own log of that moment: journalctl -k -o short-monotonic.{}",
            if matches!(errno, Some(16) | None) {
                " A pending wakeup gives EBUSY too."
            } else {
                ""
            }
        ))
        .times(often)
        .shown_by(lines(said.iter().map(|s| s.0)));
    out.push(match errno {
        Some(e) => f.of_error(-e),
        None => f,
    });
}

/// Lines of systemd that a unit which puts the machine to sleep failed, one a failure, and
/// which: it says so twice, and a text may have either.
fn failed_units(case: &Case) -> Vec<(&Message, &'static str)> {
    const WORDS: [&str; 2] = [".service: Failed with result ", "Failed to start "];
    const UNITS: [(&str, &str); 4] = [
        ("suspend-then-hibernate", "Suspend; Hibernate if not used for a period of time"),
        ("hybrid-sleep", "Hybrid Suspend+Hibernate"),
        ("hibernate", "Hibernate"),
        ("suspend", "Suspend"),
    ];
    let result = |m: &Message| {
        let unit = m.text.split_once(WORDS[0])?.0.rsplit_once("systemd-")?.1;
        UNITS.iter().find(|u| u.0 == unit).map(|u| u.0)
    };
    // `Failed to start systemd-hibernate.service - System Hibernate.`
    let start = |m: &Message| {
        let what = m.after(WORDS[1])?.trim_end_matches('.');
        let what = what.rsplit(" - ").next()?.strip_prefix("System ").unwrap_or(what);
        UNITS.iter().find(|u| u.1 == what).map(|u| u.0)
    };
    let all = |of: &dyn Fn(&Message) -> Option<&'static str>, word: &str| -> Vec<_> {
        case.messages.having(word).filter_map(|(_, m)| Some((m, of(m)?))).collect()
    };
    let (results, starts) = (all(&result, WORDS[0]), all(&start, WORDS[1]));
    if starts.len() > results.len() { starts } else { results }
}

/// One failed, and nothing else tells why.
fn of_units(units: &[(&Message, &str)], out: &mut Vec<Finding>) {
    let Some((_, unit)) = units.first() else { return };
    let rule = ("write-refused", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!(
            "systemd could not put the machine to sleep ({unit}){}. The text has no line that says why.",
            say::and_times(units.len())
        ))
        .look("Take the whole log of that moment, with the kernel's lines: journalctl -b -o short-monotonic.")
        .times(units.len())
        .shown_by(lines(units.iter().map(|u| u.0)));
    out.push(f);
}
