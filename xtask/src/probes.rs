//! Attempts to probe the devices of grafted boards, predicted and then made by kernels
//! that are given drivers (kernel/probes) in several orders.
//!
//! `probes [--short] [--verbose] [SERIES…]`: in short one board on one kernel.

mod drivers;
mod faults;
mod tree;

use crate::missed::MISSED;
use anyhow::{Context, Result, ensure};
use dormouse_lab::graft::Grafted;
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::probes;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_power::fw_devlink::Wish;
use dormouse_power::fw_devlink::compare::{Comparison, Count, Observed, compare};
use dormouse_power::fw_devlink::early::Early;
use dormouse_power::fw_devlink::version::{Mode, Rules};
use dormouse_read::dtb::blob::GRAFT;
use dormouse_read::dtb::fdt;
use drivers::{Registered, boot_in_order};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
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
const LIMIT: Duration = Duration::from_secs(1_200);

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

fn machine(kernel: &Kernel, words: &str) -> Machine {
    let mut machine = Machine::new(Arch::Arm64, Accel::Icount, 2, &kernel.release);
    machine.words = words.into();
    machine
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

/// One boot, predicted and made.
struct Boot {
    blob: Vec<u8>,
    grafted: Grafted,
    compared: Comparison,
    /// Attempts with the worker last, and with the worker first.
    predicted: [Vec<(String, i32)>; 2],
}

impl Boot {
    /// Devices; those that have other numbers of attempts than both ends and all
    /// between; of them, those of which both ends say the same.
    fn devices(&self) -> [usize; 3] {
        let counts = |list: &[(String, i32)]| {
            let mut all: BTreeMap<String, usize> = BTreeMap::new();
            list.iter().for_each(|(name, _)| *all.entry(name.clone()).or_default() += 1);
            all
        };
        let kernel = counts(&self.grafted.attempts);
        let [a, b] = [0, 1].map(|n| counts(&self.predicted[n]));
        let (mut outside, mut agreed, mut all) = (0, 0, 0);
        // From 6.17 on a power domain is itself a device (bus genpd_provider).
        for (name, n) in kernel.iter().filter(|(name, _)| !name.starts_with("dormouse-")) {
            all += 1;
            let [a, b] = [&a, &b].map(|c| c.get(name).copied().unwrap_or(0));
            let other = !(a.min(b)..=a.max(b)).contains(n);
            outside += usize::from(other);
            agreed += usize::from(other && a == b);
        }
        [all, outside, agreed]
    }
}

/// Makes and predicts it; `over` says that the time for drivers ends before the guest does.
fn boot(
    kernel: &Kernel,
    board: &[u8],
    mode: Mode,
    set: &Set,
    words: &str,
    seconds: u64,
    over: bool,
) -> Result<Boot> {
    let rules = Rules::of(&kernel.release).context("a kernel without a number")?;
    let machine = machine(kernel, format!("fw_devlink={} {words}", mode.name()).trim_end());
    let blob = tree::tree(&machine, board, rules, set)?;
    let grafted = probes::run(kernel, &machine, blob.clone(), seconds, LIMIT)?;
    let tree = fdt::tree(&blob).context("cannot read the grafted tree")?;
    let wish = Wish { rules, mode, strict: false, early: Early::usual(rules), timed_out: over };
    let drivers = Registered::of(&tree);
    let [last, first] = [false, true].map(|eager| boot_in_order(&tree, &wish, &drivers, eager));
    let below = tree.find(GRAFT).context("the tree has no graft")?;
    let observed = Observed {
        links: grafted.links.clone(),
        devices: grafted.devices.clone(),
        cycles: grafted.cycles.clone(),
        attempts: grafted.attempts.clone(),
    };
    let compared = compare(&last, &first, below, &observed);
    let predicted = [&last, &first].map(|b| {
        let name = |d: usize| b.machine.devices[d].name.clone();
        b.attempts.iter().map(|a| (name(a.device), a.outcome.code())).collect()
    });
    Ok(Boot { blob, grafted, compared, predicted })
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
