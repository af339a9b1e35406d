//! `dormouse record` and `dormouse restore` on a made-up `/sys` and `/proc`:
//! nothing here touches the machine that runs the test.

use assert_cmd::Command;
use predicates::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const DEVICE: &str = "sys/devices/platform/a";

pub(crate) fn tree() -> tempfile::TempDir {
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

pub(crate) fn dormouse(dir: &tempfile::TempDir, args: &[&str]) -> Command {
    let mut c = Command::cargo_bin("dormouse").unwrap();
    c.current_dir(dir.path()).args(args).arg("--root").arg(dir.path());
    c
}

/// That a text has `words`, wherever its lines break.
fn broken(words: &'static str) -> impl Predicate<str> {
    predicate::function(move |text: &str| {
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
    })
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
            "--with",
            "sched,storage",
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
        (
            &["record", "--yes", "--mode", "standby"][..],
            "cannot suspend: \"standby\" is not in /sys/power/state",
        ),
        (
            &["record", "--yes", "--pm-test", "core"][..],
            "cannot suspend: \"core\" is not in /sys/power/pm_test",
        ),
        (&["record", "--dry-run", "--wake", "rtc:9"][..], "no real-time clock"),
        (&["record", "--yes", "-o", "/"][..], "is a folder"),
        (&["record", "--yes", "--wake", "rtc:0"][..], "from 2 to 86400"),
        (
            &["record", "--yes", "--with", "x"][..],
            "sched, workqueue, rpm, idle, storage, domains, freeze, sync",
        ),
    ] {
        dormouse(&dir, args).assert().failure().stderr(broken(words));
    }
}

#[test]
fn awake_it_writes_to_tracefs_alone_and_takes_no_option_of_sleep() {
    let dir = tree();
    let before = files(&dir);
    dormouse(&dir, &["record", "--with", "idle", "--for", "10s", "--dry-run"])
        .assert()
        .success()
        .stdout(
            predicate::str::contains("events/power/cpu_idle/enable")
                .and(predicate::str::contains("/sys/power/").not())
                .and(predicate::str::contains("Nothing was done")),
        );
    assert_eq!(files(&dir), before);
    for (args, words) in [
        (&["record", "--with", "idle", "--for", "10s", "--cycles", "2"][..], "cannot be used with"),
        (&["record", "--with", "idle", "--for", "10s", "--yes"][..], "cannot be used with"),
        (&["record", "--for", "10s"][..], "--with idle, storage"),
        (&["record", "--with", "idle", "--for", "0s"][..], "longer than nothing"),
    ] {
        dormouse(&dir, args).assert().code(2).stderr(broken(words));
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
        .stderr(predicate::str::contains("every setting was put back"));
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
        dormouse(&dir, &["restore"]).assert().success().stdout(predicate::str::starts_with(
            "Nothing to put back: no recorder was killed here.\n",
        ));
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

/// A board whose two devices gain by running side by side, one of them being
/// the tree's only device.
fn board(dir: &tempfile::TempDir, devpath: &str) -> String {
    let path = dir.path().join("machine.board");
    let text = format!(
        "board 1\ncpus 2\ndevice b async suspend=20ms resume=20ms\n\
         device a devpath={devpath} suspend=20ms resume=20ms\n"
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// `tune --apply` on the tree, whose device is made synchronous first.
pub(crate) fn apply(dir: &tempfile::TempDir, devpath: &str, more: &[&str]) -> Command {
    fs::write(dir.path().join(DEVICE).join("power/async"), "disabled\n").unwrap();
    let board = board(dir, devpath);
    let mut args = vec!["tune", &board, "--bold", "--deny", "b", "--kernel", "6.12", "--apply"];
    args.extend_from_slice(more);
    dormouse(dir, &args)
}

pub(crate) const A: &str = "/devices/platform/a";

#[test]
fn apply_shows_every_write_first() {
    let dir = tree();
    let flag = "echo 'enabled' > '/sys/devices/platform/a/power/async'";
    let out = apply(&dir, A, &["--dry-run", "--wake", "external"]).assert().success();
    let said = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    assert_eq!(said.matches("echo 'mem' > '/sys/power/state'").count(), 2, "{said}");
    // While recording, and to stay.
    assert_eq!(said.matches(flag).count(), 2, "{said}");
    assert!(said.contains("Nothing was done"), "{said}");
    let before = files(&dir);
    apply(&dir, A, &["--pm-test", "devices"])
        .assert()
        .failure()
        .stdout(predicate::str::contains(flag))
        .stderr(predicate::str::contains("add --yes to test suspending 22 times"));
    assert_eq!(files(&dir), before);
}

#[test]
fn apply_refuses_flags_that_are_not_of_this_machine() {
    let dir = tree();
    for (devpath, words) in [
        ("/devices/platform/gone", "gone/power/async is not on this machine"),
        ("/devices/../kernel", "is not the folder of a device"),
        ("/class/x", "is not the folder of a device"),
        ("\"\"", "does not say where"),
    ] {
        let said = apply(&dir, devpath, &["--yes", "--pm-test", "devices"]).assert().code(2);
        said.stderr(predicate::str::contains(words));
    }
    let board = board(&dir, A);
    let alone = dormouse(&dir, &["tune", &board, "--yes"]).assert().code(2);
    alone.stderr(predicate::str::contains("are for --apply"));
}

#[test]
fn apply_has_nothing_to_try_where_the_flags_are_set() {
    let dir = tree();
    let mut command = apply(&dir, A, &["--yes", "--json", "--pm-test", "devices"]);
    fs::write(dir.path().join(DEVICE).join("power/async"), "enabled\n").unwrap();
    let before = files(&dir);
    let out = command.assert().success();
    let value: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tune-json.md");
    let page = fs::read_to_string(page).unwrap();
    for key in value["applied"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("`applied.{key}`")), "{key}");
    }
    assert_eq!(value["applied"]["kept"], false);
    assert_eq!(files(&dir), before);
}

/// As for a recording: the plain folder cannot become a tracefs instance.
#[test]
fn apply_puts_everything_back_after_an_error_and_after_a_kill() {
    let dir = tree();
    let args = ["--yes", "--pm-test", "devices"];
    apply(&dir, A, &args)
        .assert()
        .failure()
        .stderr(predicate::str::is_match(r"every\s+setting was put back").expect("a pattern"));
    let before = files(&dir);
    assert_eq!(before["sys/devices/platform/a/power/async"], "disabled");
    for step in 0..6 {
        apply(&dir, A, &args).env("DORMOUSE_CRASH_AT", step.to_string()).assert().interrupted();
        dormouse(&dir, &["restore"]).assert().success();
        assert_eq!(files(&dir), before, "killed before step {step}");
    }
}

#[test]
fn kept_flags_are_put_back_when_asked() {
    let dir = tree();
    let run = dir.path().join("run/dormouse");
    fs::create_dir_all(&run).unwrap();
    let journal = "{\"dormouse_journal\":1,\"boot_id\":\"b1\",\"pid\":9}\n\
        {\"change\":\"write\",\"path\":\"/sys/devices/platform/a/power/async\",\
        \"old\":\"disabled\",\"new\":\"enabled\"}\n";
    fs::write(run.join("kept-1"), journal).unwrap();
    dormouse(&dir, &["restore"]).assert().success().stdout(
        predicate::str::contains("Nothing to put back")
            .and(predicate::str::contains("1 setting that `tune --apply` kept stays set")),
    );
    assert_eq!(files(&dir)["sys/devices/platform/a/power/async"], "enabled");
    dormouse(&dir, &["restore", "--kept"])
        .assert()
        .success()
        .stdout(predicate::str::contains("  /sys/devices/platform/a/power/async = disabled\n"));
    assert_eq!(files(&dir)["sys/devices/platform/a/power/async"], "disabled");
    dormouse(&dir, &["restore", "--kept"])
        .assert()
        .success()
        .stdout(predicate::str::starts_with("Nothing to put back: no recorder was killed here.\n"));
}

/// A disk with 4 MiB to write that writes nothing.
fn dirty() -> tempfile::TempDir {
    let dir = tree();
    for (path, text) in [
        ("proc/sys/vm/dirty_writeback_centisecs", "500\n"),
        (
            "proc/self/mountinfo",
            "2 1 8:0 / /mnt rw - ext4 /dev/sda rw\n3 1 0:9 / /n rw - nfs h:/ rw\n",
        ),
        ("sys/power/wakeup_count", "7\n"),
        (
            "sys/kernel/debug/bdi/8:0/stats",
            "BdiWriteback: 0 kB\nBdiReclaimable: 4096 kB\nBdiDirtied: 9 kB\nBdiWritten: 0 kB\n",
        ),
    ] {
        let place = dir.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    dir
}

#[test]
fn sync_ends_with_codes_of_its_own_and_leaves_its_knob_alone() {
    let dir = dirty();
    let before = files(&dir);
    let dry = dormouse(&dir, &["sync", "--dry-run"]);
    let has = |words| predicates::str::contains(words);
    let mut dry = dry;
    dry.assert().success().stdout(has("A sleep now would sync 4.2 MB.").and(has("/n (nfs)")));
    let short = ["sync", "--budget", "300ms"];
    dormouse(&dir, &short).assert().code(7).stdout(has("8:0 would need about 4"));
    // The mount is not really there, so nothing but the disk is judged.
    let bytes = ["sync", "--until", "8MiB", "--arm"];
    dormouse(&dir, &bytes).assert().success().stdout(has("Armed: ").and(has("/mnt (ext4)")));
    dormouse(&dir, &["sync", "--arm", "--budget", "0"]).assert().success().stdout(has("Armed."));
    fs::remove_file(dir.path().join("sys/power/wakeup_count")).unwrap();
    dormouse(&dir, &["sync", "--arm"]).assert().code(9).stderr(has("leave out --arm"));
    fs::write(dir.path().join("sys/power/wakeup_count"), "7\n").unwrap();
    let killed = dormouse(&dir, &short).env("DORMOUSE_CRASH_AT", "3").assert();
    killed.interrupted();
    assert_ne!(files(&dir)["proc/sys/vm/dirty_writeback_centisecs"], "500");
    dormouse(&dir, &["restore"]).assert().success();
    assert_eq!(files(&dir), before);
}

#[test]
fn sync_writes_the_files_that_run_it_before_each_sleep() {
    let dir = tempfile::tempdir().unwrap();
    Command::cargo_bin("dormouse")
        .unwrap()
        .args(["sync", "--hook"])
        .arg(dir.path())
        .assert()
        .success();
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let program = assert_cmd::cargo::cargo_bin("dormouse");
    let unit = read("dormouse-sync.service");
    assert!(unit.contains(&format!("ExecStart={} sync ", program.display())), "{unit}");
    assert!(read("dormouse-sleep.conf").contains("SuspendState=mem"));
    let verify = std::process::Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(dir.path().join("dormouse-sync.service"))
        .output();
    match verify {
        Ok(out) => assert!(out.status.success() && out.stderr.is_empty(), "{out:?}"),
        Err(_) => println!("SKIPPED: systemd-analyze is not installed"),
    }
    // As systemd calls it after a sleep, it does nothing.
    let hook = dir.path().join("dormouse-arm");
    let after = std::process::Command::new(&hook).args(["post", "suspend"]).output().unwrap();
    assert!(after.status.success() && after.stdout.is_empty(), "{after:?}");
}

#[test]
fn a_campaign_asks_as_a_recording_does_and_changes_nothing_before() {
    let dir = tree();
    let before = files(&dir);
    let place = dir.path().join("c");
    let campaign = ["record", "--campaign", place.to_str().unwrap(), "--pm-test", "devices"];
    let with = |more: &[&'static str]| dormouse(&dir, &[&campaign[..], more].concat());
    with(&["--cycles", "5000", "--within", "24h", "--random", "5s..60s", "--stop-after", "3"])
        .assert()
        .code(2)
        .stderr(broken("add --yes to test suspending 5000 times"));
    with(&["--random", "9s..5s"]).assert().code(2).stderr(broken("must be the shorter"));
    with(&["--output", "a.tar.gz"]).assert().code(2).stderr(broken("cannot be used with"));
    dormouse(&dir, &["record", "--stop-after", "3"]).assert().code(2).stderr(broken("--campaign"));
    assert_eq!(files(&dir), before);
}

/// A list that was cut by a restart in its fourth cycle; no further cycle is asked for.
#[test]
fn a_campaign_says_what_was_cut_and_what_it_shows() {
    let dir = tree();
    let place = dir.path().join("c");
    fs::create_dir_all(&place).unwrap();
    let mut list = String::from("{\"what\":\"start\",\"boot_id\":\"b0\",\"pm_trace\":false}\n");
    for cycle in 1..4 {
        list += &format!("{{\"what\":\"begin\",\"cycle\":{cycle},\"at\":9}}\n");
        let (result, device) = if cycle == 2 { (-16, "\"0000:05:00.0\"") } else { (0, "null") };
        let end = format!("\"cycle\":{cycle},\"result\":{result},\"device\":{device}");
        list += &format!("{{\"what\":\"saved\",{end}}}\n{{\"what\":\"end\",\"cycle\":{cycle}}}\n");
    }
    list += "{\"what\":\"lost\",\"cycle\":3,\"devices\":[\"2-1 (uas)\"]}\nnot a line\n\
             {\"what\":\"begin\",\"cycle\":4,\"at\":9}\n{\"what\":\"asleep\",\"cycle\":4}\n{\"what";
    fs::write(place.join("campaign.jsonl"), list).unwrap();
    let said = |more: &[&str], code: i32| {
        let words = ["record", "--yes", "--campaign", place.to_str().unwrap(), "--cycles", "4"];
        let out = dormouse(&dir, &[&words, more].concat()).assert().code(code);
        let out = out.get_output();
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        (text(&out.stdout), text(&out.stderr))
    };
    let (out, err) = said(&[], 0);
    let cut = "Cycle 4 was cut: the machine went to sleep and was started again: it hung or lost \
               power on the way down, asleep or on the way up. It counts as failed.";
    assert!(err.contains(cut), "{err}");
    for words in [
        "2 of 4 cycles failed, 50.00 %: at 95 %, between 6.76 and 93.24 % of all do.",
        "3,142 cycles more without a failure",
        "would show less than 1 in 500 at 95 %",
        "Cycle 2 failed: Device or resource busy (os error 16) (device 0000:05:00.0).",
        cut,
        "Gone after cycle 3: 2-1 (uas).",
        "1 line of the campaign's list cannot be read",
        "Next: dormouse show ",
    ] {
        assert!(out.contains(words), "{words} in {out}");
    }
    // It was said when it was found; the campaign as a whole keeps it.
    let (out, err) = said(&["--stop-after", "2"], 4);
    assert!(out.contains(cut) && !err.contains("cut"), "{out}\n{err}");
}
