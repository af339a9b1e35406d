//! A laptop of about 900 devices. The counts by bus are round numbers near
//! those of a Dell XPS 13 9360 (229 ACPI, 128 memory, 100 tty devices, …).

use super::drawn::{Machine, bound, on};
use super::pc::{self, Roots};
use dormouse_base::device::DeviceId;

pub(super) fn build(m: &mut Machine) {
    let r = pc::roots(m, 8, 128);
    acpi(m, &r);
    pc::platform_devices(m, &r);
    pc::virtual_devices(m, &r);
    keyboard(m, &r);
    let graphics = pci(m, &r);
    sound(m, &r, graphics);
}

/// ACPI devices: most have no driver, a few report power and buttons.
fn acpi(m: &mut Machine, r: &Roots) {
    let bus = m.add(r.acpi, on("acpi"), "LNXSYBUS:00");
    let bridge = m.add(bus, on("acpi"), "PNP0A08:00");
    for i in 0..250 {
        m.add(bridge, on("acpi"), &format!("device:{i:02x}"));
    }
    for (name, driver) in [("PNP0C0C:00", "button"), ("PNP0C0D:00", "button"), ("PNP0C09:00", "ec")]
    {
        let device = m.add(bus, bound("acpi", driver), name);
        m.wakeup(device);
    }
    for (i, (name, driver)) in [("ACPI0003:00", "ac"), ("PNP0C0A:00", "battery")].iter().enumerate()
    {
        let device = m.add(bus, bound("acpi", driver), name);
        m.wakeup(device);
        let supply = m.add(device, on("power_supply"), ["AC", "BAT0"][i]);
        m.add(supply, on("hwmon"), &format!("hwmon{i}"));
    }
    for i in 0..10 {
        let zone = m.add(r.platform, bound("platform", "int3403"), &format!("INT3403:{i:02x}"));
        m.add(zone, on("thermal"), &format!("thermal_zone{i}"));
    }
    for i in 0..4 {
        let wmi = m.add(r.platform, bound("platform", "acpi-wmi"), &format!("PNP0C14:{i:02x}"));
        let bus = m.add(wmi, on("wmi_bus"), &format!("wmi_bus-PNP0C14:{i:02x}"));
        m.many(bus, bound("wmi", "wmi-bmof"), &format!("wmi{i}-"), 4);
    }
    for i in 0..6 {
        m.add(bus, on("acpi"), &format!("LNXPOWER:{i:02x}"));
    }
    let rapl = m.add(None, on("powercap"), "intel-rapl");
    let package = m.add(rapl, on("powercap"), "intel-rapl:0");
    m.many(package, on("powercap"), "intel-rapl:0:", 3);
}

/// The keyboard controller, and its slow touchpad.
fn keyboard(m: &mut Machine, r: &Roots) {
    let i8042 = m.add(r.platform, bound("platform", "i8042"), "i8042");
    for (i, driver) in ["atkbd", "psmouse"].iter().enumerate() {
        let port = m.add(i8042, bound("serio", driver), &format!("serio{i}"));
        m.wakeup(port);
        m.input(port, 2 + i as u32, i == 1);
    }
    for name in ["capslock", "numlock", "scrolllock"] {
        m.add(i8042, on("leds"), &format!("input2::{name}"));
    }
}

/// The PCI tree; returns the graphics device.
fn pci(m: &mut Machine, r: &Roots) -> DeviceId {
    m.add(r.pci, bound("pci", "skl_uncore"), &Machine::slot(0, 0, 0));
    let graphics = m.add(r.pci, bound("pci", "i915"), &Machine::slot(0, 2, 0));
    let card = m.add(graphics, on("drm"), "card0");
    for name in ["card0-DP-1", "card0-DP-2", "card0-eDP-1", "card0-HDMI-A-1"] {
        m.add(card, on("drm"), name);
    }
    m.add(graphics, on("drm"), "renderD128");
    m.add(graphics, on("backlight"), "intel_backlight");
    m.many(graphics, on("i2c"), "i2c-", 6);
    m.many(None, on("i2c-dev"), "i2c-", 8);

    m.add(r.pci, bound("pci", "proc_thermal"), &Machine::slot(0, 4, 0));
    usb(m, r);
    m.add(r.pci, bound("pci", "intel_pch_thermal"), &Machine::slot(0, 0x14, 2));
    for (i, function) in [0, 1].into_iter().enumerate() {
        let name = Machine::slot(0, 0x15, function);
        let lpss = m.add(r.pci, bound("pci", "intel-lpss"), &name);
        m.add(lpss, bound("platform", "idma64"), &format!("idma64.{i}"));
        let controller =
            m.add(lpss, bound("platform", "i2c_designware"), &format!("i2c_designware.{i}"));
        let adapter = m.add(controller, on("i2c"), &format!("i2c-{}", 6 + i));
        if i == 1 {
            let pad = m.add(adapter, bound("i2c", "i2c_hid"), "i2c-DLL075B:01");
            m.wakeup(pad);
            let hid = m.add(pad, bound("hid", "hid-multitouch"), "0018:06CB:76AF.0001");
            m.add(hid, on("hidraw"), "hidraw0");
            m.input(hid, 6, true);
            m.input(hid, 7, false);
        }
    }
    let mei = m.add(r.pci, bound("pci", "mei_me"), &Machine::slot(0, 0x16, 0));
    m.many(mei, on("mei"), "mei-client-", 18);

    let port = m.port(r.pci, 0, 0x1c, 0);
    let wifi = m.add(port, bound("pci", "ath10k_pci"), &Machine::slot(0x3a, 0, 0));
    let phy = m.add(wifi, on("ieee80211"), "phy0");
    m.add(phy, on("rfkill"), "rfkill1");
    m.add(wifi, on("net"), "wlan0");
    m.add(wifi, on("leds"), "ath10k-phy0");

    let port = m.port(r.pci, 0, 0x1d, 0);
    let nvme = m.add(port, bound("pci", "nvme"), &Machine::slot(0x3c, 0, 0));
    let controller = m.add(nvme, on("nvme"), "nvme0");
    m.add(controller, on("hwmon"), "hwmon2");
    m.disk(controller, "nvme0n1", "p", 6);
    m.port(r.pci, 0, 0x1c, 4);

    for (function, driver) in [(0, ""), (2, ""), (4, "i801_smbus")] {
        m.add(r.pci, bound("pci", driver), &Machine::slot(0, 0x1f, function));
    }
    graphics
}

/// USB: a controller, two root hubs, camera, Bluetooth, a card reader.
fn usb(m: &mut Machine, r: &Roots) {
    let xhci = m.add(r.pci, bound("pci", "xhci_hcd"), &Machine::slot(0, 0x14, 0));
    m.wakeup(xhci);
    let usb1 = m.usb(xhci, "usb1", 1);
    m.usb(xhci, "usb2", 1);
    let bluetooth = m.usb(usb1, "1-3", 2);
    m.wakeup(bluetooth);
    let hci = m.add(bluetooth, on("bluetooth"), "hci0");
    m.add(hci, on("rfkill"), "rfkill0");
    let touch = m.usb(usb1, "1-4", 1);
    let hid = m.add(touch, bound("hid", "hid-multitouch"), "0003:04F3:2234.0002");
    m.add(hid, on("hidraw"), "hidraw1");
    m.input(hid, 8, false);
    let camera = m.usb(usb1, "1-5", 2);
    let media = m.add(camera, on("media"), "media0");
    for i in 0..2 {
        m.add(media, on("video4linux"), &format!("video{i}"));
    }
    m.input(camera, 9, false);
    m.usb(usb1, "1-6", 1);
}

/// Sound: the codec of the controller needs the graphics device's power.
fn sound(m: &mut Machine, r: &Roots, graphics: DeviceId) {
    let hda = m.add(r.pci, bound("pci", "snd_hda_intel"), &Machine::slot(0, 0x1f, 3));
    m.link(hda, graphics);
    let card = m.add(hda, on("sound"), "card0");
    for (i, driver) in ["snd_hda_codec_realtek", "snd_hda_codec_hdmi"].iter().enumerate() {
        let codec = m.add(hda, bound("hdaudio", driver), &format!("hdaudioC0D{}", i * 2));
        m.add(codec, on("sound"), &format!("hwC0D{}", i * 2));
    }
    for name in ["controlC0", "pcmC0D0c", "pcmC0D0p", "pcmC0D3p", "pcmC0D7p", "pcmC0D8p"] {
        m.add(card, on("sound"), name);
    }
    for number in 10..15 {
        m.input(card, number, false);
    }
    m.add(None, on("sound"), "seq");
    m.add(None, on("sound"), "timer");
}
