//! `dormouse record` and `dormouse restore` on a made-up `/sys` and `/proc`:
//! nothing here touches the machine that runs the test.

use assert_cmd::Command;
use predicates::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const DEVICE: &str = "sys/devices/platform/a";

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/sys/kernel/random/boot_id", "b1\n"),
        ("proc/sys/kernel/printk", "7\t4\t1\t7\n"),
        ("proc/meminfo", "MemTotal: 8 kB\n"),
        ("sys/power/state", "freeze mem\n"),
        ("sys/power/mem_sleep", "[s2idle] deep\n"),
        ("sys/power/pm_test", "[none] devices\n"),
        ("sys/power/pm_async", "1\n"),
        ("sys/power/pm_debug_messages", "0\n"),
        ("sys/devices/platform/a/uevent", "DRIVER=a\n"),
        ("sys/devices/platform/a/power/async", "enabled\n"),
        ("sys/devices/platform/a/power/wakeup", "enabled\n"),
        ("sys/kernel/tracing/saved_cmdlines_size", "128\n"),
        ("sys/kernel/tracing/instances/.keep", ""),
    ] {
        let place = dir.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    dir
}

fn snapshot(at: &Path, top: &Path, out: &mut BTreeMap<String, String>) {
    for e in fs::read_dir(at).unwrap().flatten() {
        let path = e.path();
        if path.is_dir() {
            snapshot(&path, top, out);
        } else {
            let name = path.strip_prefix(top).unwrap().display().to_string();
            out.insert(name, fs::read_to_string(&path).unwrap().trim().to_string());
        }
    }
}

fn files(dir: &tempfile::TempDir) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    snapshot(dir.path(), dir.path(), &mut out);
    out
}

fn dormouse(dir: &tempfile::TempDir, args: &[&str]) -> Command {
    let mut c = Command::cargo_bin("dormouse").unwrap();
    c.current_dir(dir.path()).args(args).arg("--root").arg(dir.path());
    c
}

#[test]
fn a_dry_run_prints_every_write_and_makes_none() {
    let dir = tree();
    let before = files(&dir);
    dormouse(
        &dir,
        &[
            "record",
            "--dry-run",
            "--wake",
            "external",
            "--mem-sleep",
            "deep",
            "--pm-async",
            "0",
            "--device-async",
            "/sys/devices/platform/a=0",
            "--detail",
            "sched,block",
        ],
    )
    .assert()
    .success()
    .stdout(
        predicate::str::contains("echo '0' > '/sys/power/pm_async'   # was \"1\"")
            .and(predicate::str::contains(
                "echo 'deep' > '/sys/power/mem_sleep'   # was \"s2idle\"",
            ))
            .and(predicate::str::contains(
                "echo 'disabled' > '/sys/devices/platform/a/power/async'",
            ))
            .and(predicate::str::contains("events/sched/sched_switch/enable"))
            .and(predicate::str::contains("echo 'mem' > '/sys/power/state'"))
            .and(predicate::str::contains("Nothing was done")),
    );
    assert_eq!(files(&dir), before);
}

#[test]
fn without_yes_it_says_what_it_would_do_and_fails() {
    let dir = tree();
    let before = files(&dir);
    dormouse(&dir, &["record", "--pm-test", "devices", "--cycles", "3"])
        .assert()
        .failure()
        .stdout(predicate::str::contains("echo 'devices' > '/sys/power/pm_test'"))
        .stderr(predicate::str::contains("add --yes"));
    assert_eq!(files(&dir), before);
}

#[test]
fn what_the_machine_does_not_offer_is_refused() {
    let dir = tree();
    for (args, words) in [
        (&["record", "--yes", "--mode", "standby"][..], "\"standby\" is not in /sys/power/state"),
        (&["record", "--yes", "--pm-test", "core"][..], "\"core\" is not in /sys/power/pm_test"),
        (&["record", "--dry-run", "--wake", "rtc:9"][..], "no real-time clock"),
        (&["record", "--yes", "-o", "/"][..], "is a folder"),
        (&["record", "--yes", "--wake", "rtc:0"][..], "from 2 to 86400"),
        (&["record", "--yes", "--detail", "x"][..], "sched, workqueue, rpm, cpu_idle, block"),
    ] {
        dormouse(&dir, args).assert().failure().stderr(predicate::str::contains(words));
    }
}

/// A plain folder cannot become a tracefs instance, so the recording fails in
/// the middle: after the first knob was changed.
#[test]
fn an_error_on_the_way_puts_everything_back() {
    let dir = tree();
    let before = files(&dir);
    dormouse(&dir, &["record", "--yes", "--pm-test", "devices"])
        .assert()
        .failure()
        .stderr(predicate::str::contains("instances/dormouse/tracing_on"))
        .stderr(predicate::str::contains("every knob was put back"));
    assert_eq!(files(&dir), before);
    assert!(!dir.path().join("sys/kernel/tracing/instances/dormouse").exists());
}

#[test]
fn killed_for_real_and_restored_by_the_command() {
    let mut changed = 0;
    for step in 0..6 {
        let dir = tree();
        let before = files(&dir);
        dormouse(&dir, &["record", "--yes", "--pm-test", "devices"])
            .env("DORMOUSE_CRASH_AT", step.to_string())
            .assert()
            .interrupted();
        changed += usize::from(files(&dir)["sys/kernel/tracing/saved_cmdlines_size"] == "4096");
        dormouse(&dir, &["restore"]).assert().success();
        assert_eq!(files(&dir), before, "killed before step {step}");
        dormouse(&dir, &["restore"]).assert().success().stdout("nothing to put back\n");
    }
    assert!(changed > 1, "the recorder was always killed before its first change");
}

#[test]
fn after_a_restart_restore_says_so() {
    let dir = tree();
    dormouse(&dir, &["record", "--yes", "--pm-test", "devices"])
        .env("DORMOUSE_CRASH_AT", "4")
        .assert()
        .interrupted();
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "b2\n").unwrap();
    dormouse(&dir, &["restore"])
        .assert()
        .success()
        .stdout(predicate::str::contains("has been restarted"));
    assert!(!dir.path().join("run/dormouse/journal").exists());
    assert!(dir.path().join(DEVICE).exists());
}
