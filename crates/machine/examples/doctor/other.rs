//! Alarms, clocks, and a sync that a wakeup ends.

use crate::disk::{insert, suspend};
use crate::slow::{self, MIB, Source, dirty};
use crate::told::{above_note, doctor, log_since, mark, of, row};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::fs::{self, File};
use std::time::{Duration, Instant};

/// An alarm so far ahead, and a sleep.
fn with_alarm(ms: i64) -> Vec<crate::told::Found> {
    let at = Timespec { tv_sec: ms / 1_000, tv_nsec: ms % 1_000 * 1_000_000 };
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    let timer = timerfd_create(TimerfdClockId::BoottimeAlarm, TimerfdFlags::CLOEXEC);
    let timer = match timer {
        Ok(t) => t,
        Err(e) => {
            println!("NOT: an alarm can be had: {e}");
            return Vec::new();
        }
    };
    let when = Itimerspec { it_interval: none, it_value: at };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &when).unwrap();
    let from = mark("alarm");
    let _ = suspend();
    doctor(&[&log_since(&from)])
}

pub(crate) fn alarm() -> usize {
    fs::write("/sys/power/pm_test", "devices").unwrap();
    let found = with_alarm(1_500);
    let twin = above_note(&with_alarm(60_000), &["clock-", "device-", "abort-"]);
    let _ = fs::write("/sys/power/pm_test", "none");
    let said = of(&found, "clock-alarm-abort");
    let told = said.first().map_or("nothing".into(), |f| format!("{}: {}", f.id, f.sentence));
    // No driver is blamed for it.
    let right = !said.is_empty() && of(&found, "device-failed").is_empty();
    row(
        "G-alarm",
        "an alarm of the boot clock in 1.5 s; twin: in 60 s",
        "clock-alarm-abort",
        &told,
        right,
        &twin,
    )
}

fn ns(clock: ClockId) -> i64 {
    let t = clock_gettime(clock);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// What a sleep of s2idle did to the clocks: how far both went on, ns.
fn clocks_of_a_sleep() -> (i64, i64) {
    let (boot, mono) = (ns(ClockId::Boottime), ns(ClockId::Monotonic));
    let _ = suspend();
    (ns(ClockId::Boottime) - boot, ns(ClockId::Monotonic) - mono)
}

/// Least length of a sleep in the state for it, ms. The state waits by `mdelay()`, which
/// in a guest may be a quarter shorter than asked.
const LONG: i64 = 2_500;

/// An idle state that s2idle can use, and the same switched off.
pub(crate) fn clocks() -> usize {
    let id = "clock-mono-runs";
    let module = match File::open("/idle.ko") {
        Ok(m) => m,
        Err(e) => {
            println!("NOT: idle states can be had: {e}");
            return 1;
        }
    };
    if let Err(e) = rustix::system::finit_module(&module, c"states=100:400 s2idle_ms=4200", 0) {
        println!("NOT: idle states can be had: {e}");
        return 1;
    }
    // s2idle is what mem means, so that the look is about it.
    let _ = fs::write("/sys/power/mem_sleep", "s2idle");
    let _ = fs::write("/sys/power/pm_debug_messages", "1");
    let foretold = of(&doctor(&[]), id).len();
    let from = mark("stands");
    let (boot, mono) = clocks_of_a_sleep();
    let log = fs::read_to_string(log_since(&from)).unwrap_or_default();
    let line = log.lines().find_map(|l| l.split("Timekeeping suspended for ").nth(1));
    let said: f64 = line.and_then(|l| l.split(' ').next()?.parse().ok()).unwrap_or(0.0);
    let stood = boot - mono;
    // The kernel's own figure is the other witness.
    let off = (stood as f64 / 1e9 - said).abs() / said.max(1e-9) * 100.0;
    let right = foretold == 0 && stood >= LONG * 1_000_000 && off <= 2.0;
    let mut bad = row(
        "G-mono",
        "s2idle with a state for it, 2.5 s and more",
        "CLOCK_MONOTONIC stands, foretold",
        &format!(
            "{}; BOOTTIME - MONOTONIC {} ms, the kernel says {said:.3} s ({off:.1} % off)",
            if foretold == 0 { "nothing foretold" } else { id },
            stood / 1_000_000
        ),
        right,
        &[],
    );
    fs::write("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "1").unwrap();
    let found = doctor(&[]);
    let said = of(&found, id);
    // A timer of the board module ends this one: time runs, and so do timers.
    let board = File::open("/board.ko").map(|m| rustix::system::finit_module(&m, c"", 0));
    if board.is_err() || fs::write("/sys/kernel/debug/dormouse/wake_ns", "1000000000").is_err() {
        println!("NOT: the board module can be loaded");
        return bad + 1;
    }
    let (boot, mono) = clocks_of_a_sleep();
    let _ = fs::write("/sys/kernel/debug/dormouse/wake_ns", "0");
    let told = said.first().map_or("nothing".into(), |f| format!("{}: {}", f.id, f.sentence));
    let ran = (boot - mono) * 20 < boot;
    bad += row(
        "G-mono",
        "the same, the state switched off",
        "clock-mono-runs, foretold; it runs",
        &format!(
            "{told}; BOOTTIME - MONOTONIC {} of {} ms",
            (boot - mono) / 1_000_000,
            boot / 1_000_000
        ),
        !said.is_empty() && ran && boot > 500_000_000,
        &[],
    );
    let _ = fs::write("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0");
    bad
}

/// What a table of the specification says: on 6.12 a sync goes on, from 6.19 on a wakeup
/// ends the wait for it, and the next attempt waits for what is left.
pub(crate) fn aborted_sync() -> usize {
    // The first test took the module and the configuration.
    let _ = insert("null_blk", c"nr_devices=0");
    let _ = rustix::mount::unmount("/sys/kernel/config", rustix::mount::UnmountFlags::DETACH);
    if let Err(e) = slow::prepare() {
        println!("NOT: a slow disk: {e}");
        return 1;
    }
    let mut bad = 0;
    let plain = mark("plain");
    dirty(40 * MIB);
    let begin = Instant::now();
    let slept = suspend();
    let took = begin.elapsed();
    let found = doctor(&[&log_since(&plain)]);
    let kernel = slow::kernel_sync().unwrap_or(0.0);
    let told = format!("{:.2} s, sleeps: {}; {}", kernel, slept.is_ok(), ids(&found));
    let right =
        slept.is_ok() && !of(&found, "sync-share").is_empty() && took.as_secs_f64() >= kernel;
    let quiet = mark("quiet");
    let _ = suspend();
    let twin = above_note(&doctor(&[&log_since(&quiet)]), &["sync-"]);
    bad += row(
        "G-sync",
        "40 MiB dirty, 8 MB/s; twin: nothing dirty",
        "sync-share",
        &told,
        right,
        &twin,
    );
    // Armed, with an event at 1.5 s.
    dirty(40 * MIB);
    let source = Source::new();
    let count = fs::read_to_string("/sys/power/wakeup_count").unwrap_or_default();
    let _ = fs::write("/sys/power/wakeup_count", count.trim());
    let armed = mark("armed");
    let begin = Instant::now();
    let attempt = std::thread::spawn(suspend);
    std::thread::sleep(Duration::from_millis(1_500));
    source.ring();
    let ended = attempt.join().expect("no panic");
    let first = begin.elapsed().as_secs_f64();
    source.fetch();
    let begin = Instant::now();
    let again = suspend();
    let second = begin.elapsed().as_secs_f64();
    let log = log_since(&armed);
    let busy = ended.is_err_and(|e| e.raw_os_error() == Some(16));
    let abortable = fs::metadata("/sys/power/freeze_filesystems").is_ok() && series() >= 619;
    let right = busy
        && again.is_ok()
        && if abortable { first < 1.6 && second > 2.0 } else { first > 4.0 && second < 0.5 };
    // The time of the sync of the second attempt, as `show` has it.
    let shown = second_sync(&log);
    let assigned = if abortable {
        shown.is_some_and(|s| s <= second && s > second - 0.3)
    } else {
        shown.is_some_and(|s| s < 0.1)
    };
    let expected = if abortable {
        "EBUSY at 1.5 s, the next waits for the rest"
    } else {
        "EBUSY when the sync is over, the next waits for nothing"
    };
    let told = format!(
        "EBUSY: {busy} after {first:.2} s, then {second:.2} s; sync of the second as shown: {} s",
        shown.map_or("none".into(), |s| format!("{s:.2}"))
    );
    bad += row(
        "G-sync",
        "armed, an event at 1.5 s, and once more",
        expected,
        &told,
        right && assigned,
        &[],
    );
    let _ = fs::write("/sys/power/pm_test", "none");
    bad
}

fn ids(found: &[crate::told::Found]) -> String {
    let all: Vec<&str> = found.iter().map(|f| f.id.as_str()).collect();
    all.join(" ")
}

fn series() -> u32 {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let parts: Vec<u32> = release.split('.').map(|p| p.parse().unwrap_or(0)).collect();
    parts.first().unwrap_or(&0) * 100 + parts.get(1).unwrap_or(&0)
}

/// Seconds of the sync of the last attempt of a log.
fn second_sync(log: &str) -> Option<f64> {
    let input = dormouse_read::Input::from_arg(log);
    let reading = dormouse_read::read(&[input], &dormouse_read::Options::default()).ok()?;
    let cycle = reading.captures.first()?.cycles.last()?;
    let spans = cycle.phases.iter().filter(|p| p.phase.name() == "sync");
    Some(spans.map(|p| p.duration().0 as f64 / 1e9).sum())
}
