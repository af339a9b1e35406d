//! Drives that answer no more while the machine is awake, which their own power states and
//! those of their link can do.

use super::abort::owner;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say;
use std::collections::BTreeSet;

/// All registers read as ones: the drive or its link is gone
/// (drivers/nvme/host/pci.c:nvme_warn_reset, 6.12).
const GONE: &str = "controller is down; will reset: CSTS=0xffffffff";

/// What the kernel prints when it gives a drive up (nvme_reset_work, 6.12; nvme_remove_dead_ctrl
/// before 6.2).
const GIVEN_UP: [&str; 2] =
    ["Disabling device after reset failure", "Removing after probe failure"];

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut told: BTreeSet<String> = BTreeSet::new();
    for (at, first) in case.messages.having(GONE) {
        let device = owner(&first.text);
        // One that a sleep took away is told there.
        let known = |f: &Finding| f.about.devices.iter().any(|d| d.name == device.name);
        if !first.trust.is_of_a_kernel()
            || out.iter().any(known)
            || !told.insert(device.name.clone())
        {
            continue;
        }
        let named = format!("{}: ", device.name);
        let of_it = |m: &&Message| m.text.contains(&named);
        let times = case.messages.having(GONE).filter(|(_, m)| of_it(m)).count();
        let given_up =
            case.messages[at..].iter().filter(of_it).find(|m| GIVEN_UP.iter().any(|w| m.has(w)));
        let inside = case.attempts.iter().any(|a| (a.first..a.end).contains(&at));
        let place = if inside { "" } else { " outside of a sleep" };
        let often = if times > 1 { format!(", {times} times") } else { String::new() };
        let end = if given_up.is_some() { ", and the kernel gave it up" } else { "" };
        let finding = Finding::new(
            ("drive-gone", Area::Storage, Level::Broken),
            Confidence::Likely,
        )
        .says(format!(
            "{} answered no more{place}{often}: its registers read as nothing but \
                 ones{end}.",
            say::device(&device)
        ))
        .because(
            "A power state that the drive enters by itself does that, or one of its link; a drive \
                 that dies looks the same.",
        )
        .change(
            "Boot with nvme_core.default_ps_max_latency_us=0 and look whether it stays; then \
                 without that and with pcie_aspm=off: one at a time tells which of them it is",
            "Take the words out of the kernel's command line again.",
            "The drive draws more when nobody asks it for anything.",
        )
        .of_devices([device])
        .shown_by(lines([first].into_iter().chain(given_up)));
        out.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(texts: &[&str]) -> Vec<String> {
        let lines: Vec<(i64, &str)> = (1..).zip(texts.iter().copied()).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&lines), &mut out);
        out.into_iter().map(|f| format!("{}: {}", f.id, f.sentence)).collect()
    }

    #[test]
    fn a_drive_that_reads_as_ones_is_told_once_with_its_end() {
        let down = "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10";
        let gone = "nvme nvme1: Disabling device after reset failure: -19";
        let found = ids(&[down, down, gone]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(one.starts_with("drive-gone: nvme1 (nvme) answered no more"), "{one}");
        assert!(one.contains("2 times") && one.ends_with("the kernel gave it up."), "{one}");
        // It answers: a command timed out, and the reset goes on.
        let alive = "nvme nvme1: controller is down; will reset: CSTS=0x1, PCI_STATUS=0x10";
        assert!(ids(&[alive, "nvme nvme2: Disabling device after reset failure: -19"]).is_empty());
    }
}
