//! `dormouse doctor --modes` and `--clocks`: screens, JSON, exit codes.

use super::paths;
use crate::ran::ended as dormouse;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Three attempts as deep, one of which fails, and one s2idle sleep that hardware counts.
const LOG: &str = "\
[    9.000000] systemd[1]: Startup finished in 2.500s (kernel) + 7.500s (userspace) = 10.000s.
[  100.000000] PM: suspend entry (deep)
[  100.500000] Filesystems sync: 0.500 seconds
[  100.500100] Freezing user space processes
[  100.510000] Freezing user space processes completed (elapsed 0.010 seconds)
[  100.900000] PM: suspend of devices complete after 300.000 msecs
[  100.950000] PM: late suspend of devices complete after 10.000 msecs
[  100.990000] PM: noirq suspend of devices complete after 10.000 msecs
[  101.000000] ACPI: PM: Preparing to enter system sleep state S3
[  101.010000] ACPI: PM: Low-level resume complete
[  101.100000] PM: noirq resume of devices complete after 10.000 msecs
[  101.200000] PM: early resume of devices complete after 10.000 msecs
[  101.900000] PM: resume of devices complete after 600.000 msecs
[  102.000000] Restarting tasks ... done.
[  102.010000] PM: suspend exit
[  200.000000] PM: suspend entry (deep)
[  200.100000] Filesystems sync: 0.100 seconds
[  200.100100] Freezing user space processes
[  220.100200] Freezing user space processes failed after 20.000 seconds (1 tasks refusing to freeze, wq_busy=0):
[  220.200000] PM: suspend exit
[  300.000000] PM: suspend entry (s2idle)
[  300.010000] Filesystems sync: 0.010 seconds
[  300.020000] Freezing user space processes
[  300.030000] Freezing user space processes completed (elapsed 0.010 seconds)
[  300.400000] PM: suspend of devices complete after 300.000 msecs
[  300.450000] PM: late suspend of devices complete after 10.000 msecs
[  300.490000] PM: noirq suspend of devices complete after 10.000 msecs
[  300.500000] PM: suspend-to-idle
[  300.600000] PM: Timekeeping suspended for 20.000 seconds
[  300.610000] PM: resume from suspend-to-idle
[  300.700000] PM: noirq resume of devices complete after 10.000 msecs
[  300.750000] PM: early resume of devices complete after 10.000 msecs
[  300.900000] PM: resume of devices complete after 100.000 msecs
[  301.000000] Restarting tasks ... done.
[  301.010000] PM: suspend exit
/sys/power/suspend_stats/last_hw_sleep:19000000
/sys/power/suspend_stats/total_hw_sleep:19000000
";

const POWER: &str = "suspending=5W,s2idle=900mW,deep=300mW";

fn capture() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/laptop-6.12.tar.gz").into()
}

fn log(dir: &Path) -> String {
    let path = dir.join("dmesg.txt");
    std::fs::write(&path, LOG).expect("a file");
    path.display().to_string()
}

/// A machine that would sleep as s2idle, of which one CPU has no state for it, with two
/// timers.
fn machine(dir: &Path) -> String {
    let put = |path: &str, text: &str| {
        let place = dir.join(path);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        std::fs::write(place, text).expect("a file");
    };
    put("sys/power/state", "freeze mem disk\n");
    put("sys/power/mem_sleep", "[s2idle] deep\n");
    put("sys/power/disk", "[platform] shutdown\n");
    put("sys/power/resume", "8:2\n");
    put("sys/devices/system/cpu/online", "0-1\n");
    put("sys/devices/system/cpu/cpuidle/current_driver", "acpi_idle\n");
    for (cpu, disable) in [(0, "0"), (1, "1")] {
        let at = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state1");
        put(&format!("{at}/name"), "C3\n");
        put(&format!("{at}/disable"), disable);
        put(&format!("{at}/s2idle/usage"), "0\n");
    }
    put("proc/7/comm", "clock\n");
    std::fs::create_dir_all(dir.join("proc/7/fd")).expect("a folder");
    for (fd, clock, value) in [(3, 1, "(59, 0)"), (4, 9, "(1, 500000000)")] {
        put(&format!("proc/7/fdinfo/{fd}"), &format!("clockid: {clock}\nit_value: {value}\n"));
        symlink("anon_inode:[timerfd]", dir.join(format!("proc/7/fd/{fd}"))).expect("a link");
    }
    dir.display().to_string()
}

fn narrow(out: &str) {
    let wide: Vec<&str> =
        out.lines().filter(|l| l.chars().count() > 80 && !l.starts_with("Next")).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

/// By hand: deep is 0.99 s down and 0.99 s up, s2idle 0.50 s and 0.39 s, at 5 W: 9.90 J
/// and 4.45 J; 600 mW less pay 5.45 J in 9.08 s. A boot of 10 s at 5 W costs 50 J; 300 mW
/// pay what that is more than 9.90 J in 133.7 s.
#[test]
fn modes_are_judged_by_their_times_and_powers() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = log(dir.path());
    let (code, out, _) = dormouse(&["doctor", "--modes", "--power", POWER, &file]);
    assert_eq!(code, 0);
    narrow(&out);
    for said in [
        "2 sleeps seen.\n",
        "The s2idle sleeps really were: hardware.",
        "s2idle       seen         1       0    500.00    390.00     900 mW  hardware",
        "deep         seen         1       1    990.00    990.00     300 mW",
        "off and boot yes          -       -         -  10000.00        0 W",
        "deep costs less than s2idle from 9.1 s of sleep on.",
        "off costs less than deep from 2 min 14 s of sleep on.",
        "As many attempts fail as of those seen (1 of 2).",
    ] {
        assert!(out.contains(said), "{said}\n{out}");
    }
    let (_, json, _) = dormouse(&["doctor", "--modes", "--json", "--power", POWER, &file]);
    let v: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(v["modes"]["modes"][2]["trip_nj"], 9_900_000_000i64);
    assert_eq!(v["modes"]["modes"][0]["trip_nj"], 4_450_000_000i64);
    let (code, _, error) = dormouse(&["doctor", "--modes", "--power", "deep=much", &file]);
    assert_eq!(code, 2);
    assert!(error.contains("deep=much"), "{error}");
}

#[test]
fn the_machine_tells_its_modes_and_clocks() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = machine(dir.path());
    let (code, out, _) = dormouse(&["doctor", "--modes", "--root", &root]);
    assert_eq!(code, 0);
    narrow(&out);
    assert!(out.starts_with("A sleep is s2idle; this machine offers deep and hibernation too;"));
    assert!(out.contains("  ok      a device to resume from: 8:2"), "{out}");
    let (code, out, _) = dormouse(&["doctor", "--clocks", "--root", &root]);
    assert_eq!(code, 0);
    narrow(&out);
    for said in [
        "CLOCK_MONOTONIC will run on in s2idle: CPU 1 has no idle state for it",
        "2 timers armed, 2 of them at risk in a sleep.",
        "1.5 s        CLOCK_BOOTTIME_ALARM  clock (7)               a sleep now fails",
        "59.0 s       CLOCK_MONOTONIC       clock (7)               fires in the sleep",
    ] {
        assert!(out.contains(said), "{said}\n{out}");
    }
    // The same alarm is a finding of the plain look.
    let (_, out, _) = dormouse(&["doctor", "--root", &root]);
    assert!(out.contains("Note: An alarm of clock is due within 2 s"), "{out}");
    std::fs::write(dir.path().join("sys/devices/system/cpu/cpu1/cpuidle/state1/disable"), "0")
        .expect("a file");
    let (_, out, _) = dormouse(&["doctor", "--clocks", "--root", &root]);
    assert!(out.starts_with("CLOCK_MONOTONIC will stand in s2idle;"), "{out}");
}

#[test]
fn recordings_tell_what_the_clocks_did_and_logs_cannot() {
    let (code, out, _) = dormouse(&["doctor", "--clocks", &capture()]);
    assert_eq!(code, 0);
    narrow(&out);
    assert!(out.starts_with("No sleep among 4 cycles: no clock can have stood."), "{out}");
    let dir = tempfile::tempdir().expect("a folder");
    let (code, _, error) = dormouse(&["doctor", "--clocks", &log(dir.path())]);
    assert_eq!(code, 1);
    assert!(error.contains("no readings of two clocks"), "{error}");
}

#[test]
fn the_json_of_both_is_what_the_pages_say() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = machine(&dir.path().join("root"));
    let file = log(dir.path());
    let mut seen = BTreeSet::new();
    for args in [
        &["doctor", "--modes", "--json", "--power", POWER, &file][..],
        &["doctor", "--modes", "--json", "--root", &root],
    ] {
        paths::add(&dormouse(args).1, "modes", &mut seen);
    }
    assert_eq!(seen, paths::of_page(include_str!("../../../docs/modes-json.md")));
    seen.clear();
    for args in [
        &["doctor", "--clocks", "--json", &capture()][..],
        &["doctor", "--clocks", "--json", "--root", &root],
    ] {
        paths::add(&dormouse(args).1, "clocks", &mut seen);
    }
    assert_eq!(seen, paths::of_page(include_str!("../../../docs/clocks-json.md")));
}
