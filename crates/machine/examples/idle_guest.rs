//! Process 1 of a guest in which `dormouse idle tune --apply` meets work that its
//! setting helps, work that it does not, and death at any step. Run by
//! `tools/check-apply`; does nothing outside such a guest.
//!
//! Prints one line a finding and `PASSED` or `FAILED` at the end.

mod common;

use common::{Ran, compare, differences, dormouse, knobs};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const INPUT: &str = "/tmp/input.tar.gz";
const SIDES: &str = "/tmp/sides";

/// States whose deeper ones take long to leave.
const STATES: &std::ffi::CStr = c"states=2:4,100:400,500:2500 jitter=15 seed=3";

/// How long the work sleeps, microseconds: the shortest, and how much longer at
/// most.
static SLEEP: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Long enough for the deepest state.
const LONG: [u64; 2] = [300, 9_000];
/// Too short for any but the first.
const SHORT: [u64; 2] = [60, 60];

fn main() {
    common::run(check);
}

fn check() -> usize {
    let loaded =
        fs::File::open("/idle.ko").and_then(|m| Ok(rustix::system::finit_module(&m, STATES, 0)?));
    if let Err(e) = loaded {
        println!("the idle states cannot be had: {e}");
        return 1;
    }
    works(LONG);
    std::thread::spawn(work);
    refused() + helps() + killed() + does_not_help()
}

fn works([least, more]: [u64; 2]) {
    SLEEP[0].store(least, Ordering::Relaxed);
    SLEEP[1].store(more, Ordering::Relaxed);
}

/// Wakes the CPU over and over.
fn work() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    loop {
        // xorshift64: any sequence will do that is the same every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [least, more] = [0, 1].map(|i: usize| SLEEP[i].load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_micros(least + state % more.max(1)));
    }
}

/// `idle tune --apply` on what was recorded of this guest.
fn apply(yes: &[&str], crash_at: Option<&str>) -> Ran {
    let what = ["idle", "tune", INPUT, "--p99", "60us", "--apply", "--keep-recordings", SIDES];
    let how = ["--pairs", "8", "--for", "1s", "--order-seed", "1"];
    dormouse(&[&what[..], &how, yes].concat(), crash_at)
}

fn record() -> usize {
    let ran = dormouse(&["record", "--with", "idle", "--for", "3s", "-o", INPUT], None);
    print!("{}", ran.text);
    usize::from(!ran.success)
}

/// Says what was expected and not found.
fn expect(what: &str, right: bool) -> usize {
    if !right {
        println!("NOT: {what}");
    }
    usize::from(!right)
}

fn refused() -> usize {
    let bad = record();
    let before = knobs();
    let ran = apply(&[], None);
    print!("{}", ran.text);
    bad + expect("without --yes it is refused", !ran.success && ran.text.contains("add --yes"))
        + expect("it says what it would write", ran.text.contains("echo '"))
        + compare("without --yes", &before)
}

fn helps() -> usize {
    let before = knobs();
    let ran = apply(&["--yes"], None);
    print!("{}", ran.text);
    let mut bad = expect("idle tune --apply succeeds", ran.success);
    bad += expect("it says that the setting is kept", ran.text.contains("Kept: "));
    bad += expect("some setting differs", differences(&before) > 0);
    println!("helps: {} settings differ", differences(&before));
    let saved = fs::read_dir(SIDES).map_or(0, Iterator::count);
    bad += expect("all recordings are saved", saved == 16);
    bad += usize::from(!dormouse(&["restore"], None).success);
    bad += expect("restore leaves them alone", differences(&before) > 0);
    print!("{}", dormouse(&["restore", "--kept"], None).text);
    bad + compare("helps, after restore --kept", &before)
}

/// Recordings of one run: two to warm up, and a pair for each of eight. The journal
/// is opened once more to make the setting stay.
const RECORDINGS: u32 = 2 + 2 * 8;

/// Dies while it records without and with the setting, and where it is made to
/// stay.
fn killed() -> usize {
    let before = knobs();
    let mut bad = 0;
    let mut most = 0;
    let keeping = RECORDINGS + 1;
    let places = ["1.5", "2.4", "2.20", "3.12", &format!("{keeping}.2")].map(String::from);
    for at in &places {
        let ran = apply(&["--yes"], Some(at));
        let changed = differences(&before);
        most = most.max(changed);
        bad += expect(&format!("it is killed at {at}"), ran.killed);
        bad += usize::from(!dormouse(&["restore"], None).success);
        bad += compare(&format!("killed at {at}"), &before);
    }
    println!("killed: {} times, up to {most} settings were changed", places.len());
    bad + expect("something was changed at some death", most > 0)
}

fn does_not_help() -> usize {
    let before = knobs();
    works(SHORT);
    let ran = apply(&["--yes"], None);
    print!("{}", ran.text);
    expect("idle tune --apply succeeds", ran.success)
        + expect("it says that the setting is put back", ran.text.contains("Put back: "))
        + compare("does not help", &before)
}
