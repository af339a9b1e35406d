//! `dormouse doctor`: the screen, the JSON and the exit codes.

use super::paths;
use crate::ran::{ended as dormouse, output};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A log with three faults.
pub(crate) const SICK: &str = "\
[   98.803081] PM: suspend entry (deep)
[   98.813999] Filesystems sync: 0.010 seconds
[   98.819226] Freezing user space processes
[  118.822270] Freezing user space processes failed after 20.003 seconds (1 tasks refusing to freeze, wq_busy=0):
[  118.822281] task:syncthing       state:D stack:0     pid:474   tgid:474   ppid:1
[  118.822285] Call Trace:
[  118.822290]  schedule+0x27/0xd0
[  118.822291]  request_wait_answer+0xa1/0x210 [fuse]
[  118.856308] PM: suspend exit
[  118.856371] PM: suspend entry (s2idle)
[  139.856371] PM: suspend exit
/sys/bus/usb/devices/1-3/power/control:on
/sys/bus/usb/devices/1-3/power/runtime_enabled:enabled
/sys/bus/usb/devices/1-3/power/runtime_status:active
/sys/bus/usb/devices/1-3/power/runtime_active_time:119060567
";

/// A log of a machine that sleeps well.
pub(crate) const WELL: &str = "\
[   98.803081] PM: suspend entry (deep)
[   98.813999] Filesystems sync: 0.010 seconds
[   98.819226] Freezing user space processes
[   98.822270] Freezing user space processes completed (elapsed 0.003 seconds)
[   99.856308] PM: suspend exit
";

const SCREEN: &str = "\
Broken: syncthing (pid 474) did not freeze in 20.0 s: it waited for the server
  of a FUSE file system; if that server was frozen first, nobody answers. It
  stood in request_wait_answer (fuse).
The lines below say so. The text has 2 attempts to sleep. 2 further findings
  below.
  rule freeze-failed, certain
    line 4 at 118.822270 s: Freezing user space processes failed after 20.003
    seconds (1 tasks refusing to freeze, wq_busy=0):
    line 5 at 118.822281 s: task:syncthing state:D stack:0 pid:474 tgid:474
    ppid:1
  Do: Stop the server or its user before sleep, or run the server as a system
      service outside user.slice.

Risk: The sleep as deep failed, and 0.06 ms later the machine was put to sleep
  as s2idle instead.
";

fn log(dir: &Path, text: &str) -> String {
    let path = dir.join("dmesg.txt");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn the_screen_answers_first_and_fits() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, out, _) = dormouse(&["doctor", &log(dir.path(), SICK)]);
    assert_eq!(code, 0);
    assert!(out.starts_with(SCREEN), "{out}");
    assert!(out.lines().rev().take(1).all(|l| l.starts_with("Next: dormouse show ")), "{out}");
    let wide: Vec<&str> =
        out.lines().filter(|l| l.chars().count() > 80 && !l.starts_with("Next")).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

#[test]
fn a_text_about_something_else_is_nothing_and_a_binary_is_said_to_be_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, _, error) = dormouse(&["doctor", &log(dir.path(), "Dear list,\nhello\n")]);
    assert_eq!(code, 1);
    assert!(error.contains("give a kernel log"), "{error}");
    let (code, _, error) = dormouse(&["doctor", &log(dir.path(), "\u{17}\0\0tracing")]);
    assert_eq!(code, 1);
    assert!(error.contains("bytes are no text"), "{error}");
    assert_eq!(dormouse(&["doctor", "/nowhere/at/all"]).0, 3);
    // Each kind of nothing by its name.
    let empty = tempfile::tempdir().expect("a folder");
    let (code, _, error) =
        dormouse(&["show", "--only", "findings", empty.path().to_str().expect("a path")]);
    assert_eq!(code, 1);
    assert!(error.starts_with("dormouse: nothing to analyse: the folder "), "{error}");
    assert!(error.split_whitespace().any(|w| w == "empty"), "{error}");
    let (_, _, error) = dormouse(&["doctor", &log(dir.path(), "Dear list,\nhello\n")]);
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(error.contains("nothing to analyse: no kernel message in "), "{error}");
    let awake = "[    1.000000] usb 1-1: new high-speed USB device\n";
    let (_, _, error) = dormouse(&["doctor", &log(dir.path(), awake)]);
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(error.contains("no kernel message about sleep in "), "{error}");
}

#[test]
fn the_json_is_what_the_page_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut seen = BTreeSet::new();
    let truncated = SICK.to_string() + "{\"MESSAGE\" : [1, 2], \"_TRANSPORT\" : \"kernel\"\n";
    let way = "Mar 04 07:00:01 elm systemd-logind[800]: The system will suspend now!\n\
        Mar 04 07:00:02 elm systemd-logind[800]: Delay lock is active (UID 0/root, PID 9/oak) but inhibitor timeout is reached.\n\
        Mar 04 07:00:09 elm systemd-sleep[41]: still here\n\
        Mar 04 07:00:10 elm systemd-sleep[41]: Performing sleep operation 'suspend'...\n\
        Mar 04 07:00:11 elm kernel: PM: suspend entry (s2idle)\n\
        Mar 04 07:00:41 elm kernel: PM: suspend exit\n";
    let deep = way.replace("s2idle", "deep")
        + "$ grep . /sys/firmware/acpi/fpdt/resume/resume_prev_ns\n812000000\n\
           /sys/firmware/acpi/fpdt/resume/resume_prev_ns:812000000\n";
    for text in [SICK, truncated.as_str(), way, &deep] {
        let (code, out, _) = dormouse(&["doctor", "--json", &log(dir.path(), text)]);
        assert_eq!(code, 0);
        assert_eq!(dormouse(&["doctor", "--json", &log(dir.path(), text)]).1, out);
        paths::add(&out, "", &mut seen);
    }
    let (_, out, _) = dormouse(&[
        "doctor",
        "--json",
        &log(dir.path(), SICK),
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/laptop-6.12.tar.gz"),
    ]);
    paths::add(&out, "", &mut seen);
    assert_eq!(seen, paths::of_page(include_str!("../../../docs/doctor-json.md")));
}

/// A machine whose next sleep is only a test, in files of its own.
#[test]
fn the_machine_is_looked_at_and_nothing_is_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let place = dir.path().join(path);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        std::fs::write(place, text).expect("a file");
    };
    put("sys/power/state", "freeze mem\n");
    put("sys/power/mem_sleep", "[s2idle]\n");
    put("sys/power/pm_test", "none core [freezer]\n");
    put("sys/power/wakeup_count", "5\n");
    put("sys/power/suspend_stats/fail", "2\n");
    put("sys/power/suspend_stats/success", "3\n");
    put("sys/power/suspend_stats/failed_suspend", "2\n");
    put("sys/power/suspend_stats/last_failed_dev", "0000:00:14.0\n");
    put("sys/power/suspend_stats/last_failed_step", "suspend\n");
    put("sys/power/suspend_stats/last_failed_errno", "-16\n");
    put("sys/devices/system/cpu/online", "0-1\n");
    put("sys/devices/system/cpu/cpuidle/current_driver", "acpi_idle\n");
    for (cpu, disable) in [(0, "0"), (1, "1")] {
        let at = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        put(&format!("{at}/state0/name"), "POLL\n");
        put(&format!("{at}/state1/name"), "C3\n");
        put(&format!("{at}/state1/disable"), disable);
        put(&format!("{at}/state1/s2idle/usage"), "0\n");
    }
    let root = dir.path().to_str().expect("a path");
    let (code, out, err) = dormouse(&["check", "--root", root]);
    assert_eq!(code, 4, "{err}");
    let first = "Broken: A sleep now is only a test: pm_test is freezer,";
    assert!(out.starts_with(first), "{out}");
    for said in [
        "The files below say so. 2 further findings below.",
        "    /sys/power/pm_test: none core [freezer]",
        "  Do: echo none > /sys/power/pm_test",
        "Risk: 2 of 5 attempts to sleep failed since boot.",
        "at 0000:00:14.0, error -16.",
        "Risk: s2idle will be shallow: CPU 1 has no idle state for it (its state C3 is",
        "what the kernel said since boot",
    ] {
        assert!(out.contains(said), "no {said:?} in:\n{out}");
    }
    assert!(out.lines().all(|l| l.chars().count() <= 80), "{out}");
    assert!(!out.contains("wakeup_count"), "{out}");
    let (code, out, _) = dormouse(&["doctor", "--json", "--root", root]);
    let value: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, 0);
    assert_eq!(value["texts"][0]["findings"][0]["id"], "knob-pm-test");
    assert_eq!(value["texts"][0]["findings"][0]["evidence"][0]["line"], Value::Null);
}

/// The twin: the same machine with everything as usual says nothing.
#[test]
fn a_healthy_machine_is_told_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let place = dir.path().join(path);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        std::fs::write(place, text).expect("a file");
    };
    put("sys/power/mem_sleep", "[s2idle]\n");
    put("sys/power/pm_test", "[none] core freezer\n");
    put("sys/power/pm_async", "1\n");
    put("sys/power/pm_freeze_timeout", "20000\n");
    put("sys/power/sync_on_suspend", "1\n");
    put("sys/power/suspend_stats/fail", "0\n");
    put("sys/devices/system/cpu/online", "0\n");
    put("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
    put("sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0\n");
    put("sys/devices/system/cpu/cpu0/cpuidle/state1/s2idle/usage", "0\n");
    put("sys/class/rtc/rtc0/device/power/wakeup", "enabled\n");
    put("proc/meminfo", "MemTotal: 100 kB\nDirty: 1 kB\nWriteback: 0 kB\n");
    let (code, out, _) = dormouse(&["doctor", "--root", dir.path().to_str().expect("a path")]);
    assert_eq!(code, 0);
    assert!(out.starts_with("Nothing wrong found: this machine has not slept"), "{out}");
}

/// A machine without any state of sleep, as in a container: that is the answer, and
/// nobody is told to become what he is.
#[test]
fn a_machine_that_cannot_sleep_is_told_so_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let place = dir.path().join(path);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        std::fs::write(place, text).expect("a file");
    };
    put("sys/power/state", "");
    put("sys/power/pm_async", "1\n");
    put("sys/kernel/debug/README", "");
    put("proc/meminfo", "MemTotal: 9000000 kB\nDirty: 500000 kB\nWriteback: 0 kB\n");
    let (code, out, _) = dormouse(&["doctor", "--root", dir.path().to_str().expect("a path")]);
    assert_eq!(code, 0);
    assert!(
        out.starts_with("Broken: This machine cannot sleep: /sys/power/state is empty."),
        "{out}"
    );
    assert!(!out.contains("a sleep now would") && !out.contains("as root"), "{out}");
    assert!(out.contains("debugfs is not mounted: mount"), "{out}");
    assert!(out.contains("there is no /dev/kmsg here"), "{out}");
    assert!(out.trim_end().ends_with("Next: dormouse check LOG"), "{out}");
}

/// What `dormouse doctor -` says of a text, without its line breaks.
fn said_of(text: &str) -> String {
    super::words::words(&["doctor", "-"], text)
}

#[test]
fn a_sleep_without_its_beginning_is_one() {
    let tail = "\
[   98.822270] PM: suspend of devices complete after 100.000 msecs
[   99.822270] PM: resume of devices complete after 100.000 msecs
[   99.856308] PM: suspend exit
";
    let text = said_of(tail);
    let want = "the text has 1 attempt to sleep (line 1), whose beginning is not in the text.";
    assert!(text.contains(want), "{text}");
    // One whole sleep, and the end of another before it.
    let text = said_of(&format!("{}{SICK}", tail.replace("[   9", "[   8")));
    assert!(text.contains("The text has 3 attempts to sleep."), "{text}");
    assert!(text.contains("That of line 1 has no beginning in the text."), "{text}");
}

#[test]
fn a_mail_of_callbacks_is_about_sleep_and_a_device_that_is_gone_is_told() {
    let mail = "\
My card does not come back:
[   52.435375] mt7921e 0000:01:00.0: PM: calling
pci_pm_suspend_noirq+0x0/0x300 @ 2040, parent: 0000:00:00.0
[   52.465235] mt7921e 0000:01:00.0: PCI PM: Suspend power state: D3hot
[   56.064098] mt7921e 0000:01:00.0: PM: calling
pci_pm_resume_noirq+0x0/0x190 @ 3244, parent: 0000:00:00.0
[   56.078962] mt7921e 0000:01:00.0: Unable to change power state from D3hot to D0, device inaccessible
[   56.152363] mt7921e 0000:01:00.0: PM: pci_pm_resume_noirq+0x0/0x190
returned 0 after 73406 usecs
";
    let text = said_of(mail);
    let want = "Broken: 0000:01:00.0 (mt7921e) could not be brought back from D3hot: it did not \
                answer.";
    assert!(text.starts_with(want), "{text}");
    assert!(text.contains("The text has 1 attempt to sleep."), "{text}");
    assert!(text.contains("line 7 at 56.078962 s"), "{text}");
    // What is pulled out of a machine that is awake is no fault of its sleep.
    let awake: String = mail.lines().filter(|l| l.contains("Unable")).collect();
    assert!(!said_of(&awake).contains("Broken"), "{awake}");
}

#[test]
fn a_second_writer_who_is_refused_is_no_third_attempt() {
    let log = "\
2022-01-10T18:28:54.426734  rtcwake: wakeup from mem using rtc0
2022-01-10T18:28:54.429848  <6>[   34.457478] PM: suspend entry (deep)
2022-01-10T18:28:54.436608  <6>[   34.469501] Filesystems sync: 0.000 seconds
2022-01-10T18:28:54.439737  <6>[   34.473959] PM: suspend entry (s2idle)
2022-01-10T18:28:54.443332  <6>[   34.477976] PM: suspend exit
2022-01-10T18:28:54.443754  rtcwake: write error
2022-01-10T18:28:54.452760  <6>[   34.481609] Freezing user space processes ... (elapsed 0.001 seconds) done.
2022-01-10T18:28:54.459392  <6>[   34.490390] OOM killer disabled.
2022-01-10T18:12:30.291466  rtcwake: assuming RTC uses UTC ...
2022-01-10T18:12:30.313051  <6>[   18.315519] PM: suspend entry (deep)
2022-01-10T18:12:50.360890  <6>[   18.326416] Freezing user space processes ... (elapsed 0.001 seconds) done.
2022-01-10T18:12:50.361701  <3>[   18.342589] PM: suspend exit
";
    let text = said_of(log);
    assert!(text.contains("The text has 2 attempts to sleep."), "{text}");
    assert!(text.contains("That of line 2 has no end in the text."), "{text}");
    assert!(text.contains("The clock goes back at line 9:"), "{text}");
    let show = super::words::words(&["show", "-"], log);
    assert!(show.contains("2 cycles."), "{show}");
    assert!(show.contains("Time runs backwards inside 1 cycle (first at line 9)"), "{show}");
}

#[test]
fn the_median_of_an_even_count_is_between_the_two_in_the_middle() {
    let sleep = |at: u32, took: &str| {
        format!(
            "[ {at}.000000] PM: suspend entry (deep)\n[ {}.000000] Filesystems sync: {took} seconds\n[ \
             {}.500000] PM: suspend exit\n",
            at + 20,
            at + 20
        )
    };
    let log =
        sleep(100, "10.919") + &sleep(200, "5.637") + &sleep(300, "4.309") + &sleep(400, "3.735");
    let text = said_of(&log);
    assert!(
        text.contains("took 5.0 s before a sleep in the median of 4 (at most 10.9 s)"),
        "{text}"
    );
}

#[test]
fn a_task_that_the_text_does_not_show_is_told() {
    let log = SICK.replace("(1 tasks refusing", "(2 tasks refusing");
    let text = said_of(&log);
    assert!(text.contains("1 more task refused, which no line that was read shows."), "{text}");
    assert!(!said_of(SICK).contains("more task"), "{text}");
}

#[test]
fn a_sum_is_rounded_and_all_its_lines_are_there() {
    let log = "\
[   92.364660] Timekeeping suspended for 759.694 seconds
[   92.408334] Timekeeping suspended for 331.956 seconds
[   92.429810] Timekeeping suspended for 328.978 seconds
[   92.451340] Timekeeping suspended for 8.978 seconds
[   92.451341] amd_pmc AMDI0005:00: Last suspend in deepest state for 758373565us
";
    let text = said_of(log);
    assert!(text.contains("758 s of 1430 s (53 %)"), "{text}");
    assert!(text.contains("line 4 at 92.451340 s: Timekeeping suspended for 8.978"), "{text}");
}

#[test]
fn recordings_of_healthy_machines_are_silent_and_say_what_was_not_checked() {
    let out = output(["doctor", "--json", "captures"]);
    let value: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let texts = value["texts"].as_array().expect("texts");
    let recorded: Vec<&Value> = texts.iter().filter(|t| t["sleeps"] == 4).collect();
    assert_eq!(recorded.len(), 3, "{texts:#?}");
    for t in recorded {
        // They were recorded at a test level, and that is said of them.
        let loud = |f: &&Value| f["level"] != "note" && f["id"] != "knob-pm-test";
        let findings = t["findings"].as_array().expect("findings");
        assert_eq!(findings.iter().filter(loud).count(), 0, "{t:#}");
        assert!(t["not_checked"].as_array().is_some_and(|n| !n.is_empty()));
    }
}

#[test]
fn values_without_a_log_are_judged_and_a_binary_is_said_to_be_one_once() {
    let text = said_of("/sys/power/mem_sleep:s2idle [deep]\n");
    assert!(text.starts_with("A sleep to memory is deep (mem_sleep)"), "{text}");
    let text = said_of("/sys/power/pm_async:1\n");
    let want = "No rule found a fault in the values that the text shows; it has no kernel log.";
    assert!(text.starts_with(want) || text.starts_with("Note"), "{text}");
    let mut binary = tempfile::NamedTempFile::new().expect("a file");
    binary.write_all(&[b"\x7fELF\x02\x01\x01", &[0; 4096][..]].concat()).expect("written");
    let path = binary.path().to_str().expect("a path");
    let text = super::words::words(&["doctor", path], "");
    assert_eq!(text.matches("no text").count(), 1, "{text}");
}

#[test]
fn a_recording_from_standard_input_is_judged_as_the_file_is() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/laptop-6.12.tar.gz");
    let judged = |command: &mut Command| {
        let out = command.output().expect("dormouse runs");
        let value: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let mut text = value["texts"][0].clone();
        text["name"] = Value::Null;
        text
    };
    let doctor = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
        command.args(["doctor", "--json"]);
        command
    };
    let named = judged(doctor().arg(file));
    assert_eq!(named["sleeps"], 4, "{named:#}");
    let piped = judged(doctor().arg("-").stdin(std::fs::File::open(file).expect("a capture")));
    assert_eq!(piped, named);
}
