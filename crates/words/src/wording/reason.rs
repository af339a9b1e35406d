//! Why a callback started no earlier: one list for every screen.

use super::device::name;
use dormouse_base::capture::Capture;
use dormouse_base::say::capital;
use dormouse_sleep::analyse::path::{Reason, Segment};

/// Followed by a device where one is known.
pub fn stem(reason: Reason) -> &'static str {
    match reason {
        Reason::Child => "waited for its child",
        Reason::Parent => "waited for its parent",
        Reason::Consumer => "waited for its consumer",
        Reason::Supplier => "waited for its supplier",
        Reason::MainThread => "ran on the main thread after",
        Reason::Queue => "async, but queued late: the main thread was still busy with",
        Reason::WorkerStart => "its worker thread started late, after",
        Reason::PhaseBegin => "first callback of the phase",
        Reason::PhaseEnd => "after the last callback",
        Reason::Unexplained => "cause not in this log",
    }
}

/// Where no device is named.
pub fn alone(reason: Reason) -> &'static str {
    match reason {
        Reason::Child => "waited for a child",
        Reason::Parent => "waited for its parent",
        Reason::Consumer => "waited for a consumer",
        Reason::Supplier => "waited for a supplier",
        Reason::MainThread => "main thread order",
        Reason::Queue => "async, but queued late by the main thread",
        Reason::WorkerStart => "its worker thread started late",
        other => stem(other),
    }
}

/// Of a piece of the critical path, as a clause about its device.
pub fn reason(capture: &Capture, s: &Segment) -> String {
    let mut text = match (s.reason, s.waited_for) {
        (Reason::Unexplained, _) if !s.is_gap() => {
            return "why it began so late is not in this log".into();
        }
        (Reason::MainThread, _) if s.is_gap() => "main thread between devices".into(),
        (Reason::PhaseBegin, _) if s.is_gap() => "before the first callback".into(),
        (Reason::MainThread, Some(w)) if s.through_silent => {
            format!("main thread waited for {}", name(capture, w))
        }
        (r, Some(w)) if !no_device(r) => format!("{} {}", stem(r), name(capture, w)),
        (Reason::Unexplained, _) => silence(capture).into(),
        (r, _) => alone(r).to_string(),
    };
    if s.through_silent && is_dependency(s.reason) {
        text.push_str(" (no callback)");
        if let Some(a) = s.after.filter(|&a| Some(a) != s.waited_for) {
            text.push_str(&format!(", which waited its turn behind {}", name(capture, a)));
        }
    }
    if !s.proven && !s.is_gap() {
        text.push_str(" (assumed)");
    }
    text
}

/// Of time in which no callback of the path ran, and nothing is waited for.
pub fn silence(capture: &Capture) -> &'static str {
    match capture.losses.count("pm_trace") {
        0 => alone(Reason::Unexplained),
        _ => "between callbacks (pm_trace set the clock)",
    }
}

/// Whether [`stem`] is followed by a device, where one is known.
pub(crate) fn names_device(r: Reason) -> bool {
    !no_device(r)
}

/// The reason names no device.
fn no_device(r: Reason) -> bool {
    matches!(r, Reason::PhaseBegin | Reason::PhaseEnd | Reason::Unexplained | Reason::WorkerStart)
}

/// A wait for a device, not for a turn.
pub(crate) fn is_dependency(r: Reason) -> bool {
    matches!(r, Reason::Child | Reason::Parent | Reason::Consumer | Reason::Supplier)
}

/// Why `name` started no earlier than `at` into its `phase`, as a sentence.
pub(crate) fn late_start(
    capture: &Capture,
    s: &Segment,
    at: dormouse_base::time::Ns,
    phase: &str,
) -> String {
    let at = format!("{at} into the {phase} phase");
    let Some(w) = s.waited_for else {
        return format!("It started {at}: {}.", reason(capture, s));
    };
    let who = name(capture, w);
    let behind = s.after.filter(|&a| Some(a) != s.waited_for).map(|a| name(capture, a));
    match (s.reason, behind) {
        (Reason::MainThread, _) => format!("It started {at}, behind {who} on the main thread."),
        (Reason::Queue, _) => {
            format!("It is async, but was queued {at}, behind {who} on the main thread.")
        }
        (r, Some(behind)) if is_dependency(r) && s.through_silent => {
            let kin = stem(r).trim_start_matches("waited for ");
            let kin = capital(kin);
            format!(
                "It started {at}. {kin} {who} (no callback) had to wait its turn, behind \
                 {behind}."
            )
        }
        _ => format!("It started {at}: it {}.", reason(capture, s)),
    }
}
