//! Power management of PCI Express links that the firmware or the command line took from the
//! kernel.

use crate::case::Case;
use crate::evidence::{lines, value};
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;

/// Who took it.
enum By {
    Firmware,
    CommandLine,
}

/// The words, whose they are, and whether they are the whole line, which a person may write in a
/// sentence (drivers/pci/pci-acpi.c:acpi_pci_init, drivers/acpi/pci_root.c:acpi_pci_root_add,
/// drivers/pci/pcie/aspm.c:pcie_aspm_disable, 6.12).
const DENIED: [(&str, By, bool); 3] = [
    ("ACPI FADT declares the system doesn't support PCIe ASPM", By::Firmware, false),
    ("FADT indicates ASPM is unsupported, using BIOS configuration", By::Firmware, false),
    ("PCIe ASPM is disabled", By::CommandLine, true),
];

impl By {
    fn words(&self) -> &'static str {
        match self {
            By::Firmware => {
                "The firmware declares (in its FADT) that this machine does not support ASPM"
            }
            By::CommandLine => "The command line switched ASPM off (pcie_aspm=off)",
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            By::Firmware => {
                "See what the firmware set: lspci -vv, LnkCtl. A setting of the firmware may allow it. Booting with pcie_aspm=force overrides the firmware; a device with a bad link may vanish then."
            }
            By::CommandLine => {
                "See what the firmware set: lspci -vv, LnkCtl. Without pcie_aspm=off on the command line the kernel manages the links again."
            }
        }
    }
}

/// A device whose link keeps it off (aspm.c:pcie_aspm_sanity_check, 6.12).
const OLD: &str = "disabling ASPM on pre-1.1 PCIe device";

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    // Somebody forced it: it is managed all the same.
    if case.messages.having_any(&["forcibly enabled", "pcie_aspm=force"]).next().is_some() {
        return;
    }
    let said = |(words, by, whole): &'static (&str, By, bool)| {
        let all = case.messages.having(words).map(|(_, m)| m);
        let is = |m: &&Message| m.trust.is_of_a_kernel() && (!whole || m.text.trim() == *words);
        Some((all.into_iter().find(is)?, by))
    };
    let Some((m, by)) = DENIED.iter().find_map(said) else { return };
    let policy = case.values.iter().find(|v| v.path.ends_with("/pcie_aspm/parameters/policy"));
    // Many machines say so at each boot: a log of sleeps is about something else.
    if !case.attempts.is_empty() && policy.is_none() {
        return;
    }
    let shown = policy.map_or(String::new(), |v| {
        let name = v.value.split(['[', ']']).nth(1).unwrap_or(v.value.trim());
        format!(" The policy that the text shows ({name}) does nothing.")
    });
    let old: Vec<&Message> = case.messages.having(OLD).map(|(_, m)| m).collect();
    let f = Finding::new(("aspm-denied", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!(
            "{}: the kernel leaves the links of PCI Express as the firmware set them, and policies (pcie_aspm/parameters/policy, tools that write it) have no effect.{shown}",
            by.words()
        ))
        .look(by.advice())
        .shown_by(lines([m].into_iter().chain(old.into_iter().take(1))))
        .shown_by(policy.map(value));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_may_not_manage_links_says_what_that_means() {
        let found = |text: &str| {
            let mut out = Vec::new();
            judge(&Case::of_log(&[(90, text)]), &mut out);
            out.pop().map(|f| f.sentence)
        };
        let fadt = "ACPI FADT declares the system doesn't support PCIe ASPM, so disable it";
        assert!(found(fadt).is_some_and(|s| s.starts_with("The firmware declares")));
        assert!(found("PCIe ASPM is disabled").is_some_and(|s| s.contains("pcie_aspm=off")));
        assert!(found("here PCIe ASPM is disabled, I think").is_none());
        assert!(found("PCIe ASPM is forcibly enabled").is_none());
        for forced in
            ["PCIe ASPM is forcibly enabled", "Command line: root=/dev/elm pcie_aspm=force"]
        {
            let mut out = Vec::new();
            judge(&Case::of_log(&[(10, forced), (90, fadt)]), &mut out);
            assert!(out.is_empty(), "{forced}");
        }
    }
}
