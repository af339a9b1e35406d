//! Who was last to freeze: a reader of a slow disk, a task that computes in the kernel.

use crate::disk::{insert, mount_at, suspend};
use crate::told::{above_note, doctor, log_since, mark, of, record, row};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::{Child, Command};
use std::time::Duration;

const AREAS: [&str; 1] = ["freeze-"];
const NULLB: &str = "/sys/kernel/config/nullb";
/// When each read began, ns of the boot clock.
const BEGUN: &str = "/tmp/begun";

/// What direct I/O wants.
#[repr(align(4096))]
struct Page([u8; 4_096]);

fn boot_clock() -> i64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Reads a disk again and again, past the cache.
pub(crate) fn read(disk: &str) {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let disk = File::options().read(true).custom_flags(direct).open(disk).unwrap();
    let mut begun = File::options().append(true).create(true).open(BEGUN).unwrap();
    let mut page = Page([0; 4_096]);
    loop {
        begun.write_all(&boot_clock().to_le_bytes()).unwrap();
        disk.read_exact_at(&mut page.0, 0).unwrap();
    }
}

/// Computes, and never asks the kernel for anything.
pub(crate) fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

/// Computes in the kernel, a long time in each call: a line of `pagemap` for each page of
/// 32 GiB that are not there. It looks for no signal but a deadly one
/// (fs/proc/task_mmu.c:pagemap_read, 6.12 and 7.3).
pub(crate) fn compute() {
    let map = File::open("/proc/self/pagemap").unwrap();
    let mut buffer = vec![0; 64 << 20];
    loop {
        // From the page at 256 GiB on.
        let _ = map.read_at(&mut buffer, (1 << 26) * 8);
    }
}

pub(crate) fn start(args: &[&str]) -> Child {
    Command::new("/init").args(args).spawn().unwrap()
}

pub(crate) fn stop(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A disk whose reads take exactly this long.
fn make_disk(name: &str, ms: u64) -> std::io::Result<()> {
    let at = format!("{NULLB}/{name}");
    fs::create_dir(&at)?;
    let ns = (ms * 1_000_000).to_string();
    for (file, value) in
        [("size", "64"), ("irqmode", "2"), ("completion_nsec", &ns), ("power", "1")]
    {
        fs::write(format!("{at}/{file}"), value)?;
    }
    Ok(())
}

/// When freezing began and how long it took, ns of the boot clock, by the recording.
fn freezing(file: &str) -> (i64, i64) {
    let reading = dormouse_read::read(
        &[dormouse_read::Input::from_arg(file)],
        &dormouse_read::Options::default(),
    );
    let Ok(reading) = reading else { return (0, 0) };
    let phases = reading.captures.iter().flat_map(|c| &c.cycles).flat_map(|c| &c.phases);
    let first = phases.into_iter().find(|p| p.phase.name().starts_with("freeze"));
    first.map_or((0, 0), |p| (p.start.0, (p.end - p.start).0))
}

/// When the last read began that began before `time`.
fn read_before(time: i64) -> i64 {
    let bytes = fs::read(BEGUN).unwrap_or_default();
    let all = bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("eight")));
    all.filter(|t| *t < time).max().unwrap_or(0)
}

/// A reader of a disk: named, with what it costs, and the kernel's own sleep apart.
pub(crate) fn disks() -> usize {
    if let Err(e) = insert("null_blk", c"nr_devices=0")
        .and_then(|()| mount_at("configfs", "configfs", "/sys/kernel/config", None))
    {
        println!("NOT: disks can be had: {e}");
        return 1;
    }
    let healthy = record(&["--pm-test", "freezer", "--with", "freeze"]);
    let (_, others) = freezing(&healthy);
    let twin = above_note(&doctor(&[&healthy]), &AREAS);
    let mut bad = 0;
    for ms in [20_u64, 100, 300] {
        let name = format!("d{ms}");
        if let Err(e) = make_disk(&name, ms) {
            println!("NOT: a disk of {ms} ms: {e}");
            return bad + 1;
        }
        let reader = start(&["read", &format!("/dev/{name}")]);
        std::thread::sleep(Duration::from_millis(500));
        // How much of a read is left when freezing begins is chance; of 20 ms it may be
        // too little to be a finding.
        let mut file = String::new();
        let mut began = 0;
        for i in 0..6 {
            std::thread::sleep(Duration::from_millis(i * 3));
            file = record(&["--pm-test", "freezer", "--with", "freeze"]);
            began = freezing(&file).0;
            if read_before(began) + ms as i64 * 1_000_000 - began > 11_000_000 {
                break;
            }
        }
        let found = doctor(&[&file]);
        stop(reader);
        // Known without the doctor: the disk answers so long after the read began.
        let blocker = of(&found, "freeze-blocker");
        let said = blocker.first();
        let frozen = said.map_or(0, |f| f.time_ns);
        let true_end = read_before(began) + ms as i64 * 1_000_000;
        // It costs what freezing takes longer than without it, and at most all of it: a part
        // of the time without it is the kernel's sleep, in which all others are frozen.
        let most = true_end - began;
        let least = most - others;
        let off = said.map_or(0, |f| (f.costs_ns - f.costs_ns.clamp(least, most)).abs());
        let right = match said {
            None => false,
            Some(f) => {
                off <= 1_000_000
                    && (frozen - true_end).abs() <= 1_000_000
                    && f.sentence.starts_with("init (pid")
                    && f.sentence.contains("for I/O or a lock")
                    && f.sentence.contains("The kernel looked")
            }
        };
        let told = said.map_or("nothing".into(), |f| {
            format!(
                "{}: {} ms, off by {} us; {}",
                f.id,
                f.costs_ns / 1_000_000,
                off / 1_000,
                f.sentence
            )
        });
        let expected = format!(
            "freeze-blocker, the reader, {:.1} to {:.1} ms",
            least as f64 / 1e6,
            most as f64 / 1e6
        );
        bad += row(
            "G-freeze",
            &format!("a reader of a disk, {ms} ms a read"),
            &expected,
            &told,
            right,
            &twin,
        );
        let _ = fs::remove_file(BEGUN);
    }
    bad + fails(&twin)
}

/// A read longer than the kernel waits: a freezing that fails, by its log.
fn fails(_: &[String]) -> usize {
    if make_disk("d3000", 3_000).is_err() {
        return 1;
    }
    let was = fs::read_to_string("/sys/power/pm_freeze_timeout").unwrap_or_default();
    let _ = fs::write("/sys/power/pm_test", "freezer");
    let healthy = mark("healthy");
    let _ = suspend();
    let twin = above_note(&doctor(&[&log_since(&healthy)]), &AREAS);
    let _ = fs::write("/sys/power/pm_freeze_timeout", "1000");
    let reader = start(&["read", "/dev/d3000"]);
    std::thread::sleep(Duration::from_millis(300));
    let from = mark("fails");
    let failed = suspend().is_err();
    let log = log_since(&from);
    let _ = fs::write("/sys/power/pm_freeze_timeout", was.trim());
    let _ = fs::write("/sys/power/pm_test", "none");
    stop(reader);
    let found = doctor(&[&log]);
    let named = of(&found, "freeze-failed");
    let right =
        failed && named.iter().any(|f| f.sentence.contains("init") && f.sentence.contains("disk"));
    let told = named.first().map_or("nothing".into(), |f| format!("{}: {}", f.id, f.sentence));
    row(
        "G-freeze",
        "a read of 3 s, pm_freeze_timeout 1000",
        "freeze-failed, the reader, a disk",
        &told,
        right,
        &twin,
    )
}

/// Tasks that keep the CPU: no I/O is blamed.
pub(crate) fn no_cpu() -> usize {
    let twin = {
        let spinners: Vec<Child> = (0..4).map(|_| start(&["spin"])).collect();
        std::thread::sleep(Duration::from_millis(300));
        let found = doctor(&[&record(&["--pm-test", "freezer", "--with", "freeze"])]);
        spinners.into_iter().for_each(stop);
        // They are told at the next tick: a busy CPU alone is no fault.
        above_note(&found, &AREAS)
    };
    let computes = start(&["compute"]);
    std::thread::sleep(Duration::from_millis(300));
    let mut told = String::from("nothing in 3 sleeps");
    let mut right = false;
    // How much of a call is left when freezing begins is chance.
    for _ in 0..3 {
        let found = doctor(&[&record(&["--pm-test", "freezer", "--with", "freeze"])]);
        if let Some(f) = of(&found, "freeze-blocker").first() {
            told = format!("{}: {}", f.id, f.sentence);
            right = f.sentence.contains("init") && f.sentence.contains("did not wait for I/O");
            break;
        }
    }
    stop(computes);
    row(
        "G-starve",
        "1 CPU; a task that computes in the kernel; twin: 4 tasks that compute",
        "freeze-blocker, the CPU and not I/O",
        &told,
        right,
        &twin,
    )
}
