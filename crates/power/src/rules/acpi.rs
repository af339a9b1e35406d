//! Power resources that nobody needs, and states that firmware and kernel see
//! differently (`/sys/bus/acpi/devices/*/`: `resource_in_use`, `power_state`,
//! `real_power_state`).

use super::found::{Found, found};
use crate::case::Case;
use crate::report::Report;
use crate::say::named;
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_base::say::names;

pub(super) fn judge(case: &Case, _: &Report, out: &mut Vec<Found>) {
    let needed = case.acpi.needed();
    for (name, r) in case.acpi.resources.iter().filter(|(_, r)| r.in_use == Some(true)) {
        let Some(n) = needed.get(name.as_str()) else { continue };
        // One that may wake the system is held for that alone.
        if n.other.is_empty() || !(n.now.is_empty() && n.unsaid.is_empty() && n.wakeup.is_empty()) {
            continue;
        }
        let devices: Vec<String> = n.other.iter().map(|d| d.to_string()).collect();
        let line = Evidence { line: r.line, time: None, text: r.text.clone(), doubtful: false };
        let f = Finding::new(("resource-unused", Area::Domain, Level::Risk), Confidence::Likely)
            .says(format!(
                "{} is on though every device that the text shows to need it is in another state: {}.",
                named(name, &r.path),
                names(&devices)
            ))
            .look(
                "Read power/runtime_status and power_state of the devices that share it; one that \
                 the text does not show may hold it (grep . \
                 /sys/bus/acpi/devices/*/power_resources_D*/*/resource_in_use).",
            )
            .shown_by([line]);
        out.push(found(f));
    }
    let (mut devices, mut evidence) = (Vec::new(), Vec::new());
    for (name, d) in &case.acpi.devices {
        let Some(line) = &d.line else { continue };
        if d.state.is_empty() || d.real.is_empty() || d.state == d.real {
            continue;
        }
        let (name, set, real) = (named(name, &d.path), &d.state, &d.real);
        devices.push(format!("{name} into {set} (the firmware says {real})"));
        if evidence.len() < 3 {
            evidence.push(line.clone());
        }
    }
    if !devices.is_empty() {
        let f = Finding::new(("state-differs", Area::Domain, Level::Note), Confidence::Certain)
            .says(format!("The kernel put {}.", names(&devices)))
            .shown_by(evidence);
        out.push(found(f));
    }
}
