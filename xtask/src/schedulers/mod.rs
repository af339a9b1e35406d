//! Who starts devices: the kernel's own walk beside the livepatch of
//! `kernel/scheduler`, on the same boards and kernels, and beside what the simulator
//! foretells of both.
//!
//! `schedulers [--kernels LIST] [--drawn N] [--seed S] [--cycles N] [--only NAMES]
//! [--variants] [BOARD…]`: each board on each kernel, in one boot with others: the
//! kernel alone, the livepatch, and the livepatch that takes the next ready synchronous
//! device (`conserve`). The first of `--cycles` (2) cycles of each is cold, the others
//! are warm: of those medians are compared, and an order that not all of them have is
//! none. Every cycle's order is checked by `order`, which knows nothing of schedulers. A
//! phase that was longer with the livepatch is measured again (`again`). `--only` leaves
//! those of the boards named and drawn whose name begins so.
//! With `--variants` it compares the policies of `kernel/scheduler/variants.c` instead.
//! `schedulers roots RECORDING…` says why a test for roots helps little there.

mod again;
mod boards;
mod costs;
mod foretell;
mod guest;
mod judge;
pub(crate) mod order;
mod roots;
mod variants;

use crate::decide::read_board;
use crate::missed::MISSED;
use anyhow::{Context, Result, bail};
use boards::{Named, drawn, extremes};
use costs::Known;
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::qemu::Arch;
use guest::{Done, Way, play};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const KERNEL: Way = Way { name: "kernel", parameters: None };
const READY: Way = Way { name: "ready", parameters: Some("") };
/// The kernel, the livepatch, and the same without list order.
const WAYS: [Way; 3] = [KERNEL, READY, Way { name: "conserve", parameters: Some("conserve=1") }];
/// Cycles of each way, unless asked otherwise: cold and warm.
const CYCLES: u32 = 2;
/// Boards of one boot, and their devices, each in so many cycles: the guest's memory holds
/// the results.
const PER_BOOT: usize = 16;
const DEVICE_CYCLES_PER_BOOT: usize = 12_000;
/// Where recordings and costs are kept.
const FOLDER: &str = "target/schedulers";

struct Args {
    kernels: Vec<String>,
    drawn: usize,
    seed: u64,
    cycles: u32,
    variants: bool,
    only: Vec<String>,
    boards: Vec<Named>,
}

fn parse(args: &[String]) -> Result<Args> {
    let mut a = Args {
        kernels: vec!["6.12".into(), "7.3".into()],
        drawn: 0,
        seed: 1,
        cycles: CYCLES,
        variants: false,
        only: Vec::new(),
        boards: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--kernels" => a.kernels = value()?.split(',').map(str::to_owned).collect(),
            "--drawn" => a.drawn = value()?.parse().context("--drawn takes a number")?,
            "--seed" => a.seed = value()?.parse().context("--seed takes a number")?,
            "--cycles" => {
                a.cycles = value()?.parse().context("--cycles takes a number")?;
                if a.cycles < CYCLES {
                    bail!(
                        "--cycles {}: {CYCLES} are the least, a cold one and a warm one",
                        a.cycles
                    );
                }
            }
            "--only" => a.only = value()?.split(',').map(str::to_owned).collect(),
            "--variants" => a.variants = true,
            _ if word.starts_with('-') => {
                bail!(
                    "{word}: write --kernels, --drawn, --seed, --cycles, --only, --variants or a board"
                )
            }
            _ => a.boards.push(read_board(Path::new(word))?),
        }
    }
    a.boards.extend((0..a.drawn as u64).map(|n| drawn(a.seed, n)));
    if a.boards.is_empty() {
        a.boards = extremes()?;
        for name in ["am335x", "phone", "laptop", "server"] {
            a.boards.push(read_board(Path::new(&format!("boards/{name}.board")))?);
        }
    }
    if !a.only.is_empty() {
        a.boards.retain(|(name, _)| a.only.iter().any(|o| name.starts_with(o.as_str())));
        if a.boards.is_empty() {
            bail!("--only {}: no board is called so", a.only.join(","));
        }
        a.drawn = a.boards.iter().filter(|(name, _)| name.starts_with("drawn")).count();
    }
    Ok(a)
}

/// Boards that fit in one boot each.
fn boots(boards: &[Named], cycles: u32) -> Vec<&[Named]> {
    let most = DEVICE_CYCLES_PER_BOOT / cycles as usize;
    let mut out = Vec::new();
    let mut rest = boards;
    while !rest.is_empty() {
        let mut devices = 0;
        let fits = |b: &&Named| {
            devices += b.1.devices.len();
            devices <= most
        };
        let n = rest.iter().take(PER_BOOT).take_while(fits).count().max(1);
        out.push(&rest[..n]);
        rest = &rest[n..];
    }
    out
}

/// What `boards` did on one kernel, boot by boot.
type Boots<'a> = Vec<(&'a [Named], Done)>;

/// Does `work` for each of `kernels`, by number, for all at the same time.
fn at_once<T: Send>(
    kernels: &[(&str, Kernel)],
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    std::thread::scope(|s| {
        let work = &work;
        let threads: Vec<_> = (0..kernels.len()).map(|k| s.spawn(move || work(k))).collect();
        let ended = |t: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(ended).collect()
    })
}

/// Boots all `boards` on each of `kernels`, for `cycles` in each of the ways that it has.
/// The modules that the guests load are built before: [`costs_of`] does that.
fn booted<'a>(
    kernels: &[(&str, Kernel)],
    boards: &'a [Named],
    cycles: u32,
    ways: impl Fn(&Kernel) -> &'static [Way] + Sync,
) -> Result<Vec<Boots<'a>>> {
    at_once(kernels, |k| {
        let (series, kernel) = &kernels[k];
        let folder = folder().join(series);
        boots(boards, cycles)
            .into_iter()
            .map(|some| {
                let done = play(kernel, some, ways(kernel), cycles, &folder)
                    .with_context(|| (*series).to_owned())?;
                let took = done.took.as_secs();
                eprintln!("schedulers: {series}: {} boards in {took} s", some.len());
                Ok((some, done))
            })
            .collect()
    })
}

/// The folder of recordings and costs.
fn folder() -> PathBuf {
    PathBuf::from(FOLDER)
}

/// What the guest's machinery costs on `kernel`.
fn costs_of(kernel: &Kernel, seed: u64) -> Result<Known> {
    costs::known(kernel, seed, &folder()).context("costs of the guest")
}

/// Prints the tables; [`MISSED`] if anything asked for is missed.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    if let Some(("roots", files)) = args.split_first().map(|(f, rest)| (f.as_str(), rest)) {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        roots::explain(&files)?;
        return Ok(ExitCode::SUCCESS);
    }
    let a = parse(args)?;
    let kernels: Vec<(&str, Kernel)> = a
        .kernels
        .iter()
        .map(|series| Ok((series.as_str(), kernels::get(Arch::Amd64, series)?)))
        .collect::<Result<_>>()?;
    let met =
        if a.variants { variants::compare(&a, &kernels)? } else { judge::compare(&a, &kernels)? };
    println!("{}", if met { "PASS" } else { "MISSED" });
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}
