//! Texts, made up, of machines that did not come back or came back damaged, of lines that no
//! machine printed, and of clocks that stood: what is said of them and what is not.

use dormouse_base::capture::Capture;
use dormouse_base::image::ImageWork;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::Report;
use dormouse_doctor::finding::{Confidence, Finding};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes as heard;
use dormouse_read::{Options, read_bytes};

fn report(text: &str) -> Report {
    judge(&heard("text", text.as_bytes()).case)
}

fn told(text: &str, id: &str) -> Option<Finding> {
    report(text).findings.into_iter().find(|f| f.id == id)
}

fn captures(text: &str) -> Vec<Capture> {
    read_bytes("text", text.as_bytes(), &Options::default()).expect("a text").captures
}

const DOWN: &str = "[  700.000000] PM: suspend entry (deep)\n\
    [  700.020000] Filesystems sync: 0.019 seconds\n\
    [  700.021000] Freezing user space processes\n\
    [  700.024000] Freezing user space processes completed (elapsed 0.002 seconds)\n\
    [  700.024100] OOM killer disabled.\n\
    [  700.180000] PM: suspend of devices complete after 140.000 msecs\n\
    [  700.200000] PM: noirq suspend of devices complete after 9.000 msecs\n\
    [  700.201000] Disabling non-boot CPUs ...\n\
    [  700.203000] CPU1: shutdown\n";

#[test]
fn what_a_manual_or_a_patch_gives_as_an_example_is_no_log() {
    let lines = "PM: Device 3-0055 failed to suspend async: error -5\n\
        PM: Some devices failed to suspend, or early wake event detected\n";
    let set_off = lines.replace("PM: D", "    PM: D").replace("PM: S", "    PM: S");
    let manual = format!("When you see lines such as\n\n{set_off}\nthe sensor refused.\n");
    let fenced = format!("If there is a message like, for example:\n```\n{lines}```\nask us.\n");
    let patch = format!(
        "Subject: [PATCH] PM: name the bus\n\nThe core says\n\n{set_off}\nand names no bus.\n\n\
        diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n\
        +PM: Device 3-0056 failed to suspend async: error -5\n"
    );
    for text in [&manual, &fenced, &patch] {
        let report = report(text);
        assert!(report.sleeps.is_empty(), "{text}");
        let sure = report.findings.iter().find(|f| f.confidence != Confidence::Guess);
        assert!(sure.is_none(), "{text}\n{sure:#?}");
        assert!(captures(text).iter().all(|c| c.cycles.is_empty()), "{text}");
    }
    // Who shows what his machine said is believed.
    let own = format!("Hello,\n\nsince 6.9 my board says\n\n{set_off}\nat each suspend.\n");
    let f = told(&own, "device-failed").expect("a device failed");
    assert_eq!(f.confidence, Confidence::Certain);
}

#[test]
fn a_board_that_was_reset_in_its_sleep_did_not_come_back() {
    let loader = "\nDDR init done\n\nU-Boot 2091.04 (May 05 2091 - 10:00:00 +0000)\n\
        Hit any key to stop autoboot:  0\n";
    let boot = "[    0.000000] Booting Linux on physical CPU 0x0\n\
        [    0.000000] Linux version 6.6.9 (a@b)\n[    0.700000] foo: up\n";
    for rest in [format!("{loader}{boot}"), loader.into(), boot.into()] {
        let f = told(&format!("{DOWN}{rest}"), "no-return").expect("it did not come back");
        assert!(f.evidence.iter().any(|e| e.line == 9), "the last line before it: {f:#?}");
    }
    let gone = format!("{DOWN}[ ... ]\n<snip>\n{boot}");
    assert!(told(&gone, "no-return").is_none(), "lines are left out");
}

#[test]
fn a_file_system_that_is_found_damaged_after_a_sleep_is_told() {
    let back = "[  700.204000] Enabling non-boot CPUs ...\n[  700.400000] OOM killer enabled.\n\
        [  700.400100] Restarting tasks ... done.\n[  700.410000] PM: suspend exit\n";
    let bad = "[  702.100000] XFS (dm-4): Metadata corruption detected at xfs_agf_verify+0x1\n";
    assert!(told(&format!("{DOWN}{back}{bad}"), "phase-damaged").is_some());
    let before = bad.replace("702.1", "600.1");
    assert!(told(&format!("{before}{DOWN}{back}{bad}"), "phase-damaged").is_none());
}

#[test]
fn a_sync_ended_by_the_wakeup_at_latest() {
    let text = "[   90.000000] PM: Syncing filesystems ... done.\n\
        [   90.021000] PM: Wakeup pending, aborting suspend\n\
        [   90.021010] PM: active wakeup source: foo\n\
        [   90.055000] PM: Some devices failed to suspend, or early wake event detected\n\
        [   90.080000] PM: suspend exit\n";
    let captures = captures(text);
    let sync =
        captures[0].cycles[0].phases.iter().find(|p| p.phase == Phase::Sync).expect("a sync");
    assert_eq!((sync.duration(), sync.complete), (Ns::from_ms(21), false));
}

#[test]
fn a_keeper_who_was_frozen_with_the_tasks_tells_how_long_all_took_at_most() {
    let at = |s: &str, t: &str| format!("2031-02-03T04:05:{s}+00:00 box kernel: {t}\n");
    let text = [
        at("10.100000", "PM: suspend entry (s2idle)"),
        at("10.120000", "Filesystems sync: 0.015 seconds"),
        at("10.121000", "Freezing user space processes"),
        at("21.500000", "Freezing user space processes completed (elapsed 0.002 seconds)"),
        at("21.500010", "OOM killer disabled."),
        at("21.500020", "Freezing remaining freezable tasks"),
        at("21.500030", "Freezing remaining freezable tasks completed (elapsed 0.000 seconds)"),
        at("21.500040", "ACPI: EC: interrupt blocked"),
        at("21.500050", "ACPI: EC: interrupt unblocked"),
        at("21.530000", "OOM killer enabled."),
        at("21.530100", "Restarting tasks ... done."),
        at("21.530200", "PM: suspend exit"),
    ]
    .concat();
    let captures = captures(&text);
    let c = &captures[0].cycles[0];
    let end = |phase| c.phases.iter().find(|p| p.phase == phase).expect("a phase");
    let between = end(Phase::Thaw).start.since(end(Phase::FreezeUser).end);
    assert!(between > Ns::from_ms(11_000) && between < Ns::from_ms(11_500), "{between:?}");
}

#[test]
fn an_image_has_the_time_that_the_kernel_measured() {
    let at = |s: &str, t: &str| format!("2031-02-03T04:05:{s}+00:00 box kernel: {t}\n");
    let text = [
        at("10.000000", "PM: hibernation: hibernation entry"),
        at("14.000000", "Filesystems sync: 0.400 seconds"),
        at("14.000100", "Freezing user space processes"),
        at("14.000200", "Freezing user space processes completed (elapsed 0.003 seconds)"),
        at("14.000300", "PM: hibernation: Preallocating image memory"),
        at("14.000400", "PM: hibernation: Allocated 400000 kbytes in 2.50 seconds (160.00 MB/s)"),
        at("14.000500", "PM: Cannot find swap device, try swapon -a"),
        at("14.000600", "Restarting tasks ... done."),
        at("14.000700", "PM: hibernation: hibernation exit"),
    ]
    .concat();
    let captures = captures(&text);
    let c = &captures[0].cycles[0];
    let step = c.image.iter().find(|s| s.work == ImageWork::Allocate).expect("a step");
    assert_eq!(step.end.since(step.start), Ns::from_ms(2_500));
    let sync = c.phases.iter().find(|p| p.phase == Phase::Sync).expect("a sync");
    assert!(sync.end <= step.start, "{sync:?} {step:?}");
}
