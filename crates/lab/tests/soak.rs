//! The readiness scheduler under trouble: callbacks that fail, wake-up events, devices
//! that come and go, flags that change, links of every kind, memory that is not there.
//! Boots guests, so ignored by default: `make prove` runs it.
//!
//! `DORMOUSE_SOAK` is how many cycles the long form has; `DORMOUSE_KERNELS` names
//! kernels of one's own that are tried too, `DORMOUSE_PATCHED` one with the first patch
//! of `kernel/upstream`.

use dormouse_board::{Board, parse};
use dormouse_lab::kernels;
use dormouse_lab::plan::Soak;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::soak::{Soaked, run};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(40_000);

/// Three trees of eight, every kind of link, one of them against the order of the list,
/// devices without callbacks and ones that are left suspended.
fn board() -> Board {
    let mut text = String::from("board 1\ncpus 4\n");
    for i in 0..24 {
        text += &format!("device x{i}");
        if i > 2 {
            text += &format!(" parent=x{}", if i < 12 { i % 3 } else { i - 9 });
        }
        text += if i % 4 == 1 { " sync" } else { " async" };
        if i % 6 == 4 {
            text += " class\n";
            continue;
        }
        for callback in ["suspend", "late", "noirq", "resume_noirq", "early", "resume"] {
            text += &format!(" {callback}={}us", 5 + 7 * (i % 5));
        }
        text += "\n";
    }
    text += "link x23 x12 stateless\nlink x20 x3 stateless\n";
    // It moves nobody in the list, so this one goes against it.
    text += "link x5 x21 sync_state_only\nlink x18 x6 sync_state_only\n";
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn soak(series: &str, wish: &Soak, scheduler: Option<&str>) -> Soaked {
    let kernel = kernels::get(Arch::Amd64, series).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Arch::Amd64, Accel::Icount, 4, &kernel.release);
    machine.scheduler = scheduler.map(str::to_owned);
    if wish.leaks {
        machine.words = "kmemleak=on".into();
        machine.memory_mb = 2048;
    }
    let got = run(&kernel, &machine, &board(), wish, LIMIT).unwrap_or_else(|e| panic!("{e}"));
    let mut line = format!("{} {}:", kernel.release, scheduler.map_or("kernel", |_| "ready"));
    for name in
        ["cycles", "failed", "serial", "fails", "wakes", "came", "went", "flips", "walks", "peak"]
    {
        line += &format!(" {name} {}", got.first(name));
    }
    println!(
        "{line} threads {:+} slab {:+} KiB, {:.0} s",
        got.growth("threads"),
        got.growth("slab_kb"),
        got.took.as_secs_f64()
    );
    let faults = got.faults();
    assert!(faults.is_empty(), "{series}: {faults:#?}");
    got
}

fn wish(cycles: u32) -> Soak {
    Soak { cycles, seed: 1, fail: 4, wake: 2, plug: 60, ..Soak::default() }
}

/// Every kind of trouble was there, and nothing of it was left.
fn survives(series: &str, cycles: u32) {
    let got = soak(series, &wish(cycles), Some(""));
    for name in ["failed", "serial", "fails", "wakes", "came", "went", "flips", "walks"] {
        assert!(got.first(name) > 0, "no {name} in {cycles} cycles");
    }
    // A few threads stay, however many cycles there were.
    assert!(got.growth("threads") < 16, "{:?}", got.figures.get("threads"));
    assert!(got.growth("slab_kb") < 1024, "{:?}", got.figures.get("slab_kb"));
}

fn long() -> u32 {
    std::env::var("DORMOUSE_SOAK").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000)
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn a_hundred_sleeps_with_trouble_on_6_12() {
    survives("6.12", 100);
}

#[test]
#[ignore = "boots a guest for hours: `make prove SUBJECT=soak` runs it"]
fn thousands_of_sleeps_with_trouble() {
    for series in ["6.12", "7.3"] {
        survives(series, long());
    }
}

/// 7.3 hangs here within some two hundred cycles: a device that appears on the way down is
/// waited for in two phases and completed once (`device_pm_sleep_init()`).
#[test]
#[ignore = "boots a kernel of one's own: `make prove SUBJECT=upstream` runs it"]
fn the_first_patch_lets_the_kernels_own_walk_survive() {
    let Ok(kernel) = std::env::var("DORMOUSE_PATCHED") else {
        println!("SKIPPED: DORMOUSE_PATCHED names no kernel with that patch");
        return;
    };
    let got = soak(&kernel, &wish(2_000), None);
    assert!(got.first("came") > 0 && got.first("fails") > 0, "{:?}", got.figures);
}

#[test]
#[ignore = "boots kernels of one's own: `make prove SUBJECT=soak` runs it"]
fn kernels_that_check_themselves_find_nothing() {
    let kernels = std::env::var("DORMOUSE_KERNELS").unwrap_or_default();
    if kernels.is_empty() {
        println!("SKIPPED: DORMOUSE_KERNELS names no kernel with checks of itself");
    }
    for series in kernels.split_whitespace() {
        let cycles = long() / 50;
        let checked = Soak { leaks: true, ..wish(cycles) };
        soak(series, &checked, Some(""));
        // Half of the graphs and some of the threads cannot be made.
        let hungry = Soak { no_memory: 50, fail: 0, ..checked };
        let got = soak(series, &hungry, Some(""));
        assert!(got.first("walks") > 6 * got.first("serial"), "no graph failed: {:?}", got.figures);
    }
}
