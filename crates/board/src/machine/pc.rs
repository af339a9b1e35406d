//! What a laptop and a server have in common: the parts of a PC.

use super::drawn::{Machine, Model, bound, on};
use crate::BoardDevice;
use dormouse_base::device::DeviceId;

/// The roots that every PC has.
pub(super) struct Roots {
    pub platform: DeviceId,
    pub acpi: DeviceId,
    pub pci: DeviceId,
    pub pnp: DeviceId,
}

/// Adds the roots, CPUs and memory blocks.
pub(super) fn roots(m: &mut Machine, cpus: u32, memory_blocks: u32) -> Roots {
    m.board.cpus = cpus;
    let platform = m.add(None, Model::default(), "platform");
    let cpu = m.add(None, on("cpu"), "cpu");
    let memory = m.add(None, on("memory"), "memory");
    m.many(memory, on("memory"), "memory", memory_blocks);
    let acpi = m.add(None, on("acpi"), "LNXSYSTM:00");
    let pci = m.add(None, on(""), "pci0000:00");
    let pnp = m.add(None, on(""), "pnp0");
    for i in 0..cpus {
        m.add(acpi, bound("acpi", "processor"), &format!("ACPI0007:{i:02x}"));
        let core = m.add(cpu, on("cpu"), &format!("cpu{i}"));
        m.add(core, on("thermal"), &format!("cooling_device{i}"));
    }
    let machine_check = m.add(None, on("machinecheck"), "machinecheck");
    m.many(machine_check, on("machinecheck"), "machinecheck", cpus);
    let clocks = m.add(None, on("clockevents"), "clockevents");
    m.many(clocks, on("clockevents"), "clockevent", cpus + 1);
    Roots { platform, acpi, pci, pnp }
}

/// Adds the virtual devices of any kernel: terminals, memory devices, work
/// queues, event sources and so on.
pub(super) fn virtual_devices(m: &mut Machine, r: &Roots) {
    m.many(None, on("tty"), "tty", 64);
    for name in ["tty", "console", "ptmx"] {
        m.add(None, on("tty"), name);
    }
    for i in 0..7 {
        for kind in ["vcs", "vcsu", "vcsa"] {
            m.add(None, on("vc"), &format!("{kind}{i}"));
        }
    }
    serial_ports(m, r);
    m.many(None, on("vtconsole"), "vtcon", 2);
    for name in ["mem", "null", "port", "zero", "full", "random", "urandom", "kmsg"] {
        m.add(None, on("mem"), name);
    }
    for name in [
        "autofs",
        "btrfs-control",
        "cpu_dma_latency",
        "device-mapper",
        "fuse",
        "hpet",
        "hw_random",
        "kvm",
        "loop-control",
        "mcelog",
        "nvram",
        "rfkill",
        "snapshot",
        "udmabuf",
        "uhid",
        "uinput",
        "userfaultfd",
        "vga_arbiter",
        "vhost-net",
        "vhost-vsock",
    ] {
        m.add(None, on("misc"), name);
    }
    for name in ["breakpoint", "cpu", "kprobe", "msr", "power", "software", "tracepoint", "uprobe"]
    {
        m.add(None, on("event_source"), name);
    }
    for name in ["blkcg_punt_bio", "nvme-auth-wq", "scsi_tmf_0", "writeback"] {
        m.add(None, on("workqueue"), name);
    }
    for i in 0..8 {
        m.disk_of_loop(i);
    }
    m.add(None, on("net"), "lo");
    m.add(None, on("dmi"), "id");
    m.add(None, on("graphics"), "fbcon");
    m.add(None, on("clocksource"), "clocksource0");
    m.add(None, on("dma_heap"), "system");
}

/// The driver for serial ports makes 32 of them, whether there is one or not.
fn serial_ports(m: &mut Machine, r: &Roots) {
    let driver = m.add(r.platform, bound("platform", "serial8250"), "serial8250");
    let controller = m.add(driver, bound("serial-base", "ctrl"), "serial8250:0");
    for i in 0..32 {
        let port = m.add(controller, bound("serial-base", "port"), &format!("serial8250:0.{i}"));
        m.add(port, on("tty"), &format!("ttyS{i}"));
    }
}

/// Adds the platform devices that a PC has besides ACPI's, with their class
/// children.
pub(super) fn platform_devices(m: &mut Machine, r: &Roots) {
    for name in ["pcspkr", "efi-framebuffer.0", "microcode", "reg-dummy", "rtc-efi.0"] {
        m.add(r.platform, on("platform"), name);
    }
    let regulator = m.add(r.platform, bound("platform", "reg-dummy"), "reg-dummy.0");
    m.add(regulator, on("regulator"), "regulator.0");
    let rtc_port = m.add(r.pnp, bound("pnp", "rtc_cmos"), "00:01");
    m.wakeup(rtc_port);
    let rtc = m.add(rtc_port, on("rtc"), "rtc0");
    m.add(rtc, on("platform"), "alarmtimer.0.auto");
    for i in 2..6 {
        m.add(r.pnp, bound("pnp", "system"), &format!("00:{i:02x}"));
    }
    let mdio = m.add(r.platform, on("platform"), "Fixed MDIO bus.0");
    m.add(mdio, on("mdio_bus"), "fixed-0");
}

impl Machine {
    fn disk_of_loop(&mut self, i: u32) {
        let disk = self.add(None, on("block"), &format!("loop{i}"));
        self.add(disk, on("bdi"), &format!("7:{i}"));
    }

    /// A PCIe port with its service devices and the bus behind it.
    pub(super) fn port(
        &mut self,
        parent: DeviceId,
        bus: u32,
        device: u32,
        function: u32,
    ) -> DeviceId {
        let name = Machine::slot(bus, device, function);
        let port = self.add(parent, bound("pci", "pcieport"), &name);
        self.wakeup(port);
        for service in ["pcie001", "pcie010"] {
            let driver = if service == "pcie001" { "pcie_pme" } else { "pcie_bwctrl" };
            self.add(port, bound("pci_express", driver), &format!("{name}:{service}"));
        }
        self.add(port, on("pci_bus"), &format!("0000:{:02x}", bus * 8 + device + function + 1));
        port
    }

    /// A USB device with its interfaces.
    pub(super) fn usb(&mut self, parent: DeviceId, name: &str, interfaces: u32) -> DeviceId {
        let model = Model { bus: "usb", driver: "usb", devtype: "usb_device" };
        let device = self.add(parent, model, name);
        let driver = if name.starts_with("usb") { "hub" } else { "" };
        let interface = Model { bus: "usb", driver, devtype: "usb_interface" };
        if name.starts_with("usb") {
            // Ports have no bus and no callbacks, and are asynchronous.
            for i in 1..10 {
                let port = format!("{name}-port{i}");
                self.push(Some(device), Model::default(), &port, true, BoardDevice::default());
            }
        }
        for i in 0..interfaces {
            self.add(device, interface, &format!("{name}:1.{i}"));
        }
        device
    }
}
