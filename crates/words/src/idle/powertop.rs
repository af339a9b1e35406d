//! What `dormouse show --only idle` prints of powertop's screens besides shares.

use super::wrapped::wrap;
use crate::text::safe;
use dormouse_idle::powertop::Powertop;

/// So many causes are named.
const NAMED: usize = 5;

/// Thousandths with one place.
fn tenth(thousandths: i64) -> String {
    let tenths = (thousandths.max(0) + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Wake-ups, what caused them, stays and power.
pub(super) fn text(p: &Powertop) -> String {
    let mut out = String::new();
    if let Some(often) = p.wakeups {
        let within = p.interval.map_or(String::new(), |s| format!(", counted for {} s", tenth(s)));
        out += &wrap(&format!("CPUs were woken {} times a second{within}.", tenth(often)));
    }
    if !p.causes.is_empty() {
        let name = |c: &dormouse_idle::powertop::Cause| {
            format!("{} ({} %, {} a second)", safe(&c.name), tenth(c.share), tenth(c.rate))
        };
        let named: Vec<String> = p.causes.iter().take(NAMED).map(name).collect();
        out += &wrap(&format!("What woke them most: {}.", named.join(", ")));
    }
    if let Some((state, stay)) = p.stays.iter().rfind(|s| s.1 > 0) {
        out += &wrap(&format!("A stay in {} lasted {} ms in the mean.", safe(state), tenth(*stay)));
    }
    if let Some(watts) = p.watts {
        out += &wrap(&format!("The battery gave {} W, as powertop read it.", tenth(watts)));
    }
    out
}
