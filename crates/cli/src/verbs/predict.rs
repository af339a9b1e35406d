//! `dormouse predict`: what a machine's sleep would take if something changed.

use crate::changes::ChangeArgs;
use crate::number::{any, number};
use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::changes::Changes;
use dormouse_app::failure::Usage;
use dormouse_app::kernels::Now;
use dormouse_app::machine;
use dormouse_app::predict::{Ask, all_kernels, predict};
use dormouse_board::Board;
use dormouse_read::Given;
use dormouse_sleep::plan::candidate;
use dormouse_words::document::{PREDICT, document};
use dormouse_words::fidelity;
use dormouse_words::prediction::{json, text as written};
use dormouse_words::wording::next::{next, typed};
use serde_json::Value;
use std::path::PathBuf;

/// Predict suspend and resume times under changes.
///
/// Prints before and after for every phase, both bounds (what no schedule can
/// beat; what synchronous devices in list order allow), what moved and why.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse predict recording.tar.gz --without usb1\n  dormouse predict recording.tar.gz --kernel 7.3 --async 'usb*'"
)]
pub(crate) struct PredictArgs {
    /// A capture or log, or a board file.
    input: PathBuf,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Kernel of the recording, if the file does not name it.
    #[arg(long, value_name = "V|POLICY")]
    from_kernel: Option<String>,
    /// Kernel overhead: a file of `dormouse calibrate`, or x86, phone, zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    profile: String,
    /// Predict for every series of kernels.
    #[arg(long, conflicts_with = "kernel")]
    all_kernels: bool,
    /// Resample the cycles N times for the range; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = number::<u32>(0, 100_000))]
    resamples: u32,
    /// Seed of the resampling.
    #[arg(long, default_value_t = 1, value_parser = any)]
    seed: u64,
    /// Print JSON (docs/predict-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: PredictArgs, given: &Given) -> Result<()> {
    let trips = machine::load_trips(given, args.from_kernel.as_deref())?;
    let changes = args.changes.changes();
    let mut texts = Vec::new();
    let cycles = |l: &machine::Loaded| l.recorded().map_or(0, |(capture, _)| capture.cycles.len());
    let all = trips.iter().map(cycles).sum();
    for loaded in &trips {
        texts.push(answer(&args, &changes, loaded, (cycles(loaded), all))?);
    }
    // Of a hibernation that shows several trips, an answer each.
    let text = match &texts[..] {
        [one] => one.clone(),
        _ if args.json => {
            let trips: Vec<Value> =
                texts.iter().map(|t| serde_json::from_str(t)).collect::<Result<_, _>>()?;
            document(PREDICT, "trips", serde_json::json!({ "trips": trips }))
        }
        _ => texts.join("\n"),
    };
    terminal::print(&text)
}

/// Names of the removed devices that a plan keeps unless they are offered.
fn to_offer(board: &Board, changes: &Changes) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for pattern in &changes.without {
        // A pattern without a match was refused before.
        for d in machine::matching(board, pattern).unwrap_or_default() {
            for d in candidate::to_offer(board, d) {
                let name = board.names.get(board.graph.get(d).name);
                if !names.iter().any(|n| n == name) {
                    names.push(name.into());
                }
            }
        }
    }
    names
}

/// What is predicted of one trip: so many cycles of so many.
fn answer(
    args: &PredictArgs,
    changes: &Changes,
    loaded: &machine::Loaded,
    cycles: (usize, usize),
) -> Result<String> {
    let settings = dormouse_app::settings::settings(&args.profile, changes.cpus)?;
    let checked = loaded.fidelity(&dormouse_app::settings::settings(&args.profile, None)?);
    let (derived, release) = (&loaded.derived, &loaded.release);
    let witness = loaded.recorded().map(|(capture, shown)| shown.witness(capture));
    let ask = Ask {
        derived,
        release,
        shown: loaded.shown,
        fidelity: &checked,
        witness: witness.as_ref(),
        from_kernel: args.from_kernel.as_deref(),
        changes,
        settings: &settings,
        samples: args.resamples,
        seed: args.seed,
    };
    Ok(if args.all_kernels {
        let (rows, notes) = all_kernels(&ask).map_err(Usage)?;
        if args.json {
            let mut value = json::kernels(&rows);
            value["fidelity"] = fidelity::json(&checked, &derived.board);
            document(PREDICT, "kernels", &value)
        } else {
            let now = Now::of(args.from_kernel.as_deref(), release).map_err(Usage)?;
            let guessed = now.guessed;
            let now = (now.or(loaded.shown).by, guessed);
            let table = written::kernels(&rows, now, &notes, &derived.assumptions);
            let file = typed(&args.input.display().to_string());
            let last = next(&format!("predict {file} --kernel 7.3"));
            format!("{table}{}\n{last}", fidelity::text(&checked, &derived.board))
        }
    } else {
        let p = predict(&ask, Some("--from-kernel V")).map_err(Usage)?.prediction;
        if args.json {
            document(PREDICT, "sleep", json::json(&p, derived))
        } else {
            let offer = to_offer(&derived.board, changes);
            let question = written::Question {
                offer: &offer,
                release,
                asked: !changes.is_empty(),
                input: &args.input.display().to_string(),
                kernel: changes.kernel.as_deref(),
                cycles,
                whole: loaded.whole(),
                guest: loaded.recorded().and_then(|(c, _)| c.guest()),
            };
            written::text(&p, derived, &question)
        }
    })
}
