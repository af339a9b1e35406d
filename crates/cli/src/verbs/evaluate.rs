//! `dormouse compare --only model`: how good is the model on this machine?

use crate::number::number;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::evaluate::evaluate;
use dormouse_app::failure::NotMet;
use dormouse_read::Given;
use dormouse_words::document::{COMPARE, document};
use dormouse_words::evaluation::{Subject, json, text};
use dormouse_words::wording::next::{file_of, next, typed};
use serde_json::json as object;
use std::path::PathBuf;

/// Predict recorded cycles and say how far off that is.
///
/// Each cycle is predicted from its own callback times, which tests the
/// scheduling model alone, and from the medians of the other cycles, which is
/// what a prediction starts from. A phase is right within 3 % or 1 ms.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse compare --only model captures/laptop-6.12.tar.gz\n  dormouse compare --only model dmesg.txt --ask 90"
)]
pub(crate) struct EvaluateArgs {
    /// Captures or logs.
    #[arg(required = true, value_name = "CAPTURE")]
    inputs: Vec<PathBuf>,
    /// Exit with 4 if less than so many percent of the phases are right, of
    /// either kind of prediction.
    #[arg(long, value_name = "PERCENT", value_parser = number::<u8>(0, 100))]
    ask: Option<u8>,
    /// Kernel of the recording, if the file does not name it.
    #[arg(long, value_name = "V|POLICY")]
    from_kernel: Option<String>,
    /// Kernel overhead: a file of `dormouse calibrate`, or x86, phone, zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    profile: String,
    /// Print JSON (docs/evaluate-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &EvaluateArgs, given: &Given) -> Result<()> {
    let profile = dormouse_app::settings::profile(&args.profile)?;
    let all = evaluate(given, &profile, args.from_kernel.as_deref())?;
    let mut texts = Vec::new();
    let mut values = Vec::new();
    for e in &all {
        let subject = Subject {
            name: &e.name,
            release: &e.release,
            trip: e.trip,
            guest: e.guest,
            assumptions: &e.assumptions,
        };
        if args.json {
            values.push(json(&subject, &e.evaluation));
        } else {
            texts.push(text(&subject, &e.evaluation));
        }
    }
    if args.json {
        terminal::print(&document(COMPARE, "model", object!({ "evaluations": values })))?;
    } else {
        let file = typed(&args.inputs[0].display().to_string());
        let last = next(&format!("predict {file} --all-kernels"));
        terminal::print(&format!("{}\n{last}", texts.join("\n")))?;
    }
    let asked = u64::from(args.ask.unwrap_or(0));
    match all.iter().map(|e| (e.evaluation.percent(), &e.name)).min() {
        Some((percent, name)) if percent < asked => Err(NotMet(format!(
            "{}: {percent} % of the phases are right, and {asked} % were asked for",
            file_of(name)
        ))
        .into()),
        _ => Ok(()),
    }
}
