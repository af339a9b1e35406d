//! What process 1 of a test guest needs: mounts, every knob, dormouse, and the
//! way out.

use rustix::mount::{MountFlags, mount};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

const DORMOUSE: &str = "/dormouse";

/// Runs `check`, which gives the number of findings, prints `PASSED` or
/// `FAILED`, and powers off. Does nothing outside a guest that was started for
/// it.
pub fn run(check: fn() -> usize) -> ! {
    if std::process::id() != 1 {
        eprintln!("this is process 1 of a guest and does nothing elsewhere");
        std::process::exit(1);
    }
    for (kind, at) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("debugfs", "/sys/kernel/debug"),
        ("tracefs", "/sys/kernel/tracing"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        let _ = fs::create_dir_all(at);
        let _ = mount(kind, at, kind, MountFlags::empty(), None);
    }
    if fs::read_to_string("/proc/cmdline").is_ok_and(|l| l.contains("dormouse.lab=1")) {
        let bad = check();
        println!("{}", if bad == 0 { "PASSED" } else { "FAILED" });
    }
    let _ = std::io::stdout().flush();
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    loop {
        std::thread::park();
    }
}

/// Every knob that the recorder may touch, and many that it may not.
pub fn knobs() -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut take = |path: &Path| {
        if let Ok(mut text) = fs::read_to_string(path) {
            // "7 (expanded: 1408)": on 6.1, making any instance tells the
            // kernel that the main buffer was expanded, too. Not a value.
            if let Some(at) = text.find(" (expanded") {
                text.replace_range(at.., "\n");
            }
            out.insert(path.display().to_string(), text);
        }
    };
    for e in fs::read_dir("/sys/power").unwrap().flatten() {
        // The first waits for wakeup events, the others are results.
        let result = ["wakeup_count", "pm_wakeup_irq", "suspend_stats"];
        if e.path().is_file() && !result.iter().any(|r| e.file_name() == *r) {
            take(&e.path());
        }
    }
    for path in [
        "/proc/sys/kernel/printk",
        "/sys/module/printk/parameters/console_suspend",
        "/sys/module/suspend/parameters/pm_test_delay",
        "/sys/kernel/tracing/saved_cmdlines_size",
        "/sys/kernel/tracing/tracing_on",
        "/sys/kernel/tracing/set_event",
        "/sys/kernel/tracing/buffer_size_kb",
        "/sys/class/rtc/rtc0/wakealarm",
    ] {
        take(Path::new(path));
    }
    let mut todo = vec![Path::new("/sys/devices").to_path_buf()];
    while let Some(dir) = todo.pop() {
        for e in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if e.file_type().is_ok_and(|t| t.is_dir()) {
                todo.push(e.path());
            }
        }
        if dir.ends_with("power") {
            take(&dir.join("async"));
            take(&dir.join("wakeup"));
            take(&dir.join("control"));
        }
    }
    let instances = fs::read_dir("/sys/kernel/tracing/instances").map_or(0, Iterator::count);
    out.insert("instances".into(), instances.to_string());
    out
}

/// Prints what differs; the number of differences.
pub fn compare(what: &str, before: &BTreeMap<String, String>) -> usize {
    let after = knobs();
    let mut bad = 0;
    for (path, value) in before {
        if after.get(path) != Some(value) {
            bad += 1;
            println!("{what}: {path} was {value:?} and is {:?}", after.get(path));
        }
    }
    bad
}

/// How many knobs differ.
pub fn differences(before: &BTreeMap<String, String>) -> usize {
    let after = knobs();
    before.iter().filter(|(p, v)| after.get(*p) != Some(*v)).count()
}

/// How a command ended.
pub struct Ran {
    /// By SIGKILL.
    pub killed: bool,
    /// With status 0.
    pub success: bool,
    /// Both outputs.
    pub text: String,
}

/// Runs dormouse, which kills itself before its step `crash_at`: `STEP`, or
/// `JOURNAL.STEP`.
pub fn dormouse(args: &[&str], crash_at: Option<&str>) -> Ran {
    let mut command = Command::new(DORMOUSE);
    command.args(args);
    if let Some(at) = crash_at {
        command.env("DORMOUSE_CRASH_AT", at);
    }
    match command.output() {
        Ok(out) => Ran {
            killed: out.status.signal() == Some(9),
            success: out.status.success(),
            text: format!(
                "{}{}",
                String::from_utf8_lossy(&out.stdout),
                String::from_utf8_lossy(&out.stderr)
            ),
        },
        Err(e) => Ran { killed: false, success: false, text: e.to_string() },
    }
}
