//! `dormouse tune`: the setting that meets a budget at least cost.

use super::apply::ApplyArgs;
use super::asked::{PresentArgs, WattsArgs, kind, time, typed_all};
use super::predict::words;
use crate::asked::{again, without_option};
use crate::terminal;
use anyhow::{Context, Result};
use clap::{ArgGroup, Args};
use dormouse_app::failure::{NotMet, NotReproduced};
use dormouse_app::idle::{self, Budget, Tuned, Wish, microwatts};
use dormouse_idle::governors::Kind;
use dormouse_read::Given;
use dormouse_words::document::{TUNE, document};
use dormouse_words::idle::handover::Change;
use dormouse_words::idle::tune as written;
use std::fs;
use std::path::{Path, PathBuf};

/// Choose governor, limits and disabled states for a budget.
///
/// Replays the wake-ups of a trace under every setting there is: each governor
/// of this kernel, every limit on every CPU, every set of disabled states. Needs
/// a trace with cpu_idle and a dump of the machine's idle states.
#[derive(Args)]
#[command(
    group = ArgGroup::new("budget").required(true).args(["p99", "power"]),
    after_help = "Examples:\n  dormouse tune trace.txt states.txt --p99 60us\n  dormouse tune trace.txt states.txt --p99 60us -o changes/\n  dormouse tune recording.tar.gz --p99 60us --apply --yes"
)]
pub(crate) struct TuneArgs {
    /// A trace with cpu_idle, and a dump of the machine.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// 99 of 100 wake-ups are delayed by at most this, at least energy.
    #[arg(long, value_name = "TIME", value_parser = time)]
    p99: Option<i64>,
    /// Mean power is at most this, at least delay; needs --watts.
    #[arg(long, value_name = "POWER", value_parser = power)]
    power: Option<i64>,
    /// Governor to try, may be repeated; those of the dump if absent.
    #[arg(long, value_name = "GOVERNOR", value_parser = kind)]
    governor: Vec<Kind>,
    /// Also try what needs a restart: intel_idle.max_cstate, nohz=off.
    #[arg(long)]
    boot: bool,
    /// Write the files that set it into this folder.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    watts: WattsArgs,
    #[command(flatten)]
    present: PresentArgs,
    /// Print JSON (docs/idle-json.md).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    apply: ApplyArgs,
}

fn power(text: &str) -> Result<i64, String> {
    microwatts(text).ok_or_else(|| "a power with its unit, such as 12W or 800mW".into())
}

/// Runs the verb.
pub(crate) fn run(args: &TuneArgs, given: &Given) -> Result<()> {
    let budget = match (args.p99, args.power) {
        (Some(ns), _) => Budget::P99(ns),
        (_, Some(uw)) => Budget::Power(uw),
        (None, None) => unreachable!("clap asks for one of them"),
    };
    args.apply.check(budget)?;
    let wish = Wish {
        present: args.present.present(),
        budget,
        governors: args.governor.clone(),
        boot: args.boot,
        watts: args.watts.read()?,
    };
    let t = idle::tune(given, &wish)?;
    let error = t.error.map_or(1_000, |e| e.1);
    let trusted = dormouse_idle::trust::reproduces(t.error);
    let stays = t.setting == idle::Setting::present(&t.machine);
    let files = match &args.output {
        Some(folder) if trusted && t.met && !stays => write_files(folder, &t)?,
        _ => Vec::new(),
    };
    let applies = args.apply.apply && trusted && t.met && !stays;
    let again = again();
    // Where the governor is not the one that was in use, another is asked for.
    let again = if trusted { again.join(" ") } else { without_option(&again, "--from-governor") };
    let asked = match budget {
        Budget::P99(ns) => format!("p99 {} us", ns / 1_000),
        Budget::Power(uw) => format!("{} W", written::watts(uw)),
    };
    let advice = written::Advice {
        budget: &asked,
        governors: [t.machine.governor.0.name(), t.setting.governor.0.name()],
        setting: &words(&t.setting),
        stays,
        met: [t.met, t.holds[0], t.holds[1]],
        accounts: [&t.present, &t.account],
        power: t.power,
        power_from: t.watts.as_ref().map(|w| w.source()),
        error,
        trusted,
        tried: t.tried,
        some_masks: t.some_masks,
        written: &files,
        input: &typed_all(&args.input),
        present: &args.present.typed(),
        again: &again,
        boot: args.boot,
        tries: applies,
    };
    let apply = || args.apply.run(&t, &change(&t), wish.watts.as_ref(), &wish.present, budget);
    if args.json {
        let mut value = written::json(&advice);
        if applies {
            value["applied"] = apply()?.1;
        }
        value["losses"] = serde_json::json!(t.machine.losses);
        terminal::print(&document(TUNE, "idle", &value))?;
    } else {
        terminal::print(&written::text(&advice))?;
        if applies {
            terminal::print(&apply()?.0)?;
        }
    }
    if !trusted {
        let why = "the model does not reproduce the recording: nothing is proposed";
        return Err(NotReproduced(why.into()).into());
    }
    if !t.met {
        return Err(NotMet("the budget is not met".into()).into());
    }
    Ok(())
}

/// The setting as files of sysfs and words of the command line.
fn change(t: &Tuned) -> Change {
    let (m, s) = (&t.machine, &t.setting);
    let limited = !s.limits.is_empty();
    let mut disable = Vec::new();
    for cpu in &m.cpus {
        for (i, state) in cpu.table.states().iter().enumerate() {
            if s.disable.contains(&state.name) {
                disable.push((cpu.number, i));
            }
        }
    }
    Change {
        governor_before: Some(m.governor.0.name().into()),
        governor: (s.governor.0 != m.governor.0).then(|| s.governor.0.name().into()),
        limits: m.cpus.iter().filter(|_| limited).map(|c| (c.number, s.limit(c.number))).collect(),
        for_all: s.limits.iter().find(|l| l.cpus.is_empty()).map(|l| l.ns),
        disable,
        max_cstate: s.max_cstate,
        periodic: s.periodic,
    }
}

fn write_files(folder: &Path, t: &Tuned) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut out = Vec::new();
    for (name, text) in change(t).files() {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        out.push(path.display().to_string());
    }
    Ok(out)
}
