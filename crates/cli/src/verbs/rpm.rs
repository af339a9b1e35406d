//! `dormouse rpm`: runtime power management.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::storage::rpm;
use dormouse_read::Given;
use dormouse_read::storage::described::time;
use dormouse_words::document::section;
use dormouse_words::storage::rpm::{Answer, Seen, json, rpm as page};
use std::path::PathBuf;

/// Show what keeps devices awake, and what wakes them for nothing.
///
/// Usage counts and who holds them, children that keep parents up, settings that
/// forbid, resumes only to be suspended, sleeps shorter than break-even. Reads traces
/// with rpm events, and settings of sysfs as `grep -r . PATH` prints them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse show --only runtime trace.txt --break-even 100ms\n  dormouse show --only runtime power.txt\n\npower.txt is of: grep -r . /sys/devices/*/*/power"
)]
pub(crate) struct ShowArgs {
    /// Traces, settings, or folders of them; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Time asleep that saves as much as one wake-up costs.
    #[arg(long, value_name = "TIME", value_parser = time)]
    break_even: Option<i64>,
    /// At most N entries per list.
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "json")]
    top: usize,
    /// Everything, for programs (docs/storage-json.md).
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ShowArgs, given: &Given) -> Result<()> {
    let r = rpm(given, args.break_even)?;
    let seen = r.speaking().zip(&r.traces);
    let answer = Answer {
        knobs: &r.reading.knobs,
        held: &r.held,
        traces: seen
            .map(|(trace, t)| Seen {
                trace,
                held: &t.held,
                broken: &t.broken,
                refused: &t.refused,
                pointless: &t.pointless,
                short: &t.short,
            })
            .collect(),
        broken: &r.broken,
        given: args.break_even.is_some(),
        top: args.top,
    };
    if args.json {
        return terminal::print(&section(json(&answer)));
    }
    terminal::print(&page(&answer, terminal::wants_colour()))
}
