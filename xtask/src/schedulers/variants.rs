//! Variants of the kernel's rules, each in the kernel beside the simulator: what all
//! boards together take.

use super::foretell::foretell;
use super::guest::{Played, Way};
use super::judge::{Checked, SHOWN, ms, near, phase};
use super::{Args, booted, boots, costs_of, folder};
use anyhow::Result;
use dormouse_lab::kernels::Kernel;
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;

const fn way(name: &'static str, parameters: &'static str) -> Way {
    Way { name, parameters: Some(parameters) }
}

const KERNEL: Way = Way { name: "kernel", parameters: None };

/// In a kernel before 6.16, whose devices start no neighbours.
const BEFORE: [Way; 9] = [
    KERNEL,
    way("G1", "policy=G1"),
    way("G1w", "policy=G1w"),
    way("G2", "policy=G2"),
    way("G3", "policy=G3"),
    way("G4", "policy=G4"),
    way("GS", "policy=GS"),
    way("ready", ""),
    way("conserve", "conserve=1"),
];
/// In a newer one: what differs from it in one thing.
const AFTER: [Way; 9] = [
    KERNEL,
    way("G4", "policy=G4"),
    way("leaves-only", "policy=leaves-only"),
    way("roots-and-children", "policy=roots-and-children"),
    way("no-leaf-wait", "policy=no-leaf-wait"),
    way("root-test", "policy=root-test"),
    way("no-repeat", "policy=no-repeat"),
    way("ready", ""),
    way("conserve", "conserve=1"),
];
/// Of these the simulator alone has a form.
const SIMULATED: [&str; 4] = ["DC", "DCw", "GS-packed", "G0"];

/// Sums over boards, in the warm cycle: down and up, seen and foretold, and phases
/// within what is asked of a prediction.
#[derive(Clone, Copy, Default)]
struct Sum {
    seen: [Ns; 2],
    foretold: [Ns; 2],
    near: usize,
    of: usize,
}

fn half(p: Phase) -> usize {
    usize::from(p.direction() == Direction::Resume)
}

/// Prints a table a kernel; true if no order is wrong.
pub fn compare(a: &Args, kernels: &[(&str, Kernel)]) -> Result<bool> {
    let mut checked = Checked::default();
    for (series, kernel) in kernels {
        let costs = costs_of(kernel, a.seed)?;
        let old = dormouse_sleep::simulate::Kernel::parse(&kernel.release)
            .is_some_and(|k| (k.major, k.minor) < (6, 16));
        let ways: &[Way] = if old { &BEFORE } else { &AFTER };
        let mut sums = vec![Sum::default(); ways.len() + SIMULATED.len()];
        for boards in boots(&a.boards) {
            let done = booted(series, kernel, boards, ways, &folder())?;
            checked.faults(series, &done);
            for (board, played) in boards.iter().zip(&done.boards) {
                checked.check(&format!("{} {series}", board.0), board, played, ways);
                let names = ways.iter().map(|w| w.name).chain(SIMULATED);
                for (n, name) in names.enumerate() {
                    let model = &foretell(board, played, name, &costs)?[1];
                    add(&mut sums[n], played, n, |p| model.phase(p));
                }
            }
        }
        println!(
            "{} boards on {series}, all phases of the warm cycles together, ms:",
            a.boards.len()
        );
        println!(
            "{:20} {:>10} {:>10} {:>10} {:>10} {:>9}",
            "policy", "down", "foretold", "up", "foretold", "phases"
        );
        for (n, sum) in sums.iter().enumerate() {
            let name = ways.get(n).map_or_else(|| SIMULATED[n - ways.len()], |w| w.name);
            let seen = |h: usize| match sum.of {
                0 => "-".into(),
                _ => ms(sum.seen[h]),
            };
            println!(
                "{name:20} {:>10} {:>10} {:>10} {:>10} {:>9}",
                seen(0),
                ms(sum.foretold[0]),
                seen(1),
                ms(sum.foretold[1]),
                if sum.of == 0 { "-".into() } else { format!("{}/{}", sum.near, sum.of) },
            );
        }
    }
    println!("\nphases: of those, foretold within 2 % or 0.10 ms.");
    Ok(checked.print())
}

fn add(sum: &mut Sum, played: &Played, way: usize, model: impl Fn(Phase) -> Ns) {
    for p in SHOWN {
        let foretold = model(p);
        sum.foretold[half(p)] += foretold;
        let Some(seen) = played.ways.get(way) else { continue };
        let seen = phase(&seen.cycles, false, p);
        sum.seen[half(p)] += seen;
        sum.of += 1;
        sum.near += usize::from(near(foretold, seen));
    }
}
