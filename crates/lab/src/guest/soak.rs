//! Many short sleeps in one boot, with trouble at random (`kernel/shake.c`).

use super::scheduler;
use super::system::Result;
use super::system::{build_board, read, read_text, write};
use crate::plan::Soak;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const SHAKE: &str = "/sys/kernel/debug/dormouse/shake";
const STATE: &str = "/sys/power/state";
const LEAKS: &str = "/sys/kernel/debug/kmemleak";
const FAILSLAB: &str = "/sys/kernel/debug/failslab";

/// The kernel keeps 15 letters of a thread's name.
const MANAGER: &str = "dormouse_dpm_ma";

/// Threads that wait for work end within this time.
const QUIET: Duration = Duration::from_secs(70);
/// So many cycles between two words on the console.
const WORD: u32 = 250;

/// A generator of Marsaglia's: what a cycle is like depends on the seed alone.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) % n
    }
}

/// Does it, and gives what was counted, a line a figure.
pub(super) fn run(soak: &Soak, dir: &Path, by_readiness: bool) -> Result<String> {
    build_board(&read(&dir.join(&soak.description))?)?;
    write("/sys/module/suspend/parameters/pm_test_delay", "0")?;
    write(SHAKE, &format!("{} {} {} {}", soak.seed, soak.fail, soak.wake, soak.plug))?;
    let starved = if soak.no_memory > 0 { starve(soak.no_memory)? } else { Vec::new() };
    let mut chance = Chance(soak.seed * 2 + 1);
    let (mut failed, mut off) = (0_u32, 0_u32);
    let mut early = None;
    let places = if soak.no_memory > 0 { places()? } else { Vec::new() };
    for n in 0..soak.cycles {
        if let Some((from, to)) = places.get(n as usize % places.len().max(1)) {
            write(&format!("{FAILSLAB}/require-start"), &format!("{from:#x}"))?;
            write(&format!("{FAILSLAB}/require-end"), &format!("{to:#x}"))?;
        }
        if n == soak.cycles / 10 {
            early = Some(footprint());
        }
        if n % WORD == 0 {
            println!("dormouse guest: cycle {n}");
        }
        let serial = chance.below(8) == 0;
        off += u32::from(serial);
        write("/sys/power/pm_async", if serial { "0" } else { "1" })?;
        let level = if chance.below(3) == 0 { "devices" } else { "platform" };
        write("/sys/power/pm_test", level)?;
        failed += u32::from(sleep(&starved).is_err());
        write(SHAKE, "next")?;
    }
    write(SHAKE, "0 0 0 0")?;
    if soak.no_memory > 0 {
        write(&format!("{FAILSLAB}/probability"), "0")?;
    }
    // Without trouble everything goes down and comes up.
    write("/sys/power/pm_async", "1")?;
    write("/sys/power/pm_test", "platform")?;
    write(STATE, "mem").map_err(|e| format!("the last cycle, without trouble: {e}"))?;
    write("/sys/power/pm_test", "none")?;
    let said = read_text(SHAKE);
    build_board(b"clear")?;
    std::thread::sleep(QUIET);
    let mut out = format!("cycles {}\nfailed {failed}\nserial {off}\n{said}\n", soak.cycles);
    let (threads, slab) = early.unwrap_or_else(footprint);
    let (threads_now, slab_now) = footprint();
    out += &format!("threads {threads} {threads_now}\nslab_kb {slab} {slab_now}\n");
    if soak.leaks {
        // The second look is sure of what the first suspects.
        for _ in 0..2 {
            write(LEAKS, "scan")?;
            std::thread::sleep(Duration::from_secs(10));
        }
        let leaks = read_text(LEAKS);
        out += &format!("leaks {}\n", leaks.matches("unreferenced object").count());
        for line in leaks.lines().take(60) {
            println!("dormouse guest: {line}");
        }
    }
    let locks = read_text("/proc/lockdep_stats");
    if let Some(on) = locks.lines().find_map(|l| l.trim().strip_prefix("debug_locks:")) {
        out += &format!("lockdep {}\n", on.trim());
    }
    if by_readiness {
        out += &scheduler::figures();
    }
    Ok(out)
}

/// One cycle, in which allocations of those tasks may fail. Everything is open before
/// that: nothing else of this process may be refused.
fn sleep(starved: &[File]) -> std::io::Result<()> {
    let state = OpenOptions::new().write(true).open(STATE)?;
    // This process is the last, and the first that is fed again.
    for task in starved {
        task.write_at(b"1", 0)?;
    }
    let slept = state.write_at(b"mem", 0);
    for task in starved.iter().rev() {
        task.write_at(b"0", 0)?;
    }
    slept.map(drop)
}

/// Lets allocations fail, of this process and of the scheduler's thread that makes the
/// others, while their files (`make-it-fail`) say so.
fn starve(per_cent: u32) -> Result<Vec<File>> {
    for (name, value) in
        [("task-filter", "Y"), ("ignore-gfp-wait", "N"), ("verbose", "0"), ("times", "-1")]
    {
        write(&format!("{FAILSLAB}/{name}"), value)?;
    }
    write(&format!("{FAILSLAB}/probability"), &per_cent.to_string())?;
    let mut tasks = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let path = entry.path().display().to_string();
        if read_text(&format!("{path}/comm")) == MANAGER {
            tasks.push(format!("{path}/make-it-fail"));
        }
    }
    tasks.push("/proc/self/make-it-fail".to_owned());
    let open = |path: &String| {
        OpenOptions::new().write(true).open(path).map_err(|e| format!("{path}: {e}"))
    };
    tasks.iter().map(open).collect()
}

/// Where the scheduler allocates: from and to which address, taken in turns. What the
/// rest of the kernel does without memory is not asked: its serial port, for one, does
/// not come back.
fn places() -> Result<Vec<(u64, u64)>> {
    let symbols =
        String::from_utf8(read(Path::new("/proc/kallsyms"))?).map_err(|e| e.to_string())?;
    let mut ours: Vec<(u64, &str)> = symbols
        .lines()
        .filter(|l| l.ends_with("[dormouse_scheduler]"))
        .filter_map(|l| {
            let mut words = l.split_whitespace();
            let at = u64::from_str_radix(words.next()?, 16).ok()?;
            words.next().filter(|kind| kind.eq_ignore_ascii_case("t"))?;
            Some((at, words.next()?))
        })
        .collect();
    ours.sort_unstable();
    let range = |name: &str| {
        let i = ours.iter().position(|(_, n)| *n == name)?;
        Some((ours[i].0, ours.get(i + 1)?.0))
    };
    // A small function may have become part of its caller.
    let all = ["make_room", "ready_graph_know", "add_worker", "manager_main"];
    let found: Vec<(u64, u64)> = all.iter().filter_map(|n| range(n)).collect();
    if found.len() < 2 {
        Err(format!("where does the scheduler allocate? {ours:?}"))
    } else {
        Ok(found)
    }
}

/// Threads of the machine, and memory of the kernel that is not given back, in KiB.
fn footprint() -> (u64, u64) {
    let load = read_text("/proc/loadavg");
    let threads = load.split(['/', ' ']).nth(4).and_then(|n| n.parse().ok()).unwrap_or(0);
    let memory = read_text("/proc/meminfo");
    let slab = memory.lines().find_map(|l| l.strip_prefix("SUnreclaim:"));
    let slab = slab.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    (threads, slab)
}
