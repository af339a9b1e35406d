//! A server of about 4,000 devices: two sockets, 128 CPUs, 768 GiB of memory
//! in blocks of 512 MiB, eight NVMe disks, four network cards, a SAS shelf.

use super::drawn::{Machine, Model, bound, on};
use super::pc;
use dormouse_base::device::DeviceId;

/// CPUs of the machine.
const CPUS: u32 = 128;

pub(super) fn build(m: &mut Machine) {
    let r = pc::roots(m, CPUS, 1536);
    for i in 0..540 {
        m.add(r.acpi, on("acpi"), &format!("device:{i:02x}"));
    }
    for i in 0..CPUS {
        m.add(None, on("msr"), &format!("msr{i}"));
        m.add(None, on("cpuid"), &format!("cpu{i}"));
    }
    m.many(None, on("node"), "node", 2);
    pc::platform_devices(m, &r);
    pc::virtual_devices(m, &r);
    m.many(r.platform, bound("platform", "GHES"), "GHES.", 14);
    let serial = m.add(r.pnp, bound("pnp", "serial"), "00:06");
    m.add(serial, on("serial-base"), "00:06:0");
    chipset(m, r.pci);
    for domain in 0..8 {
        root_complex(m, domain);
    }
}

/// USB, management controller graphics, SMBus.
fn chipset(m: &mut Machine, pci: DeviceId) {
    for i in 0..8 {
        m.add(pci, on("pci"), &Machine::slot(0, 0x18, i));
    }
    let xhci = m.add(pci, bound("pci", "xhci_hcd"), &Machine::slot(0, 0x14, 0));
    m.wakeup(xhci);
    let usb1 = m.usb(xhci, "usb1", 1);
    m.usb(xhci, "usb2", 1);
    let console = m.usb(usb1, "1-1", 2);
    for number in 0..2 {
        let hid =
            m.add(console, bound("hid", "hid-generic"), &format!("0003:046B:FF10.000{number}"));
        m.add(hid, on("hidraw"), &format!("hidraw{number}"));
        m.input(hid, number, number == 1);
    }
    let port = m.port(pci, 0, 0x1c, 0);
    let graphics = m.add(port, bound("pci", "ast"), &Machine::slot(3, 0, 0));
    let card = m.add(graphics, on("drm"), "card0");
    m.add(card, on("drm"), "card0-VGA-1");
    let smbus = m.add(pci, bound("pci", "piix4_smbus"), &Machine::slot(0, 0x1f, 4));
    for i in 0..3 {
        let adapter = m.add(smbus, on("i2c"), &format!("i2c-{i}"));
        for slot in 0..8 {
            m.add(adapter, bound("i2c", "ee1004"), &format!("{i}-005{slot}"));
        }
    }
}

/// One of eight root complexes: bridges, an NVMe disk, and a network card or
/// disks behind every second.
fn root_complex(m: &mut Machine, number: u32) {
    let base = 0x20 + number * 0x1c;
    let root = m.add(None, on(""), &format!("pci0000:{base:02x}"));
    for i in 0..12 {
        m.add(root, on("pci"), &Machine::slot(base, i / 8 * 8 + 2 + i % 4, i % 8));
    }
    m.add(None, on("iommu"), &format!("ivhd{number}"));
    for i in 0..4 {
        m.port(root, base, 0x10 + i, 0);
    }
    let port = m.port(root, base, 1, 1);
    let nvme = m.add(port, bound("pci", "nvme"), &Machine::slot(base + 1, 0, 0));
    let controller = m.add(nvme, on("nvme"), &format!("nvme{number}"));
    m.add(controller, on("hwmon"), &format!("hwmon{number}"));
    m.disk(controller, &format!("nvme{number}n1"), "p", 3);
    if number.is_multiple_of(2) {
        network(m, root, base, number);
    } else if number == 1 {
        shelf(m, root, base);
    }
}

/// A network card of two functions with 16 queues' worth of children each.
fn network(m: &mut Machine, root: DeviceId, base: u32, number: u32) {
    let port = m.port(root, base, 6, 1);
    for function in 0..2 {
        let card = m.add(port, bound("pci", "mlx5_core"), &Machine::slot(base + 2, 0, function));
        m.wakeup(card);
        for kind in ["eth", "rdma", "fwctl"] {
            let child = bound("auxiliary", "mlx5");
            m.add(card, child, &format!("mlx5_core.{kind}.{}", number + function));
        }
        m.add(card, on("net"), &format!("eth{}", number + function));
        m.add(card, on("ptp"), &format!("ptp{}", number + function));
        m.add(card, on("infiniband"), &format!("mlx5_{}", number + function));
        m.add(card, on("leds"), &format!("mlx5_{}:port", number + function));
    }
}

/// A SAS controller with 24 disks.
fn shelf(m: &mut Machine, root: DeviceId, base: u32) {
    let port = m.port(root, base, 6, 1);
    let sas = m.add(port, bound("pci", "mpt3sas"), &Machine::slot(base + 3, 0, 0));
    let host = m.add(sas, on("scsi"), "host0");
    m.add(host, on("scsi_host"), "host0");
    for i in 0..24 {
        let end = m.add(host, on("sas_end_device"), &format!("end_device-0:{i}"));
        let target = m.add(end, on("scsi"), &format!("target0:0:{i}"));
        let model = Model { bus: "scsi", driver: "sd", devtype: "scsi_device" };
        let disk = m.add(target, model, &format!("0:0:{i}:0"));
        let letter = char::from(b'a' + i as u8);
        m.disk(disk, &format!("sd{letter}"), "", 2);
        for class in ["scsi_device", "scsi_disk", "scsi_generic", "bsg"] {
            m.add(disk, on(class), &format!("0:0:{i}:0"));
        }
    }
}
