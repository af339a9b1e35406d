//! Boards that schedulers are compared on.

use anyhow::{Result, anyhow};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::generate::{Durations, Options, generate};

/// A board and its name.
pub(crate) type Named = (String, Board);

/// Board number `n` of `seed`: 20 to 4,000 devices of all shapes, links of every kind.
pub(crate) fn drawn(seed: u64, n: u64) -> Named {
    let seed = seed.wrapping_mul(1_000) + n;
    let mut random = Random::new(seed);
    // Most boards are small: the size is drawn by its logarithm.
    let devices = (20.0 * 200_f64.powf(random.below(1_000) as f64 / 1_000.0)) as u32;
    let mut percent = |most: u64| random.below(most + 1) as u32;
    let board = generate(&Options {
        seed,
        devices,
        cpus: 4,
        depth: 2 + percent(6),
        fan_out: 2 + percent(6),
        links: percent(60),
        dormant: percent(20),
        sync_state_only: percent(20),
        async_share: percent(100),
        class_children: percent(40),
        late: percent(40),
        noirq: percent(40),
        direct_complete: percent(20),
        durations: Durations { low: Ns::from_us(5), high: Ns::from_ms(10) },
        ..Options::default()
    });
    (format!("drawn{seed}-{devices}"), board)
}

/// Boards on which schedulers differ most: many devices that wait for nobody,
/// asynchronous ones behind children without callbacks, long chains.
pub(crate) fn extremes() -> Result<Vec<Named>> {
    let mut flat = String::from("board 1\ncpus 4\n");
    let mut gated = String::from("board 1\ncpus 4\n");
    let mut chains = String::from("board 1\ncpus 4\n");
    for i in 0..200 {
        flat += &format!("device f{i} async suspend=2ms resume=2ms\n");
    }
    for i in 0..60 {
        gated += &format!("device g{i} async suspend=20ms resume=20ms\n");
        gated += &format!("device g{i}c parent=g{i} sync class\n");
    }
    for i in 0..10 {
        gated += &format!("device s{i} sync suspend=5ms resume=5ms\n");
    }
    for i in 0..20 {
        for k in 0..10 {
            let parent = if k == 0 { String::new() } else { format!("parent=c{i}_{} ", k - 1) };
            chains += &format!("device c{i}_{k} {parent}async suspend=2ms resume=2ms\n");
        }
    }
    [("flat", flat), ("gated", gated), ("chains", chains)]
        .into_iter()
        .map(|(name, text)| {
            let board = dormouse_board::parse(&text).map_err(|e| anyhow!("{name}: {e}"))?;
            Ok((name.to_owned(), board))
        })
        .collect()
}

/// What costs are fitted to, and nothing is judged on. The last tells what devices
/// without callbacks cost.
pub(crate) fn calibration(seed: u64) -> Vec<Named> {
    let shapes =
        [(60, 50, 5_000, 20), (150, 100, 2_000, 20), (150, 80, 20, 20), (400, 60, 200, 85)];
    let board = |(i, (devices, async_share, us, class_children)): (usize, _)| {
        let durations = Durations { low: Ns::from_us(5), high: Ns::from_us(us) };
        let options = Options {
            seed: seed + 1_000 + i as u64,
            devices,
            cpus: 4,
            async_share,
            class_children,
            late: 20,
            noirq: 20,
            durations,
            ..Options::default()
        };
        (format!("calibrate{i}"), generate(&options))
    };
    shapes.into_iter().enumerate().map(board).collect()
}
