//! The verbs that touch this machine (record, restore, hold, sync, mark) and what a command
//! line needs of its terminal. The `dormouse` command has them among others; the
//! program `dormouse-record` has them alone: small and static, for phones and boards.
#![forbid(unsafe_code)]

#[macro_use]
pub mod terminal;
pub mod exit;
pub mod number;
pub mod recording;
pub mod verbs;

use crate::terminal::Terminal;
use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Record how this machine sleeps, without the rest of dormouse: what it records is
/// read on another machine with `dormouse show`.
#[derive(Parser)]
#[command(name = "dormouse-record", version, max_term_width = 80, after_help = exit::table())]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Record(Box<verbs::record::RecordArgs>),
    Restore(verbs::restore::RestoreArgs),
    Hold(verbs::hold::HoldArgs),
    Sync(verbs::sync::SyncArgs),
    Mark(verbs::mark::MarkArgs),
}

/// Runs the recorder of this process, on its standard streams.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(terminal::with(Terminal::of_process("dormouse-record"), ended))
}

/// The exit code of the command line of this terminal.
fn ended() -> u8 {
    let words = std::iter::once("dormouse-record".into()).chain(terminal::arguments());
    let parsed = command().try_get_matches_from(words).and_then(|m| Args::from_arg_matches(&m));
    let args = match parsed {
        Ok(args) => args,
        Err(e) => return terminal::misused(&e),
    };
    terminal::said(answered(args), exit::code)
}

/// The command line, whose examples name this program.
fn command() -> clap::Command {
    Args::command().mut_subcommands(|verb| {
        let Some(help) = verb.get_after_help().map(ToString::to_string) else { return verb };
        let examples = ["hold", "mark", "record", "restore", "sync"];
        let named = examples.into_iter().fold(help, |help, verb| {
            help.replace(&format!("  dormouse {verb}"), &format!("  dormouse-record {verb}"))
        });
        verb.after_help(named)
    })
}

fn answered(args: Args) -> Result<()> {
    match args.verb {
        Verb::Record(args) => verbs::record::run(*args),
        Verb::Restore(args) => verbs::restore::run(args),
        Verb::Hold(args) => verbs::hold::run(&args),
        Verb::Sync(args) => verbs::sync::run(&args),
        Verb::Mark(args) => verbs::mark::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_name_this_program_and_parse() {
        let mut examples = 0;
        for verb in command().get_subcommands().filter(|v| v.get_name() != "help") {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|l| l.starts_with("  dormouse")) {
                examples += 1;
                let words = line.split_whitespace();
                if let Err(e) = Args::try_parse_from(words) {
                    panic!("{line}: {e}");
                }
                assert!(line.starts_with("  dormouse-record "), "{line}");
            }
        }
        assert!(examples >= 9, "{examples}");
    }
}
