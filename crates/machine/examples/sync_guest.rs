//! Process 1 of a guest in which `dormouse sync` meets a disk of 8 MB/s: wakeups at
//! random moments, death before every step and at any moment, a server that does not
//! answer, a disk that fails, and the sleep that comes after. Run by
//! `tools/check-sync`; does nothing outside such a guest.
//!
//! Prints a table a question, and `PASSED` or `FAILED` at the end.

#[allow(dead_code, reason = "shared with other guests")]
mod common;
#[path = "common/disk.rs"]
mod disk;
#[path = "common/slow.rs"]
mod slow;

use common::{Ran, compare, dormouse, knobs};
use disk::{mount_at, suspend};
use slow::{MIB, MNT, Source, dirty, forget, kernel_sync, left, prepare, settle};
use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What every table is about.
const DATA: usize = 40 * MIB;

fn main() {
    common::run(check);
}

fn check() -> usize {
    if let Err(e) = prepare() {
        println!("the disk cannot be prepared: {e}");
        return 1;
    }
    let mut bad = shortens();
    bad += armed();
    bad += wakeups();
    bad += left_behind();
    bad += every_step();
    bad += any_moment();
    bad += server();
    bad + fails()
}

/// A file system that is frozen, or a disk that hangs, would hold this for ever.
fn can_write() -> bool {
    let begin = Instant::now();
    let wrote = File::create(format!("{MNT}/probe"))
        .and_then(|mut f| f.write_all(b"x").and_then(|()| f.sync_all()));
    wrote.is_ok() && begin.elapsed() < Duration::from_secs(20)
}

fn ms(d: Duration) -> String {
    format!("{}.{}", d.as_millis(), d.as_micros() % 1_000 / 100)
}

fn expect(what: &str, right: bool) -> usize {
    if !right {
        println!("NOT: {what}");
    }
    usize::from(!right)
}

/// Numbers in a row that look random and are the same each time.
struct Moments(u64);

impl Moments {
    fn next(&mut self, least: u64, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        least + self.0 % (most - least)
    }
}

fn start(args: &[&str]) -> Child {
    Command::new("/dormouse")
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Children of `dormouse sync`, whoever their parent is now, that have not ended.
fn children() -> usize {
    let mut found = 0;
    for e in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(e.path().join("cmdline")).unwrap_or_default();
        found += usize::from(line.ends_with(b"\0sync\0--child\0"));
    }
    found
}

/// Waits until no child is left, and takes what ended.
fn children_end(limit: Duration) -> Option<Duration> {
    let begin = Instant::now();
    while children() > 0 {
        if begin.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    reap();
    Some(begin.elapsed())
}

/// Takes orphans that have ended.
fn reap() {
    use rustix::process::{WaitOptions, wait};
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// The kernel's own sync without and with `dormouse sync` before it.
fn shortens() -> usize {
    let mut bad = 0;
    println!(
        "| before the sleep | MiB dirty | dormouse sync, s | kernel's sync, s | left after it, kB |"
    );
    println!("|---|---|---|---|---|");
    for with in [false, true, true] {
        dirty(DATA);
        let was = left() / MIB as u64;
        let begin = Instant::now();
        let ran = with.then(|| dormouse(&["sync"], None));
        let took = begin.elapsed().as_secs_f64();
        let slept = suspend();
        let sync = kernel_sync().unwrap_or(f64::NAN);
        let what = if with { "dormouse sync" } else { "nothing" };
        let took = if with { format!("{took:.2}") } else { "-".into() };
        println!("| {what} | {was} | {took} | {sync:.3} | {} |", left() >> 10);
        bad += expect("it sleeps", slept.is_ok());
        if let Some(ran) = ran {
            bad += said("dormouse sync", &ran, 0);
            bad += expect("the kernel's sync is short", sync < 0.3);
        } else {
            bad += expect("the kernel's sync takes seconds", sync > 3.0);
        }
    }
    println!();
    bad
}

/// Prints what was said if it ended in another way than it should.
fn said(what: &str, ran: &Ran, code: i32) -> usize {
    if ran.code == Some(code) {
        return 0;
    }
    println!("NOT: {what} ends with {code}, but with {:?}: {}", ran.code, ran.text);
    1
}

/// A sleep that is armed ends at a wakeup that came after the count was taken.
fn armed() -> usize {
    let source = Source::new();
    dirty(4 * MIB);
    let mut bad = said("sync --arm", &dormouse(&["sync", "--arm"], None), 0);
    bad += expect("armed, and nothing happens: it sleeps", suspend().is_ok());
    bad += said("sync --arm", &dormouse(&["sync", "--arm"], None), 0);
    source.ring();
    source.fetch();
    let ended = suspend();
    let busy = Some(rustix::io::Errno::BUSY.raw_os_error());
    bad += expect(
        "armed, and a wakeup came: it does not",
        ended.is_err_and(|e| e.raw_os_error() == busy),
    );
    source.ring();
    let ran = dormouse(&["sync", "--arm"], None);
    bad += said("sync while a source is active", &ran, 6);
    source.fetch();
    bad += said("sync --arm alone", &dormouse(&["sync", "--arm", "--budget", "0"], None), 0);
    println!("armed: {} wrong\n", bad);
    bad
}

/// Wakeups at random moments: how long until it has ended.
fn wakeups() -> usize {
    let before = knobs();
    let mut bad = 0;
    let mut worst = Duration::ZERO;
    let mut moments = Moments(0x9e37_79b9_7f4a_7c15);
    let source = Source::new();
    println!(
        "| wakeup after, ms | the source | at that time | MiB left | ended within, ms | code |"
    );
    println!("|---|---|---|---|---|---|");
    for i in 0..20 {
        forget();
        dirty(DATA);
        // Every fourth time children are at work from the start.
        let early = i % 4 == 3;
        let until = if early { "1GiB" } else { "200ms" };
        let at = Duration::from_millis(moments.next(150, 2_500));
        let mut child = start(&["sync", "--until", until, "--arm"]);
        std::thread::sleep(at);
        let (rest, syncing) = (left() / MIB as u64, children());
        let begin = Instant::now();
        source.ring();
        let stays = i % 2 == 0;
        if !stays {
            source.fetch();
        }
        let code = child.wait().unwrap().code();
        let took = begin.elapsed();
        worst = worst.max(took);
        println!(
            "| {} | {} | {} | {rest} | {} | {} |",
            at.as_millis(),
            if stays { "stays active" } else { "is over at once" },
            if syncing > 0 { "children sync" } else { "flushers write" },
            ms(took),
            code.map_or("signal".into(), |c| c.to_string())
        );
        bad += expect("it ends with 6", code == Some(6));
        bad += expect("it ends within 200 ms", took <= Duration::from_millis(200));
        bad += compare("after a wakeup", &before);
        bad += expect("something is left to write", rest > 0);
        source.fetch();
        // With their data forgotten they have less to write.
        let _ = fs::remove_file(format!("{MNT}/data"));
        bad += expect("children end", children_end(Duration::from_secs(30)).is_some());
    }
    println!("20 wakeups: the longest took {} ms\n", ms(worst));
    bad
}

/// Children of a run that was killed end when the disk has written, and not before.
fn left_behind() -> usize {
    let mut bad = 0;
    println!(
        "| killed while children sync | MiB left then | killing the child | it ended after, ms | left then, kB |"
    );
    println!("|---|---|---|---|---|");
    for i in 0..2 {
        forget();
        dirty(DATA);
        let mut child = start(&["sync", "--until", "1GiB"]);
        while children() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(300 + 1_500 * i));
        let rest = left() / MIB as u64;
        child.kill().unwrap();
        child.wait().unwrap();
        let survived = children();
        let ended = children_end(Duration::from_secs(30));
        println!(
            "| {} | {rest} | {survived} still there | {} | {} |",
            i + 1,
            ended.map_or("never".into(), ms),
            left() >> 10
        );
        bad += expect("the child is still there", survived == 1);
        bad += expect("it ends when the disk has written", ended.is_some() && left() < MIB as u64);
        bad += expect("the file system can be written", can_write());
        bad += said("restore", &dormouse(&["restore"], None), 0);
    }
    println!();
    bad
}

/// Kills it before its step 0, 1, 2 … until it comes to its end.
fn every_step() -> usize {
    let before = knobs();
    let (mut bad, mut most) = (0, 0);
    for step in 0..100 {
        forget();
        dirty(2 * MIB);
        let ran = dormouse(&["sync", "--arm"], Some(&step.to_string()));
        if !ran.killed {
            bad += said("the whole", &ran, 0) + compare("after the whole", &before);
            println!(
                "killed before each of {step} steps, up to {most} knobs changed; put back by restore or the next run\n"
            );
            return bad
                + expect("there are steps", step > 6)
                + expect("a knob was changed", most > 0);
        }
        most = most.max(common::differences(&before));
        let next = if step % 2 == 1 { &["sync"][..] } else { &["restore"] };
        bad += said(next[0], &dormouse(next, None), 0);
        bad += compare(&format!("killed before step {step}"), &before);
        bad += expect("children end", children_end(Duration::from_secs(30)).is_some());
        bad += expect("the file system can be written", can_write());
    }
    println!("it did not come to an end");
    bad + 1
}

/// Kills it at random moments of its work.
fn any_moment() -> usize {
    let before = knobs();
    let (mut bad, mut changed, mut kids) = (0, 0, 0);
    let mut moments = Moments(0x1234_5678_9abc_def1);
    for i in 0..20 {
        forget();
        dirty(DATA / 8);
        let until = if i % 3 == 2 { "1GiB" } else { "200ms" };
        let mut child = start(&["sync", "--until", until, "--arm"]);
        std::thread::sleep(Duration::from_millis(moments.next(1, 900)));
        child.kill().unwrap();
        child.wait().unwrap();
        changed += usize::from(common::differences(&before) > 0);
        kids += usize::from(children() > 0);
        let next = if i % 2 == 1 { &["sync"][..] } else { &["restore"] };
        bad += said(next[0], &dormouse(next, None), 0);
        bad += compare("killed at a random moment", &before);
        bad += expect("children end", children_end(Duration::from_secs(30)).is_some());
        bad += expect("the file system can be written", can_write());
    }
    println!(
        "killed at 20 random moments: {changed} times a knob was changed, {kids} times children were at work; put back and ended each time\n"
    );
    bad + expect("a knob was changed at some death", changed > 3)
        + expect("children were at work at some death", kids > 1)
}

/// A file system whose server never answers is not asked.
fn server() -> usize {
    let fuse = File::options().read(true).write(true).open("/dev/fuse").unwrap();
    let data = format!("fd={},rootmode=40000,user_id=0,group_id=0", {
        use std::os::fd::AsRawFd;
        fuse.as_raw_fd()
    });
    fs::create_dir_all("/served").unwrap();
    if let Err(e) = mount_at("fuse.deaf", "deaf", "/served", Some(&data)) {
        println!("NOT: a FUSE file system can be mounted: {e}");
        return 1;
    }
    settle();
    dirty(8 * MIB);
    let begin = Instant::now();
    let ran = dormouse(&["sync"], None);
    let took = begin.elapsed();
    let mut bad = said("sync beside a deaf server", &ran, 0);
    bad += expect("the server's file system is listed", ran.text.contains("/served (fuse.deaf)"));
    bad += expect("nothing waited for it", took < Duration::from_secs(10));
    println!(
        "a FUSE server that never answers: code {:?} after {} ms, left to the kernel\n",
        ran.code,
        ms(took)
    );
    // Without its server it is gone, and with it whatever waits for it.
    drop(fuse);
    let _ = rustix::mount::unmount("/served", rustix::mount::UnmountFlags::DETACH);
    bad
}

/// A disk that fails tells the child; the kernel's own sync keeps it to itself.
fn fails() -> usize {
    // The kernel has much to say of each sector.
    let _ = fs::write("/proc/sys/kernel/printk", "1");
    settle();
    let _ = fs::remove_file(format!("{MNT}/data"));
    settle();
    if let Err(e) = fs::write("/sys/kernel/config/nullb/slow/badblocks", "+49152-180000") {
        println!("NOT: sectors of the disk can fail: {e}");
        return 1;
    }
    dirty(DATA);
    let ran = dormouse(&["sync"], None);
    let mut bad = said("sync of a disk that fails", &ran, 8);
    bad += expect("the file system is named", ran.text.contains("/mnt cannot be written: "));
    println!(
        "a disk that fails: code {:?}: {}\n",
        ran.code,
        ran.text.lines().next().unwrap_or_default()
    );
    let _ = fs::write("/sys/kernel/config/nullb/slow/badblocks", "-49152-180000");
    bad += compare("after a failure", &knobs());
    bad
}
