//! What is wrong with the sleep of a machine: findings, modes of sleep, clocks.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::clocks as use_clocks;
use dormouse_app::doctor::{Judged, doctor, live};
use dormouse_app::failure::{NotMet, Nothing};
use dormouse_app::faults::{above_tables, checked};
use dormouse_app::modes::{live as live_modes, of_inputs};
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_sleep::modes::Powers;
use dormouse_words::clocks::{ahead as ahead_text, ahead_json, past as past_text, past_json};
use dormouse_words::doctor::{Subject, json, next, text};
use dormouse_words::document::{CHECK, document, section};
use dormouse_words::modes::{json as modes_json, text as modes_text};
use serde_json::Value;
use std::path::PathBuf;

/// Say what is wrong with the sleep of this machine, or of a log.
///
/// Without an input it looks at this machine for two seconds: its settings, its
/// failures since boot, what a sleep now would wait for, and its kernel's log. It
/// changes nothing and needs no rights; what root would add is listed. With one
/// it reads kernel logs, mails or tickets that quote them, and recordings, which it
/// judges by their phases and callbacks. Finds sleeps that
/// failed or were ended, tasks that would not freeze, sleep in name only,
/// buses used while suspended, slow sync, failed hibernations. What is not
/// proven is called a guess; what could not be checked is listed.
#[derive(Args)]
pub(crate) struct FindingsArgs {
    /// Texts or recordings, or folders of them; `-` is standard input. Without one: this machine.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Everything, for programs (docs/show-json.md).
    #[arg(long)]
    json: bool,
    /// Look for /sys, /proc and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/", conflicts_with = "inputs")]
    root: PathBuf,
}

/// Which modes of sleep there are, what the last sleeps really were, which mode pays.
#[derive(Args)]
pub(crate) struct ModesArgs {
    /// Recordings or logs; without one: this machine.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// What the machine draws, such as
    /// awake=6W,suspending=5W,s2idle=900mW,deep=300mW,boot=15s (docs/energy.md).
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Powers::parse)]
    power: Option<Powers>,
    /// Everything, for programs (docs/show-json.md).
    #[arg(long)]
    json: bool,
    /// Look for /sys, /proc and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/", conflicts_with = "inputs")]
    root: PathBuf,
}

/// What becomes of clocks and timers in a sleep: before it, or after it in recordings.
#[derive(Args)]
pub(crate) struct ClocksArgs {
    /// Recordings; without one: this machine.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Everything, for programs (docs/show-json.md).
    #[arg(long)]
    json: bool,
    /// Look for /sys, /proc and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/", conflicts_with = "inputs")]
    root: PathBuf,
}

/// Says what is wrong.
pub(crate) fn findings(args: &FindingsArgs, given: &Given) -> Result<()> {
    print(args, &judged(args, given)?, section)
}

/// The same as a section beside others: nothing if nothing is there to be said.
pub(crate) fn found(args: &FindingsArgs, given: &Given) -> Result<()> {
    let judged = match args.inputs.is_empty() {
        true => judged(args, given)?,
        false => above_tables(given)?,
    };
    if judged.iter().all(|j| j.report.findings.is_empty() && j.report.sleeps.is_empty()) {
        return Err(Nothing("no attempt to sleep and no finding".into()).into());
    }
    print(args, &judged, section)
}

/// The same as a verdict.
///
/// # Errors
/// [`NotMet`] if something is broken.
pub(crate) fn verdict(args: &FindingsArgs, given: &Given) -> Result<()> {
    let judged = match args.inputs.is_empty() {
        true => judged(args, given)?,
        false => checked(given)?,
    };
    print(args, &judged, |texts| document(CHECK, "sleep", texts))?;
    Ok(NotMet::if_broken(judged.iter().map(Judged::broken).sum())?)
}

fn judged(args: &FindingsArgs, given: &Given) -> Result<Vec<Judged>> {
    match args.inputs.is_empty() {
        true => Ok(vec![live(&Root::below(&args.root))]),
        false => doctor(given),
    }
}

fn print(args: &FindingsArgs, judged: &[Judged], written: fn(Value) -> String) -> Result<()> {
    let here = args.inputs.is_empty();
    let subjects = judged.iter().map(|j| Subject {
        name: &j.name,
        report: &j.report,
        losses: &j.losses,
        live: here,
    });
    if args.json {
        let texts: Vec<_> = subjects.map(|s| json(&s)).collect();
        return terminal::print(&written(serde_json::json!({ "texts": texts })));
    }
    let several = judged.len() > 1;
    let pages: Vec<String> =
        subjects.map(|s| text(&s, several, terminal::wants_colour())).collect();
    let mut out = pages.join("\n");
    // What tables say in full, `show` has.
    let shown = |j: &Judged| !j.report.sleeps.is_empty() || !here && j.case.is_none();
    let slept = !several && judged.iter().any(shown);
    let one = args.inputs.first().filter(|_| slept && args.inputs.len() == 1);
    let reports: Vec<_> = judged.iter().map(|j| &j.report).collect();
    out += &next(one.map(|p| p.display().to_string()).as_deref(), &reports);
    terminal::print(&out)
}

/// Says which modes of sleep there are.
pub(crate) fn modes(args: &ModesArgs, given: &Given) -> Result<()> {
    let here = args.inputs.is_empty();
    let powers = args.power.unwrap_or_default();
    let found = match here {
        true => live_modes(&Root::below(&args.root), powers),
        false => of_inputs(given, powers)?,
    };
    if args.json {
        return terminal::print(&section(modes_json(&found)));
    }
    let typed: Vec<String> = args.inputs.iter().map(|p| p.display().to_string()).collect();
    let one = (typed.len() == 1).then(|| typed[0].as_str());
    terminal::print(&modes_text(&found, one, terminal::wants_colour()))
}

/// Says what becomes of clocks.
pub(crate) fn clocks(args: &ClocksArgs, given: &Given) -> Result<()> {
    let here = args.inputs.is_empty();
    let colour = terminal::wants_colour();
    let page = if here {
        let ahead = use_clocks::live(&Root::below(&args.root));
        if args.json { section(ahead_json(&ahead)) } else { ahead_text(&ahead, colour) }
    } else {
        let past = use_clocks::of_inputs(given)?;
        let one = args.inputs.first().filter(|_| args.inputs.len() == 1);
        let typed = one.map(|p| p.display().to_string());
        match args.json {
            true => section(past_json(&past)),
            false => past_text(&past, typed.as_deref(), colour),
        }
    };
    terminal::print(&page)
}
