//! Power domains that were switched inside callbacks.

use super::phase;
use dormouse_base::device::DeviceId;
use dormouse_doctor::switch::{Cause, others};

/// The heading of the list.
pub(crate) const HEADING: &str = "Power domains switched in callbacks";

/// What is to be said of one; `name` names a device.
pub fn cause(c: &Cause, domain: Option<&str>, name: impl Fn(DeviceId) -> String) -> String {
    let device = c.device.map(&name);
    let Some(domain) = domain else {
        return format!(
            "at least, inferred: the power domain of {}, {}; its callback is so much longer than \
             others with a domain",
            device.unwrap_or_default(),
            phase(c.phase)
        );
    };
    let mut text = format!("{domain} {}, {}", c.way(), phase(c.phase));
    if let Some(d) = device {
        text += &format!("; {}: {d}", c.place());
    }
    text += c.used();
    let waited: Vec<String> = c.waited.iter().map(|d| name(*d)).collect();
    text + &others(&waited)
}
