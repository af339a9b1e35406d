//! Whether inputs hold to limits: gates, for people and for test systems.

use super::compare::percent;
use crate::terminal;
use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dormouse_app::check::{Asked, Mark, Ready, gated};
use dormouse_app::failure::{NotMet, Nothing};
use dormouse_base::finding::Level;
use dormouse_base::time::Ns;
use dormouse_board::parse_duration;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_sleep::budget::Budgets;
use dormouse_sleep::energy::power_of;
use dormouse_words::budget::{not_known, not_met, text};
use dormouse_words::document::{CHECK, document};
use dormouse_words::gate::{Form, print};
use dormouse_words::wording::next::typed;
use std::path::PathBuf;

/// Hold inputs against limits: exit code 4 if one is not met, 1 if an input does not hold
/// what would tell.
#[derive(Args)]
pub(crate) struct BudgetArgs {
    /// Texts or recordings, or folders of them; `-` is standard input. Without one: this machine.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// What suspend may take at most, such as 2s: all of it but time asleep.
    #[arg(long, value_name = "TIME", value_parser = parse_duration,
          required_unless_present_any = ["resume", "hardware_sleep", "max_power", "ready", "fail_on", "form"])]
    suspend: Option<Ns>,
    /// What resume may take at most, such as 250ms.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    resume: Option<Ns>,
    /// How much of every sleep the hardware must sleep, by its own counters; for example 90%.
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    hardware_sleep: Option<i64>,
    /// What a sleep may draw at most, by the battery before and after it, such as 1W.
    #[arg(long, value_name = "POWER", value_parser = watts)]
    max_power: Option<i64>,
    /// What must be there so long after the kernel's return, by the stamps of services: `net`
    /// (its address), `link`, `session`, `unit` (the hooks), `screen`, or `app:NAME`, which a
    /// program marks (`dormouse mark NAME`); may be repeated.
    #[arg(long, value_name = "WHAT=TIME", value_parser = ready)]
    ready: Vec<Ready>,
    /// Findings this bad fail, and worse ones; guesses do not. `risk` counts what is slow too.
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["broken", "risk"]))]
    fail_on: Option<String>,
    /// The answer for a test system (docs/ci.md); without a limit it fails on broken.
    #[arg(long = "as", value_name = "FORM", conflicts_with = "json",
          value_parser = PossibleValuesParser::new(Form::ALL.map(|f| f.0)))]
    form: Option<String>,
    /// For `--as kcidb`: the build that was tested, as KCIDB knows it.
    #[arg(long, value_name = "ORIGIN:ID", default_value = NO_BUILD, value_parser = build)]
    kcidb_build: String,
    /// Everything, for programs (docs/check-json.md).
    #[arg(long)]
    json: bool,
    /// Look for /sys, /proc and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/", conflicts_with = "inputs")]
    root: PathBuf,
}

/// A build that nobody named.
const NO_BUILD: &str = "dormouse:unknown";

/// A share up to all of it, in thousandths of a per cent.
fn share(text: &str) -> Result<i64, String> {
    let share = percent(text)?;
    match share <= 100.0 {
        // 0.9 is a slip of somebody who writes shares of one: it would always hold.
        true if share < 1.0 && !text.ends_with('%') => {
            Err(format!("`{text}` is less than 1 %: write a percentage such as 90%"))
        }
        true => Ok((share * 1_000.0).round() as i64),
        false => Err(format!("`{text}` is more than all of a sleep: write 100% or less")),
    }
}

/// A power in uW.
fn watts(text: &str) -> Result<i64, String> {
    let none = |_| {
        format!("`{text}` is no power up to 1000 W: write a number and W, mW or uW, such as 600mW")
    };
    let power = power_of("max-power", text).map_err(none)?;
    i64::try_from(power.0).map_err(|e| e.to_string())
}

/// What is to be ready, and when.
fn ready(text: &str) -> Result<Ready, String> {
    let names = || format!("{}, app:NAME", Mark::AFTER.map(|m| m.0).join(", "));
    let (name, time) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is no limit: write WHAT=TIME, such as net=2s"))?;
    let mark = Mark::find(name)
        .ok_or_else(|| format!("`{name}` is not known: write one of {}", names()))?;
    Ok(Ready { mark, within: parse_duration(time)? })
}

/// An identifier of KCIDB: who built it, and what they call it.
fn build(text: &str) -> Result<String, String> {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    match text.split_once(':') {
        Some((origin, id)) if !origin.is_empty() && !id.is_empty() && origin.bytes().all(word) => {
            Ok(text.into())
        }
        _ => Err(format!("`{text}` is no build of KCIDB: write ORIGIN:ID, such as maestro:66f2")),
    }
}

/// Runs the verb.
///
/// # Errors
/// [`NotMet`] if a limit is not met, [`Nothing`] if one could not be judged.
pub(crate) fn run(args: &BudgetArgs, given: &Given) -> Result<()> {
    let form = args.form.as_ref().and_then(|f| Form::ALL.into_iter().find(|a| a.0 == f));
    let mut asked = Asked {
        budgets: Budgets { suspend: args.suspend, resume: args.resume },
        hardware_sleep: args.hardware_sleep,
        max_power: args.max_power,
        ready: args.ready.clone(),
        fail_on: args
            .fail_on
            .as_ref()
            .map(|l| if l == "risk" { Level::Risk } else { Level::Broken }),
    };
    if asked.is_empty() {
        asked.fail_on = Some(Level::Broken);
    }
    let (answer, nothing) = gated(&asked, given, &Root::below(&args.root))?;
    let inputs: Vec<String> = args.inputs.iter().map(|p| p.display().to_string()).collect();
    match (form, &nothing) {
        (Some((_, form)), _) => {
            terminal::print(&print(form, &answer, &inputs, &args.kcidb_build))?;
            if form == Form::Kcidb && args.kcidb_build == NO_BUILD {
                terminal::remarked(
                    "dormouse: no build is named, and KCIDB keeps no test without one: --set kcidb-build=ORIGIN:ID\n",
                );
            }
        }
        (None, _) if args.json => terminal::print(&document(CHECK, "budget", &answer))?,
        // What was looked at, and what would help.
        (None, Some(why)) => bail!(Nothing(why.clone())),
        (None, None) => {
            let typed: Vec<String> = inputs.iter().map(|i| typed(i)).collect();
            terminal::print(&text(&answer, &typed.join(" "), terminal::wants_colour()))?;
        }
    }
    if let Some(why) = not_met(&answer) {
        bail!(NotMet(why));
    }
    match not_known(&answer) {
        Some(why) => bail!(Nothing(nothing.unwrap_or(why))),
        None => Ok(()),
    }
}
