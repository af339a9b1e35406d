//! `dormouse show --only storage`: which wait made requests slow.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::failure::Nothing;
use dormouse_app::storage::{self, Asked, Sleeper};
use dormouse_read::Given;
use dormouse_words::document::section;
use dormouse_words::storage::{Page, json, show};
use std::path::PathBuf;

/// Show which wait made requests slow.
///
/// A gated clock, a resume, a queue, or the drive.
///
/// Reads traces with the events block, rpm, ufs, devfreq and workqueue (text,
/// trace.dat, systrace, Perfetto), files of blktrace and text of blkparse, JSON
/// of fio, power states of nvme id-ctrl, and trans_stat of devfreq devices.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse show --only storage trace.dat\n  dormouse show --only storage sda.blktrace.0 sda.blktrace.1"
)]
pub(crate) struct ShowArgs {
    /// Traces, tables, or folders of them; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// At most N entries per list.
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "json")]
    top: usize,
    /// Everything, for programs (docs/storage-json.md).
    #[arg(long)]
    json: bool,
}

/// The same as a section beside others: nothing if settings of devices are all that there is,
/// which are runtime power management.
pub(crate) fn beside(args: &ShowArgs, given: &Given) -> Result<()> {
    let shown = storage::show(given)?;
    let r = &shown.reading;
    let drives = !r.drives.is_empty() || !r.transitions.is_empty() || !r.jobs.is_empty();
    if !(drives || r.traces.iter().any(|t| t.speaks()) || r.knobs.of_storage()) {
        return Err(Nothing("no disk, and no requests".into()).into());
    }
    run(args, given)
}

/// Runs the verb.
pub(crate) fn run(args: &ShowArgs, given: &Given) -> Result<()> {
    let shown = storage::show(given)?;
    let r = &shown.reading;
    let page = Page {
        traces: &r.traces,
        disks: &shown.disks,
        drives: &r.drives,
        transitions: &r.transitions,
        jobs: &r.jobs,
        knobs: &r.knobs,
        losses: &r.losses,
        foretold: [Asked::Gate, Asked::Autosuspend]
            .map(|asked| !args.json && Sleeper::of(&shown, asked, None).is_ok()),
        top: args.top,
    };
    if args.json {
        return terminal::print(&section(json(&page)));
    }
    terminal::print(&show(&page, terminal::wants_colour()))
}
