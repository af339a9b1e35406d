//! Texts in the shape of public reports, made up, with what each proves; those whose name
//! ends in `-well` are of healthy machines.

use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;
use std::path::Path;

/// What a text proves: nothing else may be claimed of it.
const REPORTS: [(&str, &[&str]); 44] = [
    ("aborted-freeze-sof", &["abort-wakeup", "freeze-aborted"]),
    ("amd-framework", &["mode-name-only"]),
    ("amdgpu-without-pmc", &["mode-name-only"]),
    ("android-alarmtimer", &["clock-alarm-abort"]),
    ("android-pending", &["abort-wakeup"]),
    ("android-timeout-3", &["suspend-timeout"]),
    ("aplay-refuses", &["freeze-failed"]),
    ("btrfs-scrub", &["freeze-failed"]),
    ("chromebook-powerd", &["device-failed"]),
    ("cifs-away", &["freeze-failed"]),
    ("copied-late", &["freeze-failed"]),
    ("cpu-hotplug", &["cpu-not-off"]),
    ("freeze-aborted-armed", &["abort-wakeup"]),
    ("hib-lockdown", &["hib-locked", "hib-no-swap"]),
    ("hib-lockdown-old", &["hib-locked"]),
    ("hib-write-fails", &["hib-disk-error"]),
    ("i2c-hid-wake", &["mode-wake-source"]),
    ("kthread-refuses", &["freeze-failed"]),
    ("late-fails", &["device-failed"]),
    ("logind-swap", &["hib-no-swap"]),
    ("mt7921-gone", &["device-not-resumed", "device-not-powered"]),
    ("nfs-away", &["freeze-failed"]),
    ("noirq-fails", &["device-failed"]),
    ("nouveau-4.15", &["device-failed", "phase-pause"]),
    ("nvidia-preserve", &["device-failed"]),
    ("nvme-down", &["device-not-powered", "phase-device-lost"]),
    ("nvme-not-ready", &["phase-device-lost"]),
    ("pmc-core-slp-s0", &["mode-name-only"]),
    ("pnfs-server-stop", &["freeze-failed"]),
    ("prepare-refuses", &["device-failed"]),
    ("restic-fuse-write", &["freeze-failed"]),
    ("resume-fails", &["device-not-resumed"]),
    ("sof-no-cause", &["abort-unknown"]),
    ("sync-hang-fuse", &["sync-hung"]),
    ("sync-hang-wq-7", &["sync-hung"]),
    ("systemd-239-no-room", &["write-refused"]),
    ("systemd-slice", &["freeze-retry-loop", "freeze-user-slice", "sync-retry-s2idle"]),
    ("tegra-returns-1", &["device-failed"]),
    ("tpm-fails", &["device-failed"]),
    ("ufs-fails", &["device-failed"]),
    ("usb-hub-port", &["device-failed"]),
    ("wake-irq9-gpe", &["mode-wake-source"]),
    ("wakeup-armed-lid", &["abort-wakeup"]),
    ("xhci-thinkpad", &["device-failed"]),
];

fn claimed(path: &Path) -> Vec<&'static str> {
    let bytes = std::fs::read(path).expect("a fixture");
    let report = judge(&read_bytes("text", &bytes).case);
    // That no rule knows a line is no claim, and how long a sleep was none of a fault.
    let none = ["not-judged", "night-slept"];
    let sure = |f: &&Finding| f.confidence != Confidence::Guess && !none.contains(&f.id);
    report.findings.iter().filter(sure).map(|f| f.id).collect()
}

#[test]
fn what_a_report_proves_is_found_and_nothing_else_is_claimed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reports");
    let mut wrong = Vec::new();
    for (name, rules) in REPORTS {
        let mut found = claimed(&folder.join(format!("{name}.txt")));
        found.sort_unstable();
        let mut rules = rules.to_vec();
        rules.sort_unstable();
        if found != rules {
            wrong.push((name, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn healthy_machines_stay_silent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reports");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("fixtures") {
        let path = entry.expect("a file").path();
        if !path.to_string_lossy().ends_with("-well.txt") {
            continue;
        }
        seen += 1;
        let bytes = std::fs::read(&path).expect("a fixture");
        let report = judge(&read_bytes("text", &bytes).case);
        let claims = |f: &&Finding| f.level != Level::Note;
        let claimed: Vec<&str> = report.findings.iter().filter(claims).map(|f| f.id).collect();
        assert!(claimed.is_empty(), "{}: {claimed:?}", path.display());
    }
    assert!(seen >= 12, "{seen}");
}
