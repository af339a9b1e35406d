//! How far predictions are from kernels: boards that ran in the laboratory.
//! Recordings of real machines are judged by `dormouse evaluate`.
//!
//! `accuracy lab --title T --profile FILE --guest
//! CAPTURE [--apart] [--table FILE] BOARD=CAPTURE…` predicts recordings of the
//! laboratory from their board files and adds the figures to a table; `accuracy
//! table FILE` prints it with the verdicts. `accuracy counts [--profile FILE]
//! BOARD=CAPTURE… [--warm BOARD=CAPTURE…]` prints what the machinery did, recorded beside predicted.

mod counts;
mod lab;
pub(crate) mod order;
pub(crate) mod recorded;
mod verdict;

use crate::missed::MISSED;
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::ExitCode;
use verdict::Table;

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    match args.first().map(String::as_str) {
        Some("counts") => counts::run(&args[1..]),
        Some("lab") => lab::run(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("table") => {
            let file = args.get(1).context("table needs a file")?;
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            Ok(table(&Table::read(&text)))
        }
        _ => bail!("give accuracy lab, table or counts; dormouse evaluate judges recordings"),
    }
}

fn table(tables: &[Table]) -> ExitCode {
    let mut out = String::new();
    let mut passed = !tables.is_empty();
    for t in tables {
        passed &= t.show(&mut out);
    }
    print!("{out}");
    println!("\n{}", if passed { "PASS: all figures are met" } else { "MISSED: see above" });
    if passed { ExitCode::SUCCESS } else { ExitCode::from(MISSED) }
}
