//! `dormouse show --only domains`: who keeps domains on, and what devices wait for.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::domains::{self, Case, Report, Text};
use dormouse_app::failure::{NotMet, Nothing};
use dormouse_read::Given;
use dormouse_words::document::{CHECK, document, section};
use dormouse_words::domains::{Cost, Subject, costs_of, json, next, text};
use serde_json::Value;
use std::path::PathBuf;

/// Show what keeps power domains on and devices from probing.
///
/// Reads pm_genpd_summary, clk_summary, regulator_summary, devices_deferred and
/// idle_states of debugfs, listings of /sys/class/devlink, power resources of ACPI,
/// kernel logs, and mails that quote any of them; device trees, for which regulators
/// stay on in sleep; capture files. It reads files alone: nothing of the running
/// machine is looked at or changed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse show --only domains pm_genpd_summary dmesg.txt\n  dormouse show --only domains --json mail.txt"
)]
pub(crate) struct ShowArgs {
    /// Texts, or folders of them; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// What a domain draws while it is on, such as gpu=0.12: what that costs; may be
    /// repeated.
    #[arg(long, value_name = "NAME=W")]
    draws: Vec<String>,
    /// At most N entries per list.
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "json")]
    top: usize,
    /// Everything, for programs (docs/domains-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the form.
pub(crate) fn run(args: &ShowArgs, given: &Given) -> Result<()> {
    print(&domains::show(given)?, &args.draws, args.top, args.json.then_some(section))
}

/// The same as a section beside others: nothing if links are all that there is.
pub(crate) fn beside(args: &ShowArgs, given: &Given) -> Result<()> {
    let all = domains::show(given)?;
    if !all.iter().any(domains::says_more_than_links) {
        return Err(Nothing("no domain, and nothing waits".into()).into());
    }
    print(&all, &args.draws, args.top, args.json.then_some(section))
}

/// The same, as a verdict.
///
/// # Errors
/// [`NotMet`] if something is broken.
pub(crate) fn verdict(given: &Given, top: usize, as_json: bool) -> Result<()> {
    let written: Written = |texts| document(CHECK, "domains", texts);
    let all = domains::show(given)?;
    print(&all, &[], top, as_json.then_some(written))?;
    Ok(NotMet::if_broken(domains::broken(&all))?)
}

/// What makes a document of texts.
type Written = fn(Value) -> String;

fn print(
    all: &[(Text<Case>, Report)],
    watts: &[String],
    top: usize,
    written: Option<Written>,
) -> Result<()> {
    let watts = domains::watts(watts, all)?;
    let costs: Vec<Vec<Cost>> = all.iter().map(|(t, _)| costs_of(&t.case, &watts)).collect();
    let subjects: Vec<Subject<'_>> = all
        .iter()
        .zip(&costs)
        .map(|((t, report), costs)| Subject {
            name: &t.name,
            case: &t.case,
            report,
            costs,
            losses: &t.losses,
        })
        .collect();
    if let Some(written) = written {
        let texts: Vec<_> = subjects.iter().map(json).collect();
        return terminal::print(&written(serde_json::json!({ "texts": texts })));
    }
    let (several, colour) = (all.len() > 1, terminal::wants_colour());
    let pages: Vec<String> = subjects.iter().map(|s| text(s, top, several, colour)).collect();
    terminal::print(&(pages.join("\n") + &next(&subjects)))
}
