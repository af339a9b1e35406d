//! What sleep would sync, written before it, so that the kernel's own sync finds
//! little. That one stays on: what is dirty when it begins is on disk when it ends,
//! whatever happened here. Nothing here can hang, and leaving off undoes nothing.
//!
//! The kernel's flushers are kicked and do the work, side by side for all disks;
//! this process watches, and stops at a wakeup, at a signal, or when its time is
//! spent. Only when little is left, a child for each file system calls `syncfs`,
//! which writes the rest, empties the caches of the drives, and reports errors.

pub mod count;
pub mod disk;
pub mod flush;
pub mod mount;

use crate::guard::{self, Guard, Observer, Restored, Step};
use crate::root::Root;
use crate::system;
use count::Count;
use disk::{Disk, Sample};
use flush::{Done, Flush, Open, Program};
use mount::{Mount, Skipped};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Writing another value than the one in force wakes every flusher, which then
/// writes what is dirty at that moment and makes nobody wait
/// (mm/page-writeback.c:dirty_writeback_centisecs_handler, 6.12).
pub const KICK: &str = "/proc/sys/vm/dirty_writeback_centisecs";

/// Counts of disks; a folder for each.
const DISKS: &str = "/sys/kernel/debug/bdi";

/// Time between two looks for an event, and for children.
const TICK: Duration = Duration::from_millis(10);
/// Time between two looks at the disks.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two kicks.
const AGAIN: Duration = Duration::from_secs(1);

/// When little enough is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Every disk needs at most so long.
    Time(Duration),
    /// At most so many bytes on all disks.
    Bytes(u64),
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// All that it may take. Nothing: no data is written, and sleep is only armed.
    pub budget: Duration,
    /// When children finish the work.
    pub until: Until,
    /// At the end, wakeups since the start are made to end the next sleep.
    pub arm: bool,
    /// Folder of the journal.
    pub journal: String,
    /// What a child runs: it calls [`flush::child`].
    pub child: Program,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All that was dirty at the start is written.
    Short,
    /// A wakeup came: by these sources.
    Wakeup(Vec<String>),
    /// A signal came.
    Signal,
    /// The time is spent.
    Spent,
    /// This disk gets no emptier; what was written and dirtied in 3 s.
    Stuck {
        /// Name of the disk.
        disk: String,
        /// Bytes written.
        written: u64,
        /// Bytes dirtied.
        dirtied: u64,
    },
    /// Nothing was asked for.
    Nothing,
}

/// A disk, as it was and is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The counts.
    pub disk: Disk,
    /// File systems on it.
    pub mounts: Vec<String>,
}

/// A file system that a child synced, or was to sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// Its mount.
    pub mount: Mount,
    /// What became of it.
    pub done: Done,
}

/// What was done.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Disks that had something to write.
    pub disks: Vec<Watched>,
    /// Whether the disks could be told apart.
    pub apart: bool,
    /// File systems for which a child was started.
    pub flushed: Vec<Flushed>,
    /// File systems that are left to the kernel.
    pub skipped: Vec<Skipped>,
    /// How long it took.
    pub took: Duration,
    /// Times that the flushers were kicked.
    pub kicks: u32,
    /// Whether wakeups can end it: the kernel has a count.
    pub counted: bool,
    /// Sleep is armed.
    pub armed: bool,
    /// What was put back.
    pub restored: Restored,
}

impl Outcome {
    /// Whether something could not be written.
    pub fn write_error(&self) -> bool {
        self.flushed.iter().any(|f| matches!(f.done, Done::Failed(_)))
    }
}

/// Why nothing could be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not allowed to.
    #[error("it writes to {KICK}: run it as root (sudo dormouse sync …)")]
    NotRoot,
    /// The knob or its journal.
    #[error(transparent)]
    Guard(#[from] guard::Error),
    /// Nothing tells what is dirty.
    #[error("neither {DISKS} nor /proc/meminfo tells what is to be written: mount debugfs")]
    NoDisks,
    /// The kernel has no count of wakeups.
    #[error("this kernel has no {}, so sleep cannot be armed: leave out --arm", count::FILE)]
    NoCount,
    /// The count could not be written back.
    #[error("sleep could not be armed through {}: {}", count::FILE, .0)]
    NotArmed(io::Error),
}

/// Everything that is known of the machine at one moment, without a write.
#[derive(Debug)]
pub struct Seen {
    /// Disks.
    pub disks: Vec<Watched>,
    /// Whether they could be told apart.
    pub apart: bool,
    /// File systems that a child would sync.
    pub chosen: Vec<Mount>,
    /// The others.
    pub skipped: Vec<Skipped>,
}

/// Looks, and does nothing.
///
/// # Errors
/// If nothing tells what is dirty.
pub fn look(root: &Root) -> Result<Seen, Error> {
    let mounts = mounts(root);
    let (chosen, skipped) = mount::choose(&mounts);
    let mut disks = Disks::new(root, &mounts);
    disks.look(0)?;
    Ok(Seen { apart: disks.apart, disks: disks.with_work(), chosen, skipped })
}

fn mounts(root: &Root) -> Vec<Mount> {
    mount::parse(&root.read("/proc/self/mountinfo").unwrap_or_default())
}

/// Does it. `stop` ends it at the next look.
///
/// # Errors
/// If it cannot begin, or cannot arm; every knob is put back.
pub fn run(
    root: &Root,
    ask: &Ask,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let begin = Instant::now();
    let mounts = mounts(root);
    let (chosen, mut skipped) = mount::choose(&mounts);
    let mut out = Outcome {
        end: End::Nothing,
        disks: Vec::new(),
        apart: true,
        flushed: Vec::new(),
        skipped: Vec::new(),
        took: Duration::ZERO,
        kicks: 0,
        counted: true,
        armed: false,
        restored: Restored::default(),
    };
    let count = match Count::take(root) {
        Ok(count) => count,
        Err(_) => {
            out.end = End::Wakeup(count::active(root));
            out.took = begin.elapsed();
            return Ok(out);
        }
    };
    out.counted = count.first().is_some();
    if ask.arm && !out.counted {
        return Err(Error::NoCount);
    }
    let mut disks = Disks::new(root, &mounts);
    if !ask.budget.is_zero() {
        disks.look(0)?;
        let open = flush::open(root, chosen, &mut skipped);
        let mut guard = Guard::begin(root, &ask.journal, observer)?;
        let mut work = Work { root, ask, stop, count: &count, begin, disks: &mut disks };
        let end = work.press(&mut guard, &mut out.kicks).and_then(|end| match end {
            Some(end) => Ok((end, Vec::new())),
            None => work.finish(&mut guard, open),
        });
        out.restored = guard.end();
        let (end, flushed) = end?;
        out.end = end;
        out.flushed = flushed;
    } else if count.event(root).is_some() {
        out.end = End::Wakeup(Vec::new());
    }
    // What happened is known now; who it was takes longer to find out.
    if let End::Wakeup(who) = &mut out.end {
        *who = count.who(root);
    }
    let good = matches!(out.end, End::Short | End::Nothing) && !out.write_error();
    if let Some(first) = count.first().filter(|_| ask.arm && good) {
        match arm(root, first, observer) {
            Ok(()) => out.armed = true,
            // The count is not that of the start (pm_save_wakeup_count, 6.12).
            Err(e) if e.raw_os_error() == Some(system::INVALID) => {
                out.end = End::Wakeup(count.who(root));
            }
            Err(e) => return Err(Error::NotArmed(e)),
        }
    }
    out.apart = disks.apart;
    out.disks = disks.with_work();
    out.skipped = skipped;
    out.took = begin.elapsed();
    Ok(out)
}

/// The last act: from here on a wakeup that came since the count was taken ends sleep.
/// It holds until a wakeup or the next sleep, and nothing has to put it back.
fn arm(root: &Root, count: u64, observer: &mut dyn Observer) -> io::Result<()> {
    let value = count.to_string();
    let step = Step::Write { path: count::FILE.into(), value: value.clone() };
    observer.before(&step)?;
    root.write(count::FILE, &value)?;
    observer.after(&step);
    Ok(())
}

/// Two values that differ from each other and from the one in force; with the second
/// the flushers sleep about as long as they did.
fn kicks(old: Option<u64>) -> [String; 2] {
    let old = match old {
        // They were never to wake by themselves.
        None | Some(0) => 500,
        Some(n) => n.min(1_000_000),
    };
    [old + 1, old + 2].map(|n| n.to_string())
}

struct Work<'a> {
    root: &'a Root,
    ask: &'a Ask,
    stop: &'a AtomicBool,
    count: &'a Count,
    begin: Instant,
    disks: &'a mut Disks,
}

impl Work<'_> {
    fn now(&self) -> u64 {
        self.begin.elapsed().as_millis() as u64
    }

    /// What ends it before its time.
    fn ended(&self) -> Option<End> {
        if self.count.event(self.root).is_some() {
            return Some(End::Wakeup(Vec::new()));
        }
        if self.stop.load(Ordering::Relaxed) {
            return Some(End::Signal);
        }
        (self.begin.elapsed() >= self.ask.budget).then_some(End::Spent)
    }

    fn is_little(&self) -> bool {
        match self.ask.until {
            Until::Time(t) => {
                let t = t.as_millis() as u64;
                self.disks.list.iter().all(|d| d.disk.ms_left() <= t)
            }
            Until::Bytes(most) => {
                let left = self.disks.list.iter().map(|d| d.disk.last.left());
                left.fold(0u64, u64::saturating_add) <= most
            }
        }
    }

    /// Kicks and watches until little is left; none then.
    fn press(&mut self, guard: &mut Guard<'_>, kicked: &mut u32) -> Result<Option<End>, Error> {
        let values = kicks(self.root.read_number(KICK));
        let mut next_look = Instant::now();
        let mut next_kick = next_look;
        loop {
            if let Some(end) = self.ended() {
                return Ok(Some(end));
            }
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK;
                self.disks.look(self.now())?;
                if self.is_little() {
                    return Ok(None);
                }
                if let Some(stuck) = self.disks.stuck() {
                    return Ok(Some(stuck));
                }
            }
            if now >= next_kick {
                next_kick = now + AGAIN;
                let value = &values[*kicked as usize % 2];
                match kicked {
                    0 => guard.set(KICK, value)?,
                    _ => guard.write(KICK, value)?,
                }
                *kicked += 1;
            }
            thread::sleep(TICK);
        }
    }

    /// Lets children write the rest. They are not waited for longer than anything
    /// else is.
    fn finish(
        &mut self,
        guard: &mut Guard<'_>,
        open: Vec<Open>,
    ) -> Result<(End, Vec<Flushed>), Error> {
        let mut children = Vec::new();
        for one in open {
            let at = one.mount.at.clone();
            guard.flush(&at, || children.push(Flush::start(one, &self.ask.child)))?;
        }
        let mut next_look = Instant::now();
        let end = loop {
            children.iter_mut().for_each(Flush::look);
            if children.iter().all(|c| c.done != Done::Running) {
                break End::Short;
            }
            if let Some(end) = self.ended() {
                break end;
            }
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK;
                self.disks.look(self.now())?;
            }
            thread::sleep(TICK);
        };
        if end == End::Short {
            self.disks.look(self.now())?;
        }
        let done = children.into_iter().map(|c| Flushed { mount: c.mount, done: c.done });
        Ok((end, done.collect()))
    }
}

/// The disks of the machine.
#[derive(Debug)]
struct Disks {
    root: Root,
    mounts: Vec<Mount>,
    /// By the name of the kernel's counts.
    list: Vec<Named>,
    apart: bool,
}

#[derive(Debug)]
struct Named {
    bdi: String,
    disk: Disk,
}

impl Disks {
    fn new(root: &Root, mounts: &[Mount]) -> Disks {
        Disks { root: root.clone(), mounts: mounts.to_vec(), list: Vec::new(), apart: true }
    }

    /// Takes a sample of each.
    fn look(&mut self, at: u64) -> Result<(), Error> {
        let names = self.root.list(DISKS);
        self.apart = !names.is_empty();
        let mut any = false;
        for bdi in names.into_iter().filter(|n| disk::is_disk(n)) {
            let text = self.root.read(&format!("{DISKS}/{bdi}/stats")).unwrap_or_default();
            // A stick that was pulled has none.
            let Some(sample) = Sample::parse(&text) else { continue };
            any = true;
            self.take(bdi, at, sample);
        }
        if any {
            return Ok(());
        }
        self.apart = false;
        let read = |path: &str| self.root.read(path).unwrap_or_default();
        let page = system::page_size();
        let sample = Sample::parse_whole(&read("/proc/meminfo"), &read("/proc/vmstat"), page)
            .ok_or(Error::NoDisks)?;
        self.take(String::new(), at, sample);
        Ok(())
    }

    fn take(&mut self, bdi: String, at: u64, sample: Sample) {
        match self.list.iter_mut().find(|d| d.bdi == bdi) {
            Some(d) => d.disk.take(at, sample),
            None => {
                let name = self.root.link_name(&format!("/sys/dev/block/{bdi}"));
                let name = name.filter(|_| !bdi.is_empty()).unwrap_or_else(|| bdi.clone());
                self.list.push(Named { bdi, disk: Disk::new(name, at, sample) });
            }
        }
    }

    /// A disk above what is wanted that gets no emptier.
    fn stuck(&self) -> Option<End> {
        self.list.iter().find_map(|d| {
            let (written, dirtied) = d.disk.stuck()?;
            Some(End::Stuck { disk: d.disk.name.clone(), written, dirtied })
        })
    }

    /// Those that had something to write, with their file systems.
    fn with_work(&self) -> Vec<Watched> {
        let worked = |d: &&Named| d.disk.first.left() > 0 || d.disk.last.left() > 0;
        let watched = |d: &Named| {
            let on = |m: &&Mount| self.disk_of(&m.device) == d.bdi && m.writable;
            let mut mounts: Vec<String> = Vec::new();
            let mut devices: Vec<&str> = Vec::new();
            for m in self.mounts.iter().filter(on) {
                if !devices.contains(&m.device.as_str()) {
                    devices.push(&m.device);
                    mounts.push(m.at.clone());
                }
            }
            Watched { disk: d.disk.clone(), mounts }
        };
        self.list.iter().filter(worked).map(watched).collect()
    }

    /// A partition's data is counted with its disk.
    fn disk_of(&self, device: &str) -> String {
        let at = format!("/sys/dev/block/{device}");
        match self.root.exists(&format!("{at}/partition")) {
            true => self.root.read(&format!("{at}/../dev")).unwrap_or_default(),
            false => device.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kicks_in_a_row_differ_from_each_other_and_from_what_was() {
        for old in [None, Some(0), Some(500), Some(501), Some(1), Some(u64::MAX)] {
            let [a, b] = kicks(old);
            assert_ne!(a, b);
            for v in [a, b] {
                assert_ne!(Some(v.parse::<u64>().unwrap()), old);
                assert!(v.parse::<i32>().is_ok_and(|n| n > 0), "{v}");
            }
        }
    }
}
