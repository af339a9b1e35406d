//! Which devices their subsystem makes asynchronous
//! (`device_enable_async_suspend`), where a recording does not show it.

use crate::analyse::decode::decode;
use crate::simulate::Kernel;

/// What one subsystem does with its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Default {
    /// The bus as [`decode`] names it.
    pub bus: &'static str,
    /// What of it; empty for all of the bus.
    pub class: &'static str,
    /// The flag.
    pub asynchronous: bool,
    /// The first release that does so.
    pub since: (u32, u32),
    /// File and function of the kernel.
    pub source: &'static str,
}

const fn row(
    bus: &'static str,
    class: &'static str,
    since: (u32, u32),
    source: &'static str,
) -> Default {
    Default { bus, class, asynchronous: true, since, source }
}

/// Asynchronous suspend came with 2.6.34, and the first subsystems with it.
const FIRST: (u32, u32) = (2, 6);

/// The defaults; the first row that fits counts. A subsystem that is not listed
/// leaves its devices synchronous, as the driver core does: platform, ACPI,
/// PnP, serio and every class (input, net, block, sound, drm, leds, rtc).
pub static DEFAULTS: [Default; 9] = [
    Default {
        bus: "PCI",
        class: "bus",
        asynchronous: false,
        since: FIRST,
        source: "drivers/pci/probe.c pci_register_host_bridge: the bus is a class device",
    },
    row("PCI", "", FIRST, "drivers/pci/pci.c pci_pm_init"),
    row("USB", "interface", FIRST, "drivers/usb/core/message.c usb_set_configuration"),
    row("USB", "root hub interface", FIRST, "drivers/usb/core/message.c usb_set_configuration"),
    row("USB", "endpoint", FIRST, "drivers/usb/core/endpoint.c usb_create_ep_devs"),
    row("USB", "device", FIRST, "drivers/usb/core/hub.c usb_new_device"),
    row("USB", "root hub", FIRST, "drivers/usb/core/hub.c usb_new_device"),
    row("SCSI", "target", FIRST, "drivers/scsi/scsi_sysfs.c scsi_target_add"),
    row("SCSI", "host", FIRST, "drivers/scsi/hosts.c scsi_add_host_with_dma"),
];

/// Class devices that are named after the device they belong to: a trace prints
/// the class in place of the driver.
const CLASSES: [&str; 6] =
    ["scsi_host", "scsi_device", "scsi_disk", "scsi_generic", "bsg", "pci_bus"];

/// The default for a device of this name, driver (or what a trace prints in its
/// place) and bus; `None` where no subsystem is known to set the flag.
pub fn find(
    name: &str,
    driver: &str,
    bus: &str,
    kernel: Option<&Kernel>,
) -> Option<&'static Default> {
    // A class device may be named after its bus; a trace that says which bus
    // proves more than the name.
    if !bus.is_empty() && !["pci", "usb", "scsi"].contains(&bus) {
        return None;
    }
    if CLASSES.contains(&driver) {
        return None;
    }
    let meaning = decode(name, driver)?;
    DEFAULTS.iter().find(|row| {
        row.bus == meaning.bus
            && (row.class.is_empty() || row.class == meaning.class)
            && kernel.is_none_or(|k| (k.major, k.minor) >= row.since)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_name_and_the_bus() {
        let flag = |name, driver, bus| find(name, driver, bus, None).map(|r| r.asynchronous);
        assert_eq!(flag("0000:00:1f.2", "ahci", ""), Some(true));
        assert_eq!(flag("0000:00", "", ""), Some(false));
        assert_eq!(flag("1-1:1.0", "usb", ""), Some(true));
        assert_eq!(flag("target0:0:0", "scsi", ""), Some(true));
        assert_eq!(flag("host0", "scsi", "scsi"), Some(true));
        assert_eq!(flag("host0", "scsi_host", ""), None);
        assert_eq!(flag("host0", "", "scsi_host"), None);
        assert_eq!(flag("PNP0C0C:00", "button", ""), None);
        let old = Kernel::parse("2.4.1");
        assert_eq!(find("0000:00:1f.2", "ahci", "", old.as_ref()), None);
    }
}
