//! `dormouse tune`: the settings that meet a budget at least cost.

use super::predict::{Delay, basis, delay, disk};
use crate::asked::again;
use crate::terminal;
use crate::verbs::idle::asked::typed_all;
use anyhow::{Context, Result};
use clap::{ArgGroup, Args, ValueEnum};
use dormouse_app::failure::{NotMet, Usage};
use dormouse_app::storage::{
    Asked, Basis, Budget, Sought, Tuned, Wish, seek_described, seek_recorded, show, tune,
};
use dormouse_read::Given;
use dormouse_storage::simulate::energy::BreakEven;
use dormouse_storage::simulate::load::{Load, Loop, Next};
use dormouse_storage::simulate::settings::{Governor, Settings};
use dormouse_storage::summary::Latency;
use dormouse_storage::trust::FITTED_FROM;
use dormouse_storage::tune::Found;
use dormouse_words::document::{TUNE, document};
use dormouse_words::storage::disk::describe;
use dormouse_words::storage::handover::{LOAD, NAME, OPTIONS, Set, Whose, options, rules};
use dormouse_words::storage::seek;
use dormouse_words::storage::tune::{Advice, Side, text};
use dormouse_words::wording::next::word;
use std::fs;
use std::path::{Path, PathBuf};

/// Choose the settings of storage for a latency, or for energy.
///
/// Of a recording that shows what clocks cost, and of a disk that somebody described,
/// all settings are searched together: delays before sleeps, looks and limits of
/// devfreq, and a clock that requests raise. Of any other recording the delay before
/// one sleep: every one that makes a difference. The cheapest that keeps the budget is
/// taken. It refuses (exit code 5) if the settings in force do not explain the
/// recording itself; exit code 4 means that nothing meets the budget.
#[derive(Args)]
#[command(
    override_usage = "dormouse tune [OPTIONS] <INPUT>...\n       dormouse tune [OPTIONS] --disk <FILE> [--load <FILE>]",
    after_help = "Examples:\n  dormouse tune trace.dat --p99 1ms\n  dormouse tune trace.dat --least-energy --break-even 400ms -o changes/\n  dormouse tune --disk ufs.disk --p99 1ms --device 1d84000.ufshc -o new",
    group = ArgGroup::new("budget").required(true).args(["p99", "energy"])
)]
pub(crate) struct TuneArgs {
    /// Traces, or folders of them; `-` is standard input.
    input: Vec<PathBuf>,
    /// 99 of 100 requests take at most this, at least energy.
    #[arg(long, value_name = "TIME", value_parser = time)]
    p99: Option<i64>,
    /// Least energy, whatever requests take.
    #[arg(long = "least-energy", alias = "energy")]
    energy: bool,
    /// Only the delay before this sleep; without it all that is known.
    #[arg(long, value_name = "STATE")]
    state: Option<Sleep>,
    /// Time asleep that saves as much as one wake-up costs; of one delay.
    #[arg(long, value_name = "TIME", value_parser = time)]
    break_even: Option<i64>,
    /// Powers of a recorded disk: a file with lines as in the description of one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["break_even", "load"])]
    costs: Option<PathBuf>,
    /// Choose the governor's thresholds too, which only a change of the driver sets.
    #[arg(long)]
    thresholds: bool,
    /// The disk: such as 8,0 of a recording, or a file that describes one.
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// A file with the load of a described disk.
    #[arg(long, value_name = "FILE", requires = "disk")]
    load: Option<PathBuf>,
    /// The host in /sys/class/devfreq that rules name, such as 1d84000.ufshc.
    #[arg(long, value_name = "NAME", value_parser = device)]
    device: Option<String>,
    /// Write a rule of udev, options of modules, and descriptions for `dormouse lab
    /// storage` into this folder.
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

/// A name that a rule of udev can hold.
fn device(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:_-".contains(c);
    if text.is_empty() || !text.chars().all(plain) {
        return Err("a device by its name, such as 1d84000.ufshc".into());
    }
    Ok(text.into())
}

/// Runs the verb.
pub(crate) fn run(args: &TuneArgs, given: &Given) -> Result<()> {
    let number = args.disk.as_deref().and_then(|d| disk(d).ok());
    let wish = Wish {
        asked: args.state.map(|s| match s {
            Sleep::Gate => Asked::Gate,
            Sleep::Autosuspend => Asked::Autosuspend,
        }),
        budget: args.p99.map_or(Budget::Energy, Budget::P99),
        break_even: args.break_even,
        disk: number,
    };
    if let (Some(file), None) = (&args.disk, number) {
        if !args.input.is_empty() {
            let why = format!("--disk {file} is no disk of a recording; such as 8,0");
            return Err(Usage(why).into());
        }
        if args.state.is_some() || args.break_even.is_some() || args.costs.is_some() {
            let why = "--state, --break-even and --costs are of a recording; a described disk has \
                       its own costs";
            return Err(Usage(why.into()).into());
        }
        let s = seek_described(file.as_ref(), args.load.as_deref(), &wish, args.thresholds)?;
        return sought(args, &s);
    }
    if args.input.is_empty() {
        let why = "give a recording, or a disk: --disk FILE (docs/storage.md)";
        return Err(Usage(why.into()).into());
    }
    if args.load.is_some() {
        return Err(Usage("a recording has its own load; --load needs --disk FILE".into()).into());
    }
    let shown = show(given)?;
    let one = wish.asked.is_some() || wish.break_even.is_some();
    let clocks = if one {
        "one delay was asked for".to_string()
    } else {
        match seek_recorded(&shown, args.costs.as_deref(), &wish, args.thresholds) {
            Ok(s) => return sought(args, &s),
            Err(e) if e.is::<Usage>() => return Err(e),
            Err(e) => e.to_string(),
        }
    };
    let t = tune(&shown, &wish)?;
    let changed = t.chosen.1.delay != t.now.1.delay;
    let written = match &args.output {
        Some(folder) if t.met && changed => write_rules(args, folder, &t)?,
        _ => Vec::new(),
    };
    let again = again().join(" ");
    let input = typed_all(&args.input);
    let advice = Advice {
        setting: t.sleeper.asked.setting(),
        p99: args.p99,
        met: t.met,
        changed,
        present_above: t.sleeper.present.0,
        present_at_most: t.sleeper.present.1,
        present_known: t.sleeper.known,
        least: i64::try_from(t.least).unwrap_or(i64::MAX),
        recorded_mean: t.sleeper.recorded.mean,
        wake: t.sleeper.wake,
        waited: t.sleeper.wakes,
        woken_by_no_request: t.sleeper.unasked,
        break_even: t.break_even,
        break_even_given: t.given,
        now: side(&t.now, t.sleeper.known),
        chosen: side(&t.chosen, true),
        break_even_rule: side(&t.rule, true),
        least_cost: i64::try_from(t.best).ok(),
        span: t.sleeper.span,
        delays_tried: t.tried.0,
        all_delays_tried: t.tried.1,
        files: &written,
        again: &again,
        input: &input,
        clocks_not_searched: if one { "" } else { &clocks },
    };
    if args.json {
        terminal::print(&document(TUNE, "storage", advice))?;
    } else {
        terminal::print(&text(&advice, terminal::wants_colour()))?;
    }
    if !t.met {
        return Err(NotMet("the budget is not met".into()).into());
    }
    Ok(())
}

fn side((latency, f): &(Latency, Found), known: bool) -> Side {
    Side {
        delay: f.delay,
        latency: *latency,
        wakes: f.again.wakes,
        asleep: known.then_some(f.again.asleep),
        cost: i64::try_from(f.cost).ok().filter(|_| known),
    }
}

fn write_rules(args: &TuneArgs, folder: &Path, t: &Tuned) -> Result<Vec<String>> {
    let delay = t.chosen.1.delay;
    let set = match t.sleeper.asked {
        Asked::Gate => Set::Gate(delay),
        Asked::Autosuspend => Set::Autosuspend(delay),
    };
    let whose = Whose { disk: Some(t.sleeper.disk), host: args.device.as_deref() };
    let text = rules(whose, &[set]).map_err(Usage)?;
    text.iter().map(|text| put(folder, NAME, text)).collect()
}

fn put(folder: &Path, name: &str, text: &str) -> Result<String> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.display().to_string())
}

/// All settings together.
fn sought(args: &TuneArgs, s: &Sought) -> Result<()> {
    let f = &s.found;
    let sets = Set::between(&f.now.settings, &f.chosen.settings);
    let written = match &args.output {
        Some(folder) if f.met && !sets.is_empty() => hand_over(args, folder, s, &sets)?,
        _ => Vec::new(),
    };
    let again = again().join(" ");
    let lab = args.output.as_deref().filter(|_| written.iter().any(|w| w.ends_with(".disk")));
    let lab = lab.map(|folder| word(&folder.join("lab").display().to_string()));
    let advice = seek::Advice {
        source: &s.source,
        recorded: s.recorded.as_ref().map(|r| r.2),
        p99: args.p99,
        found: f,
        sets: &sets,
        oracle: &s.oracle,
        rule: &s.rule,
        even: &s.even,
        basis: basis(s.basis),
        powers: s.powers.any(),
        has: [s.drive.levels.len() > 1, s.drive.gate.wake > 0, s.drive.suspend.wake > 0],
        written: &written,
        lab: lab.as_deref(),
        again: &again,
    };
    if args.json {
        terminal::print(&document(TUNE, "settings", seek::json(&advice)))?;
    } else {
        terminal::print(&seek::text(&advice, terminal::wants_colour()))?;
    }
    if !f.met {
        return Err(NotMet("the budget is not met".into()).into());
    }
    Ok(())
}

/// Writes rules, options and, for the laboratory, the disk as it is and as chosen, and
/// the load from which the kernel's own part is fitted.
fn hand_over(args: &TuneArgs, folder: &Path, s: &Sought, sets: &[Set]) -> Result<Vec<String>> {
    let named = s.recorded.as_ref();
    let whose = Whose {
        disk: named.map(|r| r.0),
        host: args.device.as_deref().or_else(|| named.map(|r| r.1.as_str())),
    };
    let mut out = Vec::new();
    if let Some(text) = rules(whose, sets).map_err(Usage)? {
        out.push(put(folder, NAME, &text)?);
    }
    if let Some(text) = options(sets) {
        out.push(put(folder, OPTIONS, &text)?);
        out.push(put(folder, LOAD, "dormouse_fqos\n")?);
    }
    let (now, then) = (&s.found.now.settings, &s.found.chosen.settings);
    // What follows of powers is not given beside them.
    let even = if s.basis == Basis::Given { s.even } else { BreakEven::default() };
    let disk =
        |settings: &Settings, load: &Load| describe(&s.drive, settings, load, &s.powers, &even);
    let mut still = *now;
    (still.gate, still.autosuspend) = (None, None);
    still.devfreq.governor = Governor::Performance;
    let (count, next) = (FITTED_FROM, Next::After(0));
    let steady = Loop { count, bytes: 65_536, depth: 1, think: 0, burst: count, next };
    for (name, text) in [
        ("lab/software.disk", disk(&still, &Load::Loop(steady))),
        ("lab/now.disk", disk(now, &s.load)),
        ("lab/chosen.disk", disk(then, &s.load)),
    ] {
        out.push(put(folder, name, &text)?);
    }
    Ok(out)
}
