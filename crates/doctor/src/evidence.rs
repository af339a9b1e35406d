//! Messages, values and cycles of a recording as evidence.

use crate::finding::{Device, Evidence};
use crate::message::Message;
use crate::value::Value;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::time::Ns;

/// Evidence of `messages`, at most three of them.
pub(crate) fn lines<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Evidence> {
    messages.into_iter().take(3).map(Evidence::from).collect()
}

/// A value as evidence.
pub(crate) fn value(v: &Value) -> Evidence {
    Evidence { line: v.line, time: None, text: format!("{}: {}", v.path, v.value), doubtful: false }
}

pub(crate) fn device(capture: &Capture, d: DeviceId) -> Device {
    let known = capture.graph.get(d);
    let text = |sym| capture.names.get(sym).to_string();
    Device { name: text(known.name), driver: text(known.driver) }
}

/// What was seen in cycle `at`, as evidence.
pub(crate) fn seen(capture: &Capture, at: usize, time: Ns, text: &str) -> Evidence {
    let text = match capture.cycles.len() {
        1 => text.into(),
        _ => format!("cycle {}: {text}", at + 1),
    };
    Evidence { line: 0, time: Some(time), text, doubtful: false }
}

/// Cycles with their places.
pub(crate) fn cycles(capture: &Capture) -> impl Iterator<Item = (usize, &Cycle)> {
    capture.cycles.iter().enumerate()
}
