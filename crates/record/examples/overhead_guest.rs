//! Process 1 of a guest that compares the phase times of cycles with and
//! without `dormouse record`, as the kernel itself prints them ("complete
//! after"). Run by `tools/check-overhead`; does nothing outside such a guest.
//!
//! If `/board.ko` is there, a board of 200 devices is built first.

use dormouse_record::kmsg::Kmsg;
use dormouse_record::root::Root;
use rustix::mount::{MountFlags, mount};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

const CYCLES: usize = 7;
const BOARD: &str = "/sys/kernel/debug/dormouse/board";

/// Microseconds of each phase, by what the kernel calls it.
type Times = BTreeMap<String, Vec<i64>>;

fn main() {
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
    let marked = fs::read_to_string("/proc/cmdline").is_ok_and(|l| l.contains("dormouse.lab=1"));
    if marked {
        match measure() {
            Ok(()) => println!("DONE"),
            Err(e) => println!("FAILED: {e}"),
        }
    }
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    loop {
        std::thread::park();
    }
}

fn write(path: &str, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{path}: {e}"))
}

fn measure() -> Result<(), String> {
    if let Ok(module) = fs::File::open("/board.ko") {
        rustix::system::finit_module(&module, c"", 0).map_err(|e| format!("board.ko: {e}"))?;
        write(BOARD, &board())?;
        println!("board of 200 devices beside the guest's own");
    }
    write("/sys/power/pm_debug_messages", "1")?;
    write("/sys/power/pm_print_times", "0")?;
    write("/sys/power/pm_test", "platform")?;
    write("/sys/module/suspend/parameters/pm_test_delay", "0")?;
    write("/proc/sys/kernel/printk", "3 4 1 7")?;
    let mut log = Kmsg::open(&Root::real()).ok_or("/dev/kmsg cannot be opened")?;
    // The first cycle after boot does late work: not counted.
    write("/sys/power/state", "mem")?;
    let (mut without, mut with) = (Times::new(), Times::new());
    for _ in 0..3 {
        log.drain();
        for _ in 0..CYCLES {
            write("/sys/power/state", "mem")?;
        }
        collect(&log.drain().text, &mut without);
        let cycles = CYCLES.to_string();
        let status = Command::new("/dormouse")
            .args(["record", "--yes", "--pm-test", "platform", "--interval", "0"])
            .args(["-o", "/tmp/c.tar.gz", "--cycles", &cycles])
            .output()
            .map_err(|e| e.to_string())?;
        if !status.status.success() {
            return Err(String::from_utf8_lossy(&status.stderr).into_owned());
        }
        collect(&log.drain().text, &mut with);
    }
    let mut worst = 0;
    for (phase, times) in &without {
        let a = median(times);
        let b = with.get(phase).map_or(0, |t| median(t));
        let allowed = (a / 100).max(20);
        let fine = (b - a).abs() <= allowed;
        worst += usize::from(!fine);
        println!(
            "{phase:<22} without {a:>8} us  with {b:>8} us  difference {:>6} us  {}",
            b - a,
            if fine { "ok" } else { "TOO LARGE" }
        );
    }
    println!("{worst} of {} phases differ by more than 1 % and 20 us", without.len());
    Ok(())
}

fn collect(log: &[u8], into: &mut Times) {
    for line in String::from_utf8_lossy(log).lines() {
        let Some((head, tail)) = line.split_once(" of devices complete after ") else { continue };
        let phase = head.rsplit(": ").next().unwrap_or(head).trim();
        let phase = phase.rsplit("] ").next().unwrap_or(phase);
        let number = tail.split(' ').next().unwrap_or_default();
        let Some((ms, us)) = number.split_once('.') else { continue };
        if let (Ok(ms), Ok(us)) = (ms.parse::<i64>(), us.parse::<i64>()) {
            into.entry(phase.into()).or_default().push(ms * 1_000 + us);
        }
    }
}

fn median(times: &[i64]) -> i64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// A tree of fan-out 4, most of it async, callbacks of 0 to 4 ms.
fn board() -> String {
    let mut text = String::from("dormouse-board 1\n");
    let mut random = 1u64;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % 4_000_000
    };
    for i in 0..200u64 {
        let parent = if i == 0 { String::new() } else { format!(" parent={}", (i - 1) / 4) };
        let kind = if i % 7 == 3 { "" } else { " async" };
        let (s, r) = (next(), next());
        text.push_str(&format!("device d{i:05}{parent}{kind} active suspend={s} resume={r}\n"));
    }
    text.push_str("end\n");
    text
}
