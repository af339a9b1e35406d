//! `dormouse predict`: what a machine's sleep would take if something changed.

use crate::changes::ChangeArgs;
use crate::exit::Usage;
use crate::{machine, terminal};
use anyhow::Result;
use clap::Args;
use dormouse_board::derive::Derived;
use dormouse_sleep::simulate::Settings;
use dormouse_sleep::simulate::change::{Change, apply};
use dormouse_sleep::simulate::policy;
use dormouse_sleep::simulate::predict::{Question, Scheduler, outlook, predict};
use dormouse_write::prediction::{KernelRow, json, text as written};
use std::path::PathBuf;

/// Predict suspend and resume times under changes.
///
/// Prints before and after for every phase, both bounds (what no schedule can
/// beat; what synchronous devices in list order allow), what moved and why.
#[derive(Args)]
pub struct PredictArgs {
    /// A capture or log, or a board file.
    input: PathBuf,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Kernel that the input is taken to run now, where it does not say.
    #[arg(long, value_name = "V|POLICY")]
    from_kernel: Option<String>,
    /// Costs of the machinery: a file of `dormouse calibrate`, or x86, phone,
    /// zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    profile: String,
    /// Compare all generations of kernels.
    #[arg(long)]
    all_kernels: bool,
    /// Times the cycles are resampled for the range.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    samples: u32,
    /// Seed of the resampling.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON (docs/predict-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: PredictArgs) -> Result<()> {
    let (derived, release) = machine::load(&args.input)?;
    let settings = machine::settings(&args.profile, args.changes.cpus)?;
    let (now, guess) = machine::kernel_now(args.from_kernel.as_deref(), &release)?;
    let then = args.changes.kernel.as_deref().map_or(Ok(now), machine::scheduler)?;
    let changes = args.changes.list()?;
    let text = if args.all_kernels {
        all_kernels(&args, &derived, &settings, &changes)?
    } else {
        let question = Question {
            derived: &derived,
            now,
            then,
            changes: &changes,
            settings: &settings,
            seed: args.seed,
            samples: args.samples,
        };
        let mut p = predict(&question).map_err(Usage)?;
        if let Some(guess) = guess {
            p.assumptions.insert(0, format!("{guess} (--from-kernel V)."));
        }
        if args.json {
            serde_json::to_string_pretty(&json::json(&p, &derived))? + "\n"
        } else {
            written::text(&p, &derived, &release)
        }
    };
    terminal::print(&text)
}

fn all_kernels(
    args: &PredictArgs,
    derived: &Derived,
    settings: &Settings,
    changes: &[Change],
) -> Result<String> {
    let changed = apply(&derived.board, changes).map_err(Usage)?;
    let rows: Vec<KernelRow> = policy::KERNELS
        .into_iter()
        .chain([&policy::DC, &policy::DCW])
        .map(|p| (p, outlook(&changed.board, Scheduler { policy: p, kernel: None }, settings)))
        .collect();
    if args.json {
        return Ok(serde_json::to_string_pretty(&json::kernels(&rows))? + "\n");
    }
    Ok(written::kernels(&rows, &changed.notes, &derived.assumptions))
}
