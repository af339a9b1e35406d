//! `dormouse storage`: storage power states.

mod predict;
mod show;
mod tune;
mod verify;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Show and predict which waits make requests to storage slow.
#[derive(Args)]
pub struct StorageArgs {
    #[command(subcommand)]
    verb: StorageVerb,
}

#[derive(Subcommand)]
enum StorageVerb {
    Show(show::ShowArgs),
    Predict(predict::PredictArgs),
    Tune(tune::TuneArgs),
    Verify(verify::VerifyArgs),
}

/// Runs the verb.
pub fn run(args: &StorageArgs) -> Result<()> {
    match &args.verb {
        StorageVerb::Show(args) => show::run(args),
        StorageVerb::Predict(args) => predict::run(args),
        StorageVerb::Tune(args) => tune::run(args),
        StorageVerb::Verify(args) => verify::run(args),
    }
}
