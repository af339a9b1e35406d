//! Process 1 of a guest that loses its power while `dormouse record` is at work,
//! and of the guest that boots next. Run by `tools/check-restore`; does nothing
//! outside such a guest.
//!
//! The first guest sends the journal, as it lies in its place, and every knob as
//! it was after boot over the second serial line, says `CUT`, and waits to be
//! killed with the recorder still running. The second finds the journal in its
//! place and the knobs in `/kept/knobs`.

mod common;

use common::{Knobs, compare, differences, dormouse, knobs};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PLACE: &str = "/kept";
const KNOBS: &str = "/kept/knobs";

fn main() {
    common::run(check);
}

fn check() -> usize {
    if Path::new(KNOBS).exists() { after_the_cut() } else { before_the_cut() }
}

/// Changes knobs, and is killed in the pause after the first cycle.
fn before_the_cut() -> usize {
    let before = knobs();
    fs::create_dir_all(PLACE).unwrap();
    let recorder = Command::new("/dormouse")
        .args([
            "record",
            "--yes",
            "--pm-test",
            "platform",
            "--pm-async",
            "0",
            "--sync-on-suspend",
            "0",
        ])
        .args(["--cycles", "2", "--interval", "3600", "--journal", PLACE, "-o", "/tmp/c"])
        .stderr(fs::File::create("/tmp/said").unwrap())
        .spawn();
    if let Err(e) = recorder {
        println!("dormouse record: {e}");
        return 1;
    }
    let begin = Instant::now();
    let slept =
        || fs::read_to_string("/sys/power/suspend_stats/success").is_ok_and(|n| n.trim() != "0");
    while !slept() {
        if begin.elapsed() > Duration::from_secs(300) {
            println!("no cycle: {}", fs::read_to_string("/tmp/said").unwrap_or_default());
            return 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(500));
    let changed = differences(&before);
    let journal = fs::read_to_string(format!("{PLACE}/journal")).unwrap_or_default();
    if changed == 0 || journal.lines().count() < 2 {
        println!("{changed} knobs changed, journal: {journal}");
        return 1;
    }
    println!(
        "{changed} knobs are changed and {} changes stand in the journal",
        journal.lines().count() - 1
    );
    let mut text = String::new();
    for (path, value) in &before {
        let _ = writeln!(text, "{}", serde_json::to_string(&(path, value)).unwrap());
    }
    let sent = fs::OpenOptions::new().write(true).open("/dev/ttyS1").and_then(|mut line| {
        line.write_all(format!("{journal}\n{text}END\n").as_bytes())?;
        line.flush()
    });
    if let Err(e) = sent {
        println!("ttyS1: {e}");
        return 1;
    }
    println!("CUT");
    // The recorder is in its pause, and no knob was put back.
    std::thread::sleep(Duration::from_secs(3600));
    1
}

/// Every knob is as after the first boot; `restore` says so; recording goes on.
fn after_the_cut() -> usize {
    let text = fs::read_to_string(KNOBS).unwrap_or_default();
    let mut was: Knobs = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    // The kernel works it out from the free memory, and this guest unpacked more.
    was.remove(Path::new("/sys/power/image_size"));
    let mut bad = usize::from(was.len() < 50);
    bad += compare("after the next boot", &was);
    let again = ["record", "--yes", "--pm-test", "freezer", "-o", "/tmp/c", "--journal", PLACE];
    let journal = fs::read(format!("{PLACE}/journal")).unwrap_or_default();
    for (what, args) in
        [("restore", &["restore", "--journal", PLACE][..]), ("the next recording", &again[..])]
    {
        fs::write(format!("{PLACE}/journal"), &journal).unwrap();
        let ran = dormouse(args, None);
        print!("{what} after the cut: {}", ran.text);
        let wrong = ran.killed
            || !ran.success
            || (what == "restore" && !ran.text.contains("has been restarted"));
        bad += usize::from(wrong) + compare(what, &was);
        bad += usize::from(Path::new(&format!("{PLACE}/journal")).exists());
    }
    println!("{} knobs compared", was.len());
    bad
}
