//! ACPI and PnP identifiers, such as `PNP0C0A:00`.
//!
//! The `PNP` identifiers are Microsoft's public list, the `ACPI` ones are in
//! the ACPI specification, and `LNX` ones are the kernel's own; the others are
//! what the drivers that bind to them are for.

use super::meaning::Meaning;

/// `ID:NN`, where `ID` is three or four letters and hexadecimal digits.
pub(super) fn decode(name: &str) -> Option<Meaning> {
    let (id, instance) = name.split_once(':')?;
    if !(2..=3).contains(&instance.len()) || !instance.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let ok = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    // The kernel's own are letters only (LNXPOWER); vendors' end in four
    // hexadecimal digits.
    let form = (7..=8).contains(&id.len())
        && id.bytes().all(ok)
        && id.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    let own = id == "device" || id.starts_with("LNX");
    if !form && !own {
        return None;
    }
    let class = IDS.iter().find(|(i, _)| *i == id).map_or("", |(_, c)| c);
    Some(Meaning::new("ACPI", name, class))
}

const IDS: &[(&str, &str)] = &[
    ("ACPI0003", "AC adapter"),
    ("ACPI0007", "processor"),
    ("ACPI0008", "ambient light sensor"),
    ("ACPI000C", "processor aggregator"),
    ("ACPI000D", "power meter"),
    ("ACPI000E", "time and alarm device"),
    ("ACPI0010", "processor container"),
    ("ACPI0011", "generic buttons"),
    ("ACPI0013", "generic event device"),
    ("AMDI0010", "I2C controller"),
    ("AMDI0030", "GPIO controller"),
    ("AMDI0009", "power management controller"),
    ("BOSC0200", "accelerometer"),
    ("INT0800", "firmware hub"),
    ("INT33A1", "Intel power engine"),
    ("INT33D5", "Intel HID events (buttons)"),
    ("INT33D6", "Intel virtual buttons"),
    ("INT3400", "Intel thermal management"),
    ("INT3402", "Intel thermal memory sensor"),
    ("INT3403", "Intel thermal sensor"),
    ("INT3406", "Intel thermal display"),
    ("INT3407", "Intel thermal power"),
    ("INT340E", "motherboard resources"),
    ("INT344B", "GPIO controller"),
    ("INT345D", "GPIO controller"),
    ("INT34BB", "GPIO controller"),
    ("INT34C5", "GPIO controller"),
    ("INT3515", "USB type-C controller"),
    ("INT3F0D", "watchdog"),
    ("LNXCPU", "processor"),
    ("LNXIOBAY", "drive bay"),
    ("LNXPOWER", "power resource"),
    ("LNXPWRBN", "power button"),
    ("LNXSLPBN", "sleep button"),
    ("LNXSYBUS", "system bus"),
    ("LNXSYSTM", "system root"),
    ("LNXTHERM", "thermal zone"),
    ("LNXVIDEO", "graphics"),
    ("MSFT0101", "TPM 2.0"),
    ("PNP0000", "interrupt controller"),
    ("PNP0100", "system timer"),
    ("PNP0103", "HPET timer"),
    ("PNP0200", "DMA controller"),
    ("PNP0303", "PS/2 keyboard"),
    ("PNP0400", "parallel port"),
    ("PNP0401", "parallel port (ECP)"),
    ("PNP0500", "serial port"),
    ("PNP0501", "serial port"),
    ("PNP0700", "floppy controller"),
    ("PNP0800", "PC speaker"),
    ("PNP0A03", "PCI host bridge"),
    ("PNP0A05", "generic bus"),
    ("PNP0A06", "extended IO bus"),
    ("PNP0A08", "PCI Express host bridge"),
    ("PNP0B00", "real-time clock"),
    ("PNP0C01", "system board"),
    ("PNP0C02", "motherboard resources"),
    ("PNP0C04", "math coprocessor"),
    ("PNP0C09", "embedded controller"),
    ("PNP0C0A", "battery"),
    ("PNP0C0B", "fan"),
    ("PNP0C0C", "power button"),
    ("PNP0C0D", "lid switch"),
    ("PNP0C0E", "sleep button"),
    ("PNP0C0F", "PCI interrupt link"),
    ("PNP0C14", "WMI (vendor functions)"),
    ("PNP0C31", "TPM"),
    ("PNP0C33", "hardware error device"),
    ("PNP0C40", "standard button controller"),
    ("PNP0C50", "HID over I2C"),
    ("PNP0C60", "display sensor"),
    ("PNP0C70", "dock sensor"),
    ("PNP0C80", "memory device"),
    ("PNP0CA0", "USB type-C connector (UCSI)"),
    ("PNP0D10", "USB controller (xHCI)"),
    ("PNP0D20", "USB controller (EHCI)"),
    ("PNP0D40", "SD host controller"),
    ("PNP0F03", "PS/2 mouse"),
    ("PNP0F13", "PS/2 mouse"),
    ("PRP0001", "device-tree device"),
    ("USBC000", "USB type-C connector (UCSI)"),
    ("device", "device"),
];
