//! `tune-zoo`: what `tune` finds on every board of the zoo, beside simpler
//! choices and what no schedule can beat.

use crate::decide::read_board;
use anyhow::{Context, Result, bail};
use dormouse_base::cycle::Outcome;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::generate::{Options as BoardOptions, SHARES, generate};
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::predict::{Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use dormouse_sleep::tune::{Options, tune};
use std::fs;
use std::path::Path;

const KERNELS: [&str; 2] = ["6.12", "7.3"];

/// `tune-zoo [--careful] [BOARD…]`: by default every file of `boards/` and
/// four generated boards of 1,000 devices, with every flag free.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let careful = args.iter().any(|a| a == "--careful");
    let names: Vec<&String> = args.iter().filter(|a| !a.starts_with("--")).collect();
    let boards = match names.as_slice() {
        [] => everything()?,
        names => names.iter().map(|n| read_board(Path::new(n))).collect::<Result<_>>()?,
    };
    println!(
        "Suspend plus resume in ms; {}; random: the best of as many settings as tune\n\
         simulated; bound: the longest chains of dependent devices.\n",
        if careful { "careful: only flags with support" } else { "bold: every flag is free" }
    );
    println!(
        "{:<16}{:>5}{:>6}{:>6}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>7}",
        "board",
        "on",
        "free",
        "runs",
        "as came",
        "all sync",
        "all async",
        "random",
        "tune",
        "bound",
        "above"
    );
    let mut worse = 0;
    for (name, board) in &boards {
        for kernel in KERNELS {
            worse += row(name, board, kernel, !careful)?;
        }
    }
    if worse > 0 {
        bail!("on {worse} rows a simpler choice is better than tune (marked with !)");
    }
    println!(
        "\nOn none of {} rows is a simpler choice better than tune.",
        boards.len() * KERNELS.len()
    );
    Ok(())
}

/// Prints a row; 1 if a simpler choice is better.
fn row(name: &str, board: &Board, kernel: &str, bold: bool) -> Result<usize> {
    let (policy, kernel) = choose(kernel).map_err(|e| anyhow::anyhow!("{e}"))?;
    let mut settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    settings.complete(board.cpus, kernel.as_ref());
    let by = Scheduler { policy, kernel };
    let now = outlook(board, by, &settings).with_context(|| name.to_string())?;
    if now.run.cycle.outcome != Outcome::Slept {
        println!("{name:<16}{:>5}  a callback of this board fails: nothing to tune", policy.name);
        return Ok(0);
    }
    let options = Options { bold, ..Options::new(board) };
    let t = tune(board, policy, &settings, &options).with_context(|| name.to_string())?;
    let bounds = now.bounds;
    let bound = bounds.path(Direction::Suspend) + bounds.path(Direction::Resume);
    let others = [t.before, t.all_sync, t.all_async, t.random].map(|c| c.total());
    let best = others.into_iter().min().unwrap_or(Ns::MAX);
    let is = t.after.total();
    let above = 100.0 * (is - bound).0 as f64 / is.0.max(1) as f64;
    print!("{name:<16}{:>5}{:>6}{:>6}", policy.name, t.free_flags, t.simulations);
    others.into_iter().chain([is, bound]).for_each(|x| print!("{:>10}", ms(x)));
    println!(
        "{above:>6.1}%{}{}",
        if t.exact { " optimum" } else { "" },
        if is > best { " !" } else { "" }
    );
    Ok(usize::from(is > best))
}

fn ms(t: Ns) -> String {
    format!("{}.{:02}", t.0 / 1_000_000, t.0 / 10_000 % 100)
}

fn everything() -> Result<Vec<(String, Board)>> {
    let mut list = Vec::new();
    for folder in ["boards/cases", "boards"] {
        let entries = fs::read_dir(folder).with_context(|| {
            format!("cannot read {folder}: run this in the root of the repository")
        })?;
        let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
        files.retain(|p| p.extension().is_some_and(|e| e == "board"));
        files.sort();
        for file in files {
            list.push(read_board(&file)?);
        }
    }
    let large = |share| (format!("1000 {share}% async"), generate(&BoardOptions::large(share)));
    list.extend(SHARES.map(large));
    Ok(list)
}
