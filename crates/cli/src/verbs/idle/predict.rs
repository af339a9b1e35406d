//! `dormouse predict`: sleeps under another governor, limit or table.

use super::asked::{PresentArgs, WattsArgs, kind, limit, typed_all, version};
use crate::asked::{again, without_option};
use crate::number::number;
use crate::terminal;
use anyhow::Result;
use clap::{Args, ValueEnum};
use dormouse_app::failure::NotReproduced;
use dormouse_app::idle::{self, Asked, Limit, Prediction, Setting};
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::predict::Account;
use dormouse_read::Given;
use dormouse_words::document::{PREDICT, document};
use dormouse_words::idle::{Outlook, json, predict, setting_words};
use std::path::PathBuf;

/// Predict sleeps under another governor, latency limit or set of states.
///
/// Replays the wake-ups of a trace: which state the governor would choose, how
/// late each wake-up would be served, what that saves. Needs a trace with
/// cpu_idle and a dump of the machine's idle states.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse predict trace.txt states.txt --governor menu\n  dormouse predict trace.txt states.txt --latency-limit 50us@2-3"
)]
pub(crate) struct PredictArgs {
    /// A trace with cpu_idle, and a dump of the machine.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Governor then: menu, teo, ladder or haltpoll.
    #[arg(long, value_parser = kind)]
    governor: Option<Kind>,
    /// Kernel whose governors decide then: 6.1, 6.12 or 7.2 (7.3 is the same).
    #[arg(long, value_name = "V", value_parser = version)]
    kernel: Option<Version>,
    /// Largest exit latency then, such as 50us or 50us@2-3; 0 leaves state 0
    /// only. The smallest that holds for a CPU counts.
    #[arg(long, value_name = "TIME[@CPUS]", value_parser = limit)]
    latency_limit: Vec<Limit>,
    /// State that is disabled then, by name; may be repeated.
    #[arg(long, value_name = "STATE")]
    disable: Vec<String>,
    /// Deepest state then, by number (intel_idle.max_cstate).
    #[arg(long, value_name = "N", value_parser = number::<usize>(0, 99))]
    max_cstate: Option<usize>,
    /// Tick then: `nohz` stops it when a CPU sleeps long, `periodic` never.
    #[arg(long, value_name = "TICK", default_value = "nohz")]
    tick: Tick,
    /// Try every value of a setting: latency against energy.
    #[arg(long, value_name = "WHAT", conflicts_with = "latency_limit")]
    sweep: Option<Swept>,
    #[command(flatten)]
    watts: WattsArgs,
    #[command(flatten)]
    present: PresentArgs,
    /// Print JSON (docs/idle-json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tick {
    Nohz,
    Periodic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Swept {
    Limit,
}

/// Runs the verb.
pub(crate) fn run(args: &PredictArgs, given: &Given) -> Result<()> {
    let asked = Asked {
        present: args.present.present(),
        governor: args.governor,
        version: args.kernel,
        limits: args.latency_limit.clone(),
        disable: args.disable.clone(),
        max_cstate: args.max_cstate,
        periodic: args.tick == Tick::Periodic,
        watts: args.watts.read()?,
    };
    let (p, points) = match args.sweep {
        Some(Swept::Limit) => {
            let s = idle::sweep(given, &asked)?;
            (s.prediction, s.points)
        }
        None => (idle::predict(given, &asked)?, Vec::new()),
    };
    print(&p, &points, args)
}

fn print(p: &Prediction, points: &[(i64, Account)], args: &PredictArgs) -> Result<()> {
    let best = words(&p.best.setting);
    let o = Outlook {
        states: &p.machine.states,
        recorded: &p.machine.recorded,
        governors: [p.settings[0].governor, p.settings[1].governor],
        accounts: &p.accounts,
        bounds: &p.bounds,
        wakes: (p.machine.wakes(), p.machine.timers()),
        cpus: p.machine.cpus.len(),
        error: p.error(),
        measured: p.measured(),
        changed: p.changed(),
        best: (&best, &p.best.account),
        power: p.watts.as_ref().map(|w| w.source()),
        sweep: points,
        again: &without_option(&again(), "--from-governor"),
        input: &typed_all(&args.input),
        present: &args.present.typed(),
    };
    if args.json {
        let mut value = json::predict(&o);
        value["losses"] = serde_json::json!(p.machine.losses);
        terminal::print(&document(PREDICT, "idle", &value))?;
    } else {
        terminal::print(&predict(&o))?;
    }
    if o.trusted() {
        return Ok(());
    }
    Err(NotReproduced("the model does not reproduce the recording: nothing is predicted".into())
        .into())
}

/// A setting in words, without its governor.
pub(crate) fn words(s: &Setting) -> String {
    let limits: Vec<(i64, &[u32])> = s.limits.iter().map(|l| (l.ns, &l.cpus[..])).collect();
    setting_words(&limits, &s.disable, s.max_cstate, s.periodic)
}
