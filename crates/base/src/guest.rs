//! Whether a machine is an emulator's guest: its times are then no times of hardware.

use crate::capture::Capture;

/// Vendors of machines that are none, as DMI or the device tree names them.
const GUESTS: [(&str, &str); 6] = [
    ("QEMU", "a QEMU guest"),
    ("linux,dummy-virt", "a QEMU guest"),
    ("VMware", "a VMware guest"),
    ("innotek", "a VirtualBox guest"),
    ("Microsoft Corporation Virtual", "a Hyper-V guest"),
    ("Xen", "a Xen guest"),
];

/// The kind of guest that a machine of this vendor and model is; `None` for hardware.
pub fn guest_of(model: &str) -> Option<&'static str> {
    GUESTS.iter().find(|(vendor, _)| model.starts_with(vendor)).map(|g| g.1)
}

impl Capture {
    /// The emulator that the machine ran in; `None` for hardware, and where the source
    /// does not say.
    pub fn guest(&self) -> Option<&'static str> {
        // The init of the laboratory's guest is started by this word (docs/capture-format.md).
        match self.names.get(self.machine.command_line).contains("dormouse.lab=") {
            true => Some("the laboratory's QEMU guest"),
            false => guest_of(self.names.get(self.machine.model)),
        }
    }
}
