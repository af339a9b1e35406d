//! Why a use case ends without an answer. The command line makes its exit code
//! of these types (`docs/exit-codes.md`).

use crate::machine;
use dormouse_model::capture::Capture;
use dormouse_model::loss::{Loss, Severity};
use dormouse_write::text::safe;
use std::path::PathBuf;

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

/// What was asked for is not met: slower than allowed, or a prediction that a
/// kernel did not confirm.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotMet(pub String);
