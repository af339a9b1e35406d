//! `dormouse show --only idle`: how idle states served, and who woke CPUs.

use super::asked::typed_all;
use crate::number::number;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::idle;
use dormouse_read::Given;
use dormouse_words::document::section;
use dormouse_words::idle::{Page, json, show};
use std::path::PathBuf;

/// Show which idle states served badly, and who woke CPUs.
///
/// A state can be too deep, too shallow, or refused.
///
/// Reads dumps of /sys/devices/system/cpu/cpu*/cpuidle (grep -r ., head, tar),
/// cpupower idle-info, tables of turbostat, tests of wake-ups (cyclictest, rtla
/// timerlat), csv tables, and traces with the event
/// cpu_idle (text, trace.dat, systrace, Perfetto), which say what woke CPUs if
/// interrupts were recorded. Two dumps of one machine are shown as their difference.
/// A trace and a dump together: each sleep is judged by the table.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse show --only idle before.txt after.txt\n  dormouse show --only idle trace.dat states.txt"
)]
pub(crate) struct ShowArgs {
    /// Dumps, tables, traces, or folders of them; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// At most N entries per list.
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "json",
          value_parser = number::<usize>(1, usize::MAX))]
    top: usize,
    /// What the package would gain if the work of all CPUs ran on fewer of them.
    #[arg(long)]
    pack: bool,
    /// Everything, for programs (docs/idle-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ShowArgs, given: &Given) -> Result<()> {
    let shown = idle::show(given, args.pack)?;
    let page = Page {
        snapshots: &shown.reading.snapshots,
        difference: shown.difference.as_ref(),
        traces: &shown.reading.traces,
        absent: &shown.reading.absent,
        limits: &shown.reading.limits,
        latencies: &shown.reading.latencies,
        runs: &shown.reading.runs,
        beside: shown.beside.as_ref(),
        late: &shown.reading.late,
        late_beside: shown.late.as_ref(),
        losses: &shown.reading.losses,
        packed: &shown.packed,
        top: args.top,
        input: &typed_all(&args.input),
    };
    if args.json {
        return terminal::print(&section(json::show(&page)));
    }
    terminal::print(&show(&page))
}
