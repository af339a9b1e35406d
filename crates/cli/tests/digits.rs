//! Figures have the digits that their source has, and mean what it says.

use super::words::{CLOCK, words};
use crate::ran::root;
use std::process::Command;

#[test]
fn no_part_of_the_sleep_is_resume() {
    // stats.json of the second cycle: 150.283 ms of the boot clock, of which the
    // monotonic one stood still for 15.655; the kernel log says 0.015 seconds.
    let text = words(&["show", "--cycle", "2", "captures/am335x-6.12.tar.gz"], "");
    assert!(text.contains("total resume 113.07 "), "{text}");
    assert!(text.contains("15.7 ms asleep (not counted)"), "{text}");
    assert!(text.contains("asleep 15.66 not counted"), "{text}");
    // The third of the other: 45.791 ms, and the log says 0.045.
    let text = words(&["show", "--cycle", "3", CLOCK], "");
    assert!(text.contains("total resume 224.21 "), "{text}");
}

#[test]
fn a_capture_that_was_unpacked_is_read_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = root().join("captures/am335x-6.12.tar.gz");
    let status = Command::new("tar").arg("xzf").arg(&file).arg("-C").arg(folder.path()).status();
    assert!(status.expect("tar runs").success());
    let of_file = words(&["show", &file.display().to_string()], "");
    let of_folder = words(&["show", &folder.path().display().to_string()], "");
    let answer = |t: &str| t.split("Next: ").next().expect("an answer").to_string();
    assert_eq!(answer(&of_folder), answer(&of_file));
    // As one of several folders.
    let above = folder
        .path()
        .parent()
        .expect("a folder")
        .join(format!("{}-above", folder.path().file_name().expect("a name").to_string_lossy()));
    std::fs::create_dir(&above).expect("made");
    std::fs::rename(folder.path(), above.join("one")).expect("moved");
    let of_above = words(&["show", &above.display().to_string()], "");
    std::fs::remove_dir_all(&above).expect("removed");
    assert_eq!(answer(&of_above), answer(&of_file));
}

/// A whole sleep on a kernel that prints seconds, cut to thousandths.
const SECONDS: &str = "\
[    1.000000] PM: suspend entry (deep)
[    1.004000] Filesystems sync: 0.000 seconds
[    1.010000] Freezing user space processes ... (elapsed 0.019 seconds) done.
[    1.040000] Freezing remaining freezable tasks ... (elapsed 0.007 seconds) done.
[    1.080000] PM: suspend of devices complete after 20.000 msecs
[    1.082000] PM: noirq suspend of devices complete after 1.000 msecs
[    1.083000] Disabling non-boot CPUs ...
[    1.084000] Suspended for 14.619 seconds
[    1.090000] PM: noirq resume of devices complete after 1.000 msecs
[    1.120000] PM: resume of devices complete after 20.000 msecs
[    1.121000] OOM killer enabled.
[    1.122000] Restarting tasks ... done.
[    1.123000] PM: suspend exit
";

#[test]
fn freezing_took_what_the_log_prints_and_no_digit_is_added() {
    let text = words(&["show", "-", "--markdown"], SECONDS);
    assert!(text.contains("| freeze_user | suspend | 19.00 |"), "{text}");
    assert!(text.contains("| freeze_kernel | suspend | 7.00 |"), "{text}");
    let text = words(&["show", "-"], SECONDS);
    assert!(text.contains("freeze_user 19 "), "{text}");
    assert!(text.contains("freeze_kernel 7 "), "{text}");
    assert!(text.contains("asleep 14619 not counted"), "{text}");
    assert!(text.contains("after thaw, until suspend exit 1.00 not counted"), "{text}");
    // From the last line before it to the first one after it.
    assert!(text.contains("before and after sleep 1.00 in no row"), "{text}");
}

#[test]
fn the_copying_of_an_image_is_no_sleep() {
    let log = "\
[  140.000000] PM: hibernation entry
[  140.010000] Freezing user space processes ... (elapsed 0.005 seconds) done.
[  140.100000] PM: freeze of devices complete after 20.000 msecs
[  140.200000] PM: noirq freeze of devices complete after 1.000 msecs
[  140.300000] Disabling non-boot CPUs ...
[  140.322151] smpboot: CPU 3 is now offline
[  140.322500] PM: Creating hibernation image:
[  140.338035] Enabling non-boot CPUs ...
[  140.340000] CPU3 is up
[  140.350000] PM: noirq restore of devices complete after 1.000 msecs
[  140.400000] PM: restore of devices complete after 20.000 msecs
[  140.410000] OOM killer enabled.
[  140.420000] Restarting tasks ... done.
[  140.430000] PM: hibernation exit
";
    let text = words(&["show", "-"], log);
    assert!(text.contains("time asleep not known"), "{text}");
    let want = "asleep not known: the image was copied, then the machine was off";
    assert!(text.contains(want), "{text}");
    assert!(!text.contains("15.9") && !text.contains("15.88"), "{text}");
}

#[test]
fn short_rows_stand_alone_for_whoever_asks() {
    let capture = "captures/am335x-6.12.tar.gz";
    let folded = words(&["show", "--cycle", "2", capture], "");
    assert!(folded.contains("12 short rows"), "{folded}");
    let all = words(&["show", "--cycle", "2", "--top", "100", capture], "");
    assert!(!all.contains("short rows") && all.contains("thaw "), "{all}");
    let one = words(&["show", "--cycle", "2", "--phase", "thaw", capture], "");
    assert!(one.contains("thaw ") && one.contains("11 short rows"), "{one}");
}

#[test]
fn a_phase_without_a_line_of_its_own_says_so() {
    let log: String = SECONDS
        .lines()
        // Its line would claim the callback.
        .filter(|l| !l.contains("noirq suspend"))
        .map(|l| match l.contains("suspend of devices complete after 20") {
            true => "[    1.060000] usb usb1: PM: calling f_suspend+0x0/0x10 @ 7, parent: soc\n\
                     [    1.070000] usb usb1: PM: f_suspend+0x0/0x10 returned 0 after 9000 usecs\n"
                .to_string(),
            false => format!("{l}\n"),
        })
        .collect();
    let text = words(&["show", "-"], &log);
    let want =
        "suspend: from the first callback to the last; no line says when a phase starts or ends";
    assert!(text.contains(want), "{text}");
    assert!(!words(&["show", "-"], SECONDS).contains("no line says"), "{text}");
}

#[test]
fn two_sides_with_one_beginning_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).expect("made");
        std::fs::write(path.join("log"), SECONDS).expect("written");
        path.display().to_string()
    };
    let (a, b) = (at("suspend-190921-145531"), at("suspend-190921-154606"));
    let text = words(&["compare", &a, &b], "");
    assert!(text.contains("ms …921-145531 …921-154606 change"), "{text}");
}

#[test]
fn a_folder_of_links_is_said_to_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    std::fs::write(&log, SECONDS).expect("written");
    let links = folder.path().join("links");
    std::fs::create_dir(&links).expect("made");
    std::os::unix::fs::symlink(&log, links.join("one")).expect("linked");
    let text = words(&["compare", &log.display().to_string(), &links.display().to_string()], "");
    assert!(text.contains("1 link was not followed"), "{text}");
}

#[test]
fn a_cause_that_the_log_tells_is_not_said_to_be_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |t: u32, text: &str| format!("  sh-9 [000] .... 1.{t:06}: {text}\n");
    let trace: String = [
        (0, "suspend_resume: suspend_enter[3] begin"),
        (1_000, "suspend_resume: dpm_prepare[2] begin"),
        (2_000, "suspend_resume: dpm_prepare[2] end"),
        (3_000, "suspend_resume: dpm_suspend[2] begin"),
        (9_000, "suspend_resume: dpm_suspend[2] end"),
        (9_100, "suspend_resume: dpm_resume[16] begin"),
        (9_200, "suspend_resume: dpm_resume[16] end"),
        (9_300, "suspend_resume: thaw_processes[0] begin"),
        (9_400, "suspend_resume: thaw_processes[0] end"),
    ]
    .map(|(t, text)| line(t, text))
    .concat();
    let log = "\
[    1.000000] PM: suspend entry (deep)
[    1.009000] PM: Some devices failed to suspend, or early wake event detected
[    1.009400] Restarting tasks ... done.
[    1.009500] PM: suspend exit
";
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("written");
        folder.path().join(name).display().to_string()
    };
    let (t, l) = (write("trace", &format!("# tracer: nop\n{trace}")), write("log", log));
    let alone = words(&["show", &t], "");
    assert!(alone.contains("the kernel log tells"), "{alone}");
    let both = words(&["show", &t, &l], "");
    assert!(both.contains("aborted, cause not in this log"), "{both}");
    assert!(!both.contains("the kernel log tells"), "{both}");
}
