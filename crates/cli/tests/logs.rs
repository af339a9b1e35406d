//! What the screens say of a log is what its lines say: small logs of the test's own,
//! each in the form of a real one.

use super::words::{said, words};

/// As `grep` leaves a log: the end of the graphics driver is missing, and the disk's
/// begin. What it does between the two is the same callback, no step of the kernel.
const GREPPED: &str = "\
[  100.000000] sound pcm0: PM: calling do_pcm_suspend+0x0/0x30 [snd_pcm] @ 8732, parent: card0
[  100.000010] sound pcm0: PM: do_pcm_suspend+0x0/0x30 [snd_pcm] returned 0 after 0 usecs
--
[  100.000600] leds mmc0::: PM: calling led_suspend+0x0/0x40 @ 8732, parent: 0000:01:00.0
[  100.000610] snd_hda_intel 0000:00:03.0: PM: calling pci_pm_suspend+0x0/0x170 @ 8642, parent: pci0000:00
--
[  100.111860] snd_hda_intel 0000:00:03.0: PM: pci_pm_suspend+0x0/0x170 returned 0 after 111241 usecs
[  100.111876] i915 0000:00:02.0: PM: calling pci_pm_suspend+0x0/0x170 @ 8747, parent: pci0000:00
--
[  101.446532] ahci 0000:00:1f.2: PM: pci_pm_suspend+0x0/0x170 returned 0 after 3 usecs
[  101.446642] snd_hda_intel 0000:00:03.0: PM: calling pci_pm_suspend_late+0x0/0x40 @ 8742, parent: pci0000:00
[  101.446649] snd_hda_intel 0000:00:03.0: PM: pci_pm_suspend_late+0x0/0x40 returned 0 after 0 usecs
";

#[test]
fn an_end_without_a_start_shows_how_long_its_phase_lasted() {
    let text = words(&["show", "-"], GREPPED);
    assert!(!text.contains("platform prepare"), "{text}");
    assert!(text.contains("suspend 1446.65"), "{text}");
    // Only the last callback without an end can have lasted until then.
    let i915 = "0000:00:02.0 (i915) is one of these: it took at most 1.335 s (92 %).";
    assert!(text.contains(i915), "{text}");
    assert!(!text.contains("mmc0:: (leds): no end in this log"), "{text}");
    assert!(text.contains("why it began so late is not in this log"), "{text}");
}

#[test]
fn lines_that_were_left_out_are_told_once() {
    let text = words(&["show", "-"], GREPPED);
    assert_eq!(text.matches("lines were left out at 3 places").count(), 1, "{text}");
    assert!(text.contains("all of the cycle: lines were left out at 3 places"), "{text}");
    assert!(!text.contains("lines or messages lost"), "{text}");
}

#[test]
fn a_silence_beside_ends_without_starts_says_so() {
    let quiet: String = GREPPED
        .lines()
        .filter(|l| !l.contains("i915") && !l.contains("mmc0::"))
        .map(|l| format!("{l}\n"))
        .collect();
    let text = words(&["show", "-"], &quiet);
    let said = "in its suspend phase have no cause in the lines that are here (1 callback \
                has no start among them).";
    assert!(text.contains(said), "{text}");
}

/// A sleep with `pm_trace`, whose devices wait for the clock.
const TRACED: &str = "\
[    1.000000] PM: suspend entry (deep)
[    1.001000] usb usb1: PM: calling usb_dev_suspend+0x0/0x10 @ 9, parent: host0
[    1.101000] usb usb1: PM: usb_dev_suspend+0x0/0x10 returned 0 after 100000 usecs
[    1.900000] usb usb2: PM: calling usb_dev_suspend+0x0/0x10 @ 9, parent: host0
[    1.900200] usb usb2: PM: usb_dev_suspend+0x0/0x10 returned 0 after 200 usecs
[    1.901000] PM: suspend of devices complete after 900.000 msecs
[    1.950000] usb usb1: PM: calling usb_dev_resume+0x0/0x10 @ 9, parent: host0
[    1.950300] usb usb1: PM: usb_dev_resume+0x0/0x10 returned 0 after 300 usecs
[    1.951000] PM: resume of devices complete after 2.000 msecs
[    1.952000] OOM killer enabled.
[    1.953000] Restarting tasks ... done.
[    1.954000] PM: Possible incorrect RTC due to pm_trace, please use 'ntpdate' or 'rdate' to reset it.
[    1.955000] PM: suspend exit
";

#[test]
fn pm_trace_stands_in_line_two_and_is_what_to_do_next() {
    let (_, text) = said(&["show", "-"], TRACED);
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.contains("\nCaution: pm_trace was on"), "{text}");
    let all = words(&["show", "-"], TRACED);
    assert!(all.contains("passed between callbacks, where pm_trace set the clock."), "{all}");
    assert!(!all.contains("cause not in this log"), "{all}");
    assert_eq!(lines.last(), Some(&"Next: echo 0 > /sys/power/pm_trace"));
    let doctor = words(&["doctor", "-"], TRACED);
    assert!(doctor.starts_with("Slow: pm_trace was on"), "{doctor}");
    assert!(doctor.contains("line 12 at 1.954000 s"), "{doctor}");
}

/// A sleep after which a device is gone.
const GONE: &str = "\
[    1.000000] PM: suspend entry (deep)
[    1.001000] usb usb1: PM: calling usb_dev_suspend+0x0/0x10 @ 9, parent: host0
[    1.101000] usb usb1: PM: usb_dev_suspend+0x0/0x10 returned 0 after 100000 usecs
[    1.101500] PM: suspend of devices complete after 101.000 msecs
[    1.101600] PM: late suspend of devices complete after 0.050 msecs
[    1.101700] PM: noirq suspend of devices complete after 0.050 msecs
[    1.102000] PM: Timekeeping suspended for 5.000 seconds
[    1.949000] PM: noirq resume of devices complete after 0.050 msecs
[    1.949100] PM: early resume of devices complete after 0.050 msecs
[    1.950000] xhci_hcd 0000:39:00.0: PM: calling pci_pm_resume+0x0/0x10 @ 9, parent: pci0000:00
[    1.950300] xhci_hcd 0000:39:00.0: PM: pci_pm_resume+0x0/0x10 returned -19 after 300 usecs
[    1.950400] xhci_hcd 0000:39:00.0: PM: failed to resume async: error -19
[    1.951000] PM: resume of devices complete after 2.000 msecs
[    1.952000] OOM killer enabled.
[    1.953000] Restarting tasks ... done.
[    1.955000] PM: suspend exit
";

#[test]
fn a_device_that_did_not_resume_is_named_and_no_absence_of_warnings_beside_it() {
    let text = words(&["show", "-"], GONE);
    assert!(text.contains(" 0000:39:00.0 (xhci_hcd, error -19) failed to resume. "), "{text}");
    assert!(!text.contains("No warnings"), "{text}");
    let counted = "1 callback returned an error: 0000:39:00.0 (xhci_hcd) -19 in resume.";
    assert!(text.contains(counted), "{text}");
    // Of two cycles: in how many.
    let healthy = GONE.replace("returned -19", "returned 0").replace("    1.", "   11.");
    let both = words(&["show", "-"], &(GONE.to_string() + &healthy));
    let said = "0000:39:00.0 (xhci_hcd, error -19) failed to resume in 1 of 2 cycles.";
    assert!(both.contains(said), "{both}");
}

/// Two sleeps of one machine, quoted in a mail, and one of another machine. After the
/// second the devices come back and nobody starts the tasks again.
const TWO_MACHINES: &str = "\
> [  104.571459] PM: suspend entry (deep)
> [  106.163215] PM: suspend devices took 1.514 seconds
> [  107.208945] PM: resume devices took 0.241 seconds
> [  107.227538] OOM killer enabled.
> [  107.230710] Restarting tasks ...
> [  107.259714] PM: suspend exit
> [  118.563229] PM: suspend entry (deep)
> [  119.973722] PM: suspend devices took 1.363 seconds
> [  120.721600] serial 00:01: activated
> [  122.724250] ata8.00: configured for UDMA/133

There is no \"Restarting tasks\"! And on another machine:

[   98.455929] PM: suspend entry (s2idle)
[   98.507762] virtio-pci 0000:00:05.0: PM: failed to suspend async: error -95
[   98.515562] PM: Some devices failed to suspend, or early wake event detected
[   98.549338] Restarting tasks ... done.
[   98.559697] PM: suspend exit
";

#[test]
fn the_doctor_says_which_sleep_has_no_end_and_where_another_log_begins() {
    let text = words(&["doctor", "-"], TWO_MACHINES);
    let whole = "The text has 3 attempts to sleep. That of line 7 has no end in the text. The clock \
                 goes back at line 14: another log, or an earlier part.";
    assert!(text.contains(whole), "{text}");
    let hung = "Broken: The sleep of line 7 has no end in the text: devices came back, and no \
                line says that tasks were started again.";
    assert!(text.contains(hung), "{text}");
    assert!(text.contains("line 9 at 120.721600 s: serial 00:01: activated"), "{text}");
    // What the text has an end of is no hang.
    let ended = TWO_MACHINES.replace("ata8.00: configured for UDMA/133", "OOM killer enabled.");
    assert!(!words(&["doctor", "-"], &ended).contains("hung there"));
}

/// What a script for AMD's machines keeps: dates before the kernel's lines, no stamps.
fn dated(day: u32, resume: u32) -> String {
    let lines = [
        "INFO:\t\u{1f427} Kernel 6.11.0-00004-ge11b".to_string(),
        "ERROR:\t\u{274c} Failed to suspend".into(),
        "DEBUG:\t[Errno 16] Device or resource busy".into(),
        "DEBUG:\tPM: suspend entry (s2idle)".into(),
        "DEBUG:\tPM: suspend of devices complete after 347.300 msecs".into(),
        "DEBUG:\tPM: noirq suspend of devices complete after 101.000 msecs".into(),
        "DEBUG:\tPM: suspend-to-idle".into(),
        "DEBUG:\tPM: noirq resume of devices complete after 163.000 msecs".into(),
        format!("DEBUG:\tPM: resume of devices complete after {resume}.000 msecs"),
        "DEBUG:\tOOM killer enabled.".into(),
        "DEBUG:\tRestarting tasks ... done.".into(),
        "DEBUG:\tPM: suspend exit".into(),
    ];
    lines.iter().map(|l| format!("2024-09-{day} 20:39:41,992 {l}\n")).collect()
}

#[test]
fn a_dated_log_has_a_kernel_a_longest_phase_and_the_stamps_of_the_kernel() {
    let text = words(&["show", "-"], &dated(20, 2_800));
    assert!(text.contains("2.800 s (95 %) in its resume phase; no device callback"), "{text}");
    assert!(text.contains("ernel 6.11.0-00004-ge11b, s2idle"), "{text}");
    assert!(!text.contains("printk.time"), "{text}");
    assert!(text.contains("journalctl -k -o short-monotonic > FILE"), "{text}");
    // The later one comes first in the file.
    let both = words(&["show", "-"], &(dated(20, 2_800) + &dated(19, 2_700)));
    let logs = "2 logs stand in one file (the first sleep of the second one in it is at line 16), \
                numbered by date;";
    assert!(both.contains(logs), "{both}");
    let doctor = words(&["doctor", "-"], &dated(20, 2_800));
    assert!(doctor.contains("could not put the machine to sleep: error -16 (EBUSY"), "{doctor}");
    assert!(doctor.contains("line 2: \u{274c} Failed to suspend"), "{doctor}");
}

#[test]
fn a_root_hub_names_the_kernel() {
    let hub = "[    1.957884] usb usb1: Manufacturer: Linux 6.11.0-4-dirty xhci-hcd\n";
    let stick = "[    1.957885] usb 1-2: Manufacturer: Linux 3.10.0-pro g_serial\n";
    let log = GONE.replace("[    1.001000]", &format!("{stick}{hub}[    1.001000]"));
    let text = words(&["show", "-"], &log);
    assert!(text.contains("Kernel 6.11.0-4-dirty, deep"), "{text}");
}

#[test]
fn units_of_1024_ns_are_told_also_of_a_list_and_of_a_kernel_without_a_name() {
    let list = "\
[  203.391465] e1000e 0000:00:1f.6: pci_pm_suspend+0x0/0x170 returned 0 after 323186 usecs
[  203.934399] e1000e 0000:00:1f.6: pci_pm_resume+0x0/0x90 returned 0 after 211437 usecs
";
    let text = words(&["show", "-"], list);
    assert!(text.contains("330.94"), "{text}");
    let why = "The log does not name its kernel. Its lines have the form of kernels before 5.14, \
               whose usecs are units of 1.024 us";
    assert!(text.contains(why), "{text}");
    let new = words(&["show", "-"], &list.replace("1f.6: pci", "1f.6: PM: pci"));
    assert!(new.contains("323.19") && !new.contains("1.024"), "{new}");
}

#[test]
fn the_next_command_names_what_was_typed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    // They name their kernel: else nothing says that they are of one machine.
    let log = format!("[    0.000000] Linux version 6.1.44 (a@b) #1 SMP\n{GONE}");
    std::fs::write(at("a.txt"), &log).expect("written");
    std::fs::write(at("b.txt"), log.replace("    1.", "   11.")).expect("written");
    let next = |args: &[&str]| {
        let (_, text) = said(args, "");
        let last = text.rfind("Next: ").expect("a next command");
        text[last..].split_whitespace().filter(|w| *w != "\\").collect::<Vec<_>>().join(" ")
    };
    let whole = at("");
    let of_folder = next(&["show", &whole]);
    assert_eq!(of_folder, format!("Next: dormouse predict {whole} --without usb1"));
    let of_both = next(&["show", &at("a.txt"), &at("b.txt")]);
    assert_eq!(of_both, format!("Next: dormouse predict {} --without usb1", at("a.txt")));
}

#[test]
fn the_help_says_what_a_policy_is() {
    for verb in ["predict", "tune", "plan"] {
        let text = words(&[verb, "--help"], "");
        for said in ["G0 (pm_async off)", "G1 (up to 6.15)", "GS and DC (never merged)"] {
            assert!(text.contains(said), "{verb}: {text}");
        }
    }
}

#[test]
fn a_phase_without_callbacks_is_no_wait_at_its_end() {
    let log: String = GONE
        .lines()
        .filter(|l| !l.contains("usb_dev") && !l.contains("pci_pm"))
        .map(|l| format!("{l}\n"))
        .collect();
    let text = words(&["show", "-"], &log);
    assert!(
        text.contains("in its suspend phase; no device callback of it is in this log."),
        "{text}"
    );
    assert!(!text.contains("end of suspend: cause not in this log"), "{text}");
    assert!(!text.contains("no cause in this log"), "{text}");
}

#[test]
fn a_packed_text_without_a_sleep_is_no_binary() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.gz");
    // A gzip of `hello`, made by gzip 1.12.
    let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\
                   \x20\x30\x3a\x36\x06\x00\x00\x00";
    std::fs::write(&file, packed).expect("written");
    let text = words(&["doctor", &file.display().to_string()], "");
    assert!(text.contains("no kernel message in"), "{text}");
    assert!(!text.contains("bytes are no text"), "{text}");
}

/// The second kernel of a hibernation, on a serial console: it freezes tasks to read.
const READS_IMAGE: &str = "\
[    1.063248] PM: hibernation: resume from hibernation
[    1.072868] Freezing user space processes
[    1.073707] Freezing user space processes completed (elapsed 0.000 seconds)
[    1.075192] OOM killer disabled.
[    1.075837] Freezing remaining freezable tasks
[    1.078010] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)
[    1.322599] PM: hibernation: Read 69980 kbytes in 0.23 seconds (304.26 MB/s)
";

#[test]
fn what_a_kernel_freezes_to_read_an_image_is_no_suspend() {
    let text = words(&["show", "-"], READS_IMAGE);
    assert!(text.contains("Hibernation image ms read 230 69980 KiB"), "{text}");
    assert!(!text.contains("Suspend") && !text.contains("freeze_"), "{text}");
    assert!(!text.contains(": no phase in this log"), "{text}");
    let doctor = words(&["doctor", "-"], READS_IMAGE);
    assert!(!doctor.contains("attempt to sleep"), "{doctor}");
}

#[test]
fn an_image_that_was_refused_is_not_timed() {
    let refused = READS_IMAGE
        .replace("[    1.322599]", "[    1.322590] PM: Image mismatch: version\n[    1.322599]");
    let text = words(&["show", "-"], &refused);
    assert!(text.contains("Broken: The image was made by another build"), "{text}");
    assert!(!text.contains("Hibernation image ms"), "{text}");
}

#[test]
fn an_image_is_named_where_it_takes_most_of_a_half() {
    let log = "\
[   60.323547] PM: hibernation: hibernation entry
[   60.334499] Freezing user space processes
[   60.335725] Freezing user space processes completed (elapsed 0.001 seconds)
[   60.345725] PM: hibernation: Preallocating image memory
[   62.350725] PM: hibernation: Allocated 1476908 kbytes in 2.01 seconds (734.78 MB/s)
[   62.351725] Freezing remaining freezable tasks
[   62.352725] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)
";
    let text = words(&["show", "-"], log);
    let said = "2.010 s (99 %) went into the image (allocate).";
    assert!(text.contains(said), "{text}");
}

#[test]
fn of_two_slow_steps_the_dearer_one_is_told_first() {
    let log = "\
[   10.000000] PM: suspend entry (deep)
[   14.309000] Filesystems sync: 4.309 seconds
[   14.310000] Freezing user space processes
[   17.085000] Freezing user space processes completed (elapsed 2.775 seconds)
[   17.186000] OOM killer enabled.
[   17.187000] Restarting tasks ... done.
[   17.188000] PM: suspend exit
";
    let text = words(&["doctor", "-"], log);
    assert!(text.starts_with("Slow: Writing dirty data took 4.3 s"), "{text}");
    assert!(text.contains("Slow: Freezing took up to 2.8 s"), "{text}");
}
