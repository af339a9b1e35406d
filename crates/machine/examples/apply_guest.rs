//! Process 1 of a guest in which `dormouse tune --apply` meets a board that it
//! can make faster, one on which its prediction is wrong, and death at any
//! step. Run by `tools/check-apply`; does nothing outside such a guest.
//!
//! Prints one line a finding and `PASSED` or `FAILED` at the end.

mod common;

use common::{Knobs, Ran, compare, differences, dormouse, knobs};
use std::fs;

const BOARD: &str = "/sys/kernel/debug/dormouse/board";
const INPUT: &str = "/tmp/input.tar.gz";
const RULES: &str = "/tmp/90-dormouse-async.rules";

fn main() {
    common::run(check);
}

fn check() -> usize {
    let loaded = fs::File::open("/board.ko")
        .and_then(|m| Ok(rustix::system::finit_module(&m, c"", 0)?))
        .and_then(|()| fs::write(BOARD, board("")));
    if let Err(e) = loaded {
        println!("the board cannot be built: {e}");
        return 1;
    }
    let mut bad = helps() + killed();
    // The same devices, but their callbacks share a lock that no graph shows:
    // side by side they take as long as one after the other.
    if let Err(e) = fs::write(BOARD, board(",0,0,1")) {
        println!("the second board cannot be built: {e}");
        return bad + 1;
    }
    bad += does_not_help();
    bad
}

/// Four synchronous devices side by side, which sleep for 20 ms each way.
fn board(lock: &str) -> String {
    let mut text = String::from("dormouse-board 1\ndevice root active\n");
    for i in 0..4 {
        let time = format!("20000000{lock}");
        text.push_str(&format!(
            "device leaf{i} parent=0 active bound suspend={time} resume={time}\n"
        ));
    }
    text.push_str("end\n");
    text
}

/// `tune --apply` on what was recorded of this guest.
fn apply(crash_at: Option<&str>) -> Ran {
    let _ = fs::remove_file(RULES);
    let test = ["--pm-test", "devices", "--interval", "0"];
    let what = ["tune", INPUT, "--bold", "--only", "leaf*", "--udev", RULES];
    let how = [
        "--apply",
        "--yes",
        "--cycles",
        "8",
        "--order-seed",
        "1",
        "--keep-recordings",
        "/tmp/sides",
    ];
    dormouse(&[&what[..], &how, &test].concat(), crash_at)
}

fn record() -> usize {
    let test = ["--pm-test", "devices", "--interval", "0"];
    let ran =
        dormouse(&[&["record", "--yes", "--cycles", "3", "-o", INPUT][..], &test].concat(), None);
    print!("{}", ran.text);
    usize::from(!ran.success)
}

/// How many of the leaves are async.
fn async_leaves() -> usize {
    knobs()
        .iter()
        .filter(|(path, value)| path.ends_with("power/async") && value.trim() == "enabled")
        .filter(|(path, _)| path.to_string_lossy().contains("/leaf"))
        .count()
}

/// Says what was expected and not found.
fn expect(what: &str, right: bool) -> usize {
    if !right {
        println!("NOT: {what}");
    }
    usize::from(!right)
}

fn helps() -> usize {
    // A machine that has just booted sleeps more slowly for some cycles, by so much that
    // tune may refuse to answer from these alone: they are thrown away.
    let mut bad = record() + record();
    let before = knobs();
    let ran = apply(None);
    print!("{}", ran.text);
    bad += expect("tune --apply succeeds", ran.success);
    bad += expect("it says that the flags are kept", ran.text.contains("Kept: "));
    let leaves = async_leaves();
    println!("helps: {leaves} of 4 leaves are async now");
    bad += expect("at least three leaves are async", leaves >= 3);
    bad += expect("nothing but these flags differs", differences(&before) == leaves);
    let rules = fs::read_to_string(RULES).unwrap_or_default();
    let lines = rules.lines().filter(|l| l.contains("ATTR{power/async}=\"enabled\"")).count();
    bad += expect("the udev rule has a line for each", lines == leaves);
    bad += expect("both sides are saved", fs::read_dir("/tmp/sides").is_ok_and(|d| d.count() == 2));
    // A plain restore leaves them alone, and so does the next recording.
    bad += usize::from(!dormouse(&["restore"], None).success) + record();
    bad += expect("restore and record leave them alone", async_leaves() == leaves);
    let again = apply(None);
    bad +=
        expect("a second time there is nothing to do", again.success && async_leaves() == leaves);
    print!("{}", dormouse(&["restore", "--kept"], None).text);
    bad + compare("helps, after restore --kept", &before)
}

/// Recordings of one run of [`apply`]: two to warm up, and a pair for each of
/// its sleeps. The journal is opened once more to make the flags stay.
const RECORDINGS: u32 = 2 + 2 * 8;

/// Dies while it records without and with the flags, and at steps of the end,
/// where the flags are made to stay. That it is all or nothing at every step is
/// shown on a made-up tree, where a run costs less (`tests/apply.rs`).
fn killed() -> usize {
    let mut bad = record();
    let before = knobs();
    let keeping = RECORDINGS + 1;
    let mut most = 0;
    let places = ["1.5", "2.20", "3.30", "10.15", &format!("{RECORDINGS}.25")].map(String::from);
    let last = [1, 4, 6].map(|step| format!("{keeping}.{step}"));
    for at in places.iter().chain(&last) {
        let ran = apply(Some(at));
        let changed = differences(&before);
        most = most.max(changed);
        bad += expect(&format!("it is killed at {at}"), ran.killed);
        bad += back(&["restore"], at, &before);
    }
    // Behind the last step it lives, and the flags stay.
    let end = format!("{keeping}.99");
    let ran = apply(Some(&end));
    bad += expect("it comes to its end", ran.success && async_leaves() >= 3);
    bad += back(&["restore", "--kept"], &end, &before);
    println!("killed: {} times, up to {most} knobs were changed", places.len() + last.len());
    bad + expect("flags and knobs were changed at some death", most > 5)
}

/// Puts back what a run left that was killed `at`.
fn back(how: &[&str], at: &str, before: &Knobs) -> usize {
    let restored = dormouse(how, None);
    if !restored.success {
        println!("{at}: {}", restored.text);
    }
    usize::from(!restored.success) + compare(&format!("killed at {at}"), before)
}

fn does_not_help() -> usize {
    let mut bad = record();
    let before = knobs();
    let ran = apply(None);
    print!("{}", ran.text);
    bad += expect("tune --apply succeeds", ran.success);
    bad += expect("it had something to try", !ran.text.contains("Not tried: "));
    bad += expect("it says that the flags are put back", ran.text.contains("Put back: "));
    bad += expect("there is no udev rule", fs::metadata(RULES).is_err());
    bad += expect("no leaf is async", async_leaves() == 0);
    println!("does not help: {} of 4 leaves are async", async_leaves());
    bad + compare("does not help", &before)
}
