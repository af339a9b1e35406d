//! Sentences and labels that several writers share.

use dormouse_model::capture::Capture;
use dormouse_model::device::DeviceId;
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::answer::{Half, Target};
use dormouse_sleep::analyse::decode::decode;
use dormouse_sleep::analyse::path::{Reason, Segment};
use dormouse_sleep::analyse::rows::{What, gap_content};
use dormouse_sleep::analyse::{CycleView, per_mille};

/// `12.3 %`.
pub fn percent(part: Ns, whole: Ns) -> String {
    let p = per_mille(part, whole);
    format!("{}.{} %", p / 10, p % 10)
}

/// Name of a device; the number of the device if the graph has none.
pub fn name(capture: &Capture, id: DeviceId) -> &str {
    let name = capture.graph.devices.get(id.index()).map_or("", |d| capture.names.get(d.name));
    if name.is_empty() { "(no name)" } else { name }
}

/// Driver of a device, or what the source prints in its place.
pub fn driver(capture: &Capture, id: DeviceId) -> &str {
    capture.graph.devices.get(id.index()).map_or("", |d| capture.names.get(d.driver))
}

/// What the name means, if its form is known.
pub fn meaning(capture: &Capture, id: DeviceId) -> Option<String> {
    decode(name(capture, id), driver(capture, id)).map(|m| m.text())
}

/// `serio1 (psmouse; serio PS/2 port 1)`.
pub fn device(capture: &Capture, id: DeviceId) -> String {
    let (name, driver) = (name(capture, id), driver(capture, id));
    match (driver, meaning(capture, id)) {
        ("", None) => name.to_string(),
        ("", Some(m)) => format!("{name} ({m})"),
        (d, None) => format!("{name} ({d})"),
        (d, Some(m)) => format!("{name} ({d}; {m})"),
    }
}

/// `late suspend` or `noirq resume`: a phase with its direction where the name
/// alone is not enough.
pub fn phase(p: Phase) -> String {
    match p {
        Phase::Noirq | Phase::Late | Phase::SyscoreSuspend => format!("{} suspend", p.name()),
        Phase::ResumeNoirq | Phase::ResumeEarly | Phase::SyscoreResume => {
            format!("{} resume", p.name())
        }
        p => p.name().to_string(),
    }
}

/// What a row is called in a table.
pub fn row(what: What, phases: &[dormouse_model::cycle::PhaseSpan]) -> String {
    match what {
        What::Phase(i) => {
            let span = &phases[i as usize];
            match span.phase {
                Phase::CpuOff | Phase::CpuOn => format!("{} {}", span.phase.name(), span.cpu),
                p => p.name().to_string(),
            }
        }
        What::Gap { after, before } => format!("gap: {}", gap_content(after, before)),
        What::Asleep { turns: 1 } => "asleep".into(),
        What::Asleep { turns } => format!("asleep, {turns} turns"),
        What::Turn => "pm_test waits".into(),
    }
}

/// Why a segment did not start earlier, as a clause.
pub fn reason(capture: &Capture, s: &Segment) -> String {
    let who = s.waited_for.map_or("another device", |d| name(capture, d));
    let mut text = match s.reason {
        Reason::Child => format!("waited for its child {who}"),
        Reason::Parent => format!("waited for its parent {who}"),
        Reason::Consumer => format!("waited for its consumer {who}"),
        Reason::Supplier => format!("waited for its supplier {who}"),
        Reason::MainThread if s.is_gap() => "main thread between devices".into(),
        Reason::MainThread if s.through_silent || s.waited_for.is_none() => {
            format!("main thread was held by {who}")
        }
        Reason::MainThread => format!("main thread order, after {who}"),
        Reason::Queue => format!("queued by the main thread only after {who}"),
        Reason::WorkerStart => "worker thread starting".into(),
        Reason::PhaseBegin => "first of the phase".into(),
        Reason::PhaseEnd => "phase ends".into(),
        Reason::Unexplained => "not explained by this log".into(),
    };
    if s.through_silent
        && matches!(s.reason, Reason::Child | Reason::Parent | Reason::Consumer | Reason::Supplier)
    {
        text.push_str(" (no callback itself)");
        if let Some(a) = s.after.filter(|&a| Some(a) != s.waited_for) {
            text.push_str(&format!(", which was held by {}", name(capture, a)));
        }
    }
    if !s.proven && !s.is_gap() {
        text.push_str(" (assumed)");
    }
    text
}

/// What to attack first of all: the device and the wait, in one sentence.
pub fn verdict(capture: &Capture, view: &CycleView) -> Option<String> {
    let (half, target) = view.answer.first()?;
    let Target::Device { device: d, phase: p, on_path, gain, waiter, segment, .. } = *target else {
        return None;
    };
    if per_mille(on_path, half.total) < 20 {
        return None;
    }
    let path = &view.phases.get(segment.0 as usize)?.path;
    let before = path.get(segment.1 as usize).filter(|s| s.waited_for.is_some());
    let before =
        before.map_or(String::new(), |s| format!(" Its own start: {}.", reason(capture, s)));
    let after = match waiter {
        Some((w, r)) => format!("{} {}", name(capture, w), waits(r)),
        None => "the end of the phase waits for it".to_string(),
    };
    Some(format!(
        "Attack first: {} in {}, {gain} to gain of {}; {after}.{before}",
        device(capture, d),
        phase(p),
        half.total
    ))
}

/// What to attack first in one half, as sentences.
pub fn answer(capture: &Capture, view: &CycleView, half: &Half) -> String {
    let mut text = format!("{} {}: ", capitalised(half.direction), half.total);
    text.push_str(&target(capture, view, half, &half.largest));
    // A device that is next to nothing is no advice.
    if let Some(d) = half.device.as_ref().filter(|d| per_mille(d.time(), half.total) >= 50) {
        text.push_str(" The device to attack first: ");
        text.push_str(&target(capture, view, half, d));
    }
    text
}

fn target(capture: &Capture, view: &CycleView, half: &Half, t: &Target) -> String {
    let share = percent(t.time(), half.total);
    match *t {
        Target::Device { device: d, phase: p, on_path, gain, waiter, delay, segment } => {
            let wait = match waiter {
                Some((w, r)) => format!(" {} {}.", name(capture, w), waits(r)),
                None => format!(" The end of {} waits for it.", phase(p)),
            };
            let seen = view.phases.get(segment.0 as usize);
            let rival = seen.and_then(|v| v.rival).filter(|r| r.0 == d).map(|r| r.1);
            let gained = match rival {
                _ if gain == on_path => "all of it would be gained without it".to_string(),
                Some(r) => {
                    format!("{gain} would be gained without it, then {} decides", name(capture, r))
                }
                None => format!("{gain} would be gained without it"),
            };
            let late = match seen.and_then(|v| v.path.get(segment.1 as usize)) {
                Some(s)
                    if per_mille(delay, half.total) >= 100
                        && !matches!(s.reason, Reason::PhaseBegin | Reason::Unexplained) =>
                {
                    format!(" It began {delay} into the phase: {}.", reason(capture, s))
                }
                _ => String::new(),
            };
            format!(
                "{share} is {} in {}: {on_path} on the critical path, {gained}.{late}{wait}",
                device(capture, d),
                phase(p),
            )
        }
        Target::Gap { after, before, time } => {
            format!("{share}, {time}, is no phase: {}.", gap(after, before))
        }
        Target::Phase { phase: p, time } => {
            format!("{share} is {}, {time}; no device is in it.", phase(p))
        }
        Target::Unexplained { phase: p, time } => {
            format!("{share} is in {}, {time}, not explained by this log.", phase(p))
        }
    }
}

fn waits(r: Reason) -> &'static str {
    match r {
        Reason::Child => "waits for it as its child",
        Reason::Parent => "waits for it as its parent",
        Reason::Consumer => "waits for it as its consumer",
        Reason::Supplier => "waits for it as its supplier",
        Reason::MainThread => "waits for the main thread behind it",
        Reason::Queue => "is queued only after it",
        _ => "comes after it",
    }
}

/// `platform wake (firmware) between cpu_on and noirq resume`.
pub fn gap(after: Option<Phase>, before: Option<Phase>) -> String {
    match gap_content(after, before) {
        "between phases" => format!("gap{}", between(after, before)),
        known => format!("{known}{}", between(after, before)),
    }
}

/// ` between X and Y`, as far as both are known.
pub fn between(after: Option<Phase>, before: Option<Phase>) -> String {
    match (after, before) {
        (Some(a), Some(b)) => format!(" between {} and {}", phase(a), phase(b)),
        (Some(a), None) => format!(" after {}", phase(a)),
        (None, Some(b)) => format!(" before {}", phase(b)),
        (None, None) => String::new(),
    }
}

/// `Suspend` or `Resume`.
pub fn capitalised(d: Direction) -> &'static str {
    match d {
        Direction::Suspend => "Suspend",
        Direction::Resume => "Resume",
    }
}

/// `1 device`, `2 devices`.
pub fn plural(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
