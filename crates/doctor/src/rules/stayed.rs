//! Devices of PCI that a sleep left in D0, by the core's own lines
//! (drivers/pci/pci-driver.c:pci_pm_suspend_noirq, 4.16 to 7.3, with dynamic debug).

use super::abort::owner;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use dormouse_base::say;
use std::collections::BTreeMap;

const SAID: &str = "PCI PM: Suspend power state: ";

/// So many of them are named.
const NAMED: usize = 6;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut of: BTreeMap<String, (Device, &Message)> = BTreeMap::new();
    for (_, m) in case.messages.having(SAID).filter(|(_, m)| m.trust.is_of_a_kernel()) {
        let device = owner(&m.text);
        if m.after(SAID).map(str::trim) == Some("D0") && !device.name.is_empty() {
            of.entry(device.name.clone()).or_insert((device, m));
        }
    }
    let mut awake: Vec<(Device, &Message)> = of.into_values().collect();
    awake.sort_by_key(|a| a.1.line);
    if awake.is_empty() {
        return;
    }
    let names: Vec<String> = awake.iter().take(NAMED).map(|(d, _)| say::device(d)).collect();
    let left = match awake.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    out.push(
        Finding::new(("device-in-d0", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("The sleep left in D0: {}{left}.", names.join(", ")))
            .because("In D0 a device keeps its power. A drive of NVMe may go into a power state of its own instead, and firmware may take the power of the rest: no line says so.")
            .look("What keeps it there: d3cold_allowed, power/wakeup, and whether its driver saves its state itself (pci_save_state), in the lines beside these.")
            .of_devices(awake.iter().take(NAMED).map(|a| a.0.clone()))
            .shown_by(lines(awake.iter().take(NAMED).map(|a| a.1))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> Vec<String> {
        let log: Vec<(i64, &str)> = lines.iter().map(|l| (1, *l)).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        out.into_iter().map(|f| f.sentence).collect()
    }

    #[test]
    fn devices_that_keep_their_power_are_noted() {
        let [said] = &told(&[
            "elm 0000:0b:00.0: PCI PM: Suspend power state: D0",
            "pcieport 0000:00:1c.7: PCI PM: Suspend power state: D0",
            "oak 0000:0c:00.0: PCI PM: Suspend power state: D3hot",
        ])[..] else {
            panic!()
        };
        assert_eq!(*said, "The sleep left in D0: 0000:0b:00.0 (elm), 0000:00:1c.7 (pcieport).");
        // That another sleep took it down does not undo it.
        let again = [
            "elm 0000:0b:00.0: PCI PM: Suspend power state: D0",
            "elm 0000:0b:00.0: PCI PM: Suspend power state: D3cold",
        ];
        assert_eq!(told(&again), ["The sleep left in D0: 0000:0b:00.0 (elm)."]);
        assert!(told(&again[1..]).is_empty());
    }
}
