//! `dormouse completions`: what a shell needs to complete the command line.

use crate::terminal;
use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Print a completion script for a shell.
///
/// bash reads it from ~/.local/share/bash-completion/completions/dormouse.
#[derive(Args)]
#[command(after_help = "Examples:\n  dormouse completions bash\n  dormouse completions zsh")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the verb for the whole command line, `command`.
///
/// # Errors
/// If standard output cannot be written.
pub(crate) fn run(args: &CompletionsArgs, mut command: Command) -> Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "dormouse", &mut script);
    terminal::print_with(|out| out.write_all(&script))
}
