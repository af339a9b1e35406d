//! A disk of 8 MB/s, data for it, and a source of wakeups.

use super::disk::{self, insert, mount_at};
use rustix::event::epoll;
use std::fs::{self, File};
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where it is mounted.
pub(crate) const MNT: &str = "/mnt";
/// The knob that wakes the flushers.
pub(crate) const KICK: &str = "/proc/sys/vm/dirty_writeback_centisecs";
/// Bytes.
pub(crate) const MIB: usize = 1 << 20;

/// A disk of 8 MB/s with the file system of `/fs.blocks` on it.
pub(crate) fn prepare() -> std::io::Result<()> {
    insert("null_blk", c"nr_devices=0")?;
    insert("", c"")?;
    let nullb = "/sys/kernel/config/nullb";
    mount_at("configfs", "configfs", "/sys/kernel/config", None)?;
    fs::create_dir(format!("{nullb}/slow"))?;
    for (name, value) in [("memory_backed", "1"), ("size", "96"), ("mbps", "8"), ("power", "1")] {
        fs::write(format!("{nullb}/slow/{name}"), value)?;
    }
    disk::lay_out(Path::new("/fs.blocks"), Path::new("/dev/slow"))?;
    fs::create_dir_all(MNT)?;
    mount_at("ext4", "/dev/slow", MNT, None)?;
    // Nothing is written unless somebody asks.
    fs::write(KICK, "0")?;
    fs::write("/proc/sys/vm/dirty_expire_centisecs", "360000")?;
    // The kernel would spend five seconds computing at that point, and an emulator with it.
    fs::write("/sys/module/suspend/parameters/pm_test_delay", "0")?;
    fs::write("/sys/power/pm_test", "freezer")
}

/// Makes so much dirty, in a file that is new.
pub(crate) fn dirty(bytes: usize) {
    let path = format!("{MNT}/data");
    let _ = fs::remove_file(&path);
    let mut file = File::create(&path).unwrap();
    for _ in 0..bytes / MIB {
        file.write_all(&[0x5a; MIB]).unwrap();
    }
}

/// Bytes that are dirty or on their way.
pub(crate) fn left() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    (kib("Dirty") + kib("Writeback")) << 10
}

/// Nothing is dirty any more: the data is forgotten, and what is left written.
pub(crate) fn forget() {
    let _ = fs::remove_file(format!("{MNT}/data"));
    settle();
}

/// Writes everything, so that the next question begins with nothing dirty.
pub(crate) fn settle() {
    rustix::fs::syncfs(File::open(MNT).unwrap()).unwrap();
}

/// A wakeup source of ours: a pipe whose bytes keep the machine awake until they are
/// fetched (fs/eventpoll.c:ep_create_wakeup_source, 6.12).
pub(crate) struct Source {
    poll: OwnedFd,
    input: PipeWriter,
    output: PipeReader,
    rings: AtomicBool,
}

impl Source {
    pub(crate) fn new() -> Source {
        let (output, input) = std::io::pipe().unwrap();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::WAKEUP;
        epoll::add(&poll, &output, epoll::EventData::new_u64(1), flags).unwrap();
        Source { poll, input, output, rings: AtomicBool::new(false) }
    }

    /// An event that stays.
    pub(crate) fn ring(&self) {
        (&self.input).write_all(b"x").unwrap();
        self.rings.store(true, Ordering::Relaxed);
    }

    /// Fetches it: the source is no longer active.
    pub(crate) fn fetch(&self) {
        let mut list = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        if self.rings.swap(false, Ordering::Relaxed) {
            (&self.output).read_exact(&mut [0]).unwrap();
        }
        // The second look finds nothing, which ends it.
        for _ in 0..2 {
            let _ = epoll::wait(&self.poll, &mut list[..], Some(&now));
        }
    }
}

/// Seconds of the kernel's own sync, from its log.
pub(crate) fn kernel_sync() -> Option<f64> {
    let log = disk::log();
    let line = log.lines().rev().find(|l| l.contains("Filesystems sync: "))?;
    line.split("Filesystems sync: ").nth(1)?.split(' ').next()?.parse().ok()
}
