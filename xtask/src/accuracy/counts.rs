//! What the machinery did, counted by the kernel's own events and predicted:
//! workers, waits, wake-ups. Times alone do not tell some generations apart.

use super::recorded::{self, Machine};
use crate::decide::read_board;
use anyhow::{Context, Result, bail};
use dormouse_base::cycle::Counts;
use dormouse_sleep::simulate::planned::{Plan, alone, plan};
use dormouse_sleep::simulate::predict::outlook;
use dormouse_sleep::simulate::{Profile, profile};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// A column: its heading, and the count.
struct Column {
    heading: &'static str,
    count: fn(&Counts) -> Option<u64>,
}

const COLUMNS: [Column; 6] = [
    Column { heading: "created", count: |c| c.workers_created },
    Column { heading: "at once", count: |c| c.workers_at_once },
    Column { heading: "parked", count: |c| c.parked_at_once },
    Column { heading: "waits", count: |c| c.blocked_waits },
    Column { heading: "wake-ups", count: |c| c.wakeups },
    Column { heading: "switches", count: |c| c.context_switches },
];

/// How far a count may be off: a worker that a few microseconds decide about.
fn near(recorded: u64, predicted: u64) -> bool {
    let apart = recorded.abs_diff(predicted);
    apart <= 3 || apart * 10 <= recorded
}

/// How many cycles were held against each other, how many agreed exactly and
/// how many nearly.
#[derive(Clone, Copy, Default)]
struct Score {
    cycles: u64,
    equal: u64,
    near: u64,
}

/// Recorded (`--with sched,workqueue`) beside predicted, for each
/// `BOARD=CAPTURE`, cycle by cycle; of those after `--warm` only the cycles after
/// the first.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let mut costs = Profile::x86();
    let mut scores = [Score::default(); COLUMNS.len()];
    let mut skip = 0;
    print!("{:18}", "recorded/predicted");
    for c in &COLUMNS {
        print!(" {:>11}", c.heading);
    }
    println!();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.as_str() {
            "--profile" => {
                let file = args.next().context("--profile needs a file")?;
                costs = profile::parse(&fs::read_to_string(file).with_context(|| file.clone())?)?;
                continue;
            }
            "--warm" => {
                skip = 1;
                continue;
            }
            _ => {}
        }
        let Some((board, capture)) = word.split_once('=') else {
            bail!("{word}: write BOARD=CAPTURE")
        };
        let (name, board) = read_board(Path::new(board))?;
        let cycles = both(&plan(&board), capture, &costs)?;
        for (n, (recorded, predicted)) in (1..).zip(cycles).skip(skip) {
            print!("{:18}", format!("{name}, cycle {n}"));
            for (column, score) in COLUMNS.iter().zip(&mut scores) {
                let recorded = (column.count)(&recorded).with_context(|| {
                    format!(
                        "{capture}: no {}; record it with --with sched,workqueue",
                        column.heading
                    )
                })?;
                let predicted = (column.count)(&predicted).unwrap_or(0);
                score.cycles += 1;
                score.equal += u64::from(recorded == predicted);
                score.near += u64::from(near(recorded, predicted));
                print!(" {:>11}", format!("{recorded}/{predicted}"));
            }
            println!();
        }
    }
    let row = |title: &str, value: fn(&Score) -> u64| {
        print!("{title:18}");
        for s in &scores {
            print!(" {:>11}", format!("{} of {}", value(s), s.cycles));
        }
        println!();
    };
    row("equal", |s| s.equal);
    row("3 or 10 % apart", |s| s.near);
    // A callback of a few microseconds gives up no CPU: switches are shown only.
    let met = scores[..5].iter().all(|s| s.near == s.cycles);
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(crate::missed::MISSED) })
}

fn both(planned: &Plan, capture: &str, costs: &Profile) -> Result<Vec<(Counts, Counts)>> {
    let capture = recorded::capture(capture)?;
    let ports = alone(std::slice::from_ref(&capture));
    let mut left = 2;
    let mut out = Vec::new();
    for cycle in &capture.cycles {
        let Machine { derived, by, settings } =
            recorded::machine(&capture, cycle, planned, &ports, costs, left)?;
        let tally = outlook(&derived.board, by, &settings)?.run.tally;
        left = left.max(2 + tally.workers_created as u32);
        let mut counts = tally.counts();
        // The kernel's events do not say what was waited for.
        counts.blocked_waits = counts
            .blocked_waits
            .map(|n| n + tally.blocked_on_list_mutex + tally.blocked_at_barrier);
        out.push((cycle.counts, counts));
    }
    Ok(out)
}
