//! Figures have the digits that their source has, and mean what it says.

use super::words::{CLOCK, root, words};
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
