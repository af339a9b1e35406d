//! Many short sleeps in one boot, with trouble at random (`kernel/shake.c`).

use super::system::Result;
use super::system::{build_board, read, read_text, write};
use crate::plan::Soak;
use std::path::Path;
use std::time::Duration;

const SHAKE: &str = "/sys/kernel/debug/dormouse/shake";
const STATE: &str = "/sys/power/state";
const LEAKS: &str = "/sys/kernel/debug/kmemleak";

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
pub(super) fn run(soak: &Soak, dir: &Path) -> Result<String> {
    build_board(&read(&dir.join(&soak.description))?)?;
    write("/sys/module/suspend/parameters/pm_test_delay", "0")?;
    write(SHAKE, &format!("{} {} {} {}", soak.seed, soak.fail, soak.wake, soak.plug))?;
    let mut chance = Chance(soak.seed * 2 + 1);
    let (mut failed, mut off) = (0_u32, 0_u32);
    let mut early = None;
    for n in 0..soak.cycles {
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
        failed += u32::from(write(STATE, "mem").is_err());
        write(SHAKE, "next")?;
    }
    write(SHAKE, "0 0 0 0")?;
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
    Ok(out)
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
