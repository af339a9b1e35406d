//! `dormouse domains`: power domains, and what devices wait for.

pub mod show;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Show what keeps power domains on and devices from probing.
#[derive(Args)]
pub struct DomainsArgs {
    #[command(subcommand)]
    verb: DomainsVerb,
}

#[derive(Subcommand)]
enum DomainsVerb {
    Show(show::ShowArgs),
}

/// Runs the verb.
pub fn run(args: &DomainsArgs) -> Result<()> {
    match &args.verb {
        DomainsVerb::Show(args) => show::run(args),
    }
}
