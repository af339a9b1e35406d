//! Process 1 of a guest that kills `dormouse record` at every step of its work
//! and checks that `dormouse restore`, or the next recording, puts every knob
//! back. Run by `tools/check-restore`; does nothing outside such a guest.
//!
//! Prints one line a finding and `PASSED` or `FAILED` at the end.

mod common;

use common::{compare, differences, dormouse, knobs};
use std::fs;

const CAPTURE: &str = "/tmp/capture.tar.gz";

fn main() {
    common::run(check);
}

fn check() -> usize {
    // Values that are not the kernel's defaults, so that "as it was" and "as
    // after boot" differ.
    for (path, value) in [
        ("/sys/power/pm_print_times", "1"),
        ("/sys/module/suspend/parameters/pm_test_delay", "1"),
        ("/proc/sys/kernel/printk", "6 4 1 7"),
    ] {
        if let Err(e) = fs::write(path, value) {
            println!("cannot prepare {path}: {e}");
            return 1;
        }
    }
    let device = fs::read_dir("/sys/devices/platform")
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .find(|p| p.join("power/async").exists())
        .unwrap();
    let now = fs::read_to_string(device.join("power/async")).unwrap();
    let other = if now.trim() == "enabled" { "0" } else { "1" };
    let async_arg = format!("{}={other}", device.display());
    let common = ["record", "--yes", "-o", CAPTURE, "--pm-async", "0", "--sync-on-suspend", "0"];
    let mut bad = 0;
    let test: Vec<&str> =
        common.into_iter().chain(["--pm-test", "devices", "--device-async", &async_arg]).collect();
    bad += every_step("pm_test", &test);
    // A real sleep, woken by the clock.
    let deep = fs::read_to_string("/sys/power/mem_sleep").is_ok_and(|t| t.contains("deep"));
    if deep {
        let sleep: Vec<&str> =
            common.into_iter().chain(["--mem-sleep", "deep", "--wake", "rtc:4"]).collect();
        bad += every_step("deep", &sleep);
    }
    bad += after_power_off();
    bad += every_detail();
    bad += awake();
    bad
}

/// Events that every kernel of the laboratory has. Of the groups `idle` and
/// `storage` others depend on drivers and versions.
const EVERYWHERE: [&str; 7] = [
    "sched/sched_switch",
    "workqueue/workqueue_queue_work",
    "rpm/rpm_resume",
    "power/cpu_idle",
    "timer/hrtimer_expire_entry",
    "block/block_rq_issue",
    "block/block_rq_complete",
];

/// Whether something that every kernel has was not recorded.
fn lacks_events(said: &str) -> bool {
    said.contains("events were lost")
        // They are named only where they are missed.
        || EVERYWHERE.iter().any(|e| said.contains(e))
}

/// The additional events exist on this kernel, and the buffer holds them.
fn every_detail() -> usize {
    let before = knobs();
    let ran = dormouse(
        &[
            "record",
            "--yes",
            "--pm-test",
            "platform",
            "--cycles",
            "2",
            "-o",
            "/tmp/detail",
            "--with",
            "sched,workqueue,rpm,idle,storage",
        ],
        None,
    );
    print!("detail: {}", ran.text);
    usize::from(!ran.success || lacks_events(&ran.text)) + compare("detail", &before)
}

/// A watch records, never sleeps, and leaves nothing behind, also when killed.
fn awake() -> usize {
    let suspends = || fs::read_to_string("/sys/power/suspend_stats/success").unwrap_or_default();
    let before = knobs();
    let mut bad = 0;
    // Apart: each step repeats all before it.
    for with in ["idle", "storage"] {
        let args = ["record", "--with", with, "--for", "50ms", "-o", "/tmp/awake"];
        bad += every_step(&format!("awake, {with}"), &args);
    }
    // Counted around this one alone: what comes after a kill may suspend.
    let slept_before = suspends();
    let both = ["record", "--with", "idle,storage", "--for", "300ms", "-o", "/tmp/awake"];
    let ran = dormouse(&both, None);
    print!("awake: {}", ran.text);
    bad += usize::from(!ran.success || lacks_events(&ran.text));
    if suspends() != slept_before {
        println!("awake: the machine slept");
        bad += 1;
    }
    bad + compare("awake", &before)
}

/// Kills `dormouse` with these arguments before its step 0, 1, 2 … until it
/// comes to its end.
fn every_step(name: &str, args: &[&str]) -> usize {
    let before = knobs();
    let (mut bad, mut most) = (0, 0);
    for step in 0..1_000 {
        let ran = dormouse(args, Some(&step.to_string()));
        if !ran.killed {
            print!("{name}: {}", ran.text);
            bad += usize::from(!ran.success);
            bad += compare(&format!("{name}: after the whole"), &before);
            println!("{name}: killed before each of {step} steps, up to {most} knobs changed");
            return bad;
        }
        most = most.max(differences(&before));
        // Every third time the next recording does what restore does.
        let next = if step % 3 == 2 {
            dormouse(&["record", "--yes", "--pm-test", "freezer", "-o", "/tmp/next"], None)
        } else {
            dormouse(&["restore"], None)
        };
        if !next.success {
            bad += 1;
            println!("{name}: step {step}: {}", next.text);
        }
        bad += compare(&format!("{name}: killed before step {step}"), &before);
    }
    println!("{name}: did not come to an end");
    bad + 1
}

/// The journal of a boot that ended by loss of power lies on the disk.
fn after_power_off() -> usize {
    let journal = "{\"dormouse_journal\":1,\"boot_id\":\"an earlier boot\",\"pid\":9}\n\
        {\"change\":\"write\",\"path\":\"/sys/power/pm_async\",\"old\":\"0\",\"new\":\"1\"}\n";
    let before = knobs();
    fs::create_dir_all("/tmp/kept").unwrap();
    fs::write("/tmp/kept/journal", journal).unwrap();
    let ran = dormouse(&["restore", "--journal", "/tmp/kept"], None);
    print!("power-off: {}", ran.text);
    let said = ran.text.contains("has been restarted");
    usize::from(!ran.success || !said) + compare("power-off", &before)
}
