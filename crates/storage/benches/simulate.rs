//! Speed of the simulator on one core: requests a second of three loads.
//!
//! `cargo bench -p dormouse-storage` prints times; nothing is asserted, because
//! machines differ. With a number of a load and of requests it simulates those once, so
//! that another program can count instructions (tools/bench-storage).
// A benchmark reads clocks and its own arguments; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dormouse_storage::simulate::disk::simulate;
use dormouse_storage::simulate::load::{Load, Loop, Next};
use dormouse_storage::simulate::settings::{Drive, Nap, Qos, Settings, laboratory};
use std::hint::black_box;

const REQUESTS: u32 = 2_000_000;

/// The disk with all that a setting can do.
fn disk(qos: Qos, autosuspend: Option<i64>) -> (Drive, Settings) {
    let (mut drive, mut settings) = laboratory();
    drive.waits = true;
    drive.gate = Nap { enter: 100_000, wake: 1_000_000 };
    settings.gate = Some(50_000_000);
    settings.qos = qos;
    settings.autosuspend = autosuspend;
    (drive, settings)
}

/// Time on the CPU.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.expect("/proc/self/schedstat tells the time on the CPU") / 1e9
}

/// A load of so many requests by its name.
fn loads(requests: u32) -> [(&'static str, (Drive, Settings), Load); 4] {
    let host = Qos::Host { timeout: 30_000_000 };
    let next = Next::Every(300_000_000);
    let queue = Loop { count: requests, bytes: 4_096, depth: 32, think: 50_000, burst: 256, next };
    [
        ("back to back", disk(Qos::Off, None), Load::paced(requests, requests, 1)),
        (
            "1 read every 6 ms, quality of service",
            disk(host, None),
            Load::paced(requests, 1, 6_000_000),
        ),
        (
            "8 reads every 300 ms, suspended between",
            disk(host, Some(100_000_000)),
            Load::paced(requests, 8, 300_000_000),
        ),
        ("32 at once, all mechanisms", disk(host, Some(100_000_000)), Load::Loop(queue)),
    ]
}

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<u32>().ok());
    if let (Some(which), Some(requests)) = (numbers.next(), numbers.next()) {
        let [(_, (drive, settings), load)] = &loads(requests)[which as usize..=which as usize]
        else {
            unreachable!()
        };
        black_box(simulate(drive, settings, load));
        return;
    }
    for (name, (drive, settings), load) in loads(REQUESTS) {
        // The best of three, in time on the CPU: others compute too.
        let best = (0..3).map(|_| {
            let begin = cpu_seconds();
            black_box(simulate(&drive, &settings, &load));
            cpu_seconds() - begin
        });
        let seconds = best.fold(f64::INFINITY, f64::min);
        println!("{name}: {:.1} million requests a second", f64::from(REQUESTS) / seconds / 1e6);
    }
}
