//! What process 1 of a test guest needs: mounts, every knob, dormouse, and the
//! way out.

use rustix::mount::{MountFlags, mount};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const DORMOUSE: &str = "/dormouse";

/// Values of knobs by their path.
pub(crate) type Knobs = BTreeMap<PathBuf, String>;

/// Runs `check`, which gives the number of findings, prints `PASSED` or
/// `FAILED`, and powers off. Does nothing outside a guest that was started for
/// it.
pub(crate) fn run(check: fn() -> usize) -> ! {
    only_process_1();
    mount_all();
    if fs::read_to_string("/proc/cmdline").is_ok_and(|l| l.contains("dormouse.lab=1")) {
        let bad = check();
        println!("{}", if bad == 0 { "PASSED" } else { "FAILED" });
    }
    power_off()
}

/// Ends a program that is started elsewhere.
pub(crate) fn only_process_1() {
    if std::process::id() != 1 {
        eprintln!("this is process 1 of a guest and does nothing elsewhere");
        std::process::exit(1);
    }
}

/// Mounts what every guest needs.
pub(crate) fn mount_all() {
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
}

/// The end of a guest.
pub(crate) fn power_off() -> ! {
    let _ = std::io::stdout().flush();
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    loop {
        std::thread::park();
    }
}

/// The folder in which a recorder makes a place of its own; its "value" is how
/// many are in it.
const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// The value of a knob.
fn value(path: &Path) -> Option<String> {
    if path == Path::new(INSTANCES) {
        return Some(fs::read_dir(path).map_or(0, Iterator::count).to_string());
    }
    let mut text = fs::read_to_string(path).ok()?;
    // "7 (expanded: 1408)": on 6.1, making any instance tells the kernel that
    // the main buffer was expanded, too. Not a value.
    if let Some(at) = text.find(" (expanded") {
        text.replace_range(at.., "\n");
    }
    Some(text)
}

/// Every knob that the recorder may touch, and many that it may not.
pub(crate) fn knobs() -> Knobs {
    let mut out = Knobs::new();
    let mut take = |path: PathBuf| {
        if let Some(text) = value(&path) {
            out.insert(path, text);
        }
    };
    for e in fs::read_dir("/sys/power").unwrap().flatten() {
        // The first waits for wakeup events, the others are results.
        let result = ["wakeup_count", "pm_wakeup_irq", "suspend_stats"];
        if e.path().is_file() && !result.iter().any(|r| e.file_name() == *r) {
            take(e.path());
        }
    }
    for path in [
        "/proc/sys/kernel/printk",
        "/proc/sys/vm/dirty_writeback_centisecs",
        "/sys/module/printk/parameters/console_suspend",
        "/sys/module/suspend/parameters/pm_test_delay",
        "/sys/kernel/tracing/saved_cmdlines_size",
        "/sys/kernel/tracing/tracing_on",
        "/sys/kernel/tracing/set_event",
        "/sys/kernel/tracing/dynamic_events",
        "/sys/kernel/tracing/buffer_size_kb",
        "/sys/class/rtc/rtc0/wakealarm",
        "/sys/devices/system/cpu/cpuidle/current_governor",
        INSTANCES,
    ] {
        take(path.into());
    }
    let mut todo = vec![PathBuf::from("/sys/devices")];
    while let Some(dir) = todo.pop() {
        for e in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if e.file_type().is_ok_and(|t| t.is_dir()) {
                todo.push(e.path());
            }
        }
        if dir.ends_with("power") {
            take(dir.join("async"));
            take(dir.join("wakeup"));
            take(dir.join("control"));
            take(dir.join("pm_qos_resume_latency_us"));
        }
        if dir.parent().is_some_and(|above| above.ends_with("cpuidle")) {
            take(dir.join("disable"));
        }
    }
    out
}

/// The knobs that have another value now. Reads those of `before` alone: finding
/// them anew after each of hundreds of steps would be most of the work.
fn changed(before: &Knobs) -> Vec<(&PathBuf, Option<String>)> {
    let now = before.iter().map(|(p, was)| (p, was, value(p)));
    now.filter(|(_, was, is)| is.as_ref() != Some(was)).map(|(p, _, is)| (p, is)).collect()
}

/// Prints what differs; the number of differences.
pub(crate) fn compare(what: &str, before: &Knobs) -> usize {
    let changed = changed(before);
    for (path, is) in &changed {
        println!("{what}: {} was {:?} and is {is:?}", path.display(), before[*path]);
    }
    changed.len()
}

/// How many knobs differ.
pub(crate) fn differences(before: &Knobs) -> usize {
    changed(before).len()
}

/// How a command ended.
pub(crate) struct Ran {
    /// By SIGKILL.
    pub killed: bool,
    /// With status 0.
    pub success: bool,
    /// Its exit code.
    #[allow(dead_code, reason = "not every guest asks")]
    pub code: Option<i32>,
    /// Both outputs.
    pub text: String,
}

/// Runs dormouse, which kills itself before its step `crash_at`: `STEP`, or
/// `JOURNAL.STEP`.
pub(crate) fn dormouse(args: &[&str], crash_at: Option<&str>) -> Ran {
    let mut command = Command::new(DORMOUSE);
    command.args(args);
    if let Some(at) = crash_at {
        command.env("DORMOUSE_CRASH_AT", at);
    }
    match command.output() {
        Ok(out) => Ran {
            killed: out.status.signal() == Some(9),
            success: out.status.success(),
            code: out.status.code(),
            text: format!(
                "{}{}",
                String::from_utf8_lossy(&out.stdout),
                String::from_utf8_lossy(&out.stderr)
            ),
        },
        Err(e) => Ran { killed: false, success: false, code: None, text: e.to_string() },
    }
}
