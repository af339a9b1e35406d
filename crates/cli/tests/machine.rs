//! Golden screens of verbs that need a machine or a kernel: on a made-up `/sys`,
//! or as the functions of facts that print them.

use super::record::{A, apply, dormouse, tree};
use assert_cmd::Command;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_sleep::acceptance::{Pair, Slept, judge};
use dormouse_words::decision::apply as applied;
use dormouse_words::lab::{self, Offer, Ran, Repeated, Replayed, Rerun, Row};
use dormouse_words::recorded::{self, Failed, Recorded, Restored, Watched};
use std::fs;

/// What the command printed, its temporary folder as `DIR`.
fn screen(dir: &tempfile::TempDir, command: &mut Command, said: &str) -> String {
    let out = command.output().expect("it runs");
    let text = [out.stdout, out.stderr].map(|b| String::from_utf8(b).expect("text")).concat();
    let folder = dir.path().display().to_string();
    let text = text.replace(&format!(" --root {folder}"), "").replace(&folder, "DIR");
    format!("$ dormouse {said}\n{text}exit {:?}", out.status.code())
}

/// The same with nothing but arguments.
fn said(dir: &tempfile::TempDir, args: &[&str]) -> String {
    screen(dir, &mut dormouse(dir, args), &args.join(" "))
}

#[test]
fn screens_of_record() {
    let dir = tree();
    let awake = ["record", "--with", "idle", "--for", "10s", "--dry-run"];
    let dry = ["record", "--dry-run", "--wake", "external", "--pm-test", "devices"];
    insta::assert_snapshot!("record_a_dry_run", said(&dir, &dry));
    insta::assert_snapshot!("record_awake_a_dry_run", said(&dir, &awake));
    let without = ["record", "--pm-test", "devices", "--cycles", "3"];
    insta::assert_snapshot!("record_without_yes", said(&dir, &without));
    let level = ["record", "--yes", "--pm-test", "core"];
    insta::assert_snapshot!("record_no_such_level", said(&dir, &level));
    let nothing = ["record", "--for", "10s"];
    insta::assert_snapshot!("record_awake_nothing", said(&dir, &nothing));
    let early = ["record", "--yes", "--pm-test", "devices"];
    insta::assert_snapshot!("record_ended_early", said(&dir, &early));
    fs::write(dir.path().join("sys/power/state"), "").expect("written");
    insta::assert_snapshot!("record_refused", said(&dir, &["record", "--yes"]));
}

#[test]
fn screens_of_restore() {
    let dir = tree();
    insta::assert_snapshot!("restore_nothing", said(&dir, &["restore"]));
    let kill = |dir: &tempfile::TempDir| {
        let args = ["record", "--yes", "--pm-test", "devices"];
        dormouse(dir, &args).env("DORMOUSE_CRASH_AT", "4").assert().interrupted();
    };
    kill(&dir);
    insta::assert_snapshot!("restore", said(&dir, &["restore"]));
    kill(&dir);
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "b2\n").expect("written");
    insta::assert_snapshot!("restore_after_a_restart", said(&dir, &["restore"]));
    let kept = Restored { kept: 2, ..Restored::default() };
    insta::assert_snapshot!("restore_kept", recorded::restored(&kept));
    let done = [("/sys/power/pm_test".to_string(), "none".to_string())];
    let half = Restored { done: &done, failed: 1, ..Restored::default() };
    insta::assert_snapshot!("restore_half", recorded::restored(&half));
}

#[test]
fn screens_of_tune_on_this_machine() {
    let dir = tree();
    let args = ["--dry-run", "--wake", "external"];
    let what = "tune DIR/machine.board --bold --deny b --kernel 6.12 --apply --dry-run";
    insta::assert_snapshot!("tune_apply_dry_run", screen(&dir, &mut apply(&dir, A, &args), what));
    let args = ["--pm-test", "devices"];
    let what = "tune DIR/machine.board --bold --deny b --kernel 6.12 --apply --pm-test devices";
    insta::assert_snapshot!("tune_apply_no_yes", screen(&dir, &mut apply(&dir, A, &args), what));
}

/// Pairs of sleeps, the second `by` shorter with the flags.
fn pairs(by: i64, n: i64) -> Vec<Pair> {
    let slept = |ms| Some(Slept { suspend: Ns::from_ms(ms), resume: Ns::from_ms(2 * ms) });
    (0..n).map(|i| Pair { without: slept(100 + i % 3), with: slept(100 + i % 3 - by) }).collect()
}

#[test]
fn screens_of_flags_that_were_tried() {
    let order = [true, false, true, false, true, false, true, false, true, false];
    let page = |pairs: &[Pair], kept: usize| {
        let j = judge(pairs);
        applied::verdict(&j, kept) + &applied::in_pairs(&j, &order, 42)
    };
    let kept = page(&pairs(10, 10), 3);
    assert!(kept.starts_with("Kept: "), "{kept}");
    insta::assert_snapshot!("apply_kept", kept + "\n" + &applied::undo());
    let back = page(&pairs(0, 10), 0);
    assert!(back.starts_with("Put back: "), "{back}");
    insta::assert_snapshot!("apply_put_back", back);
    insta::assert_snapshot!("apply_too_few", page(&pairs(10, 3), 0));
}

#[test]
fn screens_of_recordings_that_are_done() {
    let good = Recorded {
        path: "recording.tar.gz",
        cycles: 3,
        devices: 350,
        links: 5,
        bytes: 123_456,
        stood_still: 3,
        ..Recorded::default()
    };
    insta::assert_snapshot!("recorded", recorded::recorded(&good));
    let failed = [Failed { cycle: 2, why: "Device or resource busy", device: Some("usb1") }];
    let losses = [("links_unread", "no device link could be read: mount sysfs")];
    let bad = Recorded {
        cycles: 2,
        failed: &failed,
        lost_events: 1_200,
        stood_still: 1,
        losses: &losses,
        ..good
    };
    insta::assert_snapshot!("recorded_with_failures", recorded::recorded(&bad));
    let watched = Watched { path: "awake.tar.gz", time: Ns::from_ms(10_000), ..Watched::default() };
    insta::assert_snapshot!("watched", recorded::watched(&Watched { idle: true, ..watched }));
    let ended = Watched { exit: Some(3), lost_events: 1, ..watched };
    insta::assert_snapshot!("watched_a_command", recorded::watched(&ended));
}

#[test]
fn screens_of_the_laboratory() {
    let offers = [
        Offer { series: "6.1", release: "6.1.0-40-amd64", boards: false, cached: None },
        Offer {
            series: "6.12",
            release: "6.12.117+deb12-amd64",
            boards: true,
            cached: Some("6.12.117+deb12-amd64"),
        },
    ];
    insta::assert_snapshot!("lab_kernels", lab::kernels(&offers));
    let ran = Ran { path: "recording.tar.gz", cycles: 4, release: "6.12.117+deb12-amd64", cpus: 1 };
    insta::assert_snapshot!("lab_run", lab::ran(&ran, false, &[], true));
    let differences = ["gpio has no wakeup source", "usb1 is a root"];
    insta::assert_snapshot!("lab_run_differs", lab::ran(&ran, true, &differences, true));
    let same = Rerun {
        path: "recording.tar.gz",
        same: true,
        kernels: None,
        other_program: false,
        output: None,
    };
    insta::assert_snapshot!("lab_rerun", lab::rerun(&same));
    let other = Rerun {
        same: false,
        kernels: Some(("6.12.100+deb12-amd64", "6.12.117+deb12-amd64")),
        other_program: true,
        output: Some("again.tar.gz"),
        ..same
    };
    insta::assert_snapshot!("lab_rerun_differs", lab::rerun(&other));
    let repeated = Repeated {
        release: "6.12.117+deb12-amd64",
        cpus: 4,
        sleep: "devices",
        again: 9,
        different: 0,
        logs_different: 0,
        lines: 4_321,
    };
    insta::assert_snapshot!("lab_repeat", lab::repeated(&repeated));
    let apart = Repeated { different: 2, logs_different: 1, ..repeated };
    insta::assert_snapshot!("lab_repeat_differs", lab::repeated(&apart));
}

#[test]
fn screens_of_a_replay() {
    let side = |ms: i64, n: usize| Some((Ns::from_ms(ms), n));
    let rows = [
        Row { phase: Phase::Suspend, recorded: side(580, 190), replayed: side(575, 188) },
        Row { phase: Phase::Noirq, recorded: side(16, 14), replayed: None },
        Row { phase: Phase::Resume, recorded: side(1_200, 190), replayed: side(900, 188) },
    ];
    let both = Replayed { was: "4.6.0-rc4+", is: "7.3.4+deb13-amd64", cycles: [3, 2], rows: &rows };
    insta::assert_snapshot!("replay", lab::replayed(&both));
    let nothing = Replayed { was: "", rows: &rows[1..2], ..both };
    insta::assert_snapshot!("replay_nothing_on_both_sides", lab::replayed(&nothing));
}
