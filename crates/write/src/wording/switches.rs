//! Power domains that were switched inside callbacks.

use super::phase;
use dormouse_sleep::analyse::switch::{Cause, Inferred};

/// The heading of the list.
pub const HEADING: &str = "Power domains switched in callbacks";

/// What is to be said of one that was recorded; `name` names a device.
pub fn cause(
    c: &Cause,
    domain: &str,
    name: impl Fn(dormouse_model::device::DeviceId) -> String,
) -> String {
    let way = if c.on { "on" } else { "off" };
    let mut text = format!("{domain} {way}, {}", phase(c.phase));
    if let Some(d) = c.device {
        let place = if c.on { "first" } else { "last" };
        text.push_str(&format!("; {place} of it: {}", name(d)));
        if c.unused {
            text.push_str(", which was suspended at run time");
        }
    }
    match &c.waited[..] {
        [] => {}
        [one] => text.push_str(&format!("; {} waited meanwhile", name(*one))),
        [one, rest @ ..] => {
            text.push_str(&format!("; {} and {} more waited meanwhile", name(*one), rest.len()));
        }
    }
    text
}

/// The same where durations alone suggest it.
pub fn inferred(i: &Inferred, name: &str) -> String {
    format!(
        "at least, inferred: the power domain of {name}, {}; its callback is so much longer than \
         others with a domain",
        phase(i.phase)
    )
}

/// How to record it.
pub const RECORD: &str = "Domains were not recorded: --with domains names them.";
