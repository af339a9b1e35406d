//! The livepatch beside the kernel: rows of a table, and what is asked of it.

use super::again::{Longer, again};
use super::args::Args;
use super::boards::Named;
use super::boots::{WAYS, booted, costs_of};
use super::checked::{Checked, FLOOR, PERCENT, SHOWN, most, ms, near, phase};
use super::costs::Known;
use super::foretell::{Foretold, foretell, order as foretold_order};
use super::guest::Played;
use anyhow::{Result, anyhow};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_lab::kernels::Kernel;
use dormouse_sleep::simulate::policy::DC;
use dormouse_sleep::simulate::{Settings, simulate};
use std::collections::BTreeMap;

/// Shorter phases get no row.
const ROW: Ns = Ns(1_000_000);
/// How far above a schedule without or with costs a phase may be.
const OVER_PERCENT: i64 = 5;
const OVER: Ns = Ns(300_000);
/// The bound without costs is asked where it is longer than this, and than so much for
/// each device.
const LONG: Ns = Ns(20_000_000);
const LONG_EACH: Ns = Ns(1_000_000);

/// What one question was asked of, and who missed it.
#[derive(Default)]
pub(crate) struct Asked {
    of: usize,
    missed: usize,
    /// Those that are off by more than [`FLOOR`].
    far: usize,
    /// By board and kernel: what was missed in which phases, the worst of each.
    told: BTreeMap<String, BTreeMap<String, (Ns, String)>>,
}

impl Asked {
    /// `title` and `what` are asked for at most `most`.
    fn at_most(&mut self, is: Ns, most: Ns, title: &str, what: &str, told: &str) {
        self.ask(is <= most, is - most, title, what, told);
    }

    fn ask(&mut self, met: bool, by: Ns, title: &str, what: &str, told: &str) {
        self.of += 1;
        if met {
            return;
        }
        self.missed += 1;
        self.far += usize::from(by > FLOOR);
        let of = self.told.entry(title.into()).or_default();
        let worst = of.entry(what.into()).or_insert_with(|| (Ns::ZERO, String::new()));
        if by >= worst.0 {
            *worst = (by, told.into());
        }
    }

    fn print(&self, question: &str) {
        print!("{question}: {} of {}", self.of - self.missed, self.of);
        match self.missed {
            0 => println!("."),
            _ => println!(
                "; {} miss it by more than {} ms. The worst of each phase:",
                self.far,
                ms(FLOOR)
            ),
        }
        for (title, of) in &self.told {
            let all: Vec<String> = of.iter().map(|(p, (_, t))| format!("{p} {t}")).collect();
            println!("  {title}: {}", all.join("; "));
        }
    }
}

#[derive(Default)]
struct Score {
    checked: Checked,
    worse: Asked,
    calibrated: Asked,
    free: Asked,
    foretold: Asked,
    starts: usize,
    out_of_order: usize,
}

const MODELS: [&str; 5] = ["kernel", "ready", "conserve", "DC", "DCw"];

/// Rows of a board, and its answers in `score`. Gives the phases that were longer with the
/// livepatch, and whether in the cold cycle.
fn judge(
    title: &str,
    board: &Named,
    played: &Played,
    costs: &Known,
    score: &mut Score,
) -> Result<Vec<(Phase, bool)>> {
    let mut longer = Vec::new();
    score.checked.check(title, board, played, &WAYS);
    // The same rules without any cost, and without the guest's own devices.
    let ideal =
        simulate(&board.1, &DC, &Settings::zero_cost()).map_err(|e| anyhow!("{title}: {e}"))?;
    let models: Vec<[Foretold; 2]> =
        MODELS.iter().map(|way| foretell(board, played, way, costs)).collect::<Result<_>>()?;
    for w in [1, 2] {
        let (n, wrong) = foretold_order(&played.ways[w].cycles[1..], &models[w][1]);
        score.starts += n;
        score.out_of_order += wrong;
    }
    for p in SHOWN {
        let seen = |w: usize, cold: bool| phase(&played.ways[w].cycles, cold, p);
        let model = |m: usize, cold: bool| models[m][usize::from(!cold)].phase(p);
        let least = ideal.cycle.phase(p).map(|s| s.duration()).unwrap_or_default();
        if seen(0, false).max(seen(1, false)) >= ROW {
            println!(
                "{title:20} {:13} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
                p.title(),
                ms(least),
                ms(seen(0, false)),
                ms(seen(1, false)),
                ms(model(1, false)),
                ms(model(3, false)),
                ms(seen(2, false)),
                ms(model(2, false)),
            );
        }
        for (kind, cold) in [("cold", true), ("warm", false)] {
            let (kernel, ready) = (seen(0, cold), seen(1, cold));
            let told = format!("{}, kernel {}", ms(ready), ms(kernel));
            score.worse.at_most(ready, most(kernel), title, p.title(), &told);
            if ready > most(kernel) {
                longer.push((p, cold));
            }
            for (w, m) in [(1, 3), (2, 4)] {
                let (is, asked) = (seen(w, cold), model(m, cold));
                let most = Ns(asked.0 * (100 + OVER_PERCENT) / 100);
                let told = format!("{}, {} {}", ms(is), MODELS[m], ms(asked));
                score.calibrated.at_most(is, most, title, p.title(), &told);
                let asked = model(w, cold);
                let told = format!("{kind} {}, foretold {}", ms(is), ms(asked));
                let what = format!("{} {}", WAYS[w].name, p.title());
                let by = Ns((is - asked).0.abs() - FLOOR.0.max(is.0 * PERCENT / 100));
                score.foretold.ask(near(asked, is), by, title, &what, &told);
            }
            let each = LONG_EACH.0 * board.1.devices.len() as i64;
            if least > LONG && least.0 > each {
                let most = Ns(least.0 * (100 + OVER_PERCENT) / 100 + OVER.0);
                let told = format!("{}, no less than {}", ms(ready), ms(least));
                score.free.at_most(ready, most, title, p.title(), &told);
            }
        }
    }
    Ok(longer)
}

/// What the livepatch says of the last warm cycle.
fn said(title: &str, played: &Played) -> String {
    let said = &played.ways[1].said;
    let of = |key: &str| {
        let line = said.lines().find_map(|l| l.strip_prefix(&format!("{key} ")));
        line.unwrap_or("?").to_owned()
    };
    let us = |key: &str| {
        let ns = of(key);
        ns.parse::<u64>().map_or(ns, |n| (n / 1_000).to_string())
    };
    format!(
        "{title}: {} relays, {} in the pool, {} on the caller; graph {} us, then {}; threads {}, \
         at once {}",
        of("suspend/relays"),
        of("suspend/pool"),
        of("suspend/main"),
        us("suspend/graph_ns"),
        us("resume_early/graph_ns"),
        of("workers"),
        of("peak"),
    )
}

/// Prints the table and the answers; true if all is met.
pub(crate) fn compare(a: &Args, kernels: &[(&str, Kernel)]) -> Result<bool> {
    let mut score = Score::default();
    println!(
        "{} boards, {} of them drawn with seed {}; of each a cold cycle and {} warm.",
        a.boards.len(),
        a.drawn,
        a.seed,
        a.cycles - 1
    );
    let mut costs = Vec::new();
    for (series, kernel) in kernels {
        let known = costs_of(kernel, a.seed)?;
        println!("Costs of the guest with {series}, fitted to {}.", known.told);
        costs.push(known);
    }
    println!("Warm phases of {} ms and more; foretold in front of the livepatch:", ms(ROW));
    println!(
        "{:20} {:13} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "board and kernel",
        "phase, ms",
        "no less",
        "kernel",
        "ready",
        "foretold",
        "DC",
        "conserve",
        "foretold"
    );
    let mut told = Vec::new();
    let all = booted(kernels, &a.boards, a.cycles, |_| &WAYS)?;
    let mut longer = Vec::new();
    for (k, ((series, _), (costs, boots))) in kernels.iter().zip(costs.iter().zip(&all)).enumerate()
    {
        for (boards, done) in boots {
            score.checked.faults(series, done);
            for (board, played) in boards.iter().zip(&done.boards) {
                let title = format!("{} {series}", board.0);
                let phases = judge(&title, board, played, costs, &mut score)?;
                if !phases.is_empty() {
                    longer.push(Longer { kernel: k, board, phases });
                }
                told.push(said(&title, played));
            }
        }
    }
    if a.drawn == 0 && a.boards.len() < 10 {
        println!("\nWhat the livepatch says of suspend in the warm cycle:");
        told.iter().for_each(|t| println!("{t}"));
    }
    println!();
    let still = again(kernels, &longer, &mut score.checked)?;
    let fine = score.checked.print();
    score.worse.print("Phases of the livepatch at most 2 % or 0.10 ms longer than the kernel's");
    score.calibrated.print(
        "Phases at most 5 % longer than DC, with conserve DCw, with the costs of the guest's kernel",
    );
    score.free.print(
        "Phases whose bound without costs exceeds 20 ms and 1 ms a device, at most 5 % and 0.30 ms above it",
    );
    score.foretold.print("Phases of the livepatch foretold within 2 % or 0.10 ms");
    println!(
        "Starts of the livepatch out of the order foretold in all of the {} warm cycles, ties apart: \
         {} of {}.",
        a.cycles - 1,
        score.out_of_order,
        score.starts
    );
    let asked = [&score.calibrated, &score.free, &score.foretold];
    Ok(fine && still == 0 && score.out_of_order == 0 && asked.iter().all(|a| a.missed == 0))
}
