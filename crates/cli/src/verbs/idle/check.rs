//! `dormouse check`: settings compared with a recipe.

use super::asked::{cpus, time};
use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::failure::{NotMet, Nothing};
use dormouse_idle::realtime::check;
use dormouse_read::Given;
use dormouse_read::idle::files;
use dormouse_words::document::{CHECK, document};
use dormouse_words::idle::check as written;
use std::path::{Path, PathBuf};

/// Check whether settings let CPUs answer in time.
///
/// Looks at isolcpus, nohz_full, rcu_nocbs, irqaffinity, affinities of
/// interrupts, limits and idle states of each CPU, the governor, threads of a
/// core, caches, timer migration and throttling: of this machine, of a copied
/// tree of /proc and /sys, or of a text that
/// grep -rs . /proc/cmdline /proc/irq /proc/sys/kernel /sys/devices/system/cpu
/// prints. Exits 4 if something is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse check --realtime\n  dormouse check --realtime snapshot.txt --cpus 2-3 -o mend.sh"
)]
pub(crate) struct CheckArgs {
    /// Look for settings that may delay real-time CPUs (docs/idle.md).
    #[arg(long, required = true)]
    realtime: bool,
    /// A copied tree or a text of grep; this machine if absent.
    snapshot: Option<PathBuf>,
    /// The CPUs, such as 2-3,7; those that the command line isolates if absent.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// States that take longer than this to leave are too deep.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10us")]
    latency: i64,
    /// Write a script that mends it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON (docs/idle-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &CheckArgs, given: &Given) -> Result<()> {
    let asked = match &args.cpus {
        Some(list) => Some(cpus(list).map_err(dormouse_app::failure::Usage)?.into_iter().collect()),
        None => None,
    };
    let (found, unread) = match &args.snapshot {
        Some(path) if path.is_dir() => (files::of_tree(path), 0),
        Some(path) => files::of_text(&String::from_utf8_lossy(&given.raw(path)?)),
        None => (files::of_tree(Path::new("/")), 0),
    };
    if !found.contains_key("/proc/cmdline") && !found.keys().any(|p| p.contains("/cpuidle/")) {
        let why = format!(
            "no settings of a machine in the input ({unread} lines of something else); make it \
             with: {}",
            files::SNAPSHOT
        );
        return Err(Nothing(why).into());
    }
    let report = check(&found, asked.as_ref(), args.latency);
    if let Some(path) = &args.output {
        std::fs::write(path, written::script(&report, args.latency))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        let value = written::json(&report, args.latency);
        terminal::print(&document(CHECK, "realtime", &value))?;
    } else {
        let again = crate::asked::again();
        let again = format!("{} -o mend.sh", again.join(" "));
        let path = args.output.as_ref().map(|p| p.display().to_string());
        terminal::print(&written::text(
            &report,
            args.latency,
            found.len(),
            path.as_deref(),
            &again,
        ))?;
    }
    if report.faults.is_empty() {
        return Ok(());
    }
    Err(NotMet("some settings may delay the CPUs".into()).into())
}
