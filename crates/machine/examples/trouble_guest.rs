//! Process 1 of a guest that sleeps again and again, and meets what a plan says each
//! time. Run by `xtask field-kernels`; does nothing outside such a guest.
//!
//! `/plan` has a line for each sleep: words `KEY=VALUE`, with tabs between them. After each
//! sleep the kernel's log of it, what the write to /sys/power/state gave, and what
//! kernel/trouble measured go out over the second serial line. A sleep that ends the
//! kernel (`fatal=1`) is the last; its log is what stands on the console.

#[allow(dead_code, reason = "shared with other guests")]
mod common;

use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::time::Duration;

const TROUBLE: &str = "/sys/kernel/debug/dormouse_trouble";
const COUNT: &str = "/sys/power/wakeup_count";
/// Whether events of traces are lines of the log; there if the command line has tp_printk.
const TRACE: &str = "/proc/sys/kernel/tracepoint_printk";
/// Thresholds of a task that hangs and of a CPU that does not get on, s, by the files of
/// /proc/sys/kernel: so short while one is planned, and as kernels come.
const LIMITS: [(&str, &str, &str); 2] =
    [("hung_task_timeout_secs", "2", "120"), ("watchdog_thresh", "1", "10")];

fn main() {
    // It starts itself again: as who sleeps, and as who does not freeze.
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("sleep") => {
            if args[2] == "1" {
                // So a wake-up from here on ends the sleep, and is named.
                let count = fs::read_to_string(COUNT).unwrap_or_default();
                let _ = put(COUNT, count.trim());
            }
            let written = put("/sys/power/state", &args[1]);
            std::process::exit(written.err().and_then(|e| e.raw_os_error()).unwrap_or(0));
        }
        Some("wait") => {
            let _ = fs::write("/proc/self/comm", &args[1]);
            let _ = put(&format!("{TROUBLE}/wait"), &args[2]);
        }
        _ => common::run(check),
    }
}

/// One write, as the kernel's files want it.
fn put(path: &str, value: &str) -> std::io::Result<()> {
    File::options().write(true).open(path)?.write_all(value.as_bytes())
}

fn set(path: &str, value: &str) {
    if let Err(e) = put(path, value) {
        println!("NOT: {path} = {value:?}: {e}");
    }
}

fn child(args: &[&str]) -> Child {
    Command::new("/init").args(args).spawn().expect("a child")
}

fn check() -> usize {
    let module = File::open("/trouble.ko").expect("the module");
    if let Err(e) = rustix::system::finit_module(&module, c"", 0) {
        println!("NOT: the module: {e}");
        return 1;
    }
    // Its sync is as slow as a plan says.
    let _ = fs::create_dir_all("/slow");
    let flags = rustix::mount::MountFlags::empty();
    if let Err(e) = rustix::mount::mount("slow", "/slow", "dormouse_trouble", flags, None) {
        println!("NOT: the slow file system: {e}");
    }
    set(TRACE, "0");
    set("/proc/sys/kernel/hung_task_warnings", "-1");
    // The kernel would spend five seconds computing in each test of a sleep.
    set("/sys/module/suspend/parameters/pm_test_delay", "0");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let log = rustix::fs::open("/dev/kmsg", flags, Mode::empty()).expect("/dev/kmsg");
    let mut log = File::from(log);
    let mut line = File::options().write(true).open("/dev/ttyS1").expect("/dev/ttyS1");
    let plan = fs::read_to_string("/plan").expect("/plan");
    let mut failed = 0;
    for words in plan.lines() {
        let words: HashMap<&str, &str> =
            words.split('\t').filter_map(|w| w.split_once('=')).collect();
        let text = sleep(&words, &mut log);
        failed += usize::from(line.write_all(text.as_bytes()).is_err());
        let _ = rustix::termios::tcdrain(&line);
    }
    failed
}

/// Sleeps once, or as often as planned, and gives what came of it.
fn sleep(words: &HashMap<&str, &str>, log: &mut File) -> String {
    let word = |key: &str| words.get(key).copied().unwrap_or_default();
    let state = match word("mode") {
        "disk" | "none" => word("mode"),
        mode => {
            set("/sys/power/mem_sleep", mode);
            "mem"
        }
    };
    set("/sys/power/pm_debug_messages", word("debug"));
    set("/sys/power/pm_print_times", word("times"));
    set("/sys/power/pm_freeze_timeout", word("timeout"));
    set("/sys/power/pm_test", word("test"));
    set("/sys/module/printk/parameters/console_suspend", word("console"));
    set(&format!("{TROUBLE}/idle_ms"), word("idle"));
    let mut children = Vec::new();
    set(&format!("{TROUBLE}/plan"), "clear;hold");
    if !word("plan").is_empty() {
        set(&format!("{TROUBLE}/plan"), word("plan"));
    }
    // What the other tasks print belongs to the sleep; what was before does not, unless it
    // is the start of the machine that is looked at.
    if word("boot") == "1" {
        // A device that waits for another is given up 10 s after the last driver came
        // (driver_deferred_probe_timeout, drivers/base/dd.c).
        std::thread::sleep(Duration::from_secs(15));
    } else {
        let _ = news(log);
    }
    for (file, short, _) in LIMITS.iter().filter(|l| word("limit") == l.0) {
        set(&format!("/proc/sys/kernel/{file}"), short);
    }
    if let Some((name, function)) = word("task").split_once(':') {
        children.push(child(&["wait", name, function]));
    }
    if let Some((name, function)) = word("thread").split_once(':') {
        set(&format!("{TROUBLE}/thread"), &format!("{name} {function}"));
    }
    if word("work") == "1" {
        set(&format!("{TROUBLE}/work"), "1");
    }
    std::thread::sleep(Duration::from_millis(300));
    if word("limit") == LIMITS[0].0 {
        // The kernel looks once in its own timeout, and who it finds then must have stood
        // for another.
        std::thread::sleep(Duration::from_secs(6));
    }
    if word("fatal") == "1" {
        set("/proc/sys/kernel/panic_on_oops", "1");
        // Nobody is left to read its log but the console.
        set("/sys/module/printk/parameters/console_suspend", "N");
        set("/proc/sys/kernel/printk", "8");
        println!("\nBEGIN {}", word("id"));
    }
    if !word("wake").is_empty() {
        set(&format!("{TROUBLE}/wake_ms"), word("wake"));
    }
    let slow = format!("{TROUBLE}/sync_ms");
    set(&slow, words.get("sync").unwrap_or(&"0"));
    let traced = word("traced") == "1";
    let trace = |on: &str| {
        set("/sys/kernel/tracing/events/rpm/enable", on);
        set(TRACE, on);
    };
    if traced {
        trace("1");
    }
    if !word("runtime").is_empty() {
        set(&format!("{TROUBLE}/runtime"), word("runtime"));
    }
    let times = if state == "none" { 0 } else { word("again").parse().unwrap_or(1) };
    let mut code = 0;
    for n in 0..times {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(400));
        }
        code = child(&["sleep", state, word("armed")])
            .wait()
            .ok()
            .and_then(|s| s.code())
            .unwrap_or(-1);
    }
    std::thread::sleep(Duration::from_millis(100));
    if traced {
        trace("0");
    }
    set(&slow, "0");
    set(&format!("{TROUBLE}/wake_ms"), "0");
    for (file, _, usual) in LIMITS.iter().filter(|l| word("limit") == l.0) {
        set(&format!("/proc/sys/kernel/{file}"), usual);
    }
    let mut text = format!("#{} {code}\n", word("id"));
    for row in fs::read_to_string(format!("{TROUBLE}/measured")).unwrap_or_default().lines() {
        let _ = writeln!(text, "M {row}");
    }
    text += &news(log);
    set(&format!("{TROUBLE}/plan"), "clear");
    for mut child in children {
        let _ = child.wait();
    }
    // A thread that polls looks every 200 ms whether it may go.
    std::thread::sleep(Duration::from_millis(500));
    text + "END\n"
}

/// What the kernel said since it was asked last: level, microseconds, thread, text.
fn news(log: &mut File) -> String {
    let mut out = String::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let record = match log.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => String::from_utf8_lossy(&buffer[..n]).into_owned(),
            // Some were overwritten.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => continue,
            Err(_) => break,
        };
        // Lines that begin with a blank are dictionaries.
        let first = record.lines().next().unwrap_or_default();
        let Some((head, text)) = first.split_once(';') else { continue };
        let mut fields = head.split(',');
        let priority = fields.next().and_then(|p| p.parse::<u32>().ok()).unwrap_or(6);
        let micros = fields.nth(1).unwrap_or("0");
        // Facility 0 is the kernel's; programs have others.
        if priority < 8 {
            let _ = writeln!(out, "L {priority} {micros} {text}");
        }
    }
    out
}
