//! A kernel that crashes while devices go down or come back.

use super::lines;
use crate::Case;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::stack;
use dormouse_base::phase::Direction;

/// Where the sleep stands whose part `messages` are: nothing if none is under way there;
/// else whether devices come back.
fn way_back(messages: &[Message]) -> Option<bool> {
    let mut phases = false;
    for m in messages.iter().rev() {
        if m.says("suspend exit")
            || m.says("hibernation exit")
            || m.says("Restarting tasks")
            || m.says("OOM killer enabled")
            || m.text.starts_with("Linux version ")
        {
            break;
        }
        let back = m.has("resume of devices complete")
            || m.has("restore of devices complete")
            || m.has("Waking up from system sleep state")
            || m.says("Timekeeping suspended for ")
            || m.says("resume from suspend-to-idle")
            || m.says("Enabling non-boot CPUs");
        if back {
            return Some(true);
        }
        phases |= m.has("Suspending console(s)") || m.has("suspend of devices complete");
    }
    phases.then_some(false)
}

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    // What an area of its own says better.
    if out.iter().any(|f| matches!(f.id, "hib-crash" | "rpm-crash")) {
        return;
    }
    let parts: Vec<usize> = case.parts.iter().map(|p| p.0).collect();
    let mut from = 0;
    for (at, m) in case.messages.iter().enumerate().filter(|(_, m)| m.is_crash()) {
        // A panic ends what an earlier line of the same crash began.
        if at < from {
            continue;
        }
        from = at + 100;
        // Of an attempt, or of a part whose beginning is not in the text.
        let whole = case.attempts.iter().find(|a| (a.first..a.end).contains(&at));
        let part = || parts[..parts.partition_point(|&first| first < at)].last().copied();
        let Some(first) = whole.map(|a| a.first).or_else(part) else { continue };
        let Some(back) = way_back(&case.messages[first..at]) else { continue };
        let frames = stack::frames(&case.messages, at, 80);
        let function = frames.iter().find(|f| !stack::is_of_a_report(f));
        let (way, half) =
            if back { ("resumed", Direction::Resume) } else { ("suspended", Direction::Suspend) };
        let place = function.map_or(String::new(), |f| format!(", in {f}"));
        let f = Finding::new(("phase-crash", Area::Phase, Level::Broken), Confidence::Certain)
            .says(format!("The kernel crashed while devices {way}{place}."))
            .look("Report it to the maintainer of the driver that the function belongs to, with the whole crash; until then keep that driver unloaded across a sleep.")
            .of_function(function.copied())
            .when(Some(half), None)
            .shown_by(lines([m]));
        out.push(f);
        return;
    }
}
