//! Process 1 of a guest that kills `dormouse record` at every step of its work
//! and checks that `dormouse restore`, or the next recording, puts every knob
//! back. Run by `tools/check-restore`; does nothing outside such a guest.
//!
//! Prints one line a finding and `PASSED` or `FAILED` at the end. The last
//! capture goes to the second serial line, as base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::mount::{MountFlags, mount};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

const DORMOUSE: &str = "/dormouse";
const CAPTURE: &str = "/tmp/capture.tar.gz";

fn main() {
    let marked = || fs::read_to_string("/proc/cmdline").is_ok_and(|l| l.contains("dormouse.lab=1"));
    if std::process::id() != 1 {
        eprintln!("this is process 1 of a guest and does nothing elsewhere");
        std::process::exit(1);
    }
    for (kind, at) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tracefs", "/sys/kernel/tracing"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        let _ = fs::create_dir_all(at);
        let _ = mount(kind, at, kind, MountFlags::empty(), None);
    }
    if marked() {
        let bad = check();
        println!("{}", if bad == 0 { "PASSED" } else { "FAILED" });
        let _ = send_capture();
    }
    let _ = std::io::stdout().flush();
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    loop {
        std::thread::park();
    }
}

/// Every knob that the recorder may touch, and many that it may not.
fn knobs() -> BTreeMap<String, String> {
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
fn compare(what: &str, before: &BTreeMap<String, String>) -> usize {
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

fn differences(before: &BTreeMap<String, String>) -> usize {
    let after = knobs();
    before.iter().filter(|(p, v)| after.get(*p) != Some(*v)).count()
}

struct Ran {
    killed: bool,
    success: bool,
    text: String,
}

fn dormouse(args: &[&str], crash_at: Option<u32>) -> Ran {
    let mut command = Command::new(DORMOUSE);
    command.args(args);
    if let Some(n) = crash_at {
        command.env("DORMOUSE_CRASH_AT", n.to_string());
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
    let common = ["record", "--yes", "-o", CAPTURE, "--pm-async", "0", "--sync", "0"];
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
    bad
}

/// All additional events exist on this kernel, and the buffer holds them.
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
            "--detail",
            "sched,workqueue,rpm,cpu_idle,block",
        ],
        None,
    );
    print!("detail: {}", ran.text);
    let complete = !ran.text.contains("lost") && !ran.text.contains("unavailable");
    usize::from(!ran.success || !complete) + compare("detail", &before)
}

/// Kills `dormouse` with these arguments before its step 0, 1, 2 … until it
/// comes to its end.
fn every_step(name: &str, args: &[&str]) -> usize {
    let before = knobs();
    let (mut bad, mut most) = (0, 0);
    for step in 0..1_000 {
        let ran = dormouse(args, Some(step));
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

fn send_capture() -> std::io::Result<()> {
    let text = STANDARD.encode(fs::read(CAPTURE)?);
    let mut line = fs::OpenOptions::new().write(true).open("/dev/ttyS1")?;
    for chunk in text.as_bytes().chunks(76) {
        line.write_all(chunk)?;
        line.write_all(b"\n")?;
    }
    line.flush()
}
