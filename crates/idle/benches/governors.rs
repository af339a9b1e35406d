//! Speed of the governors on one core: decisions a second, each with what is
//! learned from the sleep before it.
//!
//! `cargo bench -p dormouse-idle` prints times; nothing is asserted, because
//! machines differ. With arguments GOVERNOR VERSION DECISIONS it does that and
//! nothing more, to be counted by callgrind.
// A benchmark reads clocks and its own arguments; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dormouse_idle::governors::{Governor, Kind, Outcome, Question, SleepLength, Version};
use dormouse_idle::state::{State, StateSet, Table};
use std::hint::black_box;
use std::time::Instant;

const TICK: i64 = 4_000_000;
/// Episodes that are drawn beforehand and used again and again.
const EPISODES: usize = 4_096;

struct Episode {
    sleep: SleepLength,
    residency: i64,
    tick: bool,
}

/// Sleeps from 1 us to 30 ms; a third end at the timer, a tenth by the tick.
fn episodes() -> Vec<Episode> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |below: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % below
    };
    let one = |_| {
        let scale = 1_000i64 << draw(15);
        let timer = scale + draw(scale as u64) as i64;
        let event = timer.min(1 + draw(TICK as u64) as i64);
        let early = draw(3) != 0;
        let residency = if early { 500 + draw(timer as u64) as i64 } else { timer };
        Episode { sleep: SleepLength { timer, event }, residency, tick: draw(10) == 0 }
    };
    (0..EPISODES).map(one).collect()
}

/// POLL to C9 of an i7-6820HQ: exit latency and target residency in us.
fn table() -> Table {
    let us = [(0, 0), (2, 2), (10, 20), (70, 100), (85, 200), (124, 800), (200, 800), (480, 5_000)];
    let state = |(i, (latency, residency)): (usize, (i64, i64))| State {
        latency: latency * 1_000,
        residency: residency * 1_000,
        polls: i == 0,
        ..State::default()
    };
    Table::new(us.into_iter().enumerate().map(state).collect()).expect("eight states")
}

fn decide(kind: Kind, version: Version, table: &Table, episodes: &[Episode], count: u64) -> u64 {
    let mut governor = Governor::new(kind, version, table);
    let (mut sum, mut now) = (0u64, 0);
    for e in episodes.iter().cycle().take(count as usize) {
        let d = governor.select(&Question {
            table,
            disabled: StateSet::NONE,
            limit: 2_000_000_000_000,
            tick: TICK,
            tick_stopped: false,
            sleep: e.sleep,
            now,
            iowait: 0,
        });
        now += e.residency;
        sum += d.state as u64;
        governor.reflect(&Outcome {
            entered: d.state,
            residency: e.residency,
            poll_limit: false,
            tick: e.tick,
            now,
        });
    }
    sum
}

/// Nanoseconds this process has computed; wall time where the system does not
/// say. A loaded machine does not falsify the former.
fn computed(begin: Instant) -> u64 {
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|s| s.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| begin.elapsed().as_nanos() as u64)
}

fn main() {
    let (table, episodes) = (table(), episodes());
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if let [governor, version, count] = &words[..] {
        let kind = Kind::named(governor).expect("a governor");
        let version = Version::named(version).expect("6.12 or 7.2");
        let count = count.parse().expect("a number of decisions");
        black_box(decide(kind, version, &table, &episodes, count));
        return;
    }
    let started = Instant::now();
    println!("{:<10}{:>6}{:>24}{:>14}", "governor", "rules", "million decisions/s", "mean state");
    const COUNT: u64 = 20_000_000;
    for kind in Kind::ALL {
        for version in Version::ALL {
            let begin = computed(started);
            let sum = black_box(decide(kind, version, &table, &episodes, COUNT));
            let seconds = (computed(started) - begin) as f64 / 1e9;
            println!(
                "{:<10}{:>6}{:>24.1}{:>14.2}",
                kind.name(),
                version.name(),
                COUNT as f64 / seconds / 1e6,
                sum as f64 / COUNT as f64
            );
        }
    }
}
