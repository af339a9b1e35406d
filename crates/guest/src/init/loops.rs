//! Recordings before and after a change of an idle setting, of CPUs that the
//! same work wakes each time, as `dormouse record --with idle` makes them.

use super::out::Out;
use super::states::set;
use super::system::Result;
use super::system::{DISK, disk, load_module_with, unload_module, write};
use crate::plan::{IDLE_MODULE, IdleSetting, Loops, Work};
use dormouse_machine::guard::NoObserver;
use dormouse_machine::options::Detail;
use dormouse_machine::recorder::NoWatch;
use dormouse_machine::root::Root;
use dormouse_machine::watch::{Ask, Until, record};
use rustix::thread::CpuSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const GOVERNOR: &str = "/sys/devices/system/cpu/cpuidle/current_governor";

/// Sends a recording for each kind of work and setting.
pub(super) fn run(wish: &Loops, dir: &Path, out: &mut Out) -> Result<()> {
    let parameters = format!("states={} jitter={} seed={}", wish.states, wish.jitter, wish.seed);
    load_module_with(&dir.join(IDLE_MODULE), &parameters)?;
    if wish.reads_disk() {
        disk(dir)?;
    }
    for &work in &wish.works {
        for setting in &wish.settings {
            println!("dormouse guest: {} {}", work.name(), setting.name());
            out.send(&wish.answer(work, setting), &one(wish, work, setting)?)?;
        }
    }
    unload_module("dormouse_idle")
}

/// One recording, as the bytes of a capture file.
fn one(wish: &Loops, work: Work, setting: &IdleSetting) -> Result<Vec<u8>> {
    write(GOVERNOR, &setting.governor)?;
    set(setting.limit_us, setting.disabled)?;
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = work
        .threads()
        .iter()
        .enumerate()
        .map(|(n, &kind)| {
            let (stop, seed) = (Arc::clone(&stop), wish.seed);
            std::thread::spawn(move || {
                pin(n);
                // Two of a kind must not draw the same: they would keep in step.
                wake(kind, seed * 64 + n as u64, &stop);
            })
        })
        .collect();
    let ask = Ask {
        with: vec![Detail::Idle],
        until: Until::After(Duration::from_millis(wish.span_ms)),
        buffer_kib: Some(wish.span_ms * 24 + 4_096),
        journal: "/tmp/dormouse".into(),
        set: Vec::new(),
    };
    let outcome = record(&Root::real(), &ask, &mut NoObserver, &mut NoWatch);
    stop.store(true, Ordering::Relaxed);
    for w in workers {
        let _ = w.join();
    }
    set(0, None)?;
    let outcome = outcome.map_err(|e| e.to_string())?;
    if let Some(e) = outcome.error {
        return Err(e.to_string());
    }
    if let Some(f) = outcome.restored.failed.first() {
        return Err(format!("{} was not put back: {}", f.path, f.reason));
    }
    dormouse_machine::file::encode(&outcome.recording, Vec::new()).map_err(|e| e.to_string())
}

/// Keeps the calling thread on one CPU, so that what it does wakes that one.
fn pin(n: usize) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut set = CpuSet::new();
    set.set(n % cpus);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Wakes its CPU until told to stop.
pub(super) fn wake(kind: Kind, seed: u64, stop: &AtomicBool) {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((kind as u64) << 32);
    let mut draw = |most: u64| {
        // xorshift64: any sequence will do that is the same every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    if kind == Kind::Slack {
        let me = rustix::thread::gettid().as_raw_nonzero();
        let _ = write(&format!("/proc/{me}/timerslack_ns"), "2000000");
    }
    let sleep = |us: u64| std::thread::sleep(Duration::from_micros(us));
    // 4 KiB, aligned as the disk wants it.
    let mut room = vec![0u8; 8192];
    let at = room.as_ptr().align_offset(4096);
    let file = (kind == Kind::Disk).then(|| {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        std::fs::OpenOptions::new().read(true).custom_flags(direct).open(DISK)
    });
    while !stop.load(Ordering::Relaxed) {
        match kind {
            Kind::Periodic => sleep(1_700),
            Kind::Slow => sleep(23_000),
            Kind::Bursts => {
                for _ in 0..draw(8) {
                    sleep(20 + draw(300));
                    spin(draw(20_000));
                }
                sleep(draw(20_000));
            }
            Kind::Slack => sleep(1_000 + draw(4_000)),
            Kind::Random => sleep(1 << draw(14)),
            Kind::Disk => {
                let Some(Ok(file)) = &file else { return };
                let page = draw(4_096) * 4_096;
                if read(file, &mut room[at..at + 4_096], page).is_err() {
                    return;
                }
                spin(draw(20_000));
            }
        }
        spin(draw(20_000));
    }
}

fn read(file: &File, room: &mut [u8], at: u64) -> std::io::Result<usize> {
    file.read_at(room, at)
}

/// A little to do.
fn spin(rounds: u64) {
    for _ in 0..rounds {
        std::hint::black_box(());
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Periodic,
    Slow,
    Bursts,
    Slack,
    Random,
    Disk,
}

impl Work {
    /// One thread on each CPU, in turn.
    fn threads(self) -> &'static [Kind] {
        match self {
            Work::Periodic => &[Kind::Periodic, Kind::Slow],
            Work::Bursts => &[Kind::Bursts, Kind::Bursts],
            Work::Slack => &[Kind::Slack, Kind::Slack, Kind::Slack, Kind::Periodic],
            Work::Disk => &[Kind::Disk, Kind::Slow],
            Work::Mixed => &[Kind::Random, Kind::Bursts, Kind::Slack, Kind::Periodic],
        }
    }
}
