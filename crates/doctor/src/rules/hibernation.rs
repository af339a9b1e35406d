//! Hibernation (kernel/power/hibernate.c, snapshot.c, swap.c).

use super::{found, lines};
use crate::Case;
use crate::fact::{Device, Fact};
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;

/// `nvidia 0000:01:00.0: PM: failed to quiesce async: error -5`
/// (drivers/base/power/main.c:pm_dev_err, for PM_EVENT_QUIESCE).
fn refuses(m: &Message) -> Option<(&Message, Device, i32)> {
    let (front, rest) = m.text.split_once("failed to quiesce")?;
    let error = rest.split_once("error ")?.1.trim().parse().ok()?;
    let front = front.trim_end().trim_end_matches("PM:").trim_end().trim_end_matches(':');
    let front = front.strip_prefix("PM: Device ").unwrap_or(front);
    let (driver, name) = front.rsplit_once(' ').unwrap_or(("", front));
    Some((m, Device { name: name.to_string(), driver: driver.to_string() }, error))
}

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all =
        |word: &str| -> Vec<&Message> { case.messages.iter().filter(|m| m.has(word)).collect() };
    let short = all(" pages short");
    if let Some(m) = short.iter().find(|m| m.says("Image allocation is ")) {
        let pages = m.after("Image allocation is ").and_then(|r| r.split(' ').next());
        out.push(found(
            ("hib-image-short", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageShort { pages: pages.unwrap_or("").to_string() },
            lines([*m]),
        ));
    }
    no_swap(case, out);
    let mut other = all("Image mismatch: ");
    // systemd compares what /etc/os-release says (src/hibernate-resume of systemd 258).
    other.extend(all("HibernateLocation system identifier doesn't match"));
    // arch/x86/power/hibernate.c:arch_hibernation_header_restore compares the maps.
    let map = all("Hibernate inconsistent memory map detected");
    let mismatch = !other.is_empty();
    if mismatch {
        out.push(found(
            ("hib-other-kernel", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageOfOther { memory: !map.is_empty() },
            lines(map.into_iter().chain(other)),
        ));
    }
    let load: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| m.says("Failed to load image") || m.says("Failed to load hibernation image"))
        .collect();
    // hibernation_restore stops the devices of the kernel that read it
    // (kernel/power/hibernate.c): it says "Failed to load image" if one refuses, too.
    let loaded = case.messages.iter().position(|m| m.has("Image successfully loaded"));
    let refused = loaded.and_then(|at| case.messages[at..].iter().find_map(refuses));
    if let (Some((m, device, error)), false) = (refused, load.is_empty()) {
        out.push(found(
            ("hib-device-refused", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageRefused { device, error },
            lines([m]),
        ));
    } else if !load.is_empty() && !mismatch {
        out.push(found(
            ("hib-load-failed", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageUnread,
            lines(load),
        ));
    }
    faults(case, out);
    // A crash between the image's making and the end of the hibernation.
    for a in case.attempts.iter().filter(|a| a.mode == "hibernation") {
        let messages = case.of(a);
        let made = messages.iter().position(|m| m.says("Creating image") || m.says("Need to copy"));
        let Some(made) = made else { continue };
        if let Some(m) = messages[made..].iter().find(|m| m.is_crash()) {
            out.push(found(
                ("hib-crash", Area::Hibernation, Level::Broken),
                Confidence::Likely,
                Fact::HibernationCrash,
                lines([m]),
            ));
            break;
        }
    }
}

/// The kernel without swap for the image (kernel/power/swap.c:swsusp_swap_check,
/// swsusp_write, 6.12); or systemd that does not even ask it, with the same words if
/// `resume=` names another swap than it looks at (src/shared/sleep-config.c).
fn no_swap(case: &Case, out: &mut Vec<Finding>) {
    let kernel = |m: &Message| m.says("Cannot find swap device") || m.says("Not enough free swap");
    let systemd = |m: &Message| {
        (m.has("systemd") || m.has("via logind"))
            && m.has("Not enough ")
            && m.has("swap space for hibernation")
    };
    let swap: Vec<&Message> = case.messages.iter().filter(|m| kernel(m) || systemd(m)).collect();
    let Some(first) = swap.iter().find(|m| kernel(m)).or(swap.first()) else { return };
    let program = !kernel(first);
    out.push(found(
        ("hib-no-swap", Area::Hibernation, Level::Broken),
        if program { Confidence::Likely } else { Confidence::Certain },
        Fact::NoSwap { none: first.says("Cannot"), program },
        lines(swap),
    ));
}

/// A kernel that is locked down (security/lockdown/lockdown.c:lockdown_is_locked_down,
/// 6.12; patches of distributions before 5.4 wrote `Hibernation`), and a disk that failed with the image (kernel/power/swap.c:hib_end_io).
fn faults(case: &Case, out: &mut Vec<Finding>) {
    let of = |word: &str| -> Vec<&Message> {
        let is = |m: &&Message| m.trust.is_of_a_kernel() && m.has(word);
        case.messages.iter().filter(is).collect()
    };
    let locked = of("ibernation is restricted; see man kernel_lockdown");
    if !locked.is_empty() {
        out.push(found(
            ("hib-locked", Area::Hibernation, Level::Note),
            Confidence::Certain,
            Fact::LockedDown,
            lines(locked),
        ));
    }
    let failed = of("-error on swap-device (");
    if let Some(m) = failed.first() {
        let numbers = m.after("swap-device (").unwrap_or("");
        let disk: Vec<&str> = numbers.split(':').take(2).collect();
        out.push(found(
            ("hib-disk-error", Area::Hibernation, Level::Broken),
            Confidence::Certain,
            Fact::ImageDisk { disk: disk.join(":"), write: m.has("Write-error") },
            lines(failed),
        ));
    }
}
