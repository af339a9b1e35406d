//! Settings of CPU idle in words.

use super::numbers::us;
use crate::text::safe;
use dormouse_idle::cpulist;
use dormouse_idle::knob::UNLIMITED;

/// `limit 50 us on CPUs 2-3, C6 disabled`; limits are in ns, with the CPUs that
/// they hold for (all, if empty).
pub fn words(
    limits: &[(i64, &[u32])],
    disabled: &[String],
    max_cstate: Option<usize>,
    periodic: bool,
) -> String {
    let mut out: Vec<String> = Vec::new();
    for &(ns, cpus) in limits.iter().filter(|l| l.0 < UNLIMITED) {
        let of = match cpus {
            [] => String::new(),
            [one] => format!(" on CPU {one}"),
            _ => format!(" on CPUs {}", cpulist::text(cpus)),
        };
        out.push(format!("limit {} us{of}", us(ns)));
    }
    if !disabled.is_empty() {
        out.push(format!("{} disabled", safe(&disabled.join(", "))));
    }
    out.extend(max_cstate.map(|n| format!("intel_idle.max_cstate={n}")));
    if periodic {
        out.push("nohz=off".into());
    }
    if out.is_empty() { "nothing limited or disabled".into() } else { out.join(", ") }
}
