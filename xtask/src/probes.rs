//! Attempts to probe the devices of grafted boards, predicted and then made by kernels
//! that are given drivers (kernel/probes) in several orders.
//!
//! `probes [--short] [--verbose] [SERIES…]`: in short one board on one kernel.

mod boot;
mod drivers;
mod faults;
mod tree;

use crate::missed::MISSED;
use anyhow::{Context, Result, ensure};
use boot::boot;
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::qemu::Arch;
use dormouse_power::fw_devlink::compare::{Comparison, Count};
use dormouse_power::fw_devlink::version::Mode;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tree::{Order, Set};

/// Trees of Debian's image package.
const BOARDS: [&str; 4] = [
    "ti/k3-am625-sk",
    "hisilicon/hi3660-hikey960",
    "broadcom/bcm2711-rpi-4-b",
    "amlogic/meson-g12b-odroid-n2",
];
const MODES: [Mode; 2] = [Mode::Rpm, Mode::Off];
const ORDERS: [Order; 3] = [Order::Tree, Order::Reverse, Order::Seed(20)];

/// Prints the tables; [`MISSED`] if a kernel does something else.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let has = |word: &str| args.iter().any(|a| a == word);
    let (short, verbose) = (has("--short"), has("--verbose"));
    let mut series: Vec<&str> =
        args.iter().filter(|a| !a.starts_with("--")).map(String::as_str).collect();
    if series.is_empty() {
        series = if short { vec!["6.12"] } else { vec!["6.12", "7.3"] };
    }
    let mut wrong = Vec::new();
    let mut sum = Tally::default();
    let mut seen = 0;
    for series in series {
        match kernels::get(Arch::Arm64, series) {
            Ok(kernel) => {
                orders(&kernel, short, verbose, &mut sum, &mut wrong)?;
                if !short {
                    faults::run(&kernel, BOARDS[0], &board(BOARDS[0])?, &mut wrong)?;
                }
                seen += 1;
            }
            Err(e) => println!("SKIPPED {series}: {e}"),
        }
    }
    ensure!(seen > 0, "no kernel could be had");
    println!("\nattempts within the interval: {} of {} boots", sum.within, sum.boots);
    println!(
        "devices with more or fewer attempts than at either end: {} of {}, {} of them where both ends agree",
        sum.outside, sum.devices, sum.agreed
    );
    println!("  two threads at once do what neither end does; what they bind is the same");
    println!(
        "links once drivers are bound: {} of {} as predicted, {} too many",
        sum.links.right, sum.links.kernel, sum.links.too_many
    );
    println!("\nwhat must be true and is not: {}", wrong.len());
    wrong.iter().for_each(|w| println!("  {w}"));
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// All boots.
#[derive(Default)]
struct Tally {
    boots: usize,
    within: usize,
    devices: usize,
    outside: usize,
    agreed: usize,
    links: Count,
}

/// The blob of a board: of 6.12's package, so that each kernel gets the same.
fn board(name: &str) -> Result<Vec<u8>> {
    let kernel = kernels::get(Arch::Arm64, "6.12")?;
    let image = kernel.image.ancestors().nth(2).context("no folder of the kernel")?;
    let path = find(image, &format!("{name}.dtb"))
        .with_context(|| format!("{}: there is no {name}.dtb", image.display()))?;
    fs::read(&path).with_context(|| path.display().to_string())
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten().map(|e| e.path());
    let mut dirs: Vec<PathBuf> = entries.filter(|p| p.is_dir() && !p.is_symlink()).collect();
    dirs.sort();
    dirs.iter().find_map(|d| Some(d.join(name)).filter(|p| p.exists()).or_else(|| find(d, name)))
}

/// Boards, modes and orders on one kernel.
fn orders(
    kernel: &Kernel,
    short: bool,
    verbose: bool,
    sum: &mut Tally,
    wrong: &mut Vec<String>,
) -> Result<()> {
    println!("\n{}: attempts to probe, and what the two ends of the worker say", kernel.release);
    println!(
        "{:<30}{:<12}{:<9}{:>9}{:>10}{:>9}{:>8}{:>9}{:>9}{:>8}",
        "board",
        "fw_devlink",
        "drivers",
        "attempts",
        "at least",
        "at most",
        "within",
        "devices",
        "outside",
        "links"
    );
    for name in &BOARDS[..if short { 1 } else { BOARDS.len() }] {
        let board = board(name)?;
        for mode in &MODES[..if short { 1 } else { MODES.len() }] {
            for order in ORDERS {
                let made = boot(kernel, &board, *mode, &Set::new(order), "", 1, false)?;
                let (a, links) = (made.compared.attempts, made.compared.links);
                let within = (a.least..=a.most).contains(&a.kernel);
                let [devices, outside, agreed] = made.devices();
                sum.boots += 1;
                sum.within += usize::from(within);
                sum.devices += devices;
                sum.outside += outside;
                sum.agreed += agreed;
                sum.links = sum.links.plus(links);
                let word = match order {
                    Order::Tree => "tree".to_owned(),
                    Order::Reverse => "reverse".to_owned(),
                    Order::Seed(seed) => format!("seed {seed}"),
                };
                println!(
                    "{name:<30}{:<12}{word:<9}{:>9}{:>10}{:>9}{:>8}{devices:>9}{outside:>9}{:>8}",
                    mode.name(),
                    a.kernel,
                    a.least,
                    a.most,
                    if within { "yes" } else { "NO" },
                    if links.exact() { "exact" } else { "NO" },
                );
                if !within || !links.exact() {
                    wrong.push(format!("{} {name} {} {word}", kernel.release, mode.name()));
                }
                if verbose {
                    explain(&made.compared);
                }
            }
        }
    }
    Ok(())
}

/// What differs, for whoever looks into it.
fn explain(compared: &Comparison) {
    for (what, kernel, predicted) in compared.differences.iter().take(20) {
        println!("    {what}: {kernel}; predicted: {predicted}");
    }
}
