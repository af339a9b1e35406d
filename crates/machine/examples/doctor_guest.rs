//! Process 1 of a guest in which the doctor meets machines that are wrong in one way, and
//! the same machines without that fault. Run by `tools/check-doctor`; does nothing
//! outside such a guest.
//!
//! Prints a table, a row a machine: what is expected, what was found, and whether the
//! healthy twin is silent. `PASSED` or `FAILED` at the end.

#[allow(dead_code, reason = "shared with other guests")]
mod common;
#[path = "common/disk.rs"]
#[allow(dead_code, reason = "shared with other guests")]
mod disk;
#[path = "doctor/freezer.rs"]
mod freezer;
#[path = "doctor/fuse.rs"]
mod fuse;
#[path = "doctor/other.rs"]
mod other;
#[path = "doctor/rpm.rs"]
mod rpm;
#[allow(dead_code, reason = "shared with other guests")]
#[path = "common/slow.rs"]
mod slow;
#[path = "doctor/told.rs"]
mod told;

use std::fs;

fn main() {
    // The tests start this program again, as a task that does one thing.
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("read") => freezer::read(&args[1]),
        Some("spin") => freezer::spin(),
        Some("compute") => freezer::compute(),
        Some("serve") => fuse::serve(),
        _ => common::run(check),
    }
}

fn check() -> usize {
    let only = fs::read_to_string("/only").unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only.split(',').any(|o| o == name);
    let _ = fs::write("/proc/sys/kernel/printk", "1");
    // The kernel would spend five seconds computing in each test of a sleep.
    let _ = fs::write("/sys/module/suspend/parameters/pm_test_delay", "0");
    println!("| test | kernel | set-up | expected | found | healthy twin |");
    println!("|---|---|---|---|---|---|");
    let mut bad = 0;
    for (name, test) in [
        ("freeze", freezer::disks as fn() -> usize),
        ("starve", freezer::no_cpu),
        ("alarm", other::alarm),
        ("rpm", rpm::all),
        ("mono", other::clocks),
        ("fuse", fuse::frozen_server),
        ("sync", other::aborted_sync),
    ] {
        if wanted(name) {
            bad += test();
        }
    }
    bad
}
