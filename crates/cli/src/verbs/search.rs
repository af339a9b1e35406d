//! `dormouse search`: which devices of this machine bring a trouble, by trial.

use crate::asked::{again, without_option};
use crate::number::number;
use crate::recording::{Print, SleepArgs, Terminal, observer, restore_on_panic, what_it_does};
use crate::terminal;
use crate::verbs::restore;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use dormouse_app::failure::{Nothing, Usage};
use dormouse_app::search::{among, search};
use dormouse_machine::guard::Restored;
use dormouse_machine::options::{Options, Wake};
use dormouse_machine::root::Root;
use dormouse_machine::trials::{Asked, Kind, Setting, Trials, settings};
use dormouse_record::exit::{Ended, NOT_MET};
use dormouse_sleep::culprits::{MOST, Verdict};
use dormouse_sleep::plan::handover::off_rules;
use dormouse_words::decision::culprits::{self as written, Search};
use std::fs;
use std::path::PathBuf;

/// Find the devices that wake this machine or break its sleep, by trial (needs root and --yes).
///
/// The machine sleeps again and again, with some of the devices turned off; which, follows from
/// all sleeps before. Every setting is put back after each sleep. The sleeps are kept in a
/// folder: the same command goes on after a kill, a hang or a power cut. At most two culprits
/// are found; docs/search.md says how sure that is.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse search wakeup --wake rtc:60\n  dormouse search async --among 'usb*' -o 92-dormouse-async.rules"
)]
pub(crate) struct SearchArgs {
    /// What is turned off.
    #[arg(value_enum, value_name = "KIND")]
    kind: What,
    /// Only these devices (name with * and ?, or /sys/devices/…); may be repeated.
    #[arg(long, value_name = "PATTERN")]
    among: Vec<String>,
    /// The trouble comes at least once in so many sleeps.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<u32>(2, 500))]
    one_in: u32,
    /// At most so many sleeps, with those of earlier starts.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = number::<u32>(1, 100_000))]
    cycles: u32,
    /// The folder in which the sleeps are kept [default: search-KIND].
    #[arg(long, value_name = "DIR")]
    campaign: Option<PathBuf>,
    /// Write the udev rule that turns the culprits off for good.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON (docs/search.md).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sleep: SleepArgs,
    /// Run this after each sleep; the trouble is there if it fails.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Devices that may wake the machine; the trouble is a sleep that ends before its alarm.
    Wakeup,
    /// Devices whose callbacks may run beside others; the trouble is a sleep that fails.
    Async,
    /// Drivers of devices; the trouble is a sleep that fails.
    Driver,
}

impl What {
    fn kind(self) -> Kind {
        match self {
            What::Wakeup => Kind::Wakeup,
            What::Async => Kind::Async,
            What::Driver => Kind::Driver,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: SearchArgs) -> Result<()> {
    let (root, kind) = (args.sleep.root(), args.kind.kind());
    let options = args.sleep.options(1);
    let is_alarm = matches!(options.wake, Wake::Rtc { .. });
    if kind == Kind::Wakeup && !is_alarm {
        let advice = "what wakes the machine is told by the alarm that it wakes before: give \
                      --wake rtc:SECONDS";
        return Err(Usage(advice.into()).into());
    }
    let settings = candidates(&root, kind, &args.among)?;
    let asked = Asked { kind, rarest: args.one_in, check: args.command.clone(), settings };
    if args.sleep.dry_run || !args.sleep.yes {
        return rehearse(&args, &root, &options, &asked);
    }
    if !args.sleep.may_write() {
        let why = "search writes to /sys: run it as root (sudo dormouse search …)";
        return Err(Usage(why.into()).into());
    }
    let folder = args.campaign.clone().unwrap_or_else(|| format!("search-{}", kind.name()).into());
    let list = folder.display().to_string();
    let mut trials = Trials::open(&root, &folder, &asked)
        .with_context(|| format!("the search in {list} cannot be used"))?;
    let same = |a: &Asked| (a.kind, a.rarest, a.check.clone());
    if same(&trials.asked) != same(&asked) {
        let why = format!(
            "{list} is of another search ({}, --one-in {}): give its options, or another folder \
             with --campaign",
            trials.asked.kind.name(),
            trials.asked.rarest
        );
        return Err(Usage(why).into());
    }
    if trials.hung {
        remark!("dormouse: the machine did not come back from sleep {}.", trials.done.len());
    }
    restore_on_panic(&root, &options.journal);
    let mut watch = Terminal::new(args.cycles)?;
    watch.bar.set_position(trials.done.len() as u64);
    let most = args.cycles as usize;
    let found = search(&root, &options, &mut trials, most, &mut *observer()?, &mut watch)?;
    watch.bar.finish_and_clear();
    let rules = rules(&trials.asked, found.verdict.as_ref());
    if let (Some(path), Some(rules)) = (&args.output, &rules) {
        fs::write(path, rules).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let output = args.output.as_ref().map(|p| p.display().to_string());
    let devices: Vec<String> = trials.asked.settings.iter().map(shown).collect();
    let sleeps: Vec<Option<String>> = trials.done.iter().map(|t| t.trouble.clone()).collect();
    let more = args.cycles.saturating_mul(2).min(100_000);
    let again = format!("{} --cycles {more}", without_option(&again(), "--cycles"));
    let shown = Search {
        kind: kind.name(),
        devices: &devices,
        verdict: found.verdict.as_ref(),
        suspects: &found.suspects,
        sleeps: &sleeps,
        rarest: trials.asked.rarest,
        list: &list,
        unreadable: trials.unreadable,
        rules: rules.as_deref().map(|r| (r, output.as_deref())),
        again: &again,
    };
    terminal::print(&if args.json { written::json(&shown) } else { written::text(&shown) })?;
    restore::complain(&Restored { failed: found.failed, ..Restored::default() })?;
    if let Some(e) = found.error {
        return Err(e).context("the search ended early; every setting was put back");
    }
    match found.verdict {
        Some(Verdict::Found(_)) => Ok(()),
        _ => Err(Ended(NOT_MET).into()),
    }
}

/// The devices that are turned off and on.
fn candidates(root: &Root, kind: Kind, patterns: &[String]) -> Result<Vec<Setting>> {
    let settings = among(settings(root, kind), patterns);
    let what = match kind {
        Kind::Wakeup => "may wake it, besides its clock",
        Kind::Async => "has power/async on, and a driver",
        Kind::Driver => "has a driver that can be taken away, and holds nothing that runs",
    };
    match settings.len() {
        0 if patterns.is_empty() => {
            Err(Nothing(format!("no device of this machine {what}")).into())
        }
        0 => Err(Usage(format!("--among: no device of that name {what}")).into()),
        n if n > MOST => Err(Usage(format!(
            "{n} devices are too many to search, {MOST} at most: choose some with --among"
        ))
        .into()),
        _ => Ok(settings),
    }
}

/// The device as a person refers to it.
fn shown(s: &Setting) -> String {
    if s.driver.is_empty() { s.name.clone() } else { format!("{} ({})", s.name, s.driver) }
}

/// What turns the culprits off for good; a driver is kept from a device by other means.
fn rules(asked: &Asked, verdict: Option<&Verdict>) -> Option<String> {
    let (Some(Verdict::Found(c)), Kind::Wakeup | Kind::Async) = (verdict, asked.kind) else {
        return None;
    };
    let off = c.remedy().iter().map(|n| &asked.settings[*n]);
    let off: Vec<(&str, &str)> = off.map(|s| (s.devpath.as_str(), s.name.as_str())).collect();
    Some(off_rules(asked.kind.name(), &off))
}

fn rehearse(args: &SearchArgs, root: &Root, options: &Options, asked: &Asked) -> Result<()> {
    let mut print = Print::new("the machine sleeps in the write above, and is awake here".into());
    if let Some(e) = Trials::rehearse(root, options, asked, &mut print)? {
        return Err(e.into());
    }
    let what = what_it_does(options, args.cycles);
    print.show(&format!(
        "This would {what} at most, with some of {} devices off. A sleep with all of them off \
         makes {} writes; then {} changes are put back, in reverse order. Nothing was done.",
        asked.settings.len(),
        print.writes,
        print.knobs
    ));
    if args.sleep.dry_run {
        return Ok(());
    }
    Err(Usage(format!("add --yes to {what} at most")).into())
}
