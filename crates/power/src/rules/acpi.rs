//! Power resources that nobody needs, and states that firmware and kernel see
//! differently (`/sys/bus/acpi/devices/*/`: `resource_in_use`, `power_state`,
//! `real_power_state`).

use crate::case::Case;
use crate::fact::{Fact, Finding};
use crate::report::Report;
use dormouse_base::finding::{Confidence, Evidence, Level};

pub(super) fn judge(case: &Case, _: &Report, out: &mut Vec<Finding>) {
    let needed = case.acpi.needed();
    for (name, r) in case.acpi.resources.iter().filter(|(_, r)| r.in_use == Some(true)) {
        let Some(n) = needed.get(name.as_str()) else { continue };
        // One that may wake the system is held for that alone.
        if n.other.is_empty() || !(n.now.is_empty() && n.unsaid.is_empty() && n.wakeup.is_empty()) {
            continue;
        }
        let fact = Fact::ResourceUnused {
            resource: name.clone(),
            path: r.path.clone(),
            devices: n.other.iter().map(|d| d.to_string()).collect(),
        };
        let line = Evidence { line: r.line, time: None, text: r.text.clone(), doubtful: false };
        let evidence = [line].into();
        out.push(Finding::new("resource-unused", Level::Risk, Confidence::Likely, fact, evidence));
    }
    let (mut devices, mut evidence) = (Vec::new(), Vec::new());
    for (name, d) in &case.acpi.devices {
        let Some(line) = &d.line else { continue };
        if d.state.is_empty() || d.real.is_empty() || d.state == d.real {
            continue;
        }
        devices.push([name.clone(), d.path.clone(), d.state.clone(), d.real.clone()]);
        if evidence.len() < 3 {
            evidence.push(line.clone());
        }
    }
    if !devices.is_empty() {
        let fact = Fact::StateDiffers { devices };
        out.push(Finding::new("state-differs", Level::Note, Confidence::Certain, fact, evidence));
    }
}
