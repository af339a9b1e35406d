//! How fast the simulator is. Prints, for boards of 1,000, 10,000 and 100,000
//! devices, all asynchronous and with a warm pool: the time of a whole cycle
//! (six asynchronous phases, prepare and complete) and callbacks a second.
//!
//! `cargo bench -p dormouse-sleep --bench simulator` for times on this machine;
//! under `valgrind --tool=callgrind --toggle-collect='*simulate::run*'` for
//! instruction counts. Arguments: DEVICES [POLICY [REPEATS]].
// Tests and benches read files and clocks; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dormouse_base::device::{Device, DeviceId};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::{Board, BoardDevice, Work};
use dormouse_sleep::simulate::{Cpus, Policy, Profile, Settings, Topology, run};
use std::time::Instant;

fn board(n: usize) -> Board {
    let mut random = Random::new(1);
    let mut board = Board { cpus: 8, pm_async: true, ..Board::default() };
    for i in 0..n {
        board.graph.push(Device {
            parent: (i > 0).then(|| DeviceId(((i - 1) / 4) as u32)),
            async_flag: Some(true),
            ..Device::default()
        });
        let mut d = BoardDevice::default();
        for w in d.work.iter_mut().skip(1).take(6) {
            let sleep = Ns(random.between(5_000, 2_000_000) as i64);
            *w = Some(Work { sleep, ..Work::default() });
        }
        board.devices.push(d);
    }
    board
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
    let started = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let sizes: Vec<usize> = match args.first().and_then(|a| a.parse().ok()) {
        Some(n) => vec![n],
        None => vec![1_000, 10_000, 100_000],
    };
    let policies = match args.get(1) {
        Some(name) => vec![Policy::find(name).expect("a policy")],
        None => vec![
            Policy::find("G1").unwrap(),
            Policy::find("G4").unwrap(),
            Policy::find("DC").unwrap(),
        ],
    };
    for n in sizes {
        let repeats = args.get(2).and_then(|a| a.parse().ok()).unwrap_or((300_000 / n).max(3));
        let topology = Topology::new(&board(n)).expect("a tree");
        for policy in &policies {
            let mut profile = Profile::x86();
            profile.cpus = Some(Cpus::equal(8));
            profile.max_active = Some(1024);
            profile.idle_workers = 1024;
            let settings = Settings { profile, pm_async: None, wakeup_at: None };
            let mut callbacks = 0;
            let begin = computed(started);
            for _ in 0..repeats {
                let run = run(&topology, policy, &settings).expect("a schedule");
                callbacks = run.tally.callbacks;
            }
            // The system counts computing in ticks: only the sum is exact.
            let mean = (computed(started) - begin) as f64 / 1e9 / repeats as f64;
            println!(
                "{n:>7} devices {:<4} {:>9.3} ms of computing a cycle, {:>6.2} M callbacks/s ({callbacks} callbacks, mean of {repeats})",
                policy.name,
                mean * 1e3,
                callbacks as f64 / mean / 1e6
            );
        }
    }
}
