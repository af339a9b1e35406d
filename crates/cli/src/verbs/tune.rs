//! `dormouse tune`: the async flags that make sleep shortest.

use crate::apply::ApplyArgs;
use crate::asked::{Asked, AskedArgs};
use crate::exit::Usage;
use crate::{machine, terminal};
use anyhow::{Context, Result};
use clap::Args;
use dormouse_board::Board;
use dormouse_model::device::DeviceId;
use dormouse_model::phase::Direction;
use dormouse_sleep::plan::handover::{pm_async_at_start, udev_rules};
use dormouse_sleep::simulate::Settings;
use dormouse_sleep::simulate::change::glob;
use dormouse_sleep::simulate::predict::{Scheduler, hang, outlook};
use dormouse_sleep::tune::{Cost, Options, Tuned, tune};
use dormouse_write::decision::tune as written;
use std::fs;
use std::path::{Path, PathBuf};

/// Choose the async flag of every device for the shortest suspend and resume.
///
/// Careful by default: async is proposed only for devices without callbacks,
/// of a kind that is async already on this machine, or whose device links
/// declare what they need.
#[derive(Args)]
pub struct TuneArgs {
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
    asked: AskedArgs,
    /// Print JSON (docs/tune-json.md).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    apply: ApplyArgs,
}

/// Runs the verb.
pub fn run(args: &TuneArgs) -> Result<()> {
    let on_this_machine = args.apply.is_asked(args.json)?;
    let Asked { board, lab, by, guess, settings } = args.asked.open()?;
    let board = &board;
    let options = Options {
        bold: args.bold,
        keep: kept(board, &args.allow, &args.deny)?,
        limit: args.simulations.max(1),
        seed: args.seed,
        ..Options::new(board)
    };
    let tuned = tune(board, by.policy, &settings, &options).map_err(|e| Usage(hang(board, &e)))?;
    let bound = bound(board, by, &settings)?;
    if let Some(path) = args.udev.as_ref().filter(|_| !on_this_machine) {
        write_rules(path, board, &tuned)?;
    }
    let verified = match &lab {
        Some(lab) => Some(lab.verify(board, &tuned.apply(board), &args.asked.profile)?),
        None => None,
    };
    if args.json {
        let mut value = written::json(board, &tuned, bound);
        if let Some(v) = verified {
            value["verified"] = v.json;
        }
        if on_this_machine && let Some(done) = args.apply.run(board, &tuned)? {
            if let (true, Some(path)) = (done.kept, &args.udev) {
                write_rules(path, board, &tuned)?;
            }
            value["applied"] = done.json;
        }
        return terminal::print(&(serde_json::to_string_pretty(&value)? + "\n"));
    }
    let mut text = written::text(board, &tuned, bound);
    text.push_str(&machine::kernel_notes(by, guess));
    if let Some(v) = verified {
        text.push_str(&v.text);
    }
    terminal::print(&text)?;
    if on_this_machine && let Some(done) = args.apply.run(board, &tuned)? {
        terminal::print(&done.text)?;
        if done.kept {
            terminal::print(&to_last(args.udev.as_deref(), board, &tuned)?)?;
        }
    }
    Ok(())
}

/// `/sys/power/pm_async` belongs to no device, so udev cannot set it.
const FOR_PM_ASYNC: &str = "For pm_async put this line into /etc/tmpfiles.d/dormouse.conf:";

/// What makes kept flags last beyond the next start: the rule in its file, or
/// as text.
fn to_last(path: Option<&Path>, board: &Board, tuned: &Tuned) -> Result<String> {
    let mut text = match path {
        Some(path) => {
            write_rules(path, board, tuned)?;
            format!("{} makes it last; it says how.\n", path.display())
        }
        None => match udev_rules(board, &flags(tuned)) {
            Some(file) => format!("\nA udev rule makes it last:\n\n{}", file.text),
            None => String::new(),
        },
    };
    if let Some(on) = tuned.pm_async {
        text.push_str(&format!("{FOR_PM_ASYNC}\n{}\n", pm_async_at_start(on)));
    }
    Ok(text)
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

fn flags(tuned: &Tuned) -> Vec<(DeviceId, bool)> {
    tuned.flips.iter().map(|f| (f.device, f.to_async)).collect()
}

fn write_rules(path: &Path, board: &Board, tuned: &Tuned) -> Result<()> {
    let mut text = udev_rules(board, &flags(tuned))
        .map_or_else(|| "# dormouse: no flag needs to change.\n".to_string(), |f| f.text);
    if let Some(on) = tuned.pm_async {
        text.push_str(&format!("\n# {FOR_PM_ASYNC}\n# {}\n", pm_async_at_start(on)));
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
