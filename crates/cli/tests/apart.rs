//! Logs that are given together are told apart: what is found out about one of them is
//! no fact of another.

use super::words::{said, words};
use std::path::Path;

/// A sleep of `device`, which resumes for `ms`, as a kernel log.
fn sleep(device: &str, ms: u64) -> String {
    let at = |ms: u64| format!("[   50.{ms:06}]");
    [
        format!("{} PM: suspend entry (deep)", at(0)),
        format!("{} usb {device}: PM: calling f_suspend+0x0/0x10 @ 7, parent: soc", at(1_000)),
        format!("{} usb {device}: PM: f_suspend+0x0/0x10 returned 0 after 20000 usecs", at(21_000)),
        format!("{} PM: suspend of devices complete after 21.000 msecs", at(22_000)),
        format!("{} PM: noirq suspend of devices complete after 1.000 msecs", at(23_000)),
        format!("{} PM: noirq resume of devices complete after 1.000 msecs", at(50_000)),
        format!("{} usb {device}: PM: calling f_resume+0x0/0x10 @ 7, parent: soc", at(51_000)),
        format!(
            "{} usb {device}: PM: f_resume+0x0/0x10 returned 0 after {} usecs",
            at(51_000 + 1_000 * ms),
            1_000 * ms
        ),
        format!("{} PM: resume of devices complete after {ms}.100 msecs", at(51_100 + 1_000 * ms)),
        format!("{} OOM killer enabled.", at(52_000 + 1_000 * ms)),
        format!("{} Restarting tasks ... done.", at(53_000 + 1_000 * ms)),
        format!("{} PM: suspend exit", at(54_000 + 1_000 * ms)),
    ]
    .map(|l| l + "\n")
    .concat()
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn the_clock_that_pm_trace_set_is_that_of_its_own_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let traced = sleep("usb2", 300).replace(
        "] PM: suspend exit",
        "] PM: Possible incorrect RTC due to pm_trace, please use 'ntpdate' or 'rdate'",
    );
    let a = written(folder.path(), "a.txt", &sleep("usb1", 100));
    let b = written(folder.path(), "b.txt", &traced);
    let alone = words(&["show", &a], "");
    assert!(alone.starts_with("Resume 104.0 ms: usb1 (USB root hub) is the bottleneck"), "{alone}");
    let both = words(&["show", "--cycle", "1", &a, &b], "");
    let half = |text: &str| text[..text.find(" Kernel unknown").unwrap_or(60)].to_string();
    assert!(both.starts_with("Resume 104.0 ms: usb1 (USB root hub) is the bottleneck"), "{both}");
    assert!(!half(&both).contains("pm_trace"), "{both}");
    let all = words(&["show", &a, &b], "");
    assert!(all.contains("Warnings b.txt: pm_trace was on"), "{all}");
}

#[test]
fn there_is_no_median_over_two_files_that_name_no_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = written(folder.path(), "a.txt", &sleep("usb1", 100));
    let b = written(folder.path(), "b.txt", &sleep("mmc0", 300));
    let text = words(&["show", &a, &b], "");
    assert!(!text.contains("median"), "{text}");
    assert!(text.contains("Resume 104.0 ms:") && text.contains("Resume 304.0 ms:"), "{text}");
    // The same file twice over is one machine where it names its kernel.
    let named = |t: String| format!("[    0.000000] Linux version 6.1.44 (a@b) #1 SMP\n{t}");
    let a = written(folder.path(), "a.txt", &named(sleep("usb1", 100)));
    let b = written(folder.path(), "b.txt", &named(sleep("usb1", 300)));
    let text = words(&["show", &a, &b], "");
    assert!(text.contains("Resume, median 204.0 ms:"), "{text}");
}

#[test]
fn what_may_be_several_machines_is_not_predicted() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "a.txt", &sleep("usb1", 100));
    written(folder.path(), "b.txt", &sleep("mmc0", 300));
    let (code, text) = said(&["predict", &folder.path().display().to_string()], "");
    assert_eq!(code, Some(3), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("holds 2 recordings that may be of as many machines"), "{text}");
}

#[test]
fn a_warning_of_some_cycles_names_them() {
    let guessed = "\
[   37.000000] PM: suspend entry (s2idle)
[   37.100000] ACPI: EC: interrupt blocked
[   39.100000] ACPI: EC: interrupt unblocked
[   39.200000] OOM killer enabled.
[   39.300000] Restarting tasks ... done.
[   39.400000] PM: suspend exit
";
    let marked = "\
[   57.000000] PM: suspend entry (s2idle)
[   57.100000] PM: suspend of devices complete after 90.000 msecs
[   57.200000] PM: suspend-to-idle
[   59.200000] PM: resume from suspend-to-idle
[   59.300000] PM: resume of devices complete after 90.000 msecs
[   59.310000] OOM killer enabled.
[   59.320000] Restarting tasks ... done.
[   59.400000] PM: suspend exit
";
    let log = format!("{guessed}{marked}");
    let text = words(&["show", "-"], &log);
    assert!(text.contains("Cycle 1: When sleep began and ended is guessed."), "{text}");
    let second = words(&["show", "-", "--cycle", "2"], &log);
    assert!(!second.contains("guessed"), "{second}");
}

#[test]
fn usecs_of_old_kernels_are_those_of_the_logs_that_print_them() {
    let folder = tempfile::tempdir().expect("a folder");
    // Without `PM: ` the lines are those of a kernel before 5.14.
    let new = sleep("usb1", 100);
    // Numbers that the stamps leave room for in that unit.
    let old = new.replace("usb1: PM: ", "usb1: ");
    let old = old.replace("after 100000 ", "after 97656 ").replace("after 20000 ", "after 19531 ");
    let a = written(folder.path(), "old.txt", &old);
    let b = written(folder.path(), "new.txt", &new);
    let text = words(&["show", &a, &b], "");
    assert!(text.contains("times here are 2.4 % above the numbers of old.txt."), "{text}");
    // Stamps that leave room for microseconds alone prove these.
    let micro = written(folder.path(), "micro.txt", &new.replace("usb1: PM: ", "usb1: "));
    let text = words(&["show", &micro], "");
    assert!(!text.contains("2.4 %"), "{text}");
}

#[test]
fn a_device_that_failed_once_is_not_said_to_fail_always() {
    let fails = |log: &str, device: &str| {
        let line = "returned 0 after 100000 usecs";
        log.replace(&format!("usb {device}: PM: f_resume+0x0/0x10 {line}"), &{
            format!("usb {device}: PM: f_resume+0x0/0x10 {}", line.replace("d 0", "d -71"))
        })
    };
    let second = |log: String| log.replace("   50.", "   70.");
    let one = fails(&sleep("usb1", 100), "usb1");
    let two = sleep("usb2", 100).replace("   50.", "   60.");
    let log = format!("{one}{two}{}", second(one.clone()));
    let text = words(&["show", "-"], &log);
    assert!(
        text.contains("usb1 (USB root hub, error -71) failed to resume in 2 of 3 cycles."),
        "{text}"
    );
    let log = format!("{one}{}{}", fails(&two, "usb2"), second(one.clone()));
    let text = words(&["show", "-"], &log);
    let want = "usb1 (USB root hub, error -71) failed to resume in 2 of 3 cycles, usb2 (USB root \
                hub, error -71) in one of them.";
    assert!(text.contains(want), "{text}");
}

#[test]
fn the_part_of_a_failed_suspend_is_at_least_so_long() {
    let tail = "\
[   50.001000] usb usb1: PM: calling f_suspend+0x0/0x10 @ 7, parent: soc
[   50.021000] usb usb1: PM: f_suspend+0x0/0x10 returned -16 after 20000 usecs
[   50.022000] usb usb1: PM: failed to suspend: error -16
[   50.023000] PM: Some devices failed to suspend, or early wake event detected
";
    let text = words(&["show", "-"], tail);
    assert!(text.contains("Suspend at least "), "{text}");
    let whole = format!("[   50.000000] PM: suspend entry (deep)\n{tail}");
    let text = words(&["show", "-"], &whole);
    assert!(text.contains("Suspend at least ") == text.contains("start not shown"), "{text}");
}

#[test]
fn of_a_log_that_is_cut_after_the_sleep_suspend_is_known() {
    let whole = sleep("usb1", 100).replace(
        "] PM: suspend entry (deep)",
        "] PM: suspend entry (deep)\n[   50.000500] Filesystems sync: 0.000 seconds",
    );
    let text = words(&["show", "-"], &whole);
    let total = |text: &str, half: &str| {
        let at = text.find(half).unwrap_or_else(|| panic!("{half}: {text}"));
        text[at + half.len()..].split(':').next().expect("a time").to_string()
    };
    let suspend = total(&text, "Suspend ");
    let cut: String = whole.lines().take(7).map(|l| format!("{l}\n")).collect();
    let text = words(&["show", "-"], &cut);
    assert!(text.contains("Resume"), "{text}");
    assert_eq!(total(&text, "Suspend "), suspend, "{text}");
    let (_, json) = said(&["show", "-", "--json"], &cut);
    assert!(json.contains("at_least"), "resume is cut: {json}");
}
