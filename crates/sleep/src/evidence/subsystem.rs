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

/// The oldest release that these were read in; older ones may do the same, and are
/// not taken to.
const READ: (u32, u32) = (6, 1);

/// The defaults; the first row that fits counts. A subsystem that is not listed
/// leaves its devices synchronous, as the driver core does: platform, ACPI,
/// PnP, serio and every class (input, net, block, sound, drm, leds, rtc).
pub(crate) static DEFAULTS: [Default; 25] = [
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
    row("SCSI", "disk", READ, "drivers/scsi/scsi_sysfs.c scsi_sysfs_add_sdev"),
    row("SCSI", "optical drive", READ, "drivers/scsi/scsi_sysfs.c scsi_sysfs_add_sdev"),
    row("SCSI", "device", READ, "drivers/scsi/scsi_sysfs.c scsi_sysfs_add_sdev"),
    row("USB", "root hub port", READ, "drivers/usb/core/port.c usb_hub_create_port_device"),
    row("USB", "hub port", READ, "drivers/usb/core/port.c usb_hub_create_port_device"),
    row("ATA", "port", READ, "drivers/ata/libata-transport.c ata_tport_add"),
    row("I2C", "bus", READ, "drivers/i2c/i2c-core-base.c i2c_register_adapter"),
    row("I2C", "controller", READ, "drivers/i2c/busses/i2c-designware-platdrv.c dw_i2c_plat_probe"),
    row("I2C", "", READ, "drivers/i2c/i2c-core-base.c i2c_new_client_device"),
    row("MMC", "controller", READ, "drivers/mmc/core/host.c mmc_alloc_host"),
    row("MMC", "card", READ, "drivers/mmc/core/bus.c mmc_add_card"),
    row("HID", "on USB", READ, "drivers/hid/hid-core.c hid_allocate_device"),
    row("HID", "on Bluetooth", READ, "drivers/hid/hid-core.c hid_allocate_device"),
    row("HID", "on I2C", READ, "drivers/hid/hid-core.c hid_allocate_device"),
    row("HD audio", "codec", READ, "sound/hda/hdac_device.c snd_hdac_device_init"),
    row("wireless", "radio", READ, "net/wireless/core.c wiphy_new_nm"),
];

/// Class devices that are named after the device they belong to: a trace prints
/// the class in place of the driver.
const CLASSES: [&str; 8] = [
    "scsi_host",
    "scsi_device",
    "scsi_disk",
    "scsi_generic",
    "bsg",
    "pci_bus",
    "ata_port",
    "i2c-dev",
];

/// Buses and classes, as a trace or sysfs names them, whose devices the rows are of.
const BUSES: [&str; 9] =
    ["pci", "usb", "scsi", "i2c", "mmc", "mmc_host", "hid", "hdaudio", "ieee80211"];

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
    if !bus.is_empty() && !BUSES.contains(&bus) {
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
        assert_eq!(flag("mmc0", "", ""), Some(true));
        assert_eq!(flag("mmc0:0001", "mmcblk", "mmc"), Some(true));
        assert_eq!(flag("i2c-3", "", "i2c"), Some(true));
        assert_eq!(flag("i2c-3", "i2c-dev", ""), None);
        assert_eq!(flag("3-0012", "", ""), Some(true));
        assert_eq!(flag("ata1", "ata_port", ""), None);
        assert_eq!(flag("0018:06CB:76AF.0001", "hid-multitouch", ""), Some(true));
        assert_eq!(flag("spi0.0", "", ""), None);
        let before = Kernel::parse("5.3.0");
        assert_eq!(find("mmc0", "", "", before.as_ref()), None, "nobody looked");
        let old = Kernel::parse("2.4.1");
        assert_eq!(find("0000:00:1f.2", "ahci", "", old.as_ref()), None);
    }
}
