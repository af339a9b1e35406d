//! Idle governors at work: states from our module, workloads that wake CPUs, and
//! what each governor was told and decided, from function probes of a stock
//! kernel.

use super::loops::{Kind, wake};
use super::states::{cpus, set, states};
use super::system::Result;
use super::system::{disk, load_module_with, read_text, unload_module, write};
use crate::plan::{IDLE_MODULE, Idle};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TRACING: &str = "/sys/kernel/tracing";
const INSTANCE: &str = "/sys/kernel/tracing/instances/idle";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpuidle/current_governor";

/// Probes that every governor needs.
const COMMON: [&str; 5] = [
    "f:idle/sl tick_nohz_get_sleep_length%return ret=$retval:s64 dt=+0($arg1):s64",
    "f:idle/lr cpuidle_governor_latency_req%return ret=$retval:s64",
    "f:idle/ts tick_nohz_tick_stopped%return ret=$retval:u8",
    "f:idle/got tick_nohz_idle_got_tick%return ret=$retval:u8",
    "f:idle/refl cpuidle_reflect index=index:s32 res=dev->last_residency_ns:u64 ptl=dev->poll_time_limit:u8",
];

/// A governor: its name, the function that decides, the one that resets, and
/// whether it says what becomes of the tick.
struct Governor {
    name: &'static str,
    select: &'static str,
    enable: &'static str,
    says_stop: bool,
}

const GOVERNORS: [Governor; 4] = [
    Governor { name: "menu", select: "menu_select", enable: "menu_enable_device", says_stop: true },
    Governor { name: "teo", select: "teo_select", enable: "teo_enable_device", says_stop: true },
    Governor {
        name: "ladder",
        select: "ladder_select_state",
        enable: "ladder_enable_device",
        says_stop: false,
    },
    Governor {
        name: "haltpoll",
        select: "haltpoll_select",
        enable: "haltpoll_enable_device",
        says_stop: true,
    },
];

/// What is set while a part of the recording is made.
struct Setting {
    /// Latency limit of every CPU in microseconds; 0 is none.
    limit_us: u32,
    /// A state that may not be entered.
    disabled: Option<u32>,
}

const SETTINGS: [Setting; 3] = [
    Setting { limit_us: 0, disabled: None },
    Setting { limit_us: 150, disabled: None },
    Setting { limit_us: 0, disabled: Some(2) },
];

/// Gives the recording as text (`crate::idle`).
pub(super) fn record(wish: &Idle, dir: &Path) -> Result<String> {
    let parameters = format!("states={} jitter={} seed={}", wish.states, wish.jitter, wish.seed);
    load_module_with(&dir.join(IDLE_MODULE), &parameters)?;
    disk(dir)?;
    let mut text = String::from("dormouse-idle 1\n");
    let _ = writeln!(text, "kernel {}", rustix::system::uname().release().to_string_lossy());
    let _ = writeln!(text, "hz {}\nstates {}", hz()?, wish.states);
    for (i, state) in states().iter().enumerate() {
        let of = |what: &str| read_text(&format!("{state}/{what}"));
        let _ = writeln!(text, "state {i} {} {} {}", of("name"), of("latency"), of("residency"));
    }
    let _ = fs::create_dir(INSTANCE);
    let mut lost = 0;
    for name in &wish.governors {
        let governor = GOVERNORS
            .iter()
            .find(|g| g.name == name)
            .ok_or_else(|| format!("no governor {name} is known"))?;
        lost += by(governor, wish, &mut text)?;
    }
    let _ = writeln!(text, "lost {lost}\nend");
    // Unloading is part of what every run proves.
    unload_module("dormouse_idle")?;
    Ok(text)
}

/// Ticks a second: how fast jiffies of the timer list advance.
fn hz() -> Result<u64> {
    let list = fs::read_to_string("/proc/timer_list").map_err(|e| format!("timer_list: {e}"))?;
    let jiffies = |t: &str| -> Option<u64> {
        t.lines().find_map(|l| l.strip_prefix("jiffies: "))?.trim().parse().ok()
    };
    let from = std::time::Instant::now();
    let first = jiffies(&list).ok_or("timer_list has no jiffies")?;
    std::thread::sleep(Duration::from_secs(2));
    let list = fs::read_to_string("/proc/timer_list").map_err(|e| format!("timer_list: {e}"))?;
    let last = jiffies(&list).ok_or("timer_list has no jiffies")?;
    let rate = (last - first) as f64 / from.elapsed().as_secs_f64();
    // Kernels are built with one of these.
    [100u64, 250, 300, 1000]
        .into_iter()
        .min_by_key(|hz| (*hz as f64 - rate).abs() as u64)
        .ok_or_else(|| "no tick".into())
}

/// All settings under one governor; gives how many events were lost.
fn by(governor: &Governor, wish: &Idle, text: &mut String) -> Result<u64> {
    // Our module brings the events where the kernel cannot make them.
    let made = !Path::new(&format!("{INSTANCE}/events/idle/sl")).exists();
    if made {
        probes(governor)?;
    }
    let other = if governor.name == "menu" { "ladder" } else { "menu" };
    let mut lost = 0;
    let states = states().len() as u32;
    let known = |s: &&Setting| s.disabled.is_none_or(|i| i < states);
    for setting in SETTINGS.iter().filter(known) {
        write(GOVERNOR, other)?;
        set(setting.limit_us, setting.disabled)?;
        let _ = writeln!(text, "limit {}", setting.limit_us);
        if let Some(i) = setting.disabled {
            let _ = writeln!(text, "disabled {i}");
        }
        let _ = writeln!(text, "governor {}", governor.name);
        // In pieces, so that neither buffer nor text grows without bounds.
        let share = wish.decisions / SETTINGS.len() as u64 + 1;
        lost += piece(governor, share, wish.seed, text)?;
        set(0, None)?;
    }
    write(GOVERNOR, other)?;
    write(&format!("{INSTANCE}/events/idle/enable"), "0")?;
    if made {
        write(&format!("{TRACING}/dynamic_events"), "-:idle/")?;
    }
    Ok(lost)
}

/// Makes the function probes of a governor.
fn probes(governor: &Governor) -> Result<()> {
    for probe in COMMON {
        write(&format!("{TRACING}/dynamic_events"), probe)?;
    }
    let Governor { select, enable, .. } = governor;
    let stop = if governor.says_stop { " stop=+0($arg3):u8" } else { "" };
    for probe in [
        format!("f:idle/ent {select}"),
        format!("f:idle/sel {select}%return idx=$retval:s32{stop}"),
        format!("f:idle/en {enable}"),
    ] {
        write(&format!("{TRACING}/dynamic_events"), &probe)?;
    }
    Ok(())
}

/// Decisions of one governor under one setting, from an empty history on.
fn piece(governor: &Governor, decisions: u64, seed: u64, text: &mut String) -> Result<u64> {
    let on = |v: &str| write(&format!("{INSTANCE}/tracing_on"), v);
    on("0")?;
    File::create(format!("{INSTANCE}/trace")).map_err(|e| format!("trace: {e}"))?;
    // A decision is ten records of at most a hundred bytes, on one CPU or the
    // other.
    let kb = decisions * 1_000 / 1024 + 4096;
    write(&format!("{INSTANCE}/buffer_size_kb"), &kb.to_string())?;
    write(&format!("{INSTANCE}/events/idle/enable"), "1")?;
    on("1")?;
    // How long each CPU slept last is handed on to the new governor, so each has
    // to sleep once before.
    std::thread::sleep(Duration::from_millis(100));
    let before = entered();
    write(GOVERNOR, governor.name)?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut workers: Vec<_> = (0..4u64)
        .map(|kind| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || work(kind, seed, &stop))
        })
        .collect();
    // One that waits for I/O, which menu of 6.1 looks at.
    let reader = Arc::clone(&stop);
    workers.push(std::thread::spawn(move || wake(Kind::Disk, seed, &reader)));
    while entered() - before < decisions {
        std::thread::sleep(Duration::from_millis(200));
    }
    on("0")?;
    stop.store(true, Ordering::Relaxed);
    for w in workers {
        let _ = w.join();
    }
    condense(governor, text)?;
    lost()
}

/// How often any CPU entered an idle state.
fn entered() -> u64 {
    let mut sum = 0;
    for cpu in cpus() {
        for i in 0..states().len() {
            let usage = read_text(&format!("{cpu}/cpuidle/state{i}/usage"));
            sum += usage.parse::<u64>().unwrap_or(0);
        }
    }
    sum
}

/// Wakes CPUs until told to stop: periodic, in bursts, with slack, at random.
fn work(kind: u64, seed: u64, stop: &AtomicBool) {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (kind << 32);
    let mut draw = |most: u64| {
        // xorshift64: any sequence will do that is the same every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    if kind == 2 {
        // Timers of this thread may be merged with others within 2 ms.
        let me = rustix::thread::gettid().as_raw_nonzero();
        let _ = write(&format!("/proc/{me}/timerslack_ns"), "2000000");
    }
    while !stop.load(Ordering::Relaxed) {
        let us = match kind {
            0 => 1_700,
            1 => {
                for _ in 0..draw(8) {
                    std::thread::sleep(Duration::from_micros(20 + draw(300)));
                }
                draw(20_000)
            }
            2 => 1_000 + draw(4_000),
            _ => 1 << draw(14),
        };
        // A little to do after each sleep.
        for _ in 0..draw(20_000) {
            std::hint::black_box(());
        }
        std::thread::sleep(Duration::from_micros(us));
    }
}

fn lost() -> Result<u64> {
    let mut sum = 0;
    for cpu in fs::read_dir(format!("{INSTANCE}/per_cpu")).map_err(|e| e.to_string())?.flatten() {
        let stats = fs::read_to_string(cpu.path().join("stats")).unwrap_or_default();
        for line in stats.lines() {
            if line.starts_with("overrun:") || line.starts_with("dropped events:") {
                sum += line.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            }
        }
    }
    Ok(sum)
}

/// What is known of a decision that was begun on a CPU.
#[derive(Default)]
struct Open {
    limit: i64,
    stopped: bool,
    sleep: Option<(i64, i64)>,
    /// Tasks that wait for I/O, where the governor asked.
    iowait: Option<i64>,
    /// A reflection whose question about the tick is still to come.
    reflect: Option<(i64, i64, bool)>,
}

/// Turns the trace into lines of decisions and outcomes.
fn condense(governor: &Governor, text: &mut String) -> Result<()> {
    let file = File::open(format!("{INSTANCE}/trace")).map_err(|e| format!("trace: {e}"))?;
    let mut open: BTreeMap<u32, Open> = BTreeMap::new();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|e| format!("trace: {e}"))?;
        let Some((cpu, name, rest)) = split(&line) else { continue };
        let number = |key: &str| number(rest, key).ok_or_else(|| format!("no {key}: {line}"));
        if name == "en" {
            // Once for each CPU, before any of them decides again
            // (cpuidle_switch_governor, drivers/cpuidle/governor.c).
            open.clear();
            text.push_str("g\n");
            continue;
        }
        let o = open.entry(cpu).or_default();
        match name {
            "ent" => *o = Open { reflect: o.reflect.take(), ..Open::default() },
            "lr" => o.limit = number("ret")?,
            "ts" => o.stopped = number("ret")? == 1,
            "io" => o.iowait = Some(number("ret")?),
            "sl" => o.sleep = Some((number("ret")?, number("dt")?)),
            "sel" => {
                finish(cpu, o, false, text);
                let stop =
                    if governor.says_stop { number("stop")?.to_string() } else { "-".into() };
                let (timer, event) = match o.sleep {
                    Some((t, e)) => (t.to_string(), e.to_string()),
                    None => ("-".into(), "-".into()),
                };
                let _ = writeln!(
                    text,
                    "d {cpu} {} {} {timer} {event} {} {stop}{}",
                    o.limit,
                    u8::from(o.stopped),
                    number("idx")?,
                    o.iowait.map_or(String::new(), |n| format!(" {n}"))
                );
            }
            "refl" => {
                // Bit 2 of the byte (struct cpuidle_device, include/linux/cpuidle.h).
                let polled = number("ptl")? & 4 != 0;
                o.reflect = Some((number("index")?, number("res")?, polled));
            }
            "got" if rest.contains("_reflect+") => finish(cpu, o, number("ret")? == 1, text),
            // The loop asks again: the governor did not.
            "got" => finish(cpu, o, false, text),
            _ => {}
        }
    }
    Ok(())
}

/// Writes an outcome, if one is open.
fn finish(cpu: u32, o: &mut Open, tick: bool, text: &mut String) {
    if let Some((state, residency, polled)) = o.reflect.take() {
        let _ =
            writeln!(text, "r {cpu} {state} {residency} {} {}", u8::from(polled), u8::from(tick));
    }
}

/// CPU, event and the rest of a line of ftrace.
fn split(line: &str) -> Option<(u32, &str, &str)> {
    let (_, after) = line.split_once(" [")?;
    let (cpu, after) = after.split_once(']')?;
    let (_, event) = after.split_once(": ")?;
    let (name, rest) = event.split_once(": ")?;
    Some((cpu.parse().ok()?, name.trim(), rest))
}

/// The number after `key=`.
fn number(text: &str, key: &str) -> Option<i64> {
    let at = text.find(&format!(" {key}="))? + key.len() + 2;
    text[at..].split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
}
