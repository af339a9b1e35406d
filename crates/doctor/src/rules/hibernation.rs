//! Hibernation (kernel/power/hibernate.c, snapshot.c, swap.c).

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level, OLD};
use crate::formats::{self, Known, Meaning};
use crate::message::Message;
use dormouse_base::phase::Direction;
use dormouse_base::say;

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

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = |word: &str| -> Vec<&Message> { case.messages.all_having(word) };
    let short = all(" pages short");
    if let Some(m) = short.iter().find(|m| m.says("Image allocation is ")) {
        let pages = m.after("Image allocation is ").and_then(|r| r.split(' ').next());
        let f = broken("hib-image-short")
            .says(format!(
                "Hibernation failed: memory could not hold the image, {} pages were missing.",
                pages.filter(|p| !p.is_empty()).unwrap_or("some")
            ))
            .look("Free memory first: close programs, empty tmpfs (shared memory cannot be dropped), check that swap has room for it.")
            .change(
                "Or ask for a smaller image: echo 0 > /sys/power/image_size.",
                OLD,
                "More is written to swap before, and read back after.",
            )
            .shown_by(lines([*m]));
        out.push(f);
    }
    no_swap(case, out);
    let mut other = all("Image mismatch: ");
    // systemd compares what /etc/os-release says (src/hibernate-resume of systemd 258).
    other.extend(all("HibernateLocation system identifier doesn't match"));
    // arch/x86/power/hibernate.c:arch_hibernation_header_restore compares the maps.
    let map = all("Hibernate inconsistent memory map detected");
    let mismatch = !other.is_empty();
    if mismatch {
        let f = broken("hib-other-kernel");
        let f = if map.is_empty() {
            f.says("The image was made by another kernel or on another machine, so it was not read.")
                .look("Boot the kernel that hibernated; after an update of the kernel, reboot before hibernating.")
        } else {
            f.says("The memory map that the firmware gave is another than when the image was made, so the image was not read.")
                .look("The firmware must give the same map at each boot: update it, take away what changes it (docks, settings), and compare the e820 lines of the two boots.")
        };
        out.push(f.shown_by(lines(map.into_iter().chain(other))));
    }
    let load: Vec<&Message> = case
        .messages
        .having("Failed to load ")
        .map(|(_, m)| m)
        .filter(|m| m.says("Failed to load image") || m.says("Failed to load hibernation image"))
        .collect();
    // hibernation_restore stops the devices of the kernel that read it
    // (kernel/power/hibernate.c): it says "Failed to load image" if one refuses, too.
    let loaded = case.messages.having("Image successfully loaded").next().map(|(at, _)| at);
    let refused = loaded.and_then(|at| case.messages[at..].iter().find_map(refuses));
    if let (Some((m, device, error)), false) = (refused, load.is_empty()) {
        let f = broken("hib-device-refused")
            .says(format!(
                "The image was read whole, and then {} would not stop for it: {}. So the machine booted afresh.",
                say::device(&device),
                say::told(error)
            ))
            .look("The kernel that reads the image stops its own devices first: keep that driver out of the initrd, or set up what it asks for (nvidia: its suspend services, or its parameter for video memory).")
            .of_devices([device])
            .of_error(error)
            .shown_by(lines([m]));
        out.push(f);
    } else if !load.is_empty() && !mismatch && !out.iter().any(|f| f.id == "hib-restore-woken") {
        let f = broken("hib-load-failed")
            .says("The image was found and could not be read back, so the machine booted afresh.")
            .look("Look at the error before that line: -84 is damaged data, -1 a check that failed. Whatever lies between swap and disk must pass the image on unchanged.")
            .shown_by(lines(load));
        out.push(f);
    }
    faults(case, out);
    not_made(case, out);
    reading(case, out);
    changed(case, out);
    // A crash between the image's making and the end of the hibernation.
    for a in case.attempts.iter().filter(|a| a.mode == "hibernation") {
        let messages = case.of(a);
        let made = messages.iter().position(|m| m.says("Creating image") || m.says("Need to copy"));
        let Some(made) = made else { continue };
        if let Some(m) = messages[made..].iter().find(|m| m.is_crash()) {
            let rule = ("hib-crash", Area::Hibernation, Level::Broken);
            let f = Finding::new(rule, Confidence::Likely)
                .says("The kernel crashed on the way back from hibernation, after the image was made.")
                .look("Check that both kernels see the same memory map (the e820 lines of the two boots).")
                .shown_by(lines([m]));
            out.push(f);
            break;
        }
    }
}

/// The kernel could not make or write the image, for a reason that no other rule knows
/// (kernel/power/hibernate.c:create_image, snapshot.c:swsusp_save, swap.c:swsusp_write).
fn not_made(case: &Case, out: &mut Vec<Finding>) {
    let told = |f: &Finding| matches!(f.area, Area::Hibernation | Area::Abort);
    if out.iter().any(|f| told(f) && f.level == Level::Broken) {
        return;
    }
    let error = |m: &Message| -> Option<i32> {
        let rest = m.says("Error ").then(|| m.after("Error ")).flatten()?;
        let (number, rest) = rest.split_once(' ')?;
        let makes = rest.starts_with("creating image") || rest.starts_with("creating hibernation");
        number.parse().ok().filter(|_| makes)
    };
    let is = |m: &Message| {
        // What went wrong when one was read, or after, is told elsewhere.
        let later = m.has("resum") || m.has("Hardware changed");
        let failed = |k: Known<'_>| {
            k.format.is_error() && k.format.meaning == Some(Meaning::ImageFailed) && !later
        };
        error(m).is_some() || formats::all().recognise(&m.text).is_some_and(failed)
    };
    let said = case.messages.having("PM: ").map(|(_, m)| m);
    let said: Vec<&Message> = said.filter(|m| m.trust.is_of_a_kernel() && is(m)).collect();
    let Some(first) = said.first() else { return };
    let f = match said.iter().find_map(|m| error(m)) {
        Some(error) => broken("hib-not-made")
            .says(format!(
                "Hibernation failed: the kernel could not make the image of the memory: {}.",
                say::told(error)
            ))
            .of_error(error),
        None => broken("hib-not-made")
            .says(format!("Hibernation failed; the kernel says why: \"{}\".", first.text.trim())),
    };
    out.push(
        f.look("Free memory first: close programs, empty tmpfs; the kernel needs as much as the image has, free at once.")
            .when(Some(Direction::Suspend), None)
            .shown_by(lines(said)),
    );
}

/// The firmware says that the machine is another than when it was hibernated
/// (drivers/acpi/sleep.c:acpi_hibernation_leave; the signature of the FACS).
fn changed(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having("Hardware changed while hibernated").map(|(_, m)| m);
    let said: Vec<&Message> = said.filter(|m| m.trust.is_of_a_kernel()).collect();
    if said.is_empty() {
        return;
    }
    let rule = ("hib-hardware-changed", Area::Hibernation, Level::Risk);
    out.push(
        Finding::new(rule, Confidence::Certain)
            .says("The machine came back from hibernation, and its firmware counts other hardware than before: what the image takes for granted may be wrong.")
            .look("Nothing must be plugged in, taken out or set in the firmware while it is hibernated; docks count. If nothing was, the firmware is to be updated.")
            .when(Some(Direction::Resume), None)
            .shown_by(lines(said)),
    );
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
    let swap = case.messages.having_any(&[" swap", "Not enough "]).map(|(_, m)| m);
    let swap: Vec<&Message> = swap.filter(|m| kernel(m) || systemd(m)).collect();
    let Some(first) = swap.iter().find(|m| kernel(m)).or(swap.first()) else { return };
    let program = !kernel(first);
    let text = match (program, first.says("Cannot")) {
        (true, _) => {
            "Hibernation was refused before the kernel tried it: no swap that systemd looked at was large enough, or `resume=` names another."
        }
        (false, true) => "Hibernation failed: the kernel found no swap to write the image to.",
        (false, false) => "Hibernation failed: swap had no room for the image.",
    };
    let confidence = if program { Confidence::Likely } else { Confidence::Certain };
    let f = Finding::new(("hib-no-swap", Area::Hibernation, Level::Broken), confidence)
        .says(text)
        .look("See swapon --show, and that resume= (and resume_offset= of a swap file) name that swap.")
        .shown_by(lines(swap));
    out.push(f);
}

/// The kernel that reads an image (kernel/power/swap.c:load_compressed_image, load_image),
/// where the text ends before it says how that went: a note, so that nobody takes the text
/// for one that says nothing of sleep.
fn reading(case: &Case, out: &mut Vec<Finding>) {
    let loads = |m: &Message| {
        m.trust.is_of_a_kernel()
            && (m.says("Loading and decompressing image data")
                || m.says("Loading image data pages"))
    };
    let mut images = case.messages.having(" image data").rev();
    let Some((at, _)) = images.find(|(_, m)| loads(m)) else { return };
    let rest = &case.messages[at..];
    // Whatever comes next tells what became of it.
    let goes_on = |m: &Message| {
        m.says("Image loading done") || m.says("Read ") || m.has("Image successfully loaded")
    };
    let told = out.iter().any(|f| f.area == Area::Hibernation);
    if told || rest.iter().any(goes_on) || !case.attempts.is_empty() {
        return;
    }
    let progress = |m: &&Message| m.says("Image loading progress:");
    let last = rest.iter().rfind(progress).unwrap_or(&rest[0]);
    let reached = last.after("progress:").map_or(String::new(), |p| format!(" at {}", p.trim()));
    let rule = ("hib-image-read", Area::Hibernation, Level::Note);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!(
            "A kernel reads the image of a hibernation; the text ends{reached} of that, so what became of it is not known."
        ))
        .look("Give the lines after it: that the image was loaded, or why not, is the kernel's next word.")
        .shown_by(lines([&rest[0], last].into_iter().take(if last.line == rest[0].line { 1 } else { 2 })));
    out.push(f);
}

/// A hibernation that failed, as the kernel says.
fn broken(id: &'static str) -> Finding {
    Finding::new((id, Area::Hibernation, Level::Broken), Confidence::Certain)
}

/// A kernel that is locked down (security/lockdown/lockdown.c:lockdown_is_locked_down,
/// 6.12; patches of distributions before 5.4 wrote `Hibernation`), and a disk that failed with the image (kernel/power/swap.c:hib_end_io).
fn faults(case: &Case, out: &mut Vec<Finding>) {
    let of = |word: &str| -> Vec<&Message> {
        let said = case.messages.having(word).map(|(_, m)| m);
        said.filter(|m| m.trust.is_of_a_kernel()).collect()
    };
    let locked = of("ibernation is restricted; see man kernel_lockdown");
    if !locked.is_empty() {
        let f = Finding::new(("hib-locked", Area::Hibernation, Level::Note), Confidence::Certain)
            .says("The kernel is locked down, as Secure Boot asks, and lets nobody hibernate.")
            .look("Sleep in another mode; hibernation needs a kernel that is not locked down (cat /sys/kernel/security/lockdown).")
            .shown_by(lines(locked));
        out.push(f);
    }
    let failed = of("-error on swap-device (");
    if let Some(m) = failed.first() {
        let numbers = m.after("swap-device (").unwrap_or("");
        let disk: Vec<&str> = numbers.split(':').take(2).collect();
        let f = broken("hib-disk-error")
            .says(format!(
                "The disk {} failed while the image of the memory was {}.",
                disk.join(":"),
                if m.has("Write-error") { "written to it" } else { "read from it" }
            ))
            .look("Look at that disk before the next hibernation: dmesg --level=err,warn, smartctl -a, and what lies there: lsblk -o NAME,MAJ:MIN.")
            .shown_by(lines(failed));
        out.push(f);
    }
}
