//! How long `tune` takes on one core: generated boards of 1,000 devices at
//! several shares of async devices, and the machines of the zoo.
//!
//! `cargo bench -p dormouse-sleep --bench decide [SIMULATIONS [BOARD [POLICY]]]`
//! prints seconds of computing; nothing is asserted, because machines differ.
//! BOARD is the begin of a name in the first column.
// Tests and benches read files and clocks; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dormouse_board::generate::{Options as BoardOptions, SHARES, generate};
use dormouse_board::{Board, parse};
use dormouse_sleep::simulate::policy::{G1, G4};
use dormouse_sleep::simulate::{Profile, Settings};
use dormouse_sleep::tune::{Options, tune};
use std::time::Instant;

/// Nanoseconds this process has computed; wall time where the system does not
/// say. A loaded machine does not falsify the former.
fn computed(begin: Instant) -> u64 {
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|s| s.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| begin.elapsed().as_nanos() as u64)
}

fn boards() -> Vec<(String, Board)> {
    let large = |&share: &u32| {
        (format!("1,000 devices, {share} % async"), generate(&BoardOptions::large(share)))
    };
    let mut list: Vec<(String, Board)> = SHARES.iter().map(large).collect();
    for name in ["am335x", "phone", "laptop", "server"] {
        let path = format!("{}/../../boards/{name}.board", env!("CARGO_MANIFEST_DIR"));
        if let Ok(text) = std::fs::read_to_string(path) {
            list.push((name.into(), parse(&text).expect("a board of the zoo")));
        }
    }
    list
}

fn main() {
    let started = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let given = args.first().and_then(|a| a.parse().ok());
    let wanted = args.get(1).map_or("", String::as_str);
    println!(
        "{:<28}{:>6}{:>9}{:>13}{:>9}{:>13}",
        "board", "rules", "devices", "simulations", "seconds", "tuned"
    );
    for (name, board) in boards().into_iter().filter(|(name, _)| name.starts_with(wanted)) {
        for policy in [&G1, &G4] {
            if args.get(2).is_some_and(|p| p != policy.name) {
                continue;
            }
            let mut settings =
                Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
            settings.complete(board.cpus, None);
            let usual = Options::new(&board);
            let options = Options { bold: true, limit: given.unwrap_or(usual.limit), ..usual };
            let begin = computed(started);
            let t = tune(&board, policy, &settings, &options).expect("a schedule");
            let seconds = (computed(started) - begin) as f64 / 1e9;
            println!(
                "{name:<28}{:>6}{:>9}{:>13}{seconds:>9.2}{:>13}",
                policy.name,
                board.devices.len(),
                t.simulations,
                t.after.total().to_string()
            );
        }
    }
}
