//! Power domains that debugfs listed when the recorder began, and the devices in them.

use super::schema::CaptureFile;
use crate::domains::read_bytes;
use dormouse_domains::domain::{Runtime, Status};
use dormouse_model::capture::Capture;
use dormouse_model::device::DeviceId;
use dormouse_model::loss::Severity;
use dormouse_model::power_domain::{PowerDomain, User};
use std::collections::HashMap;

/// Adds the domains of `file` to `capture`, which has its devices.
pub fn add(file: &CaptureFile, capture: &mut Capture) {
    let case = read_bytes("domains.txt", &file.domains).case;
    let Some(dump) = case.dumps.first().filter(|d| !d.domains.is_empty()) else { return };
    // From 6.10 on a device is listed by its name alone, which may be that of others.
    let mut by_name: HashMap<String, Option<DeviceId>> = HashMap::new();
    let mut by_path: HashMap<String, DeviceId> = HashMap::new();
    for (device, n) in capture.graph.devices.iter().zip(0..) {
        let path = capture.names.get(device.facts.devpath);
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        by_name.entry(name).and_modify(|d| *d = None).or_insert(Some(DeviceId(n)));
        by_path.insert(path.to_owned(), DeviceId(n));
    }
    let mut unknown = 0;
    for d in &dump.domains {
        let mut domain = PowerDomain {
            name: capture.names.add(&d.name),
            on: d.status == Status::On,
            inside: d.children.iter().map(|c| capture.names.add(c)).collect(),
            users: Vec::new(),
        };
        for user in &d.devices {
            let named = by_name.get(user.name()).copied().flatten();
            let device = by_path.get(&user.path).copied().or(named);
            match device {
                Some(device) => {
                    let unsupported = user.runtime == Runtime::Unsupported;
                    domain.users.push(User { device, unsupported });
                }
                None => unknown += 1,
            }
        }
        capture.domains.push(domain);
    }
    if unknown > 0 {
        capture.losses.add(
            "domain_user_unknown",
            unknown,
            Severity::Info,
            "devices of power domains have names that no device or several devices of the recording have",
            None,
        );
    }
}
