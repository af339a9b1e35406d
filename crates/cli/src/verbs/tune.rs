//! `dormouse tune`: the async flags that make sleep shortest.

use crate::exit::Usage;
use crate::verify::VerifyArgs;
use crate::{machine, terminal};
use anyhow::{Context, Result};
use clap::Args;
use dormouse_core::board::Board;
use dormouse_core::decide::plan::handover::udev_rules;
use dormouse_core::decide::tune::{Cost, Options, Tuned, tune};
use dormouse_core::device::DeviceId;
use dormouse_core::phase::Direction;
use dormouse_core::simulate::Settings;
use dormouse_core::simulate::change::glob;
use dormouse_core::simulate::predict::{Scheduler, hang, outlook};
use dormouse_write::decision::tune as written;
use std::fs;
use std::path::PathBuf;

/// Choose the async flag of every device for the shortest suspend and resume.
///
/// Careful by default: async is proposed only for devices without callbacks,
/// of a kind that is async already on this machine, or whose device links
/// declare what they need.
#[derive(Args)]
pub struct TuneArgs {
    /// A capture or log, or a board file.
    input: PathBuf,
    /// Kernel release such as 6.12 or 7.3, or a policy such as G1; by default
    /// the recorded one.
    #[arg(long, value_name = "V|POLICY")]
    kernel: Option<String>,
    /// Also propose async where only the absence of declared needs supports
    /// it, or nothing.
    #[arg(long)]
    bold: bool,
    /// Only flags of matching devices may change (name, * and ?).
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,
    /// Flags of matching devices stay as they are.
    #[arg(long, value_name = "PATTERN")]
    deny: Vec<String>,
    /// Costs of the machinery: a file of `dormouse calibrate`, or x86, phone,
    /// zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    profile: String,
    /// Most simulations of the search.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    simulations: u64,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the udev rule that makes it last.
    #[arg(long, value_name = "FILE")]
    udev: Option<PathBuf>,
    #[command(flatten)]
    verify: VerifyArgs,
    /// Print JSON (docs/tune-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: &TuneArgs) -> Result<()> {
    let (derived, release) = machine::load(&args.input)?;
    let board = &derived.board;
    let lab = args.verify.open(args.kernel.as_deref(), &release)?;
    let kernel = lab.as_ref().map(|l| l.release()).or(args.kernel.as_deref());
    let (by, guess) = machine::kernel_now(kernel, &release)?;
    let mut settings = machine::settings(&args.profile, None)?;
    settings.complete(board, by.kernel.as_ref());
    let options = Options {
        bold: args.bold,
        keep: kept(board, &args.allow, &args.deny)?,
        limit: args.simulations.max(1),
        seed: args.seed,
        ..Options::new(board)
    };
    let tuned = tune(board, by.policy, &settings, &options).map_err(|e| Usage(hang(board, &e)))?;
    let bound = bound(board, by, &settings)?;
    if let Some(path) = &args.udev {
        write_rules(path, board, &tuned)?;
    }
    let verified = match &lab {
        Some(lab) => Some(lab.verify(board, &tuned.apply(board), &args.profile)?),
        None => None,
    };
    if args.json {
        let mut value = written::json(board, &tuned, bound);
        if let Some(v) = verified {
            value["verified"] = v.json;
        }
        return terminal::print(&(serde_json::to_string_pretty(&value)? + "\n"));
    }
    let mut text = written::text(board, &tuned, bound);
    if let Some(guess) = guess {
        text.push_str(&format!("\nAssumed: {guess}\n"));
    }
    if let Some(caution) = by.policy.caution() {
        text.push_str(&format!("\nPolicy {}: {caution}.\n", by.policy.name));
    }
    if let Some(v) = verified {
        text.push_str(&v.text);
    }
    terminal::print(&text)
}

/// Which flags must stay.
fn kept(board: &Board, allow: &[String], deny: &[String]) -> Result<Vec<bool>> {
    let names: Vec<&str> = board.graph.devices.iter().map(|d| board.names.get(d.name)).collect();
    for p in allow.iter().chain(deny) {
        if !names.iter().any(|n| glob(p, n)) {
            return Err(
                Usage(format!("no device matches `{p}`; patterns match the whole name")).into()
            );
        }
    }
    let any = |list: &[String], n: &str| list.iter().any(|p| glob(p, n));
    Ok(names.iter().map(|n| any(deny, n) || (!allow.is_empty() && !any(allow, n))).collect())
}

/// What no schedule of the board can beat.
fn bound(board: &Board, by: Scheduler, settings: &Settings) -> Result<Cost> {
    let o = outlook(board, by, settings).map_err(|e| Usage(hang(board, &e)))?;
    Ok(Cost {
        suspend: o.bounds.path(Direction::Suspend),
        resume: o.bounds.path(Direction::Resume),
    })
}

fn write_rules(path: &std::path::Path, board: &Board, tuned: &Tuned) -> Result<()> {
    let flags: Vec<(DeviceId, bool)> = tuned.flips.iter().map(|f| (f.device, f.to_async)).collect();
    let text = udev_rules(board, &flags)
        .map_or_else(|| "# dormouse: no flag needs to change.\n".to_string(), |f| f.text);
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
