//! Exit codes, the same for every verb. `docs/exit-codes.md` is the table for
//! users; a test holds the two together.

use crate::machine;
use dormouse_lab::Error as LabError;
use dormouse_model::capture::Capture;
use dormouse_model::loss::{Loss, Severity};
use dormouse_read::ReadError;
use dormouse_write::text::safe;
use std::path::PathBuf;
use std::process::ExitCode;

/// Done.
pub const SUCCESS: u8 = 0;
/// The input was read and holds nothing to analyse.
pub const NOTHING: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// An input cannot be read, or an output cannot be written.
pub const INPUT: u8 = 3;
/// `compare --fail-if-slower`: slower than allowed, beyond doubt.
pub const SLOWER: u8 = 4;

/// Every code with its meaning, as documented.
pub const ALL: [(u8, &str); 5] = [
    (SUCCESS, "success"),
    (NOTHING, "nothing to analyse in the input"),
    (USAGE, "bad usage"),
    (INPUT, "input cannot be read"),
    (SLOWER, "slower than allowed"),
];

/// The table as `--help` prints it.
pub fn table() -> String {
    let line = |(code, what): (u8, &str)| format!("\n  {code}  {what}");
    format!("Exit codes:{}", ALL.into_iter().map(line).collect::<String>())
}

/// The input holds nothing to analyse: says what was looked at.
#[derive(Debug, thiserror::Error)]
#[error("nothing to analyse: {0}")]
pub struct Nothing(pub String);

/// No sleep cycle is in `inputs`: what was looked at, what the readers say about
/// it, and what would help.
pub fn nothing_in<'a>(
    inputs: &[PathBuf],
    captures: impl IntoIterator<Item = &'a Capture>,
) -> Nothing {
    let mut out = format!("no suspend or resume event in {}", names(inputs));
    let losses = losses_of(captures, Severity::Info);
    out.push_str(&losses);
    if inputs.iter().any(|p| machine::is_board_file(p)) {
        out.push_str(
            "\n  a board file says what devices do, not what happened: give it to predict, plan, \
             tune\n  or lab run",
        );
    } else if losses.is_empty() {
        out.push_str(
            "\n  give a kernel log (pm_print_times helps), a trace with power events, a run of \
             pm-graph,\n  or a capture of `dormouse record`",
        );
    }
    Nothing(out)
}

/// The inputs have cycles, but not what is asked for: why, and what the readers
/// say that went wrong.
pub fn nothing_of(inputs: &[PathBuf], captures: &[Capture], why: &str) -> Nothing {
    Nothing(format!("{}: {why}{}", names(inputs), losses_of(captures, Severity::Error)))
}

/// The first of the inputs.
fn names(inputs: &[PathBuf]) -> String {
    let shown = inputs.iter().take(3).map(|p| safe(&p.display().to_string()).into_owned());
    let mut names: Vec<String> = shown.collect();
    if inputs.len() > 3 {
        names.push(format!("and {} more", inputs.len() - 3));
    }
    names.join(", ")
}

/// The first losses that are at least so bad, a line each.
fn losses_of<'a>(captures: impl IntoIterator<Item = &'a Capture>, least: Severity) -> String {
    let all = captures.into_iter().flat_map(|c| &c.losses.list).filter(|l| l.severity >= least);
    let line = |l: &Loss| {
        let kind = l.kind.replace('_', " ");
        format!("\n  {}: {kind}: {}", l.severity.name(), safe(&l.advice))
    };
    all.take(8).map(line).collect()
}

/// An option is well-formed but cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// A recording is slower than the caller allows.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Slower(pub String);

/// The code for an error of a verb.
pub fn code(error: &anyhow::Error) -> ExitCode {
    let code = error
        .chain()
        .find_map(|e| {
            if e.is::<Nothing>() {
                Some(NOTHING)
            } else if e.is::<Usage>() || matches!(e.downcast_ref(), Some(LabError::NoKernel(_))) {
                Some(USAGE)
            } else if e.is::<Slower>() {
                Some(SLOWER)
            } else if e.is::<ReadError>() || e.is::<std::io::Error>() {
                Some(INPUT)
            } else {
                None
            }
        })
        .unwrap_or(INPUT);
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_table_is_the_real_one() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-codes.md");
        let text = std::fs::read_to_string(file).expect("docs/exit-codes.md");
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).skip(1).collect();
        assert_eq!(rows.len(), ALL.len(), "one row a code");
        for (row, (code, what)) in rows.iter().zip(ALL) {
            assert!(row.starts_with(&format!("| {code} | {what} |")), "{row}");
        }
    }
}
