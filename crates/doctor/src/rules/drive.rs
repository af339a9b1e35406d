//! Drives that answer no more while the machine is awake, which their own power states and
//! those of their link can do.

use super::abort::owner;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use std::collections::BTreeSet;

/// All registers read as ones: the drive or its link is gone
/// (drivers/nvme/host/pci.c:nvme_warn_reset, 6.12).
const GONE: &str = "controller is down; will reset: CSTS=0xffffffff";

/// What the kernel prints when it gives a drive up (nvme_reset_work, 6.12; nvme_remove_dead_ctrl
/// before 6.2).
const GIVEN_UP: [&str; 2] =
    ["Disabling device after reset failure", "Removing after probe failure"];

/// drivers/pci/pci.c:pci_power_up, 6.12.
const UNPOWERED: &str = "Unable to change power state from D3cold to D0, device inaccessible";

/// Whether a drive is told of as gone near message `at`.
pub(super) fn is_told(case: &Case, at: usize) -> bool {
    let near = &case.messages[at..(at + AROUND).min(case.messages.len())];
    near.iter().any(|m| m.has(GONE) || GIVEN_UP.iter().any(|w| m.has(w)))
}

/// So many messages before the end of a drive may tell of its power.
const AROUND: usize = 8;

const REASON: &str = "A power state that the drive enters by itself does that, or one of its link; \
                      a drive that dies looks the same.";

/// Drives of which the text has the end alone: no line says that the controller was down.
fn given_up(case: &Case, told: &mut BTreeSet<String>, out: &mut Vec<Finding>) {
    for (at, m) in case.messages.having_any(&GIVEN_UP) {
        let device = owner(&m.text);
        let known = |f: &Finding| f.about.devices.iter().any(|d| d.name == device.name);
        // ENODEV: nothing is there any more.
        let gone = m.text.trim_end().ends_with("-19") && device.driver == "nvme";
        if !gone || !m.trust.is_of_a_kernel() || out.iter().any(known) {
            continue;
        }
        if !told.insert(device.name.clone()) {
            continue;
        }
        let near = |range: std::ops::Range<usize>, words: &'static str| {
            case.messages[range].iter().find(move |m| m.has(words))
        };
        let unpowered = near(at.saturating_sub(AROUND)..at, UNPOWERED);
        let end = (at + AROUND).min(case.messages.len());
        let disk = format!("({}n", device.name);
        let filesystem = near(at..end, "Remounting filesystem read-only").filter(|m| m.has(&disk));
        let power = unpowered.map_or(String::new(), |p| {
            format!(" Before it, {} could not be brought from D3cold to D0.", owner(&p.text).name)
        });
        let mounted = match filesystem {
            Some(_) => " Its file system can only be read since.",
            None => "",
        };
        let answered = answers(&case.messages[..at], &device.name);
        let (what, because) = match &answered {
            Some((_, register)) => (
                format!(
                    "its registers still answered (CSTS={register}), and it did not start again (-19)"
                ),
                "Its power and its link were there at that moment. The register has the state of the \
                 controller itself: bit 0 is set where it is ready, bit 1 where it failed \
                 (NVM Express, Controller Status).",
            ),
            None => (
                "nothing answers in its place (-19, ENODEV)".into(),
                "It lost its power or its link. Whether a power state did that, a sleep, the \
                 link or the drive itself, no line that was read says.",
            ),
        };
        out.push(
            Finding::new(("drive-gone", Area::Storage, Level::Broken), Confidence::Likely)
                .says(format!(
                    "The kernel gave {} up: {what}.{power}{mounted}",
                    say::device(&device)
                ))
                .because(because)
                .look("See what the kernel said of it first: dmesg | grep -e nvme -e pcieport -e AER.")
                .of_devices([device])
                .shown_by(lines(answered.map(|a| a.0).into_iter().chain(unpowered).chain([m]).chain(filesystem))),
        );
    }
}

/// The line before the end of a drive in which its registers answered, and what they read: not
/// all ones.
fn answers<'a>(before: &'a [Message], drive: &str) -> Option<(&'a Message, &'a str)> {
    let mut near = before.iter().rev().take(4 * AROUND);
    let m = near.find(|m| {
        m.has(" controller is down; will reset: CSTS=") && owner(&m.text).name == drive
    })?;
    let register = m.after("CSTS=")?.split(',').next()?.trim();
    (register != "0xffffffff").then_some((m, register))
}

/// Ports of SATA that libata resets no more: the disk behind it is gone
/// (drivers/ata/libata-eh.c:ata_eh_reset, ata_dev_disable, 3.0 to 7.3).
fn port_given_up(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = "reset failed, giving up";
    let mut told: BTreeSet<String> = BTreeSet::new();
    for (at, m) in case.messages.having(WORDS).filter(|(_, m)| m.trust.is_of_a_kernel()) {
        let device = owner(&m.text);
        if device.name.is_empty() || !told.insert(device.name.clone()) {
            continue;
        }
        let drive = format!("{}.", device.name);
        let off = case.messages[at..].iter().take(SOON).find(|x| {
            x.text.starts_with(&drive) && (x.has(": disabled") || x.has(": disable device"))
        });
        let before = case.attempts.iter().rfind(|a| a.first < at);
        let when = match before {
            Some(a) => format!(" behind the sleep of line {}", case.messages[a.first].line),
            None => String::new(),
        };
        let and = if off.is_some() { " Its disk was switched off." } else { "" };
        let rule = ("disk-given-up", Area::Storage, Level::Broken);
        let f = Finding::new(rule, Confidence::Certain)
            .says(format!("The kernel gave {} up{when}: its resets failed.{and}", say::device(&device)))
            .look("What it holds can be read again after a restart at best. Compare with link power management off (link_power_management_policy at max_performance), another cable and another port.")
            .of_devices([device])
            .shown_by(lines([m].into_iter().chain(off)));
        out.push(match before {
            Some(_) => f.at("resume").when(Some(Direction::Resume), None),
            None => f,
        });
    }
}

/// The disk is switched off so many messages behind.
const SOON: usize = 8;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    port_given_up(case, out);
    let mut told: BTreeSet<String> = BTreeSet::new();
    for (at, first) in case.messages.having(GONE) {
        let device = owner(&first.text);
        // One that a sleep took away is told there.
        let known = |f: &Finding| f.about.devices.iter().any(|d| d.name == device.name);
        // The whole line of the driver is no sentence, though nobody knows whose log it is.
        let whole = first.text.trim_start().starts_with(&format!("nvme {}: ", device.name));
        if !first.trust.is_of_a_kernel() && !whole
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
        // A text without any sleep may be an excerpt, which proves nothing of when.
        let place = match (inside, case.attempts.is_empty()) {
            (false, false) => " outside of a sleep",
            _ => "",
        };
        let before = &case.messages[at.saturating_sub(AROUND)..at];
        let unpowered = before.iter().rev().find(|m| m.has(UNPOWERED));
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
        .because(match unpowered {
            Some(m) => format!(
                "Just before, {} could not be brought from D3cold to D0: it had lost its power or \
                 its link. Who took that, its port, its host or firmware, and whether a sleep did, \
                 no line that was read says.",
                owner(&m.text).name
            ),
            None if case.attempts.is_empty() => {
                format!("{REASON} Whether a sleep stands before it, no line that was read says.")
            }
            None => REASON.into(),
        })
        .of_devices([device])
        .shown_by(lines(unpowered.into_iter().chain([first]).chain(given_up)));
        // What lost its power is no matter of the drive's own states.
        out.push(match unpowered {
            Some(_) => finding.look(
                "Look at the port above it and its host: lspci -t names them, their power/ folders \
                 and d3cold_allowed say what they may do, and a host that loses its state over a \
                 sleep must set its link up again.",
            ),
            None => finding.change(
                "Boot with nvme_core.default_ps_max_latency_us=0 and look whether it stays; then \
                 without that and with pcie_aspm=off: one at a time tells which of them it is",
                "Take the words out of the kernel's command line again.",
                "The drive draws more when nobody asks it for anything.",
            ),
        });
    }
    given_up(case, &mut told, out);
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
        assert!(ids(&[alive, "nvme nvme2: Disabling device after reset failure: -5"]).is_empty());
        let found = ids(&[
            &alive.replace("0x1,", "0x3,"),
            "nvme nvme1: Removing after probe failure status: -19",
        ]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(one.contains("still answered (CSTS=0x3)"), "{one}");
        assert!(!one.contains("outside of a sleep"), "no line says so: {one}");
        let power = "nvme 0004:01:00.0: Unable to change power state from D3cold to D0, device \
                     inaccessible";
        let mount = "XFS (nvme1n1p2): Remounting filesystem read-only";
        let found = ids(&[power, gone, mount]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(one.starts_with("drive-gone: The kernel gave nvme1 (nvme) up"), "{one}");
        assert!(one.contains("0004:01:00.0 could not be brought") && one.contains("only be read"));
    }
}
