//! What recording costs: how long each phase takes with and without it, with the
//! same board in the same boot, by the clock of the kernel under instruction
//! counting. Boots guests, so ignored by default: `make lab-cases` runs it too.
//!
//! Recording writes two events for each callback, and nothing else of it is to
//! be seen. So with devices one after the other a phase may differ by 1 % or
//! 20 us, but prepare and complete, in which the kernel does almost nothing but
//! write these events, one for a device and another, may differ by what the
//! events take. With asynchronous devices on one CPU the events of one delay
//! another, and who computes when changes, so there each phase is allowed 2 %
//! and its events.

use dormouse_core::phase::Phase;
use dormouse_core::time::Ns;
use dormouse_lab::kernels;
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::repeat;
use dormouse_lab::run::{Job, run};
use dormouse_lab::trace::{Intervals, cycles};
use std::collections::BTreeMap;
use std::time::Duration;

/// Pairs of cycles. A timer interrupt that falls into a short phase takes as
/// long as the phase, and only a median leaves it out.
const PAIRS: usize = 9;

/// The most that the kernel may take to write an event (6.12 takes 0.89 us).
const EVENT: Ns = Ns(1_000);

fn median(mut times: Vec<Ns>) -> Ns {
    times.sort();
    times[times.len() / 2]
}

fn job(board: &dormouse_core::board::Board, pm_async: bool, record: bool) -> Job<'_> {
    Job {
        name: String::new(),
        board: Some(board),
        waits: &[],
        sleep: Sleep::Platform,
        pm_async,
        cycles: 1,
        detail: Vec::new(),
        record,
        phases: true,
    }
}

fn check(series: &str) {
    let kernel = kernels::get(Arch::Amd64, series).unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release);
    let board = repeat::board();
    // The first of each mode shows the callbacks, and does late work of the
    // boot; neither is counted.
    let mut jobs = Vec::new();
    for pm_async in [false, true] {
        jobs.push(Job { phases: false, ..job(&board, pm_async, false) });
        for _ in 0..PAIRS {
            jobs.extend([job(&board, pm_async, false), job(&board, pm_async, true)]);
        }
    }
    for (n, job) in jobs.iter_mut().enumerate() {
        job.name = format!("cycle{n}");
    }
    let boot =
        run(&kernel, &machine, &jobs, Duration::from_secs(900)).unwrap_or_else(|e| panic!("{e}"));
    let mut callbacks: BTreeMap<bool, Intervals> = BTreeMap::new();
    let mut times: BTreeMap<(bool, Phase, bool), Vec<Ns>> = BTreeMap::new();
    for (job, outcome) in jobs.iter().zip(&boot.outcomes) {
        let mut seen = cycles(&outcome.trace);
        assert_eq!(seen.len(), 1, "{}", job.name);
        let cycle = seen.remove(0);
        if !job.phases {
            callbacks.insert(job.pm_async, cycle);
            continue;
        }
        for (phase, t) in cycle.phases {
            times.entry((job.pm_async, phase, job.record)).or_default().push(t);
        }
    }
    let mut over = 0;
    for pm_async in [false, true] {
        println!("{}, pm_async {}, medians of {PAIRS} cycles", kernel.release, u8::from(pm_async));
        for phase in Phase::DEVICE {
            let of = |record| {
                let t = times.get(&(pm_async, phase, record)).cloned().unwrap_or_default();
                assert_eq!(t.len(), PAIRS, "{phase:?}");
                median(t)
            };
            let (without, with) = (of(false), of(true));
            let events = 2 * callbacks[&pm_async].of.keys().filter(|(p, _)| *p == phase).count();
            let least = matches!(phase, Phase::Prepare | Phase::Complete);
            let price = if pm_async || least { EVENT.0 * events as i64 } else { 0 };
            let share = without.0 / if pm_async { 50 } else { 100 };
            let allowed = share.max(20_000) + price;
            let fine = (with.0 - without.0).abs() <= allowed;
            println!(
                "  {:<8}{:<9}{:>11} without{:>11} with recording{:>8} us of {:>4} allowed, {events:>4} events{}",
                phase.direction().name(),
                phase.name(),
                without.to_string(),
                with.to_string(),
                (with.0 - without.0) / 1_000,
                allowed / 1_000,
                if fine { "" } else { "  TOO MUCH" }
            );
            over += usize::from(!fine);
        }
    }
    assert_eq!(over, 0, "phases that recording changes too much");
}

#[test]
#[ignore = "boots a guest: `make lab-cases` runs it, and `make test` with it"]
fn recording_costs_the_time_of_its_events_and_nothing_else_on_6_12() {
    check("6.12");
}
