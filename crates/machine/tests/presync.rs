//! Data written before sleep, on a made-up tree whose disk empties when it is kicked.

use dormouse_machine::guard::{NoObserver, Observer, Step, restore};
use dormouse_machine::journal::FOLDER;
use dormouse_machine::presync::flush::{Done, Program};
use dormouse_machine::presync::mount::Why;
use dormouse_machine::presync::{Ask, End, Error, KICK, Until, count, run};
use dormouse_machine::root::Root;
use rustix::fs::{AtFlags, StatxFlags};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const STATS: &str = "/sys/kernel/debug/bdi/8:0/stats";

struct Tree {
    root: Root,
    _dir: tempfile::TempDir,
}

fn write(root: &Root, path: &str, text: &str) {
    let place = root.resolve(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

fn stats(root: &Root, left: u64, written: u64) {
    let text = format!(
        "BdiWriteback: 0 kB\nBdiReclaimable: {left} kB\nBdiDirtied: 0 kB\nBdiWritten: {written} kB\n"
    );
    // Whoever reads meanwhile reads the old text or the new.
    write(root, "/sys/kernel/debug/new", &text);
    fs::create_dir_all(root.resolve("/sys/kernel/debug/bdi/8:0")).unwrap();
    fs::rename(root.resolve("/sys/kernel/debug/new"), root.resolve(STATS)).unwrap();
}

/// A disk with 40 MiB to write, mounted at `/mnt`, and a network file system.
fn tree() -> Tree {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::below(dir.path());
    fs::create_dir_all(root.resolve("/mnt")).unwrap();
    let mnt = fs::File::open(root.resolve("/mnt")).unwrap();
    let id = rustix::fs::statx(&mnt, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).unwrap();
    let info = format!(
        "{} 1 8:0 / /mnt rw - ext4 /dev/sda rw\n99 1 0:50 / /net rw - nfs host:/ rw\n",
        id.stx_mnt_id
    );
    write(&root, "/proc/self/mountinfo", &info);
    write(&root, "/proc/sys/kernel/random/boot_id", "b1\n");
    write(&root, KICK, "500\n");
    write(&root, count::FILE, "7\n");
    stats(&root, 40 << 10, 0);
    Tree { root, _dir: dir }
}

fn ask(child: &str) -> Ask {
    Ask {
        budget: Duration::from_secs(60),
        until: Until::Time(Duration::from_millis(200)),
        arm: true,
        journal: FOLDER.into(),
        child: Program(vec!["/bin/sh".into(), "-c".into(), child.into()]),
    }
}

/// The disk, and what may happen to it.
struct Disk<'a> {
    root: &'a Root,
    empties: bool,
    die_at: Option<usize>,
    /// What happens at the first kick.
    then: Box<dyn FnMut() + 'a>,
    steps: Vec<Step>,
}

impl<'a> Disk<'a> {
    fn new(root: &'a Root) -> Disk<'a> {
        Disk { root, empties: true, die_at: None, then: Box::new(|| {}), steps: Vec::new() }
    }
}

impl Observer for Disk<'_> {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        if self.die_at.is_some_and(|n| self.steps.len() >= n) {
            return Err(io::Error::other("killed"));
        }
        self.steps.push(step.clone());
        Ok(())
    }
    fn after(&mut self, step: &Step) {
        if matches!(step, Step::Write { path, .. } if path == KICK) {
            if self.empties {
                stats(self.root, 0, 40 << 10);
            }
            (self.then)();
        }
    }
}

fn value(root: &Root, path: &str) -> String {
    root.read(path).unwrap()
}

#[test]
fn the_disk_is_emptied_the_file_system_synced_and_sleep_armed() {
    let t = tree();
    // What is written to the count shows that it was armed.
    write(&t.root, count::FILE, "0000007");
    let stop = AtomicBool::new(false);
    let mut disk = Disk::new(&t.root);
    let o = run(&t.root, &ask("test -d /proc/self/fd/0"), &stop, &mut disk).unwrap();
    assert_eq!((&o.end, o.armed, o.kicks), (&End::Short, true, 1));
    assert_eq!(o.disks.len(), 1);
    assert_eq!(
        (o.disks[0].disk.written(), &o.disks[0].mounts[..]),
        (40 << 20, &["/mnt".into()][..])
    );
    assert!(
        matches!(o.flushed[..], [ref f] if f.mount.at == "/mnt" && matches!(f.done, Done::Written(_)))
    );
    assert!(matches!(o.skipped[..], [ref s] if s.at == "/net" && s.why == Why::Server));
    assert_eq!((value(&t.root, KICK), value(&t.root, count::FILE)), ("500".into(), "7".into()));
    assert!(!t.root.exists(&format!("{FOLDER}/journal")));
    let flush = disk.steps.iter().position(|s| *s == Step::Flush("/mnt".into())).unwrap();
    let armed = disk
        .steps
        .iter()
        .position(|s| matches!(s, Step::Write { path, .. } if path == count::FILE));
    assert!(armed.unwrap() > flush && armed.unwrap() == disk.steps.len() - 1, "{:?}", disk.steps);
}

#[test]
fn a_wakeup_ends_it_at_once_and_the_knob_is_as_it_was() {
    let t = tree();
    let stop = AtomicBool::new(false);
    let mut disk = Disk::new(&t.root);
    disk.empties = false;
    let mut when = None;
    disk.then = Box::new(|| {
        write(&t.root, count::FILE, "8\n");
        when.get_or_insert_with(Instant::now);
    });
    let o = run(&t.root, &ask("true"), &stop, &mut disk).unwrap();
    drop(disk);
    let took = when.unwrap().elapsed();
    assert!(matches!(o.end, End::Wakeup(_)), "{:?}", o.end);
    assert!(!o.armed && o.flushed.is_empty());
    // 0.2 s in guests, which have nothing else to do; this machine may be busy.
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!((value(&t.root, KICK), value(&t.root, count::FILE)), ("500".into(), "8".into()));
}

#[test]
fn a_signal_and_a_spent_budget_end_it_too() {
    let t = tree();
    let stop = AtomicBool::new(false);
    let mut disk = Disk::new(&t.root);
    disk.empties = false;
    disk.then = Box::new(|| stop.store(true, Ordering::Relaxed));
    assert_eq!(run(&t.root, &ask("true"), &stop, &mut disk).unwrap().end, End::Signal);
    let stop = AtomicBool::new(false);
    let short = Ask { budget: Duration::from_millis(300), ..ask("true") };
    let mut disk = Disk::new(&t.root);
    disk.empties = false;
    let o = run(&t.root, &short, &stop, &mut disk).unwrap();
    assert_eq!((o.end, value(&t.root, KICK)), (End::Spent, "500".into()));
}

#[test]
fn a_disk_that_does_not_empty_is_named() {
    let t = tree();
    let mut disk = Disk::new(&t.root);
    disk.empties = false;
    let o = run(&t.root, &ask("true"), &AtomicBool::new(false), &mut disk).unwrap();
    assert_eq!(o.end, End::Stuck { disk: "8:0".into(), written: 0, dirtied: 0 });
    assert!((3..=4).contains(&o.kicks), "{}", o.kicks);
    let kicked: Vec<&Step> =
        disk.steps.iter().filter(|s| matches!(s, Step::Write { .. })).collect();
    // Each kick differs from the one before, and the last write puts back.
    assert!(kicked.windows(2).all(|w| w[0] != w[1]), "{kicked:?}");
    assert_eq!(value(&t.root, KICK), "500");
}

#[test]
fn a_child_that_fails_is_a_write_error_and_one_that_hangs_is_left_behind() {
    let t = tree();
    let stop = AtomicBool::new(false);
    let o = run(&t.root, &ask("exit 5"), &stop, &mut Disk::new(&t.root)).unwrap();
    assert!(o.write_error() && !o.armed);
    stats(&t.root, 40 << 10, 0);
    let short = Ask { budget: Duration::from_millis(600), ..ask("sleep 20") };
    let begin = Instant::now();
    let o = run(&t.root, &short, &stop, &mut Disk::new(&t.root)).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(15));
    assert_eq!((o.end, o.flushed[0].done), (End::Spent, Done::Running));
}

#[test]
fn without_time_it_only_arms() {
    let t = tree();
    let arm = Ask { budget: Duration::ZERO, ..ask("false") };
    let mut disk = Disk::new(&t.root);
    let o = run(&t.root, &arm, &AtomicBool::new(false), &mut disk).unwrap();
    assert_eq!((o.end, o.armed, o.flushed.len(), disk.steps.len()), (End::Nothing, true, 0, 1));
    fs::remove_file(t.root.resolve(count::FILE)).unwrap();
    let failed = run(&t.root, &arm, &AtomicBool::new(false), &mut NoObserver);
    assert!(matches!(failed, Err(Error::NoCount)));
}

#[test]
fn killed_at_any_step_the_knob_is_put_back() {
    let whole = {
        let t = tree();
        let mut disk = Disk::new(&t.root);
        run(&t.root, &ask("true"), &AtomicBool::new(false), &mut disk).unwrap();
        disk.steps.len()
    };
    assert!(whole >= 7, "{whole}");
    for die_at in 0..whole {
        let t = tree();
        let mut disk = Disk::new(&t.root);
        disk.die_at = Some(die_at);
        let _ = run(&t.root, &ask("true"), &AtomicBool::new(false), &mut disk);
        drop(disk);
        assert!(Path::new(&t.root.resolve(KICK)).exists());
        if die_at % 2 == 0 {
            restore(&t.root, FOLDER, &mut NoObserver).unwrap();
        } else {
            let next = run(&t.root, &ask("true"), &AtomicBool::new(false), &mut Disk::new(&t.root));
            assert_eq!(next.unwrap().end, End::Short, "step {die_at}");
        }
        assert_eq!(value(&t.root, KICK), "500", "step {die_at}");
        assert!(!t.root.exists(&format!("{FOLDER}/journal")), "step {die_at}");
    }
}
