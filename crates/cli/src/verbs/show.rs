//! `dormouse show`: where the time of a suspend and resume went, and why.

use crate::number::number;
use crate::terminal;
use anyhow::{Result, bail};
use clap::Args;
use dormouse_app::explain;
use dormouse_app::failure::{Nothing, Usage};
use dormouse_base::cycle::Began;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_read::Given;
use dormouse_words::{Explained, Selection, text};
use std::path::PathBuf;

/// Show where the time went, and why.
///
/// Reads kernel logs and traces of suspend and resume in any known format,
/// compressed or not, and folders of them. The log and the trace of one cycle,
/// given together, become one cycle.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse show dmesg.txt\n  dormouse show --cycle 2 --top 20 recording.tar.gz"
)]
pub(crate) struct ShowArgs {
    /// Logs, traces, or folders; `-` is standard input.
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Everything, for programs (docs/show-json.md).
    #[arg(long, group = "form")]
    json: bool,
    /// One line for each callback, for spreadsheets.
    #[arg(long, group = "form")]
    csv: bool,
    /// Tables for a report or an issue.
    #[arg(long, group = "form")]
    markdown: bool,
    /// At most N entries per list [default: 8].
    #[arg(long, value_name = "N", value_parser = number::<usize>(1, usize::MAX))]
    top: Option<usize>,
    /// Only this phase in detail, such as `resume`, `noirq` or
    /// `resume:noirq`; may be repeated.
    #[arg(long, value_name = "P", value_parser = phases)]
    phase: Vec<Vec<Phase>>,
    /// Only this cycle, counted from 1.
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, u32::MAX))]
    cycle: Option<u32>,
}

fn phases(text: &str) -> Result<Vec<Phase>, String> {
    let list = Selection::phases_called(text);
    if list.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for p in Phase::ALL {
            // Some are called alike on both ways.
            if !names.contains(&p.name()) {
                names.push(p.name());
            }
        }
        return Err(format!("no such phase; the phases are: {}", names.join(", ")));
    }
    Ok(list)
}

/// Whether a table of callbacks has a row: a line of it is a callback with its begin and end.
pub(crate) fn rows(given: &Given, all: &[Explained]) -> Result<()> {
    let captures = || all.iter().map(|e| &*e.capture);
    let mut cycles = captures().flat_map(|c| &c.cycles).peekable();
    if cycles.peek().is_none() {
        return Err(dormouse_app::nothing::nothing_in(given, captures()));
    }
    if cycles.all(|c| c.callbacks.is_empty()) {
        let why = "no line tells of a callback, and a row of this table is one; --json and \
                   --markdown have the phases (pm_print_times or initcall_debug print callbacks)";
        return Err(dormouse_app::nothing::nothing_of(given.paths(), captures(), why));
    }
    Ok(())
}

/// Runs the verb.
pub(crate) fn run(args: ShowArgs, given: &Given) -> Result<()> {
    let all = explain::inputs(given)?;
    let count: usize = all.iter().map(|e| e.views.len()).sum();
    let selection = Selection {
        top: args.top.unwrap_or(Selection::default().top),
        phases: args.phase.into_iter().flatten().collect(),
        cycle: args.cycle.map(|n| n as usize),
        typed: args.input.iter().map(|p| p.display().to_string()).collect(),
    };
    if let Some(n) = selection.cycle.filter(|&n| n > count) {
        bail!(Usage(format!("there is no cycle {n}; the input has {count}")));
    }
    let text = !(args.json || args.csv || args.markdown);
    if text && !selection.phases.is_empty() && selection.cycle.is_none() && count > 1 {
        bail!(Usage(format!("--phase needs --cycle N here: the input has {count} cycles")));
    }
    if (args.json || args.csv) && args.top.is_some() {
        bail!(Usage("--top has no effect with --json and --csv, which list everything".into()));
    }
    if args.csv {
        rows(given, &all)?;
    }
    if args.json {
        terminal::print_with(|out| dormouse_words::json::show(&all, &selection, out))
    } else if args.csv {
        terminal::print_with(|out| dormouse_words::csv::show(&all, &selection, out))
    } else if args.markdown {
        terminal::print(&dormouse_words::markdown::show(&all, &selection))
    } else {
        terminal::print(&text::show(&all, &selection, terminal::wants_colour()))?;
        if count > 0 && all.iter().flat_map(|e| &e.views).all(|v| v.rows.total == Ns::ZERO) {
            let cycles = || all.iter().flat_map(|e| &e.capture.cycles);
            let text = match cycles().any(|c| c.when != Began::Unsaid) {
                _ if cycles().any(|c| c.when == Began::Stamped) => {
                    "no line of the input tells of a phase of a sleep; boot with initcall_debug, or record with dormouse record"
                }
                true => {
                    "the lines of the input carry no times finer than a second; give the kernel's own: dmesg > FILE, or journalctl -k -o short-monotonic"
                }
                false => "the lines of the input carry no times; boot with printk.time=1",
            };
            bail!(Nothing(text.into()));
        }
        Ok(())
    }
}
