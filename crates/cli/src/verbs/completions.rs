//! `dormouse completions`: what a shell needs to complete the command line.

use crate::terminal;
use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Print a completion script for a shell.
///
/// For bash: dormouse completions bash >
/// ~/.local/share/bash-completion/completions/dormouse
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the verb for the whole command line, `command`.
///
/// # Errors
/// If standard output cannot be written.
pub fn run(args: &CompletionsArgs, mut command: Command) -> Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "dormouse", &mut script);
    terminal::print_with(|out| out.write_all(&script))
}
