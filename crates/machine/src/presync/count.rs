//! The count of wakeups, read by a thread of its own: the read waits while a source
//! is active and only a signal ends it (drivers/base/power/wakeup.c:
//! pm_get_wakeup_count, 6.12).

use crate::root::Root;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Where it is read, and armed by writing it back.
pub const FILE: &str = "/sys/power/wakeup_count";

/// Pause between two reads.
const PAUSE: Duration = Duration::from_millis(20);
/// A read that takes longer waits for a source, if one says that it is active.
const SUSPECT: Duration = Duration::from_millis(30);
/// The same where sources say nothing (before 5.4).
const BLOCKS: Duration = Duration::from_millis(100);
/// The same though none says so. On a busy machine the thread that reads stands for
/// longer than 100 ms now and then without being run, and nobody woke anything.
const SURE: Duration = Duration::from_secs(5);

/// What the thread tells.
#[derive(Debug, Default)]
struct Told {
    /// When the read began that has not ended.
    reading: Mutex<Option<Instant>>,
    value: AtomicU64,
    /// Reads that ended.
    reads: AtomicU64,
    missing: AtomicBool,
    stop: AtomicBool,
}

/// The count, and whether something happened since it was taken.
#[derive(Debug)]
pub struct Count {
    told: Arc<Told>,
    first: Option<u64>,
    sources: BTreeMap<String, u64>,
}

/// What ends a sleep before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The count has changed.
    Counted,
    /// A source is active.
    Active,
}

impl Count {
    /// Takes the count; [`Event::Active`] if the read waits for a source.
    pub fn take(root: &Root) -> Result<Count, Event> {
        let told = Arc::new(Told::default());
        let (root_of_thread, thread_told) = (root.clone(), Arc::clone(&told));
        let sources = events(root);
        thread::spawn(move || read_on(&root_of_thread, &thread_told));
        let begin = Instant::now();
        let mut count = Count { told, first: None, sources };
        while count.told.reads.load(Ordering::Acquire) == 0 {
            if begin.elapsed() > BLOCKS && count.waits(root, begin.elapsed()) {
                return Err(Event::Active);
            }
            thread::sleep(Duration::from_millis(1));
        }
        let missing = count.told.missing.load(Ordering::Acquire);
        count.first = (!missing).then(|| count.told.value.load(Ordering::Acquire));
        Ok(count)
    }

    /// The count as it was taken; none on a kernel without.
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    /// What happened since.
    pub fn event(&self, root: &Root) -> Option<Event> {
        let first = self.first?;
        if self.told.value.load(Ordering::Acquire) != first {
            return Some(Event::Counted);
        }
        let since = self.told.reading.lock().map_or(None, |r| *r)?.elapsed();
        self.waits(root, since).then_some(Event::Active)
    }

    /// Whether a read that has gone on for so long waits for a source.
    fn waits(&self, root: &Root, since: Duration) -> bool {
        let silent = self.sources.is_empty() && since > BLOCKS;
        silent || since > SURE || since > SUSPECT && !active(root).is_empty()
    }

    /// The sources that had an event since, or are active.
    pub fn who(&self, root: &Root) -> Vec<String> {
        let had = |(name, n): &(String, u64)| self.sources.get(name).is_none_or(|was| was < n);
        let mut out: Vec<String> = events(root).into_iter().filter(had).map(|s| s.0).collect();
        out.extend(active(root));
        out.sort_unstable();
        out.dedup();
        out
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // A read that waits ends with the process.
        self.told.stop.store(true, Ordering::Release);
    }
}

fn read_on(root: &Root, told: &Told) {
    let at = |when| {
        if let Ok(mut r) = told.reading.lock() {
            *r = when;
        }
    };
    while !told.stop.load(Ordering::Acquire) {
        at(Some(Instant::now()));
        let value = root.read_number::<u64>(FILE);
        at(None);
        match value {
            Some(n) => told.value.store(n, Ordering::Release),
            None if told.reads.load(Ordering::Acquire) == 0 => {
                told.missing.store(true, Ordering::Release);
            }
            None => {}
        }
        told.reads.fetch_add(1, Ordering::AcqRel);
        if told.missing.load(Ordering::Acquire) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

const SOURCES: &str = "/sys/class/wakeup";

/// Events of each source. Its `wakeup_count` counts only while sleep is armed
/// (drivers/base/power/wakeup.c:wakeup_source_report_event, 6.12).
fn events(root: &Root) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for f in root.list(SOURCES) {
        let name = root.read(&format!("{SOURCES}/{f}/name"));
        let count = root.read_number::<u64>(&format!("{SOURCES}/{f}/event_count"));
        if let (Some(name), Some(count)) = (name, count) {
            // Names are not unique.
            *out.entry(name).or_default() += count;
        }
    }
    out
}

/// Sources that are active now.
pub fn active(root: &Root) -> Vec<String> {
    let is = |f: &String| {
        root.read_number::<u64>(&format!("{SOURCES}/{f}/active_time_ms")).is_some_and(|n| n > 0)
    };
    let folders = root.list(SOURCES).into_iter().filter(is);
    folders.filter_map(|f| root.read(&format!("{SOURCES}/{f}/name"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("sys/class/wakeup/wakeup0");
        fs::create_dir_all(&source).unwrap();
        fs::create_dir_all(dir.path().join("sys/power")).unwrap();
        for (name, value) in [("name", "lid"), ("event_count", "4"), ("active_time_ms", "0")] {
            fs::write(source.join(name), value).unwrap();
        }
        let root = Root::below(dir.path());
        (dir, root)
    }

    #[test]
    fn a_count_that_changes_is_an_event_and_its_source_is_named() {
        let (dir, root) = tree();
        fs::write(dir.path().join("sys/power/wakeup_count"), "17\n").unwrap();
        let count = Count::take(&root).unwrap();
        assert_eq!((count.first(), count.event(&root)), (Some(17), None));
        assert!(count.who(&root).is_empty());
        fs::write(dir.path().join("sys/class/wakeup/wakeup0/event_count"), "5").unwrap();
        fs::write(dir.path().join("sys/power/wakeup_count"), "18\n").unwrap();
        let begin = Instant::now();
        while count.event(&root).is_none() {
            assert!(begin.elapsed() < Duration::from_secs(10));
        }
        assert_eq!(count.event(&root), Some(Event::Counted));
        assert_eq!(count.who(&root), ["lid"]);
    }

    #[test]
    fn a_read_that_waits_is_an_active_source() {
        let (dir, root) = tree();
        // A pipe that nobody writes to: opening it waits, as the kernel's read does.
        let fifo = dir.path().join("sys/power/wakeup_count");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        fs::write(dir.path().join("sys/class/wakeup/wakeup0/active_time_ms"), "250").unwrap();
        let begin = Instant::now();
        assert_eq!(Count::take(&root).unwrap_err(), Event::Active);
        assert!(begin.elapsed() >= BLOCKS);
        assert_eq!(active(&root), ["lid"]);
    }

    #[test]
    fn a_reader_that_is_not_run_for_a_while_is_no_wakeup() {
        let (dir, root) = tree();
        fs::write(dir.path().join("sys/power/wakeup_count"), "17\n").unwrap();
        let count = Count::take(&root).unwrap();
        let late = Duration::from_millis(400);
        assert!(!count.waits(&root, late) && count.waits(&root, SURE * 2));
        fs::write(dir.path().join("sys/class/wakeup/wakeup0/active_time_ms"), "40").unwrap();
        assert!(count.waits(&root, late) && !count.waits(&root, SUSPECT / 2));
        // Before 5.4 no source says anything.
        fs::remove_dir_all(dir.path().join("sys/class/wakeup")).unwrap();
        let count = Count::take(&root).unwrap();
        assert!(count.waits(&root, late));
    }

    #[test]
    fn a_kernel_without_a_count_has_no_events() {
        let (_dir, root) = tree();
        let count = Count::take(&root).unwrap();
        assert_eq!((count.first(), count.event(&root)), (None, None));
    }
}
