//! What states of sleep require, as data: one entry a rule.

use crate::finding::{Area, Finding};

/// The least exit latency of a state below C1 in drivers/idle/intel_idle.c (nehalem_cstates,
/// 2.6.35 to 7.3), in ns: a device that asks for less bars every such state of every
/// processor. What a device asks for awake is no measure of a sleep, so nothing above this
/// is called a blocker.
pub(crate) const DEEPER_NEEDS: u64 = 20_000;

/// The pin controllers whose interrupt stands for any of their pins: ACPI ids of
/// drivers/pinctrl/intel/*.c and drivers/pinctrl/pinctrl-amd.c, 6.1 to 7.3.
const PIN_CONTROLLERS: [&str; 39] = [
    "AMD0030", "AMDI0030", "AMDI0031", "AMDI0033", "INT33B2", "INT33C7", "INT33FC", "INT33FF",
    "INT3437", "INT344B", "INT3450", "INT3451", "INT3452", "INT3453", "INT3455", "INT345D",
    "INT34BB", "INT34C3", "INT34C4", "INT34C5", "INT34C6", "INT34C8", "INT34D1", "INT3536",
    "INTC1002", "INTC1003", "INTC1020", "INTC1055", "INTC1056", "INTC1057", "INTC105E", "INTC105F",
    "INTC1071", "INTC1082", "INTC1083", "INTC1084", "INTC1085", "INTC3000", "INTC3001",
];

/// Whether the owner of an interrupt is a controller of pins.
pub(crate) fn is_pin_controller(name: &str) -> bool {
    let id = name.split(':').next().unwrap_or(name);
    PIN_CONTROLLERS.contains(&id) || name.starts_with("pinctrl") || name.contains("gpio")
}

/// What stands behind the interrupts that a PC has had since the AT
/// (arch/x86/include/asm/irq_vectors.h, drivers/input/serio/i8042-acpipnpio.h,
/// drivers/rtc/rtc-cmos.c, drivers/acpi/osl.c: the SCI is 9 in nearly all firmware).
pub(crate) fn of_a_pc(irq: &str) -> Option<&'static str> {
    Some(match irq {
        "1" => "on a PC the keyboard controller, i8042",
        "8" => "on a PC the clock, rtc_cmos",
        "9" => "on a PC the ACPI interrupt",
        "12" => "on a PC the mouse or touchpad at the keyboard controller, i8042",
        _ => return None,
    })
}

/// How deep a sleep was, by the time that its hardware counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// In name only.
    Nothing,
    /// A part of the time.
    Part,
    /// All of it but entering and leaving.
    Whole,
}

/// Shares below are entering and leaving; a sleep that counted this share of its length was
/// one. Thousandths.
const WHOLE: u64 = 900;
const NOTHING: u64 = 50;

/// So many us of a sleep may be entering and leaving it.
const SECONDS: u64 = 10_000_000;

/// Where nobody says how long a sleep was, less than this counted nothing. In us.
pub(crate) const LEAST: u64 = 1_000_000;

/// How deep a sleep of so many seconds was, of which its hardware counted `us`.
pub(crate) fn depth_of(us: u64, seconds: Option<u64>) -> Depth {
    let Some(length) = seconds.filter(|s| *s > 0).map(|s| s.saturating_mul(1_000_000)) else {
        return if us >= LEAST { Depth::Whole } else { Depth::Nothing };
    };
    match us.saturating_mul(1_000) / length {
        t if t < NOTHING => Depth::Nothing,
        t if t < WHOLE && length.saturating_sub(us) >= SECONDS => Depth::Part,
        _ => Depth::Whole,
    }
}

/// A sleep that takes more of a battery in an hour was no deep one: so it is empty within a
/// day and a half. Thousandths of a per cent.
pub(crate) const HOT: i64 = 3_000;

/// Whether a rule said already how deep the machine slept.
pub(crate) fn told_depth(out: &[Finding]) -> bool {
    out.iter().any(|f| f.area == Area::Mode && DEPTH.contains(&f.id))
}

/// Whether a rule proved that the hardware slept.
pub(crate) fn is_deep(out: &[Finding]) -> bool {
    out.iter().any(|f| f.id == "mode-hardware")
}

/// Rules that say how deep a sleep was.
const DEPTH: [&str; 4] = ["mode-name-only", "mode-partial", "mode-hardware", "mode-not-counted"];
