//! The `dormouse` command as a function: [`run`] parses a command line and calls
//! one verb.

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use dormouse_record::terminal::Terminal;
use dormouse_record::{number, recording, terminal};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

#[macro_use(say, remark)]
extern crate dormouse_record;
mod apply;
mod asked;
mod changes;
mod exit;
mod verbs;
mod verify;
#[cfg(test)]
mod vocabulary;

/// A laboratory for Linux sleep states: see, predict, prove and improve the
/// latency of suspend and resume.
#[derive(Parser)]
#[command(name = "dormouse", version, max_term_width = 80, after_help = exit::table())]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Show(verbs::show::ShowArgs),
    Board(verbs::board::BoardArgs),
    Predict(Box<verbs::predict::PredictArgs>),
    Calibrate(verbs::calibrate::CalibrateArgs),
    Lab(verbs::lab::LabArgs),
    Replay(Box<verbs::replay::ReplayArgs>),
    Compare(verbs::compare::CompareArgs),
    Plan(Box<verbs::plan::PlanArgs>),
    Tune(Box<verbs::tune::TuneArgs>),
    Record(Box<verbs::record::RecordArgs>),
    Restore(verbs::restore::RestoreArgs),
    Sync(verbs::sync::SyncArgs),
    Report(verbs::report::ReportArgs),
    Doctor(verbs::doctor::DoctorArgs),
    Evaluate(verbs::evaluate::EvaluateArgs),
    Export(verbs::export::ExportArgs),
    Completions(verbs::completions::CompletionsArgs),
    Man(verbs::man::ManArgs),
    Idle(verbs::idle::IdleArgs),
    Storage(verbs::storage::StorageArgs),
    Rpm(verbs::rpm::RpmArgs),
    Domains(verbs::domains::DomainsArgs),
    Boot(verbs::boot::BootArgs),
}

/// Runs the command of this process, on its standard streams.
#[must_use]
pub fn main() -> ExitCode {
    // As process 1 of a laboratory guest there is no command line to read.
    if dormouse_lab::guest::is_init() {
        return dormouse_lab::guest::main();
    }
    ExitCode::from(terminal::with(Terminal::of_process("dormouse"), ended))
}

/// Runs one command line, given without the name of the program, and gives its
/// exit code. What it prints goes to `out` and `err`, without colour; `-` stands
/// for the standard input of this process.
///
/// Commands that start the program again (`sync`, `lab run`) start the program
/// of this process.
pub fn run<A: Into<OsString>>(
    arguments: impl IntoIterator<Item = A>,
    out: impl Write + 'static,
    err: impl Write + 'static,
) -> u8 {
    let arguments = arguments.into_iter().map(Into::into).collect();
    terminal::with(Terminal::of(arguments, Box::new(out), Box::new(err)), ended)
}

/// The exit code of the command line of this terminal.
fn ended() -> u8 {
    let words = std::iter::once("dormouse".into()).chain(terminal::arguments());
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(e) => return terminal::misused(&e),
    };
    terminal::said(answered(args), exit::code)
}

fn answered(args: Args) -> Result<()> {
    match args.verb {
        Verb::Show(args) => verbs::show::run(args),
        Verb::Board(args) => verbs::board::run(args),
        Verb::Predict(args) => verbs::predict::run(*args),
        Verb::Calibrate(args) => verbs::calibrate::run(args),
        Verb::Lab(args) => verbs::lab::run(args),
        Verb::Replay(args) => verbs::replay::run(*args),
        Verb::Compare(args) => verbs::compare::run(&args),
        Verb::Plan(args) => verbs::plan::run(&args),
        Verb::Tune(args) => verbs::tune::run(&args),
        Verb::Record(args) => verbs::record::run(*args),
        Verb::Restore(args) => verbs::restore::run(args),
        Verb::Sync(args) => verbs::sync::run(&args),
        Verb::Report(args) => verbs::report::run(args),
        Verb::Doctor(args) => verbs::doctor::run(&args),
        Verb::Evaluate(args) => verbs::evaluate::run(&args),
        Verb::Export(args) => verbs::export::run(args),
        Verb::Completions(args) => verbs::completions::run(&args, Args::command()),
        Verb::Man(args) => verbs::man::run(&args, Args::command()),
        Verb::Idle(args) => verbs::idle::run(&args),
        Verb::Storage(args) => verbs::storage::run(&args),
        Verb::Rpm(args) => verbs::rpm::run(&args),
        Verb::Domains(args) => verbs::domains::run(&args),
        Verb::Boot(args) => verbs::boot::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The words of a command as a shell hands them over.
    fn shell(command: &str) -> Vec<String> {
        let (mut out, mut quoted, mut any) = (vec![String::new()], false, false);
        let mut chars = command.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    any = true;
                }
                '\\' if !quoted => match chars.next() {
                    Some('\n') | None => {}
                    Some(c) => out.last_mut().expect("a word").push(c),
                },
                ' ' | '\n' if !quoted => {
                    if any || !out.last().expect("a word").is_empty() {
                        out.push(String::new());
                        any = false;
                    }
                }
                c => out.last_mut().expect("a word").push(c),
            }
        }
        out.retain(|w| !w.is_empty());
        out
    }

    /// The last line of every golden screen is a command as it could be typed:
    /// whole, and with options that exist.
    #[test]
    fn each_next_command_of_a_golden_screen_parses() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).expect("golden files").flatten() {
            let name = entry.file_name();
            let text = std::fs::read_to_string(entry.path()).expect("text");
            for (at, _) in text.match_indices("\nNext: ") {
                let rest = &text[at + "\nNext: ".len()..];
                // A line goes on where a shell would read on.
                let mut lines = Vec::new();
                for line in rest.lines() {
                    lines.push(line);
                    if !line.ends_with(" \\") {
                        break;
                    }
                }
                let command = lines.join("\n");
                seen += 1;
                if !command.starts_with("dormouse ") {
                    let others = ["trace-cmd ", "grep ", "cat ", "cyclictest ", "less ", "dmesg "];
                    assert!(others.iter().any(|o| command.starts_with(o)), "{name:?}: {command}");
                    continue;
                }
                if let Err(e) = Args::try_parse_from(shell(&command)) {
                    panic!("{name:?}: {command}: {e}");
                }
            }
        }
        assert!(seen >= 30, "{seen}");
    }

    /// Every verb that takes an input shows two commands, and these are valid.
    #[test]
    fn each_verb_has_two_examples_that_parse() {
        let command = Args::command();
        // Verbs with verbs of their own show none.
        const GROUPS: [&str; 4] = ["domains", "idle", "rpm", "storage"];
        let below = |name: &&str| command.find_subcommand(name).expect("a verb").get_subcommands();
        let all = command.get_subcommands().chain(GROUPS.iter().flat_map(below));
        for verb in all.filter(|v| v.get_name() != "help" && !GROUPS.contains(&v.get_name())) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().filter(|l| l.starts_with("  dormouse ")).collect();
            assert!(lines.len() >= 2, "{}: {help}", verb.get_name());
            for line in lines {
                assert!(line.len() <= 80, "{line}");
                let words = line.split_whitespace().map(|w| w.trim_matches('\''));
                if let Err(e) = Args::try_parse_from(words) {
                    panic!("{line}: {e}");
                }
            }
        }
    }
}
