//! `dormouse predict`: what idle states cost reads of a disk.

use super::asked::{PresentArgs, time};
use crate::asked::again;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::idle::{self, Wait};
use dormouse_idle::knob::UNLIMITED;
use dormouse_read::Given;
use dormouse_words::document::{PREDICT, document};
use dormouse_words::idle::reads as written;
use std::path::PathBuf;

/// Foretell what idle states cost reads of a disk.
///
/// Takes what fio measured while only shallow states were allowed (one job for
/// each size of a read, one read at a time) and a dump of the machine's states,
/// and says for each size which state the CPU waits in when all are allowed, and
/// how much bandwidth that costs.
#[derive(Args)]
#[command(
    after_help = "Example:\n  dormouse hold --latency 2us -- fio --filename=/dev/nvme0n1 --direct=1 \\\n    --readonly --rw=randread --runtime=5 --time_based --output-format=json \\\n    --output=shallow.json --name=4k --bs=4k --stonewall --name=32k --bs=32k\n  dormouse predict shallow.json states.txt"
)]
pub(crate) struct ReadsArgs {
    /// What fio --output-format=json printed.
    #[arg(value_name = "FIO")]
    fio: PathBuf,
    /// Dumps of the machine's idle states.
    #[arg(required = true, value_name = "STATES")]
    states: Vec<PathBuf>,
    /// The state that the CPU waited in; the first that does not poll if absent.
    #[arg(long, value_name = "STATE")]
    shallow: Option<String>,
    /// A state that may not be entered, may be repeated.
    #[arg(long, value_name = "STATE")]
    disable: Vec<String>,
    /// Largest exit latency allowed.
    #[arg(long, value_name = "TIME", value_parser = time)]
    latency: Option<i64>,
    /// What fio measured with all these states, to compare.
    #[arg(long, value_name = "FIO")]
    measured: Option<PathBuf>,
    /// A loss that was seen on another machine, such as 32k=10: what that would
    /// mean here.
    #[arg(long, value_name = "SIZE=PERCENT", value_parser = seen)]
    seen: Option<(u64, i64)>,
    /// The device's interrupt is a timer of the CPU (null_blk), which a governor
    /// can foresee.
    #[arg(long)]
    foreseen: bool,
    #[command(flatten)]
    present: PresentArgs,
    /// Print JSON (docs/idle-json.md).
    #[arg(long)]
    json: bool,
}

/// `32k=10`: bytes, and thousandths.
fn seen(text: &str) -> Result<(u64, i64), String> {
    let parsed = || {
        let (size, percent) = text.split_once('=')?;
        let unit = if size.ends_with(['k', 'K']) { 10 } else { 0 };
        let bytes: u64 = size.trim_end_matches(['k', 'K']).parse().ok()?;
        let percent: i64 = percent.trim_end_matches('%').parse().ok()?;
        let fits = (1..1 << 20).contains(&bytes) && (1..100).contains(&percent);
        fits.then_some((bytes << unit, percent * 10))
    };
    parsed().ok_or_else(|| "a size and what was lost, such as 32k=10".into())
}

/// Runs the verb.
pub(crate) fn run(args: &ReadsArgs, given: &Given) -> Result<()> {
    let r = idle::reads(
        given,
        &Wait {
            fio: args.fio.clone(),
            states: args.states.clone(),
            shallow: args.shallow.clone(),
            present: args.present.present(),
            disable: args.disable.clone(),
            limit: args.latency.unwrap_or(UNLIMITED),
            foreseen: args.foreseen,
            measured: args.measured.clone(),
            seen: args.seen,
        },
    )?;
    let rows: Vec<written::Row<'_>> = r
        .rows
        .iter()
        .map(|row| written::Row {
            cell: &row.cell,
            wait: row.wait,
            waited: &row.waited,
            read: row.read,
            measured: row.measured,
        })
        .collect();
    let shallow = r.table.states()[r.shallow].latency / 1_000;
    let next = if args.latency.is_none() && args.disable.is_empty() {
        format!("{} --latency {shallow}us", again().join(" "))
    } else {
        format!("hold --latency {shallow}us -- COMMAND")
    };
    let page = written::Page {
        rows: &rows,
        states: r.table.states(),
        shallow: r.shallow,
        governor: &format!("{} of {}", r.governor.0.name(), r.governor.1.name()),
        lines: r.lines,
        seen: r.seen,
        next: &next,
    };
    if args.json {
        let mut value = written::json(&page);
        value["losses"] = serde_json::json!(r.losses);
        return terminal::print(&document(PREDICT, "reads", &value));
    }
    terminal::print(&written::text(&page))?;
    for loss in &r.losses.list {
        remark!("dormouse: {} ({} times)", loss.advice, loss.count);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::seen;

    #[test]
    fn a_loss_that_was_seen_has_a_size_and_a_share() {
        assert_eq!(seen("32k=10"), Ok((32_768, 100)));
        assert_eq!(seen("512=5%"), Ok((512, 50)));
        for bad in ["32k", "=10", "32k=100", "0=1", "32k=-1", "9999999999999k=1"] {
            assert!(seen(bad).is_err(), "{bad}");
        }
    }
}
