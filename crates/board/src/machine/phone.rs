//! A phone of about 800 devices: platform devices of a device tree with short
//! callbacks, and a link from nearly each of them to its clock controller,
//! power domain, regulator or interrupt controller.

use super::drawn::{Machine, Model, bound, on};
use dormouse_base::device::DeviceId;

pub(super) fn build(m: &mut Machine) {
    m.board.cpus = 8;
    let platform = m.add(None, Model::default(), "platform");
    let cpu = m.add(None, on("cpu"), "cpu");
    m.many(cpu, on("cpu"), "cpu", 8);
    let soc = m.add(platform, on("platform"), "soc@0");
    let suppliers = controllers(m, soc);
    let regulators = power(m, soc, &suppliers);
    peripherals(m, soc, &suppliers, &regulators);
    i2c(m, soc, &suppliers, &regulators);
    storage(m, soc, &suppliers);
    display_and_sound(m, soc, &suppliers, &regulators);
    usb(m, soc, &suppliers);
    class_devices(m, platform);
}

/// A name such as `17400000.timer`.
fn at(index: u32, what: &str) -> std::string::String {
    format!("{:x}.{what}", 0x1000_0000 + index * 0x1_0000)
}

/// Interrupt, clock, pin and power controllers: what everything else needs.
fn controllers(m: &mut Machine, soc: DeviceId) -> Vec<DeviceId> {
    let mut all = Vec::new();
    let gic = m.add(soc, on("platform"), &at(0, "interrupt-controller"));
    m.board.graph.devices[gic.index()].facts.syscore = true;
    all.push(gic);
    for i in 0..12 {
        let clock = m.add(soc, bound("platform", "clock"), &at(1 + i, "clock-controller"));
        m.link(clock, gic);
        all.push(clock);
    }
    for i in 0..20 {
        let domain = m.add(soc, bound("platform", "pd"), &at(20 + i, "power-domain"));
        m.link(domain, all[1 + i as usize % 12]);
        all.push(domain);
    }
    for i in 0..8 {
        let pins = m.add(soc, bound("platform", "pinctrl"), &at(50 + i, "pinctrl"));
        m.link(pins, gic);
        m.add(pins, on("gpio"), &format!("gpiochip{i}"));
        all.push(pins);
    }
    for i in 0..16 {
        let iommu = m.add(soc, bound("platform", "sysmmu"), &at(60 + i, "iommu"));
        m.link(iommu, all[1 + i as usize % 32]);
        all.push(iommu);
    }
    all
}

/// The power-management chip with 40 regulators, clocks, charger, fuel gauge.
fn power(m: &mut Machine, soc: DeviceId, suppliers: &[DeviceId]) -> Vec<DeviceId> {
    let bus = m.add(soc, bound("platform", "i3c"), &at(80, "i2c"));
    m.link(bus, suppliers[1]);
    let adapter = m.add(bus, on("i2c"), "i2c-0");
    let pmic = m.add(adapter, bound("i2c", "pmic"), "0-001f");
    m.wakeup(pmic);
    let mut regulators = Vec::new();
    let cell = m.add(pmic, bound("platform", "pmic-regulator"), "pmic-regulator.1.auto");
    for i in 0..40 {
        regulators.push(m.add(cell, on("regulator"), &format!("regulator.{i}")));
    }
    let rtc = m.add(pmic, bound("platform", "pmic-rtc"), "pmic-rtc.2.auto");
    m.wakeup(rtc);
    m.add(rtc, on("rtc"), "rtc0");
    for (i, name) in ["charger", "battery", "usb", "wireless"].iter().enumerate() {
        let gauge = m.add(adapter, bound("i2c", name), &format!("0-00{:02x}", 0x36 + i));
        m.wakeup(gauge);
        let supply = m.add(gauge, on("power_supply"), name);
        m.add(supply, on("thermal"), &format!("thermal_zone{}", 40 + i));
    }
    regulators
}

/// Two hundred plain platform devices: timers, serial ports, mailboxes,
/// watchdogs, video and camera blocks, debug blocks.
fn peripherals(m: &mut Machine, soc: DeviceId, suppliers: &[DeviceId], regulators: &[DeviceId]) {
    let kinds =
        ["dma", "serial", "mailbox", "watchdog", "pwm", "spi", "codec", "camera", "mfc", "tmu"];
    for i in 0..200 {
        let kind = kinds[i as usize % kinds.len()];
        let device = m.add(soc, bound("platform", kind), &at(100 + i, kind));
        connect(m, device, suppliers, 1 + i % 3);
        if i % 10 == 7 {
            let supply = regulators[m.random.below(regulators.len() as u64) as usize];
            m.link(device, supply);
        }
        match kind {
            "serial" => {
                m.add(device, on("tty"), &format!("ttySAC{}", i / 10));
            }
            "camera" => {
                m.add(device, on("video4linux"), &format!("video{}", i / 10));
            }
            "tmu" => {
                m.add(device, on("thermal"), &format!("thermal_zone{}", i / 10));
            }
            _ => {}
        }
    }
    for i in 0..48 {
        let block = m.add(soc, bound("amba", "coresight"), &at(400 + i, "debug"));
        connect(m, block, suppliers, 1);
    }
}

/// Links `device` to `count` different suppliers that stand before it.
fn connect(m: &mut Machine, device: DeviceId, suppliers: &[DeviceId], count: u32) {
    let first = m.random.below(suppliers.len() as u64) as usize;
    for i in 0..count as usize {
        m.link(device, suppliers[(first + i * 7) % suppliers.len()]);
    }
}

/// Twelve I2C buses with sensors, amplifiers, touch screen and the like.
fn i2c(m: &mut Machine, soc: DeviceId, suppliers: &[DeviceId], regulators: &[DeviceId]) {
    for i in 1..13 {
        let bus = m.add(soc, bound("platform", "i2c"), &at(500 + i, "i2c"));
        connect(m, bus, suppliers, 2);
        let adapter = m.add(bus, on("i2c"), &format!("i2c-{i}"));
        m.add(adapter, on("i2c-dev"), &format!("i2c-{i}"));
        for slot in 0..3 {
            let client = m.add(adapter, bound("i2c", "sensor"), &format!("{i}-00{}", 20 + slot));
            let supply = regulators[m.random.below(regulators.len() as u64) as usize];
            m.link(client, supply);
            if slot == 0 {
                m.add(client, on("iio"), &format!("iio:device{i}"));
            }
            if i < 4 && slot == 1 {
                m.input(client, i, false);
                m.wakeup(client);
            }
        }
    }
}

/// UFS storage: eight logical units, most of them with partitions.
fn storage(m: &mut Machine, soc: DeviceId, suppliers: &[DeviceId]) {
    let phy = m.add(soc, bound("platform", "ufs-phy"), &at(600, "phy"));
    connect(m, phy, suppliers, 2);
    let ufs = m.add(soc, bound("platform", "ufshcd"), &at(601, "ufs"));
    connect(m, ufs, suppliers, 3);
    m.link(ufs, phy);
    let host = m.add(ufs, on("scsi"), "host0");
    let target = m.add(host, on("scsi"), "target0:0:0");
    let wlun = Model { bus: "scsi", driver: "ufs_device_wlun", devtype: "scsi_device" };
    let power = m.add(target, wlun, "0:0:0:49488");
    for i in 0..8 {
        // Flash has nothing to spin down: the power unit does the work.
        let disk = m.add(target, bound("scsi", "sd"), &format!("0:0:0:{i}"));
        m.link(disk, power);
        let letter = char::from(b'a' + i as u8);
        m.disk(disk, &format!("sd{letter}"), "", if i == 0 { 30 } else { 2 });
    }
}

/// Display pipeline, GPU, and a sound card of many parts.
fn display_and_sound(
    m: &mut Machine,
    soc: DeviceId,
    suppliers: &[DeviceId],
    regulators: &[DeviceId],
) {
    let dsi = m.add(soc, bound("platform", "dsim"), &at(620, "dsi"));
    connect(m, dsi, suppliers, 3);
    let panel = m.add(dsi, bound("mipi-dsi", "panel"), "dsi.0");
    m.link(panel, regulators[0]);
    m.link(panel, regulators[1]);
    m.add(panel, on("backlight"), "panel0-backlight");
    let display = m.add(soc, bound("platform", "drm"), &at(621, "display"));
    m.link(display, dsi);
    m.link(display, panel);
    let card = m.add(display, on("drm"), "card0");
    m.add(card, on("drm"), "card0-DSI-1");
    m.add(display, on("drm"), "renderD128");
    let gpu = m.add(soc, bound("platform", "mali"), &at(622, "gpu"));
    connect(m, gpu, suppliers, 3);
    m.add(gpu, on("devfreq"), "gpu");
    let audio = m.add(soc, bound("platform", "aoc"), &at(630, "audio"));
    connect(m, audio, suppliers, 2);
    let machine = m.add(audio, bound("platform", "snd-machine"), "sound");
    let card = m.add(machine, on("sound"), "card0");
    m.add(card, on("sound"), "controlC0");
    m.many(card, on("sound"), "pcmC0D", 40);
}

/// One dual-role USB port, the wireless chip behind PCIe.
fn usb(m: &mut Machine, soc: DeviceId, suppliers: &[DeviceId]) {
    let phy = m.add(soc, bound("platform", "usb-phy"), &at(640, "phy"));
    connect(m, phy, suppliers, 2);
    let glue = m.add(soc, bound("platform", "dwc3-glue"), &at(641, "usb"));
    m.link(glue, phy);
    let dwc3 = m.add(glue, bound("platform", "dwc3"), &at(642, "dwc3"));
    m.link(dwc3, phy);
    m.add(dwc3, on("udc"), "dwc3");
    let typec = m.add(glue, on("typec"), "port0");
    m.add(typec, on("typec"), "port0-partner");
    let pcie = m.add(soc, bound("platform", "pcie"), &at(650, "pcie"));
    connect(m, pcie, suppliers, 3);
    let root = m.add(pcie, on(""), "pci0000:00");
    let port = m.add(root, bound("pci", "pcieport"), &Machine::slot(0, 0, 0));
    let wifi = m.add(port, bound("pci", "bcmdhd"), &Machine::slot(1, 0, 0));
    m.wakeup(wifi);
    m.add(wifi, on("ieee80211"), "phy0");
    m.add(wifi, on("net"), "wlan0");
}

/// Devices without hardware: terminals, memory, work queues, zones.
fn class_devices(m: &mut Machine, platform: DeviceId) {
    for name in ["tty", "console", "ptmx"] {
        m.add(None, on("tty"), name);
    }
    m.many(None, on("block"), "loop", 16);
    m.many(None, on("block"), "dm-", 24);
    m.many(None, on("misc"), "misc", 40);
    for name in ["mem", "null", "zero", "full", "random", "urandom", "kmsg"] {
        m.add(None, on("mem"), name);
    }
    m.many(None, on("thermal"), "cooling_device", 24);
    m.many(None, on("leds"), "led", 4);
    m.many(None, on("dma_heap"), "heap", 8);
    let keys = m.add(platform, bound("platform", "gpio-keys"), "gpio_keys");
    m.wakeup(keys);
    m.input(keys, 0, false);
}
