//! Power domains that debugfs listed when the recorder began, and the devices in them.

use crate::domains::read_bytes;
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::loss::Severity;
use dormouse_base::power_domain::{PowerDomain, User};
use dormouse_capture::schema::CaptureFile;
use dormouse_power::domain::{Runtime, Status};

/// Names of no device, and of several.
const NOBODY: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// Adds the domains of `file` to `capture`, which has its devices.
pub(super) fn add(file: &CaptureFile, capture: &mut Capture) {
    let text = read_bytes("domains.txt", &file.domains);
    capture.losses.merge(text.losses);
    let case = text.case;
    let Some(dump) = case.dumps.first().filter(|d| !d.domains.is_empty()) else { return };
    // From 6.10 on a device is listed by its name alone, which may be that of others.
    let mut by_name = vec![NOBODY; capture.names.len()];
    for (device, n) in capture.graph.devices.iter().zip(0..) {
        let name = &mut by_name[device.name.0 as usize];
        *name = if *name == NOBODY { n } else { SEVERAL };
        by_name[device.facts.devpath.0 as usize] = n;
    }
    by_name[0] = NOBODY;
    let names = &mut capture.names;
    let mut unknown = 0;
    for d in &dump.domains {
        let mut domain = PowerDomain {
            name: names.add(&d.name),
            on: d.status == Status::On,
            inside: d.children.iter().map(|c| names.add(c)).collect(),
            users: Vec::new(),
        };
        for user in &d.devices {
            let of = |text: &str| {
                by_name.get(names.find(text)?.0 as usize).copied().filter(|&n| n != NOBODY)
            };
            let device = of(&user.path).or_else(|| of(user.name())).filter(|&n| n != SEVERAL);
            match device {
                Some(n) => {
                    let device = DeviceId(n);
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
