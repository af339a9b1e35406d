//! Whether recorded sleeps meet a budget.

use crate::terminal;
use anyhow::{Result, bail};
use clap::Args;
use dormouse_app::explain;
use dormouse_app::failure::{NotMet, Nothing};
use dormouse_base::time::Ns;
use dormouse_board::parse_duration;
use dormouse_read::Given;
use dormouse_sleep::budget::{Budgets, Verdict, judge};
use dormouse_words::budget::{not_met, text};
use dormouse_words::document::{CHECK, document};
use dormouse_words::wording::next::typed;
use std::path::PathBuf;

/// Judge the recorded cycles by budgets: exit code 4 if one takes longer.
#[derive(Args)]
pub(crate) struct BudgetArgs {
    /// Logs or recordings, or folders of them; `-` is standard input.
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// What suspend may take at most, such as 2s: all of it but time asleep.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, required_unless_present = "resume")]
    suspend: Option<Ns>,
    /// What resume may take at most, such as 250ms.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    resume: Option<Ns>,
    /// Everything, for programs (docs/check-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// [`NotMet`] if a cycle takes longer, [`Nothing`] if none could be judged.
pub(crate) fn run(args: &BudgetArgs, given: &Given) -> Result<()> {
    let all = explain::inputs(given)?;
    let cycles = all.iter().flat_map(|e| e.capture.cycles.iter().zip(&e.views));
    let numbered = cycles.enumerate().map(|(i, (cycle, view))| (i + 1, cycle, view));
    let budgets = Budgets { suspend: args.suspend, resume: args.resume };
    let answer = judge(numbered, budgets);
    if args.json {
        terminal::print(&document(CHECK, "budget", &answer))?;
    } else {
        let inputs: Vec<String> =
            args.inputs.iter().map(|p| typed(&p.display().to_string())).collect();
        terminal::print(&text(&answer, &inputs.join(" "), terminal::wants_colour()))?;
    }
    if let Some(why) = not_met(&answer) {
        bail!(NotMet(why));
    }
    if answer.halves().any(|h| h.1.verdict == Verdict::Unknown) {
        bail!(Nothing("no cycle of the input can be judged by that budget".into()));
    }
    Ok(())
}
