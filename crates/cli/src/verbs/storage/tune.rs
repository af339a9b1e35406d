//! `dormouse storage tune`: the delay that meets a budget at least cost.

use super::predict::{Delay, delay, disk};
use crate::asked::again;
use crate::terminal;
use crate::verbs::idle::asked::typed_all;
use anyhow::{Context, Result};
use clap::{ArgGroup, Args, ValueEnum};
use dormouse_app::failure::NotMet;
use dormouse_app::storage::{Asked, Budget, Tuned, Wish, tune};
use dormouse_storage::request::Disk;
use dormouse_storage::summary::Latency;
use dormouse_storage::tune::Found;
use dormouse_write::storage::handover::{Knob, NAME, rules};
use dormouse_write::storage::tune::{Advice, Side, json, text};
use std::fs;
use std::path::{Path, PathBuf};

/// Choose the delay before storage falls asleep.
///
/// For a latency, or for energy.
///
/// Lets the storage of a recording fall asleep after every delay that makes a
/// difference, and takes the cheapest that keeps the budget. Arrivals and service
/// stay as recorded. It refuses (exit code 5) if one delay does not explain the
/// recording itself; exit code 4 means that no delay meets the budget.
#[derive(Args)]
#[command(
    override_usage = "dormouse storage tune [OPTIONS] <INPUT>...",
    after_help = "Examples:\n  dormouse storage tune trace.dat --p99 1ms\n  dormouse storage tune trace.dat --least-energy --break-even 400ms -o changes/",
    group = ArgGroup::new("budget").required(true).args(["p99", "least_energy"])
)]
pub struct TuneArgs {
    /// Traces, or folders of them; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// 99 of 100 requests take at most this, at least energy.
    #[arg(long, value_name = "TIME", value_parser = time)]
    p99: Option<i64>,
    /// Least energy, whatever requests take.
    #[arg(long)]
    least_energy: bool,
    /// Which sleep; without it the one that requests waited for longest.
    #[arg(long, value_name = "STATE")]
    state: Option<Sleep>,
    /// Time asleep that saves as much as one wake-up costs.
    #[arg(long, value_name = "TIME", value_parser = time)]
    break_even: Option<i64>,
    /// The disk, such as 8,0; without it the one that waited most.
    #[arg(long, value_name = "DISK", value_parser = disk)]
    disk: Option<Disk>,
    /// Write the rule of udev that sets it into this folder.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Everything, for programs (docs/storage-json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sleep {
    /// The clocks of UFS (clkgate_delay_ms).
    Gate,
    /// Runtime suspend (autosuspend_delay_ms).
    Autosuspend,
}

fn time(text: &str) -> Result<i64, String> {
    match delay(text)? {
        Delay(Some(ns)) => Ok(ns),
        Delay(None) => Err("a time such as 1ms".into()),
    }
}

/// Runs the verb.
pub fn run(args: &TuneArgs) -> Result<()> {
    let wish = Wish {
        asked: args.state.map(|s| match s {
            Sleep::Gate => Asked::Gate,
            Sleep::Autosuspend => Asked::Autosuspend,
        }),
        budget: args.p99.map_or(Budget::Energy, Budget::P99),
        break_even: args.break_even,
        disk: args.disk,
    };
    let t = tune(&args.input, &wish)?;
    let stays = t.chosen.1.delay == t.now.1.delay;
    let written = match &args.output {
        Some(folder) if t.met && !stays => vec![write_rules(folder, &t)?],
        _ => Vec::new(),
    };
    let again = again().join(" ");
    let input = typed_all(&args.input);
    let advice = Advice {
        setting: t.sleeper.asked.setting(),
        p99: args.p99,
        met: t.met,
        stays,
        present: t.sleeper.present,
        recorded: t.sleeper.recorded.mean,
        wake: t.sleeper.wake,
        woken: t.sleeper.wakes,
        unasked: t.sleeper.unasked,
        break_even: t.break_even,
        given: t.given,
        now: side(&t.now),
        chosen: side(&t.chosen),
        rule: side(&t.rule),
        best: t.best,
        span: t.sleeper.span,
        tried: t.tried,
        written: &written,
        again: &again,
        input: &input,
    };
    if args.json {
        terminal::print(&(serde_json::to_string_pretty(&json(&advice))? + "\n"))?;
    } else {
        terminal::print(&text(&advice, terminal::wants_colour()))?;
    }
    if !t.met {
        return Err(NotMet("the budget is not met".into()).into());
    }
    Ok(())
}

fn side((latency, f): &(Latency, Found)) -> Side {
    Side {
        delay: f.delay,
        latency: *latency,
        wakes: f.again.wakes,
        asleep: f.again.asleep,
        cost: f.cost,
    }
}

fn write_rules(folder: &Path, t: &Tuned) -> Result<String> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let knob = match t.sleeper.asked {
        Asked::Gate => Knob::Gate,
        Asked::Autosuspend => Knob::Autosuspend(t.sleeper.disk),
    };
    let path = folder.join(NAME);
    fs::write(&path, rules(knob, t.chosen.1.delay))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.display().to_string())
}
