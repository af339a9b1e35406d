//! The `dormouse` command: parses the command line and calls one verb.

use clap::{Parser, Subcommand};
use std::process::ExitCode;

mod verbs;

/// A laboratory for Linux sleep states: see, predict, prove and improve the
/// latency of suspend and resume.
#[derive(Parser)]
#[command(name = "dormouse", version, max_term_width = 80)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {}

fn main() -> ExitCode {
    match Args::parse().verb {}
}
