//! Hibernation (kernel/power/hibernate.c, snapshot.c, swap.c).

use super::{abort, restore};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level, OLD};
use crate::formats::{self, Known, Meaning};
use crate::message::Message;
use crate::refusal;
use crate::stage::{self, Stage, Work};
use crate::words::Words;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;

/// A device that does not stop for an image that was read; where a text has no more, the
/// callback that returned the error.
fn refuses(m: &Message) -> Option<(Device, i32)> {
    let r = refusal::of_restore(&m.text)?;
    Some((Device { name: r.device.into(), driver: r.driver.into() }, r.error))
}

fn returns(m: &Message) -> Option<(Device, i32)> {
    let f = abort::returned(m)?;
    Some((Device { name: f.device.into(), driver: f.driver.into() }, f.error))
}

/// A start of the kernel that found an image and began to load it, where the text ends before it
/// tells what came of it (kernel/power/hibernate.c:software_resume, load_image_and_restore, 6.12).
fn loading(case: &Case, out: &mut Vec<Finding>) {
    const BEGINS: [&str; 2] = ["Image signature found, resuming", "Loading hibernation image"];
    const ENDS: [&str; 8] = [
        "Image loading done",
        "Image successfully loaded",
        " kbytes in ",
        "Failed to load ",
        "resume failed",
        "Restarting tasks",
        "hibernation exit",
        "Restoring platform NVS memory",
    ];
    let kernel = |m: &&Message| m.trust.is_of_a_kernel();
    let begins = |m: &&Message| kernel(m) && BEGINS.iter().any(|w| m.says(w));
    let mut said = case.messages.having_any(&BEGINS).map(|(_, m)| m);
    let Some(first) = said.find(begins) else { return };
    let mut after = case.messages.iter().filter(kernel).filter(|m| m.line > first.line);
    let told = out.iter().any(|f| f.id.starts_with("hib-"));
    if told || after.any(|m| ENDS.iter().any(|w| m.has(w)) || m.says("suspend entry")) {
        return;
    }
    let place = case.messages.iter().filter(kernel).find_map(|m| {
        let at = m.after("Hibernation image partition ")?.strip_suffix(" present")?;
        (!at.contains(' ')).then(|| format!(" in {at}"))
    });
    out.push(
        Finding::new(("hib-loading", Area::Hibernation, Level::Note), Confidence::Certain)
            .says(format!(
                "A start of the kernel found an image{} and began to load it. Whether the session came back from it is not in the text.",
                place.unwrap_or_default()
            ))
            .look("Give the lines that follow: the kernel says how much it read, or why it gave up and booted afresh.")
            .when(Some(Direction::Resume), None)
            .shown_by(lines([first])),
    );
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
    // A line of the source is no word of a kernel.
    other.retain(|m| !m.text.contains("mismatch: %"));
    // systemd compares what /etc/os-release says (src/hibernate-resume of systemd 258).
    other.extend(all("HibernateLocation system identifier doesn't match"));
    // arch/x86/power/hibernate.c:arch_hibernation_header_restore compares the maps.
    let map = all("Hibernate inconsistent memory map detected");
    let mismatch = !other.is_empty();
    if mismatch {
        let f = broken("hib-other-kernel");
        let f = if map.is_empty() {
            let (says, look) = mismatch_of(&other);
            f.says(says).look(look)
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
    // The second of these comes before the image is checked (kernel/power/swap.c:
    // load_compressed_image, 6.12); devices stop behind that.
    let read = ["Image successfully loaded", "Image loading done"];
    let read = case.messages.having_any(&read).next().map(|(at, _)| at);
    let rest = read.map_or(&[][..], |at| &case.messages[at..]);
    let first =
        |of: fn(&Message) -> Option<(Device, i32)>| rest.iter().find_map(|m| Some((m, of(m)?)));
    let refused = first(refuses).or_else(|| first(returns));
    if let (Some((m, (device, error))), false) = (refused, load.is_empty()) {
        // It is no sleep that it ended.
        out.retain(|f| f.id != "device-failed" || f.evidence.iter().all(|e| e.line != m.line));
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
        let f = broken("hib-load-failed");
        let f = if loaded.is_some() {
            f.says("The image was read whole and then given up, so the machine booted afresh. Who would not stop for it is not in the text.")
                .look("Give the lines between \"Image successfully loaded\" and the failure: a device that will not stop says so there.")
        } else {
            f.says("The image was found and could not be read back, so the machine booted afresh.")
                .look("Look at the error before that line: -84 is damaged data, -1 a check that failed. Whatever lies between swap and disk must pass the image on unchanged.")
        };
        let f = f.shown_by(lines(load));
        out.push(match resume_error(case) {
            Some((error, m)) => {
                let told = format!("{} The kernel's error is {}.", f.sentence, say::told(error));
                f.says(told).of_error(error).shown_by(lines([m]))
            }
            None => f,
        });
    }
    loading(case, out);
    faults(case, out);
    not_made(case, out);
    not_found(case, out);
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

/// What is not as it was, by the word of the kernel (kernel/power/snapshot.c:
/// check_image_kernel, which asks one after another, and check_header, which asks for the memory
/// last, 2.6.20 to 7.3), and what to do.
fn mismatch_of(said: &[&Message]) -> (&'static str, &'static str) {
    let words = |m: &&Message| m.after("Image mismatch: ").map(|w| w.trim().to_string());
    let same = "Boot the kernel that hibernated; after an update of the kernel, reboot before hibernating.";
    match said.iter().find_map(words).as_deref() {
        Some("memory size") => (
            "The machine has another size of memory than when the image was made, so the image was not read. Kernel and machine fit: they are asked before.",
            "Memory that was added, taken out or set otherwise (of a virtual machine, of graphics in the firmware) between hibernating and booting does this: hibernate and boot with the same.",
        ),
        Some("kernel version") => {
            ("The image was made by a kernel of another version, so it was not read.", same)
        }
        Some("kernel release") => {
            ("The image was made by a kernel of another release, so it was not read.", same)
        }
        Some("version") => (
            "The image was made by another build of the same kernel release, so it was not read.",
            same,
        ),
        Some("machine") => {
            ("The image was made by a kernel of another architecture, so it was not read.", same)
        }
        Some("architecture specific data") => (
            "What the image's kernel keeps of its architecture does not fit this kernel, so it was not read: another build or another memory map.",
            same,
        ),
        None if said.iter().any(|m| m.has("system identifier")) => (
            "systemd did not resume from the image: the names of the system that were kept with it (os-release) are not those of the system that boots, its initrd included. No kernel was asked for it.",
            "Compare what \"Reported hibernation image\" names with os-release of the system and of its initrd: an image built anew or an update between hibernating and booting changes them.",
        ),
        _ => (
            "The image was made by another kernel or on another machine, so it was not read.",
            same,
        ),
    }
}

/// The kernel could not make or write the image, for a reason that no other rule knows
/// (kernel/power/hibernate.c:create_image, snapshot.c:swsusp_save, swap.c:swsusp_write).
fn not_made(case: &Case, out: &mut Vec<Finding>) {
    let told = |f: &Finding| matches!(f.area, Area::Hibernation | Area::Abort);
    if out.iter().any(|f| told(f) && f.level == Level::Broken) {
        return;
    }
    let is = |m: &Message| {
        // What went wrong after one was read is told elsewhere.
        let later = m.has("resum") || m.has("Hardware changed");
        let fails = |text: &Words| {
            let failed = |k: Known<'_>| {
                k.format.is_error() && k.format.meaning == Some(Meaning::ImageFailed)
            };
            formats::all().recognise(text).is_some_and(failed)
        };
        // Before 5.8 the core had one mark.
        let marked = |rest: &str| fails(&format!("PM: hibernation: {rest}").into());
        let old = || m.text.strip_prefix("PM: ").is_some_and(marked);
        !later && (fails(&m.text) || old())
    };
    let (mut said, mut read) = (Vec::new(), Vec::new());
    let mut restoring = false;
    let kernel = case.messages.having_any(&["PM: ", "Linux version ", "Error "]);
    for m in kernel.map(|(_, m)| m).filter(|m| m.trust.is_of_a_kernel()) {
        restoring = abort::restores_from(m).unwrap_or(restoring);
        // People copy it without its mark.
        if refusal::of_image(&m.text).is_some() || m.text.starts_with("PM: ") && is(m) {
            if restoring || reads(m) { &mut read } else { &mut said }.push(m);
        }
    }
    let Some(first) = said.first() else { return not_read(&read, out) };
    let f = match said.iter().find_map(|m| refusal::of_image(&m.text)) {
        Some(error) => broken("hib-not-made")
            .says(format!(
                "Hibernation failed: the kernel could not make the image of the memory: {}.",
                say::told(error)
            ))
            .of_error(error),
        None => broken("hib-not-made")
            .says(format!("Hibernation failed; the kernel says why: \"{}\".", first.text.trim())),
    };
    // What is written needs room in swap, what is made needs memory.
    // kernel/power/swap.c:swsusp_write, 6.12; -28 is ENOSPC.
    let room = ["swap writer", "saving failed: -28", "Not enough free swap"];
    let full = said.iter().any(|m| room.iter().any(|w| m.has(w)));
    let advice = match full {
        true => {
            "Give swap room: swapon --show says what is free of it; the image needs up to two fifths of memory, or what /sys/power/image_size says."
        }
        false => {
            "Free memory first: close programs, empty tmpfs; the kernel needs as much as the image has, free at once."
        }
    };
    out.push(f.look(advice).when(Some(Direction::Suspend), None).shown_by(lines(said)));
}

/// Whether only the reading of an image fails with such words (kernel/power/swap.c:
/// load_compressed_image, swsusp_check, hib_end_io, 3.0 to 7.3).
fn reads(m: &Message) -> bool {
    const WORDS: [&str; 8] = [
        "decompress",
        "compressed length",
        "CRC32!",
        "signature",
        "Read-error",
        "Image mismatch",
        "Image not found",
        "Failed to load",
    ];
    WORDS.iter().any(|w| m.has(w))
}

/// The error with which a kernel gave up to come back from its image.
fn resume_error(case: &Case) -> Option<(i32, &Message)> {
    let said = case.messages.having_any(&restore::WORDS).map(|(_, m)| m);
    said.filter(|m| m.trust.is_of_a_kernel()).find_map(|m| Some((restore::error(m)?, m)))
}

/// An image that could not be read, where the kernel says no more than these lines.
fn not_read(said: &[&Message], out: &mut Vec<Finding>) {
    let Some(first) = said.first() else { return };
    out.push(
        broken("hib-load-failed")
            .says(format!(
                "The image of a hibernation could not be read back; the kernel says why: \"{}\".",
                first.text.trim()
            ))
            .look("Whatever lies between swap and disk must pass the image on unchanged, and the kernel that reads it must be the one that wrote it.")
            .when(Some(Direction::Resume), None)
            .shown_by(lines(said.iter().copied())),
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
        (m.has("systemd") || m.has("via logind") || m.has("via elogind"))
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
    // A program tells of another time at which the kernel was asked (systemd, src/sleep/sleep.c).
    const ENDED: &str = "System resumed again: No space left on device";
    let mut tried = case.messages.having(ENDED).filter(|_| program);
    let tried = tried.find(|(at, _)| is_of_a_hibernation(case, *at)).map(|t| t.1);
    let also = match tried {
        Some(_) => {
            " Another time that the text tells of, the kernel tried it and ended it: there was no room for the image (ENOSPC)."
        }
        None => "",
    };
    let confidence = if program { Confidence::Likely } else { Confidence::Certain };
    let f = Finding::new(("hib-no-swap", Area::Hibernation, Level::Broken), confidence)
        .says(format!("{text}{also}"))
        .look("See swapon --show, and that resume= (and resume_offset= of a swap file) name that swap.")
        .shown_by(lines(swap.into_iter().chain(tried)));
    out.push(f);
}

/// Whether the word of systemd-sleep in message `at` is of a hibernation: it names its unit or
/// what was asked for itself, or the nearest line that names one of both does. Some versions call
/// any sleep `suspend` there (src/sleep/sleep.c).
fn is_of_a_hibernation(case: &Case, at: usize) -> bool {
    const NEAR: usize = 12;
    let m = &case.messages[at];
    let of = |x: &Message| {
        let other = ["operation 'suspend'", "systemd-suspend.service", "suspend entry ("];
        if other.iter().any(|w| x.has(w)) {
            return Some(false);
        }
        // A refusal of logind, in a log, is of another time.
        let stamped = m.time.is_some() || m.second.is_some();
        let refused = x.has("via logind") || x.has("via elogind") || x.has("Not enough ");
        let names = x.has("ibernat") || x.has("hybrid-sleep");
        (names && !(stamped && refused)).then_some(true)
    };
    let before = case.messages[..at].iter().rev().take(NEAR);
    let mut near =
        std::iter::once(m).chain(before).chain(case.messages[at + 1..].iter().take(NEAR));
    near.find_map(of) == Some(true)
}

/// A kernel that wrote an image and looks for it at once, as `test_resume` asks, and cannot
/// open the disk (kernel/power/swap.c:swsusp_check). Until 6.5 it wants the disk for itself,
/// which a mounted file system has.
fn not_found(case: &Case, out: &mut Vec<Finding>) {
    let written = |m: &Message| m.says("Wrote ") && m.has(" kbytes in ");
    let boots = |m: &Message| m.text.starts_with("Linux version ");
    for (at, m) in case.messages.having("Image not found (code ") {
        let code =
            m.after("Image not found (code ").and_then(|r| r.split(')').next()?.parse().ok());
        let before = case.messages[..at].iter().rev().take_while(|m| !boots(m));
        let Some(wrote) = before.into_iter().find(|m| written(m)) else { continue };
        let Some(error) = code.filter(|e: &i32| *e < 0) else { continue };
        let why = if error == -16 {
            " The disk is in use, as that of a swap file on a mounted file system is; kernels up to 6.5 want it for themselves in this test."
        } else {
            ""
        };
        out.push(
            Finding::new(("hib-test-no-image", Area::Hibernation, Level::Broken), Confidence::Likely)
                .says(format!("The kernel wrote the image, looked for it at once, as a test of the way back does (test_resume), and did not get at it: {}.{why} So nothing was resumed.", say::told(error)))
                .look("Take a swap partition for that test, or a kernel from 6.6 on; a boot that resumes opens the disk before anybody mounts it.")
                .of_error(error)
                .shown_by(lines([wrote, m])),
        );
        return;
    }
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
        // Somebody asked, and got that for an answer.
        let asked = [
            "System resumed again: Operation not permitted",
            "write error: Operation not permitted",
            "systemd-hibernate.service: Failed",
        ];
        let refused = case.messages.having_any(&asked).next().map(|(_, m)| m);
        let level = if refused.is_some() { Level::Broken } else { Level::Note };
        let f = Finding::new(("hib-locked", Area::Hibernation, level), Confidence::Certain)
            .says("The kernel is locked down, as Secure Boot asks, and lets nobody hibernate.")
            .look("Sleep in another mode; hibernation needs a kernel that is not locked down (cat /sys/kernel/security/lockdown).")
            .shown_by(lines(locked.into_iter().chain(refused)));
        out.push(f);
    }
    let failed = case.messages.having("-error on swap-device (");
    let failed: Vec<&Message> = failed
        .filter(|(at, m)| m.trust.is_of_a_kernel() && is_of_an_image(case, *at))
        .map(|(_, m)| m)
        .collect();
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

/// So many messages behind an error of the header that could not be read the kernel says that it
/// found no image.
const BEHIND: usize = 4;

/// Whether the error of a swap device in message `at` is of an image. The kernel prints the same
/// words for any page of a running system (mm/page_io.c:end_swap_bio_write, end_swap_bio_read);
/// kernel/power/swap.c:hib_end_io puts the mark of the core before them (6.12), and where a text
/// has none a hibernation is under way before it.
fn is_of_an_image(case: &Case, at: usize) -> bool {
    let marked = case.messages[at].text.starts_with("PM: ");
    let under_way = |m: &Message| {
        const BEGINS: [&str; 3] =
            ["hibernation entry", "Image signature found, resuming", "Loading hibernation image"];
        let stage = stage::begins(m);
        let image = |s: &Stage| matches!(s.work, Some(Work::ImageWritten | Work::ImageRead));
        if BEGINS.iter().any(|w| m.says(w)) || stage.as_ref().is_some_and(image) {
            return Some(true);
        }
        let other = stage.is_some_and(|s| s.phase == Some(Phase::Thaw)) || m.says("suspend entry");
        (other || stage::ends(m)).then_some(false)
    };
    let kernel = |m: &&Message| m.trust.is_of_a_kernel();
    let mut before = case.messages[..at].iter().rev().filter(kernel);
    let mut behind = case.messages[at + 1..].iter().filter(kernel).take(BEHIND);
    marked
        || before.find_map(under_way) == Some(true)
        || behind.any(|m| m.has("Image not found (code -5)") || m.has("Failed to load "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_swap_is_of_an_image_where_a_hibernation_is_under_way() {
        let error = (500, "Read-error on swap-device (253:7:40960)");
        let entry = (100, "PM: hibernation: hibernation entry");
        let load = (100, "PM: hibernation: Loading image data pages (4021 pages)...");
        for log in [
            vec![entry, (500, "Write-error on swap-device (253:7:40960)")],
            vec![load, error],
            vec![error, (501, "PM: Image not found (code -5)")],
            vec![(500, "PM: Read-error on swap-device (253:7:40960)")],
        ] {
            let found = ids(&log);
            assert!(found.iter().any(|f| f.0 == "hib-disk-error"), "{log:?}");
        }
        for log in [
            vec![error],
            vec![(90, "elm 0000:07:00.0: Device not ready"), error],
            vec![(10, "PM: suspend entry (deep)"), (90, "PM: suspend exit"), error],
            vec![entry, (200, "PM: hibernation: hibernation exit"), error],
            vec![load, (200, "Restarting tasks ... done."), error],
        ] {
            assert!(ids(&log).iter().all(|f| f.0 != "hib-disk-error"), "{log:?}");
        }
    }

    fn ids(lines: &[(i64, &str)]) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        judge(&Case::of_log(lines), &mut out);
        out.into_iter().map(|f| (f.id, f.sentence)).collect()
    }

    #[test]
    fn a_disk_without_room_is_of_a_hibernation_where_its_unit_says_so() {
        let refused =
            (100, "systemd-logind[7]: Not enough suitable swap space for hibernation available");
        let ended = (
            90_000,
            "systemd-sleep[8]: Failed to suspend system. System resumed again: No space left on device",
        );
        let tells = |asked: &str| {
            let found = ids(&[refused, (80_000, asked), ended]);
            found.iter().any(|f| f.1.contains("the kernel tried it and ended it"))
        };
        assert!(tells("systemd-sleep[8]: Performing sleep operation 'hibernate'..."));
        assert!(!tells("systemd-sleep[8]: Performing sleep operation 'suspend'..."));
        assert!(!tells("elm 0000:07:00.0: ready"));
    }

    #[test]
    fn an_image_that_was_read_whole_is_not_unreadable() {
        let all = [
            (100, "PM: Image successfully loaded"),
            (160, "xe 0000:07:00.0: PM: pci_pm_freeze(): xe_pci_freeze [xe] returns -110"),
            (170, "PM: hibernation: Failed to load image, recovering."),
        ];
        let found = ids(&all);
        assert_eq!((found.len(), found[0].0), (1, "hib-device-refused"));
        assert!(found[0].1.contains("0000:07:00.0 (xe) would not stop"), "{}", found[0].1);
        let done = [
            (100, "PM: Image loading done"),
            (160, "elm 0000:09:00.0: PM: failed to quiesce async: error -5"),
            all[2],
        ];
        let found = ids(&done);
        assert_eq!((found.len(), found[0].0), (1, "hib-device-refused"), "{found:?}");
        assert!(ids(&[done[0], done[2]])[0].1.contains("could not be read back"), "not checked");
        // Nobody says who.
        let found = ids(&[all[0], all[2]]);
        assert!(found[0].1.starts_with("The image was read whole"), "{}", found[0].1);
        let found = ids(&all[2..]);
        assert!(found[0].1.contains("could not be read back"), "{}", found[0].1);
        let fine = [all[0], (160, "xe 0000:07:00.0: PM: pci_pm_freeze(): xe_pci_freeze returns 0")];
        assert!(ids(&fine).is_empty());
    }

    #[test]
    fn an_image_that_cannot_be_read_is_none_that_was_not_made() {
        let load = (90, "PM: hibernation: Loading and decompressing image data (7021 pages)...");
        for failed in ["PM: Invalid image CRC32!", "PM: Failed to allocate crc"] {
            let found = ids(&[load, (100, failed)]);
            assert_eq!((found.len(), found[0].0), (1, "hib-load-failed"), "{found:?}");
        }
        assert_eq!(ids(&[(100, "PM: Invalid image CRC32!")])[0].0, "hib-load-failed");
        assert_eq!(ids(&[(100, "PM: Failed to allocate crc")])[0].0, "hib-not-made");
        // Kernels before 5.8 have no second mark.
        for mark in ["PM: ", "PM: hibernation: "] {
            let text = format!("{mark}Cannot allocate copy bitmap");
            assert_eq!(ids(&[(100, &text)])[0].0, "hib-not-made");
        }
    }

    #[test]
    fn a_test_of_the_way_back_may_not_get_at_its_image() {
        let wrote = (100, "PM: hibernation: Wrote 900 kbytes in 0.50 seconds (1.80 MB/s)");
        let none = (200, "PM: Image not found (code -16)");
        assert_eq!(ids(&[wrote, none])[0].0, "hib-test-no-image");
        // Every boot that has none says so.
        assert!(ids(&[(1, "Linux version 6.1.0"), none]).is_empty());
        assert!(ids(&[wrote, (1, "Linux version 6.1.0"), none]).is_empty());
    }
}
