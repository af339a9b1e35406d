//! Device names that a person understands.
//!
//! A kernel device name is an address in the conventions of its bus: `0-0055`
//! on I2C, `1-1.2` on USB, `0000:00:1f.2` on PCI. This module turns it into bus,
//! address and class. It only says what the form of the name proves; a name
//! without a known form has no meaning here.

mod acpi;
mod meaning;

pub use meaning::Meaning;

/// Decodes `name`. The driver helps where one form has two meanings; it may be
/// empty.
pub fn decode(name: &str, driver: &str) -> Option<Meaning> {
    pci(name)
        .or_else(|| acpi::decode(name))
        .or_else(|| i2c_client(name))
        .or_else(|| usb(name, driver))
        .or_else(|| scsi(name, driver))
        .or_else(|| counted(name))
        .or_else(|| unit_address(name))
        .or_else(|| fixed(name))
}

/// Decimal digits without a needless zero in front.
fn number(s: &str) -> Option<u32> {
    let plain = s == "0" || !s.starts_with('0');
    (plain && !s.is_empty() && s.len() < 10 && s.bytes().all(|b| b.is_ascii_digit()))
        .then(|| s.parse().ok())
        .flatten()
}

fn hex(s: &str) -> Option<u64> {
    let digits = s.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    (digits && !s.is_empty() && s.len() <= 16).then(|| u64::from_str_radix(s, 16).ok()).flatten()
}

fn hex_of(s: &str, digits: usize) -> Option<u64> {
    (s.len() == digits).then(|| hex(s)).flatten()
}

/// `0000:00:1f.2`, `pci0000:00`, `0000:00:1c.0:pcie002`.
fn pci(name: &str) -> Option<Meaning> {
    if let Some(host) = name.strip_prefix("pci") {
        let (domain, bus) = host.split_once(':')?;
        let (domain, bus) = (hex(domain)?, hex_of(bus, 2)?);
        return Some(Meaning::new("PCI", format!("domain {domain}, bus {bus}"), "host bridge"));
    }
    // Most names have no colon.
    name.find(':')?;
    if let Some(bus) = name.strip_prefix("0000:").filter(|b| b.len() == 2) {
        return Some(Meaning::new("PCI", format!("domain 0, bus {}", hex(bus)?), "bus"));
    }
    let (slot, service) = match name.match_indices(':').nth(2) {
        Some((i, _)) => (&name[..i], Some(&name[i + 1..])),
        None => (name, None),
    };
    let mut parts = slot.splitn(3, ':');
    let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (device, function) = rest.split_once('.')?;
    let domain = (domain.len() >= 4).then(|| hex(domain)).flatten()?;
    let (bus, device) = (hex_of(bus, 2)?, hex_of(device, 2)?);
    let function = hex_of(function, 1)?;
    if device > 31 || function > 7 {
        return None;
    }
    let class = match service {
        None => "",
        Some(s) if s.starts_with("pcie") => match s.as_bytes().last() {
            Some(b'1') => "port service (PME)",
            Some(b'2') => "port service (errors, AER)",
            Some(b'4') => "port service (hotplug)",
            Some(b'8') => "port service (virtual channels)",
            _ => "port service",
        },
        Some(_) => return None,
    };
    let mut at = format!("bus {bus}, device {device}, function {function}");
    if domain != 0 {
        at.insert_str(0, &format!("domain {domain:x}, "));
    }
    Some(Meaning::new("PCI", at, class))
}

/// `0-0055`; also `i2c-INT33FF:00` style ACPI-named clients.
fn i2c_client(name: &str) -> Option<Meaning> {
    if let Some(acpi) = name.strip_prefix("i2c-").filter(|n| n.contains(':')) {
        let id = acpi::decode(acpi)?;
        return Some(Meaning::new("I2C", format!("named by ACPI {acpi}"), id.class));
    }
    let (bus, chip) = name.split_once('-')?;
    let (bus, chip) = (number(bus)?, hex_of(chip, 4)?);
    // Ten-bit addresses are printed with 0xa000 added, own slave ones with
    // 0x1000.
    let text = match chip {
        0..0x80 => format!("bus {bus}, chip address 0x{chip:02x}"),
        0xa000..0xa400 => format!("bus {bus}, 10-bit chip address 0x{:03x}", chip - 0xa000),
        _ => format!("bus {bus}, chip address 0x{chip:04x}"),
    };
    Some(Meaning::new("I2C", text, ""))
}

/// `usb1`, `1-1.2`, `1-1.2:1.0`, `1-0:1.0`, `usb1-port2`, `1-1-port3`, `ep_81`.
fn usb(name: &str, driver: &str) -> Option<Meaning> {
    if let Some(ep) = name.strip_prefix("ep_") {
        let ep = hex_of(ep, 2)?;
        let way = if ep & 0x80 != 0 { "in" } else { "out" };
        return Some(Meaning::new("USB", format!("{} {way}", ep & 0x0f), "endpoint"));
    }
    if let Some(rest) = name.strip_prefix("usb") {
        if let Some((bus, port)) = rest.split_once("-port") {
            let (bus, port) = (number(bus)?, number(port)?);
            return Some(Meaning::new("USB", format!("bus {bus} port {port}"), "root hub port"));
        }
        if let Some(bus) = number(rest) {
            if driver.starts_with("usbnet") || driver == "net" {
                return Some(Meaning::new("network", format!("{name} (USB)"), "interface"));
            }
            return Some(Meaning::new("USB", format!("of bus {bus}"), "root hub"));
        }
        return None;
    }
    let (bus, rest) = name.split_once('-')?;
    let bus = number(bus)?;
    if let Some((hub, port)) = rest.rsplit_once("-port") {
        ports(hub)?;
        let port = number(port)?;
        return Some(Meaning::new("USB", format!("bus {bus} hub {hub} port {port}"), "hub port"));
    }
    let (path, interface) = match rest.split_once(':') {
        Some((p, i)) => (p, Some(i)),
        None => (rest, None),
    };
    let Some(interface) = interface else {
        ports(path)?;
        return Some(Meaning::new("USB", format!("bus {bus} port {path}"), "device"));
    };
    let (configuration, interface) = interface.split_once('.')?;
    let (configuration, interface) = (number(configuration)?, number(interface)?);
    if path == "0" {
        return Some(Meaning::new("USB", format!("of bus {bus}"), "root hub interface"));
    }
    ports(path)?;
    let mut at = format!("{interface} of bus {bus} port {path}");
    if configuration != 1 {
        at.push_str(&format!(", configuration {configuration}"));
    }
    Some(Meaning::new("USB", at, "interface"))
}

fn ports(path: &str) -> Option<()> {
    path.split('.').all(|p| number(p).is_some_and(|n| (1..=255).contains(&n))).then_some(())
}

/// `host0`, `target0:0:0`, `0:0:0:0`.
fn scsi(name: &str, driver: &str) -> Option<Meaning> {
    if let Some(t) = name.strip_prefix("target") {
        let mut p = t.split(':');
        let (h, c, i) = (number(p.next()?)?, number(p.next()?)?, number(p.next()?)?);
        let at = format!("host {h}, channel {c}, id {i}");
        return p.next().is_none().then(|| Meaning::new("SCSI", at, "target"));
    }
    let mut p = name.split(':');
    let mut next = || p.next().and_then(number);
    let (h, c, i, l) = (next()?, next()?, next()?, next()?);
    let class = match driver {
        "sd" => "disk",
        "sr" => "optical drive",
        _ => "device",
    };
    let at = format!("host {h}, channel {c}, id {i}, LUN {l}");
    p.next().is_none().then(|| Meaning::new("SCSI", at, class))
}

/// A word and a number: `ata1`, `rtc0`, `cpu0`, `spi0.0`.
fn counted(name: &str) -> Option<Meaning> {
    for (prefix, bus, class, form) in COUNTED {
        let Some(rest) = name.strip_prefix(*prefix) else { continue };
        let address = match form {
            Form::Number => number(rest).map(|n| n.to_string()),
            Form::Letters => rest
                .trim_end_matches(|c: char| c.is_ascii_digit())
                .bytes()
                .all(|b| b.is_ascii_lowercase())
                .then(|| rest.to_string())
                .filter(|r| !r.is_empty() && r.len() < 5),
            Form::Dotted => rest
                .split_once('.')
                .and_then(|(a, b)| Some(format!("bus {}, select {}", number(a)?, number(b)?))),
            Form::Tail => (!rest.is_empty() && rest.len() < 40).then(|| rest.to_string()),
            Form::HexTail => hex(rest).map(|_| rest.to_string()),
        };
        if let Some(a) = address {
            return Some(Meaning::new(bus, a, class));
        }
    }
    special(name)
}

enum Form {
    /// A decimal number.
    Number,
    /// Letters, then maybe digits: `sda1`.
    Letters,
    /// `bus.select`.
    Dotted,
    /// Anything.
    Tail,
    /// Hexadecimal digits.
    HexTail,
}

/// Prefix, bus, class, form of the rest. A longer prefix stands before a
/// shorter one of which it is a continuation.
const COUNTED: &[(&str, &str, &str, Form)] = &[
    ("ata", "ATA", "port", Form::Number),
    ("host", "SCSI", "host", Form::Number),
    ("i2c-", "I2C", "bus", Form::Number),
    ("spi", "SPI", "chip on", Form::Dotted),
    ("spi", "SPI", "controller", Form::Number),
    ("mmc_host", "MMC", "controller", Form::Number),
    ("mmcblk", "block", "eMMC or SD card", Form::Number),
    ("mmc", "MMC", "controller", Form::Number),
    ("input", "input", "device", Form::Number),
    ("event", "input", "event interface", Form::Number),
    ("mouse", "input", "mouse interface", Form::Number),
    ("js", "input", "joystick interface", Form::Number),
    ("hidraw", "HID", "raw interface", Form::Number),
    ("serio", "serio", "PS/2 port", Form::Number),
    ("rtc", "RTC", "clock", Form::Number),
    ("cpu", "CPU", "", Form::Number),
    ("node", "memory", "NUMA node", Form::Number),
    ("memory", "memory", "block", Form::Number),
    ("cooling_device", "thermal", "cooling device", Form::Number),
    ("thermal_zone", "thermal", "zone", Form::Number),
    ("hwmon", "hwmon", "sensors", Form::Number),
    ("phy", "wireless", "radio", Form::Number),
    ("wlan", "network", "wireless interface wlan", Form::Number),
    ("eth", "network", "interface eth", Form::Number),
    ("can", "network", "CAN interface can", Form::Number),
    ("hci", "Bluetooth", "controller", Form::Number),
    ("rfkill", "rfkill", "radio switch", Form::Number),
    ("regulator.", "regulator", "", Form::Number),
    ("reg-dummy", "regulator", "dummy", Form::Number),
    ("gpiochip", "GPIO", "controller", Form::Number),
    ("pwmchip", "PWM", "controller", Form::Number),
    ("iio:device", "IIO", "sensor", Form::Number),
    ("dma", "DMA", "controller dma", Form::HexTail),
    ("nvme-subsys", "NVMe", "subsystem", Form::Number),
    ("nvme", "NVMe", "controller", Form::Number),
    ("watchdog", "watchdog", "", Form::Number),
    ("card", "graphics or sound", "card", Form::Number),
    ("renderD", "graphics", "render node", Form::Number),
    ("controlC", "sound", "mixer of card", Form::Number),
    ("fb", "graphics", "frame buffer", Form::Number),
    ("video", "video", "interface video", Form::Number),
    ("media", "video", "media controller", Form::Number),
    ("v4l-subdev", "video", "part", Form::Number),
    ("ttyS", "serial", "port ttyS", Form::Number),
    ("ttyAMA", "serial", "port ttyAMA", Form::Number),
    ("ttyUSB", "serial", "USB port ttyUSB", Form::Number),
    ("ttyACM", "serial", "USB modem ttyACM", Form::Number),
    ("tty", "terminal", "tty", Form::Number),
    ("vcsa", "terminal", "screen memory", Form::Number),
    ("vcsu", "terminal", "screen memory", Form::Number),
    ("vcs", "terminal", "screen memory", Form::Number),
    ("loop", "block", "loop device", Form::Number),
    ("ram", "block", "RAM disk", Form::Number),
    ("zram", "block", "compressed RAM disk", Form::Number),
    ("md", "block", "RAID", Form::Number),
    ("sg", "SCSI", "generic interface sg", Form::Number),
    ("sr", "block", "optical drive sr", Form::Number),
    ("sd", "block", "disk sd", Form::Letters),
    ("vd", "block", "virtio disk vd", Form::Letters),
    ("virtio", "virtio", "device", Form::Number),
    ("tpmrm", "TPM", "resource manager", Form::Number),
    ("tpm", "TPM", "chip", Form::Number),
    ("typec", "USB", "type-C", Form::Tail),
    ("port", "USB", "type-C port", Form::Number),
    ("ucsi-source-psy-", "power supply", "USB type-C", Form::Tail),
    ("BAT", "power supply", "battery", Form::Number),
    ("AC", "power supply", "AC adapter", Form::Number),
    ("ADP", "power supply", "AC adapter", Form::Number),
    ("dmar", "IOMMU", "DMA remapping unit", Form::Number),
    ("mei", "MEI", "management engine interface", Form::Number),
    ("idma64.", "DMA", "Intel LPSS", Form::Number),
    ("i2c_designware.", "I2C", "controller", Form::Number),
    ("pxa2xx-spi.", "SPI", "controller", Form::Number),
    ("dw-apb-uart.", "serial", "controller", Form::Number),
    ("coretemp.", "hwmon", "CPU temperature, package", Form::Number),
    ("intel_rapl_msr.", "CPU", "power limits", Form::Number),
    ("wakeup", "wakeup", "source", Form::Number),
    ("bdi", "block", "writeback", Form::Tail),
    ("event_source", "perf", "counters", Form::Tail),
    ("clocksource", "clock", "source", Form::Number),
    ("clockevent", "clock", "events of CPU", Form::Number),
    ("hpet", "clock", "HPET", Form::Number),
    ("ptp", "PTP", "clock", Form::Number),
    ("mtdblock", "flash", "block mtd", Form::Number),
    ("mtd", "flash", "mtd", Form::Number),
    ("ubi", "flash", "UBI", Form::Number),
    ("remoteproc", "remote processor", "", Form::Number),
    ("link", "ATA", "link", Form::Number),
];

/// Forms with more than one number.
fn special(name: &str) -> Option<Meaning> {
    if let Some(rest) = name.strip_prefix("mmc") {
        let (host, card) = rest.split_once(':')?;
        let (host, card) = (number(host)?, hex_of(card, 4)?);
        return Some(Meaning::new("MMC", format!("{card:04x} in controller {host}"), "card"));
    }
    if let Some(rest) = name.strip_prefix("hdaudioC") {
        let (card, codec) = rest.split_once('D')?;
        let (card, codec) = (number(card)?, number(codec)?);
        return Some(Meaning::new("HD audio", format!("{codec} of card {card}"), "codec"));
    }
    if let Some(rest) = name.strip_prefix("hwC").or(name.strip_prefix("pcmC")) {
        let card = rest.split('D').next().and_then(number)?;
        return Some(Meaning::new("sound", format!("of card {card}"), "interface"));
    }
    if let Some(rest) = name.strip_prefix("card") {
        let (card, connector) = rest.split_once('-')?;
        let card = number(card)?;
        return Some(Meaning::new("graphics", format!("{connector} of card {card}"), "connector"));
    }
    if let Some(rest) = name.strip_prefix("nvme") {
        let (a, b) = rest.split_once('n')?;
        let (a, b) = (number(a)?, number(b.split('p').next()?)?);
        return Some(Meaning::new("NVMe", format!("{b} of controller {a}"), "namespace"));
    }
    if let Some(rest) = name.strip_prefix("dev") {
        let mut p = rest.split('.');
        let (port, device) = (number(p.next()?)?, number(p.next()?)?);
        return Some(Meaning::new("ATA", format!("{device} of port {port}"), "device"));
    }
    if let Some(rest) = name.strip_prefix("mdio-bus").or(name.strip_prefix("Fixed MDIO bus.")) {
        return Some(Meaning::new("MDIO", rest.to_string(), "bus for network PHYs"));
    }
    // HID: bus:vendor:product.instance in upper-case hexadecimal.
    let mut p = name.splitn(3, ':');
    let (bus, vendor, rest) = (p.next()?, p.next()?, p.next()?);
    let (product, instance) = rest.split_once('.')?;
    let is_hex = |s: &str| s.len() == 4 && s.bytes().all(|b| b.is_ascii_hexdigit());
    if [bus, vendor, product, instance].into_iter().all(is_hex) {
        let via = match bus {
            "0003" => "on USB",
            "0005" => "on Bluetooth",
            "0018" => "on I2C",
            _ => "device",
        };
        return Some(Meaning::new("HID", format!("{vendor}:{product}"), via));
    }
    None
}

/// `4a100000.ethernet`, `soc@0`, `ocp:gpio-keys`: device-tree nodes on the
/// platform bus.
fn unit_address(name: &str) -> Option<Meaning> {
    if let Some((address, node)) = name.split_once('.')
        && address.len() >= 3
        && let Some(a) = hex(address)
        && node.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
    {
        return Some(Meaning::new("platform", format!("{node} at address 0x{a:x}"), ""));
    }
    if let Some((node, address)) = name.split_once('@')
        && let Some(a) = hex(address)
        && !node.is_empty()
    {
        return Some(Meaning::new("platform", format!("{node} at address 0x{a:x}"), ""));
    }
    if let Some((parent, node)) = name.rsplit_once(':')
        && !parent.is_empty()
        && parent.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && node.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && !parent.contains('-')
    {
        return Some(Meaning::new("platform", format!("{node} under {parent}"), ""));
    }
    None
}

/// Names that stand for themselves.
fn fixed(name: &str) -> Option<Meaning> {
    let (bus, class) = match name {
        "platform" => ("platform", "root of the platform bus"),
        "i8042" => ("platform", "PS/2 keyboard and mouse controller"),
        "pcspkr" => ("platform", "PC speaker"),
        "rtc_cmos" => ("platform", "CMOS real-time clock"),
        "serial8250" => ("platform", "serial ports"),
        "alarmtimer" => ("platform", "wake-up timers"),
        "gpio-keys" | "gpio_keys" => ("platform", "keys on GPIO lines"),
        "pnp0" => ("PnP", "root of the PnP bus"),
        "LNXSYSTM:00" => ("ACPI", "root"),
        "system" => ("system", "root"),
        "cpu" => ("CPU", "root of all CPUs"),
        "memory" => ("memory", "root of all memory blocks"),
        "vtcon0" | "vtcon1" => ("terminal", "console"),
        "lo" => ("network", "loopback interface"),
        "psaux" => ("input", "old mouse interface"),
        "mice" => ("input", "all mice"),
        "snd" => ("sound", "root"),
        "timer" | "seq" => ("sound", "interface"),
        "microcode" => ("CPU", "microcode loader"),
        "reg-dummy" => ("regulator", "dummy"),
        "regulatory.0" => ("wireless", "regulatory rules"),
        "intel_backlight" | "acpi_video0" => ("graphics", "backlight"),
        "mdio" => ("MDIO", "bus for network PHYs"),
        _ => {
            // Interrupt-free forms of the PnP bus: 00:05.
            let (a, b) = name.split_once(':')?;
            hex_of(a, 2)?;
            let b = hex_of(b, 2)?;
            return Some(Meaning::new("PnP", format!("{b}"), "device"));
        }
    };
    Some(Meaning::new(bus, "", class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> String {
        decode(name, "").map_or_else(String::new, |m| m.text())
    }

    #[test]
    fn addresses_of_buses() {
        for (name, meaning) in [
            ("0-0055", "I2C bus 0, chip address 0x55"),
            ("12-a1ff", "I2C bus 12, 10-bit chip address 0x1ff"),
            ("i2c-4", "I2C bus 4"),
            ("4a100000.ethernet", "platform ethernet at address 0x4a100000"),
            ("usb1", "USB root hub of bus 1"),
            ("1-1.2", "USB device bus 1 port 1.2"),
            ("1-1.2:1.0", "USB interface 0 of bus 1 port 1.2"),
            ("1-0:1.0", "USB root hub interface of bus 1"),
            ("usb2-port3", "USB root hub port bus 2 port 3"),
            ("ep_81", "USB endpoint 1 in"),
            ("mmc0:0007", "MMC card 0007 in controller 0"),
            ("mmc0", "MMC controller 0"),
            ("mmcblk0", "block eMMC or SD card 0"),
            ("0000:00:1f.2", "PCI bus 0, device 31, function 2"),
            ("10000:e1:00.0", "PCI domain 10000, bus 225, device 0, function 0"),
            ("pci0000:00", "PCI host bridge domain 0, bus 0"),
            ("0000:00:1c.0:pcie004", "PCI port service (hotplug) bus 0, device 28, function 0"),
            ("ata1", "ATA port 1"),
            ("host0", "SCSI host 0"),
            ("target0:0:0", "SCSI target host 0, channel 0, id 0"),
            ("0:0:0:0", "SCSI device host 0, channel 0, id 0, LUN 0"),
            ("i8042", "platform PS/2 keyboard and mouse controller"),
            ("serio0", "serio PS/2 port 0"),
            ("PNP0C0A:00", "ACPI battery PNP0C0A:00"),
            ("LNXSYSTM:00", "ACPI system root LNXSYSTM:00"),
            ("coretemp.0", "hwmon CPU temperature, package 0"),
            ("spi0.0", "SPI chip on bus 0, select 0"),
            ("hdaudioC0D0", "HD audio codec 0 of card 0"),
            ("card0-eDP-1", "graphics connector eDP-1 of card 0"),
            ("input5", "input device 5"),
            ("rtc0", "RTC clock 0"),
            ("cpu0", "CPU 0"),
            ("thermal_zone0", "thermal zone 0"),
            ("phy0", "wireless radio 0"),
            ("regulator.3", "regulator 3"),
            ("Fixed MDIO bus.0", "MDIO bus for network PHYs 0"),
            ("platform", "platform root of the platform bus"),
            ("00:05", "PnP device 5"),
            ("nvme0", "NVMe controller 0"),
            ("nvme0n1", "NVMe namespace 1 of controller 0"),
            ("sda", "block disk sd a"),
            ("0018:06CB:76AF.0001", "HID on I2C 06CB:76AF"),
            ("dev1.0", "ATA device 0 of port 1"),
        ] {
            assert_eq!(text(name), meaning, "{name}");
        }
    }

    #[test]
    fn what_has_no_known_form_has_no_meaning() {
        for name in [
            "",
            "-",
            ":",
            "x",
            "1-",
            "-1",
            "1-1.",
            "1-0",
            "0000:00:20.0",
            "0000:00:1f.8",
            "usb",
            "usb01",
            "ep_8",
            "\"><script>",
            "a\nb",
            "99999999999-0055",
            "é-é",
            "1-1:1",
        ] {
            assert_eq!(decode(name, ""), None, "{name:?}");
        }
    }

    #[test]
    fn a_usb_path_is_not_an_i2c_address() {
        assert_eq!(text("1-1234"), "I2C bus 1, chip address 0x1234");
        assert_eq!(text("1-12"), "USB device bus 1 port 12");
        assert_eq!(text("3-4.1.2"), "USB device bus 3 port 4.1.2");
    }
}
