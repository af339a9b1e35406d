//! Variants of the kernel's rules, each in the kernel beside the simulator: what all
//! boards together take.

use super::args::Args;
use super::boards::Named;
use super::boots::{KERNEL, READY, booted, costs_of};
use super::checked::{Checked, SHOWN, ms, near, phase};
use super::costs::Known;
use super::foretell::{foretell, rules};
use super::guest::{Played, Way};
use crate::decide::read_board;
use anyhow::{Context, Result, anyhow};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_lab::kernels::Kernel;
use dormouse_sleep::simulate::policy::{G4, GS, GS_PACKED};
use dormouse_sleep::simulate::predict::{Scheduler, draws, outlook};
use dormouse_sleep::simulate::{Cpus, Profile, Settings};
use std::path::Path;

const fn way(name: &'static str, parameters: &'static str) -> Way {
    Way { name, parameters: Some(parameters) }
}

/// In a kernel before 6.16, whose devices start no neighbours.
const BEFORE: [Way; 9] = [
    KERNEL,
    way("G1", "policy=G1"),
    way("G1w", "policy=G1w"),
    way("G2", "policy=G2"),
    way("G3", "policy=G3"),
    way("G4", "policy=G4"),
    way("GS", "policy=GS"),
    READY,
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
    READY,
    way("conserve", "conserve=1"),
];
/// Of these the simulator alone has a form.
const SIMULATED: [&str; 3] = ["DC", "DCw", "G0"];

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

/// The ways that differ on `kernel`.
fn ways_of(kernel: &Kernel) -> &'static [Way] {
    let old = dormouse_sleep::simulate::Kernel::parse(&kernel.release)
        .is_some_and(|k| (k.major, k.minor) < (6, 16));
    if old { &BEFORE } else { &AFTER }
}

/// The boards of `a` that every rule of every kernel brings to an end, as it is foretold;
/// prints the others. A kernel runs so many asynchronous devices at once (6.12: 256), and
/// with some rules all of these may wait for one that is queued behind them: a guest
/// stops there for good, as the simulator says.
fn that_end(a: &Args, kernels: &[(&str, Kernel)], costs: &[Known]) -> Result<Vec<Named>> {
    let mut boards = Vec::new();
    for board in &a.boards {
        let mut hangs = Vec::new();
        for ((series, kernel), costs) in kernels.iter().zip(costs) {
            let profile = costs.profile.clone();
            let settings = Settings { profile, pm_async: None, wakeup_at: None };
            let release = dormouse_sleep::simulate::Kernel::parse(&kernel.release)
                .with_context(|| kernel.release.clone())?;
            for way in ways_of(kernel) {
                if draws(&board.1, rules(way.name, release)?, &settings).is_err() {
                    hangs.push(format!("{} on {series}", way.name));
                }
            }
        }
        if hangs.is_empty() {
            boards.push(board.clone());
        } else {
            println!("{} is left out: it would hang with {}.", board.0, hangs.join(", "));
        }
    }
    Ok(boards)
}

/// Prints a table a kernel; true if no order is wrong.
pub(crate) fn compare(a: &Args, kernels: &[(&str, Kernel)]) -> Result<bool> {
    let mut checked = Checked::default();
    let costs: Vec<Known> =
        kernels.iter().map(|(_, kernel)| costs_of(kernel, a.seed)).collect::<Result<_>>()?;
    let boards = that_end(a, kernels, &costs)?;
    let all = booted(kernels, &boards, a.cycles, ways_of)?;
    for (((series, kernel), costs), boots) in kernels.iter().zip(&costs).zip(&all) {
        let ways = ways_of(kernel);
        let mut sums = vec![Sum::default(); ways.len() + SIMULATED.len()];
        for (boards, done) in boots {
            checked.faults(series, done);
            for (board, played) in boards.iter().zip(&done.boards) {
                checked.check(&format!("{} {series}", board.0), board, played, ways);
                let names = ways.iter().map(|w| w.name).chain(SIMULATED);
                for (n, name) in names.enumerate() {
                    let model = &foretell(board, played, name, costs)?[1];
                    add(&mut sums[n], played, n, |p| model.phase(p));
                }
            }
        }
        println!(
            "{} boards on {series}, all phases of the warm cycles together, ms:",
            boards.len()
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
    unequal_cpus()?;
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

/// CPUs of a phone, in thousandths: where the scheduler may pack workers.
const SPEEDS: [u32; 6] = [350, 350, 350, 350, 1000, 1000];

/// Kannan's series with and without the patch that spreads workers over all CPUs. The
/// laboratory's CPUs are alike, so this is of the simulator alone: the zoo's boards, all
/// their callbacks computing, with the estimated costs of a phone.
fn unequal_cpus() -> Result<()> {
    println!("\nSimulated alone, CPUs of speed {SPEEDS:?}, costs of a phone (estimates), ms:");
    println!(
        "{:20} {:>10} {:>10} {:>10} {:>10}",
        "board, all computing", "", "GS", "GS-packed", "G4"
    );
    for name in ["am335x", "phone", "laptop"] {
        let (_, mut board) = read_board(Path::new(&format!("boards/{name}.board")))?;
        for work in board.devices.iter_mut().flat_map(|d| &mut d.work).flatten() {
            work.compute += std::mem::take(&mut work.sleep);
        }
        let profile = Profile { cpus: Some(Cpus::List(SPEEDS.to_vec())), ..Profile::phone() };
        let settings = Settings { profile, pm_async: None, wakeup_at: None };
        let runs = [&GS, &GS_PACKED, &G4].map(|policy| {
            let by = Scheduler { policy, kernel: None };
            outlook(&board, by, &settings)
        });
        for (word, direction) in [("down", Direction::Suspend), ("up", Direction::Resume)] {
            let mut row = format!("{name:20} {word:>10}");
            for run in &runs {
                let run = run.as_ref().map_err(|e| anyhow!("{name}: {e}"))?;
                row += &format!(" {:>10}", ms(run.half(direction)));
            }
            println!("{row}");
        }
    }
    println!();
    Ok(())
}
