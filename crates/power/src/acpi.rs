//! Power resources of ACPI, which are the domains of a PC (drivers/acpi/power.c and
//! device_sysfs.c, 6.12): a resource is on as long as a device in a state that needs
//! it holds it.

use dormouse_base::finding::Evidence;
use std::collections::BTreeMap;

/// A power resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Line of the text where it stands first, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
    /// Its place in the firmware's namespace, if the text says.
    pub path: String,
    /// `resource_in_use`: somebody holds it.
    pub in_use: Option<bool>,
}

/// A device of ACPI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its place in the firmware's namespace, if the text says.
    pub path: String,
    /// `power_state`: what the kernel set last; empty if the text does not say.
    pub state: String,
    /// `real_power_state`: what the firmware says.
    pub real: String,
    /// The last line that told one of the two.
    pub line: Option<Evidence>,
    /// States with a resource that they need: `D0`, `D3hot`, `wakeup`.
    pub needs: Vec<(String, String)>,
}

/// What a text says of them, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Such as `LNXPOWER:00`.
    pub resources: BTreeMap<String, Resource>,
    /// Such as `device:1a`, or the name of the device that it describes.
    pub devices: BTreeMap<String, Device>,
}

/// Who needs a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed<'a> {
    /// Devices in a state that needs it.
    pub now: Vec<&'a str>,
    /// Devices whose state the text does not say.
    pub unsaid: Vec<&'a str>,
    /// Devices in another state.
    pub other: Vec<&'a str>,
    /// Devices that need it to wake the system.
    pub wakeup: Vec<&'a str>,
}

impl Device {
    /// The state it is in, as the firmware says or else as the kernel set it.
    pub fn is_in(&self) -> &str {
        if self.real.is_empty() { &self.state } else { &self.real }
    }
}

impl Table {
    /// Whether the text says anything.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.devices.is_empty()
    }

    /// Who needs each resource.
    pub fn needed(&self) -> BTreeMap<&str, Needed<'_>> {
        let mut out: BTreeMap<&str, Needed<'_>> = BTreeMap::new();
        for (name, d) in &self.devices {
            // A device may need one in several states.
            let mut mine: BTreeMap<&str, bool> = BTreeMap::new();
            for (state, resource) in &d.needs {
                if state == "wakeup" {
                    out.entry(resource).or_default().wakeup.push(name);
                } else {
                    *mine.entry(resource).or_default() |= state == d.is_in();
                }
            }
            for (resource, now) in mine {
                let needed = out.entry(resource).or_default();
                match (now, d.is_in().is_empty()) {
                    (true, _) => needed.now.push(name),
                    (_, true) => needed.unsaid.push(name),
                    _ => needed.other.push(name),
                }
            }
        }
        out
    }
}
