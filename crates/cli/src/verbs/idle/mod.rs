//! `dormouse idle`: CPU idle states.

mod apply;
pub(super) mod asked;
mod check;
mod predict;
mod reads;
mod show;
mod tune;
mod verify;

use anyhow::Result;
use clap::{Args, Subcommand};
use dormouse_record::verbs::hold;

/// Show and predict the idle states of CPUs.
#[derive(Args)]
pub struct IdleArgs {
    #[command(subcommand)]
    verb: IdleVerb,
}

#[derive(Subcommand)]
enum IdleVerb {
    Show(show::ShowArgs),
    Predict(Box<predict::PredictArgs>),
    Tune(Box<tune::TuneArgs>),
    Hold(hold::HoldArgs),
    Check(check::CheckArgs),
    Reads(reads::ReadsArgs),
    Verify(verify::VerifyArgs),
}

/// Runs the verb.
pub fn run(args: &IdleArgs) -> Result<()> {
    match &args.verb {
        IdleVerb::Show(args) => show::run(args),
        IdleVerb::Predict(args) => predict::run(args),
        IdleVerb::Tune(args) => tune::run(args),
        IdleVerb::Hold(args) => hold::run(args),
        IdleVerb::Check(args) => check::run(args),
        IdleVerb::Reads(args) => reads::run(args),
        IdleVerb::Verify(args) => verify::run(args),
    }
}
