//! Loads on a disk of chosen power states, request by request.

use super::system::Result;
use super::system::{load_module, load_module_with, read_text, unload_module, write};
use crate::plan::{FQOS_MODULE, ONDEMAND_MODULE, PDISK_MODULE, Storage};
use dormouse_storage::simulate::load::{Load, Loop, Next};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

const DISK: &str = "/dev/pdisk0";
const BYTES: u64 = 1 << 30;
const HOST: &str = "/sys/devices/platform/dormouse_pdisk";
const FQOS: &str = "/sys/module/dormouse_fqos/pdisk0";

/// Threads that make the requests of a load whose times are given: more are never
/// under way at once.
const ASKERS: usize = 64;

/// Most requests between two barriers of an asker: what it has room for at first.
const ROOM: usize = 1 << 20;

/// Gives the text (`crate::storage`).
pub(super) fn run(wish: &Storage, dir: &Path) -> Result<String> {
    let governor = dir.join(ONDEMAND_MODULE);
    let loaded = Path::new("/sys/module/governor_simpleondemand").exists();
    if governor.exists() && !loaded {
        load_module(&governor)?;
    }
    load_module_with(&dir.join(PDISK_MODULE), &wish.disk)?;
    for (attribute, value) in &wish.devfreq {
        write(&format!("{HOST}/devfreq/dormouse_pdisk/{attribute}"), value)?;
    }
    if let Some((words, timeout)) = &wish.fqos {
        load_module_with(&dir.join(FQOS_MODULE), words)?;
        // It learns of disks from the first request that anybody makes.
        open()?.read_exact_at(room(4096).of(4096), 0).map_err(|e| e.to_string())?;
        wait_for(&format!("{FQOS}/timeout_us"))?;
        write(&format!("{FQOS}/timeout_us"), &timeout.to_string())?;
    }
    // What made the disk, or the request before, has fallen asleep.
    std::thread::sleep(Duration::from_secs(2));
    let before = figures();
    let (mut seen, span) = work(&wish.load, wish.seed)?;
    let after = figures();
    let mut text = String::from("dormouse-storage 1\n");
    let _ = writeln!(text, "kernel {}", rustix::system::uname().release().to_string_lossy());
    let _ = writeln!(text, "span {}", span.as_nanos());
    for ((name, from), (_, to)) in before.iter().zip(&after) {
        let _ = writeln!(text, "{name} {}", to - from);
    }
    if wish.fqos.is_some() {
        for line in read_text(&format!("{FQOS}/figures")).lines() {
            let _ = writeln!(text, "fqos {line}");
        }
        let _ = writeln!(text, "fqos device {}", read_text(&format!("{FQOS}/device")));
        // Unloading is part of what every run proves.
        unload_module("dormouse_fqos")?;
    }
    unload_module("dormouse_pdisk")?;
    seen.sort_unstable();
    for (at, latency) in seen {
        let _ = writeln!(text, "r {at} {latency}");
    }
    text.push_str("end\n");
    Ok(text)
}

/// Figures of the host that only grow, by name.
fn figures() -> Vec<(String, u64)> {
    let text = read_text(&format!("{HOST}/figures"));
    text.lines()
        .filter_map(|l| l.rsplit_once(' '))
        .filter_map(|(name, n)| Some((name.to_owned(), n.parse().ok()?)))
        .collect()
}

fn wait_for(path: &str) -> Result<()> {
    for _ in 0..500 {
        if Path::new(path).exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{path}: it does not come up"))
}

fn open() -> Result<File> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(direct).open(DISK);
    file.map_err(|e| format!("{DISK}: {e}"))
}

/// Memory that direct reads can go to.
struct Room(Vec<u8>, usize);

/// Room for `bytes`, aligned to a page.
fn room(bytes: usize) -> Room {
    let all = vec![0u8; bytes + 4096];
    let at = all.as_ptr().align_offset(4096);
    Room(all, at)
}

impl Room {
    fn of(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + bytes]
    }
}

/// One who makes requests: at random places, one after another.
struct Asker {
    file: File,
    room: Room,
    state: u64,
    /// When each began, counted from the begin of the load, and how long it took, ns.
    seen: Vec<(u64, u64)>,
}

impl Asker {
    fn new(seed: u64, n: usize, bytes: u64) -> Result<Asker> {
        // Timers of this thread come when they are due.
        let me = rustix::thread::gettid().as_raw_nonzero();
        write(&format!("/proc/{me}/timerslack_ns"), "1")?;
        Ok(Asker {
            file: open()?,
            room: room(bytes as usize),
            state: (seed * 64 + n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            seen: Vec::with_capacity(ROOM / ASKERS),
        })
    }

    fn ask(&mut self, begin: Instant, bytes: u64) -> Result<()> {
        // xorshift64: any sequence will do that is the same every time.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let place = self.state % (BYTES / bytes) * bytes;
        let at = Instant::now();
        let read = self.file.read_exact_at(self.room.of(bytes as usize), place);
        let took = at.elapsed();
        read.map_err(|e| format!("{DISK}: {e}"))?;
        self.seen.push(((at - begin).as_nanos() as u64, took.as_nanos() as u64));
        Ok(())
    }
}

/// Makes the requests: each, in no order, and the time from first to last.
fn work(load: &Load, seed: u64) -> Result<(Vec<(u64, u64)>, Duration)> {
    match load {
        Load::Loop(l) => bursts(l, seed),
        Load::Open(list) => arrivals(list, seed),
    }
}

/// Askers of a loop, who begin each burst together.
fn bursts(l: &Loop, seed: u64) -> Result<(Vec<(u64, u64)>, Duration)> {
    let askers = l.depth.min(l.burst).max(1) as usize;
    let barrier = Barrier::new(askers);
    let left = AtomicUsize::new(0);
    let begin = Instant::now();
    let ended = Mutex::new(begin);
    let one = |n: usize| -> Result<Vec<(u64, u64)>> {
        let mut asker = Asker::new(seed, n, l.bytes)?;
        let mut done = 0;
        let mut turn = 0_u32;
        while done < l.count {
            let size = l.burst.max(1).min(l.count - done);
            if barrier.wait().is_leader() {
                left.store(size as usize, Ordering::SeqCst);
            }
            barrier.wait();
            let end = *ended.lock().map_err(|_| "an asker failed")?;
            let due = match l.next {
                _ if turn == 0 => begin,
                Next::Every(period) => begin + ns(period) * turn,
                Next::After(rest) => end + ns(rest),
            };
            sleep_until(due);
            let mut first = true;
            let more = |n: usize| n.checked_sub(1);
            while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok() {
                if !first && l.think > 0 {
                    std::thread::sleep(ns(l.think));
                }
                first = false;
                asker.ask(begin, l.bytes)?;
            }
            barrier.wait();
            *ended.lock().map_err(|_| "an asker failed")? = Instant::now();
            done += size;
            turn += 1;
        }
        Ok(asker.seen)
    };
    gather(askers, one)
}

/// Requests at given times.
fn arrivals(list: &[(i64, u64)], seed: u64) -> Result<(Vec<(u64, u64)>, Duration)> {
    let next = AtomicUsize::new(0);
    let most = list.iter().map(|r| r.1).max().unwrap_or(512);
    let begin = Instant::now() + Duration::from_millis(5);
    let one = |n: usize| -> Result<Vec<(u64, u64)>> {
        let mut asker = Asker::new(seed, n, most)?;
        while let Some(&(at, bytes)) = list.get(next.fetch_add(1, Ordering::SeqCst)) {
            sleep_until(begin + ns(at));
            asker.ask(begin, bytes)?;
        }
        Ok(asker.seen)
    };
    gather(ASKERS.min(list.len()), one)
}

/// Runs askers and puts together what they saw; the time ends when the last one does.
fn gather(
    askers: usize,
    one: impl Fn(usize) -> Result<Vec<(u64, u64)>> + Sync,
) -> Result<(Vec<(u64, u64)>, Duration)> {
    let one = &one;
    let parts: Vec<Result<Vec<(u64, u64)>>> = std::thread::scope(|s| {
        let running: Vec<_> = (0..askers).map(|n| s.spawn(move || one(n))).collect();
        running
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| Err("an asker failed".into())))
            .collect()
    });
    let mut seen = Vec::new();
    for part in parts {
        seen.extend(part?);
    }
    let first = seen.iter().map(|r| r.0).min().unwrap_or(0);
    let end = seen.iter().map(|r| r.0 + r.1).max().unwrap_or(0);
    for r in &mut seen {
        r.0 -= first;
    }
    Ok((seen, Duration::from_nanos(end - first)))
}

fn ns(n: i64) -> Duration {
    Duration::from_nanos(n.unsigned_abs())
}

fn sleep_until(at: Instant) {
    let rest = at.saturating_duration_since(Instant::now());
    if !rest.is_zero() {
        std::thread::sleep(rest);
    }
}
