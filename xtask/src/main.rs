//! The experiments behind `make prove` and `make tables`: each task makes a table. Checks of the
//! source tree live in `tests/tidy.rs`.

mod accuracy;
mod archive;
mod campaign;
mod cuts;
mod decide;
mod disks;
mod domains;
mod field_kernels;
mod formats;
mod governor;
mod guests;
mod hibernate;
mod history;
mod idle;
mod missed;
mod nights;
mod order;
mod probes;
mod published;
mod reality;
mod replayed;
mod series;
mod soc9000;
mod storage;
mod tables;
mod texts;
mod truth;
mod undeclared;
mod userland;
mod zoo;

use anyhow::{Result, bail};
use missed::MISSED;
use std::process::ExitCode;

fn main() -> Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("guest") => {
            if !guests::run(&args.collect::<Vec<_>>())? {
                return Ok(ExitCode::FAILURE);
            }
        }
        Some("cuts") => {
            if !cuts::run(&args.collect::<Vec<_>>())? {
                return Ok(ExitCode::FAILURE);
            }
        }
        Some("campaign") => {
            if !campaign::run(&args.collect::<Vec<_>>())? {
                return Ok(ExitCode::FAILURE);
            }
        }
        Some("accuracy") => return accuracy::run(&args.collect::<Vec<_>>()),
        Some("domains") => return domains::run(&args.collect::<Vec<_>>()),
        Some("field-kernels") => field_kernels::run(&args.collect::<Vec<_>>())?,
        Some("formats") => formats::run(&args.collect::<Vec<_>>())?,
        Some("governor") => return governor::run(&args.collect::<Vec<_>>()),
        Some("history") => history::run(&args.collect::<Vec<_>>())?,
        Some("hibernate") => return hibernate::run(&args.collect::<Vec<_>>()),
        Some("replay") => return replayed::run(&args.collect::<Vec<_>>()),
        Some("idle") => return idle::run(&args.collect::<Vec<_>>()),
        Some("probes") => return probes::run(&args.collect::<Vec<_>>()),
        Some("published-storage") => published::run(&args.collect::<Vec<_>>())?,
        Some("series") => return series::run(&args.collect::<Vec<_>>()),
        // Where a kernel's source is; it is fetched if need be.
        Some("source") => {
            let series = args.next().unwrap_or_default();
            let say = |what: &str| eprintln!("{what}");
            println!("{}", dormouse_lab::kernels::build::source(&series, say)?.display());
        }
        Some("soc9000") => return soc9000::run(&args.collect::<Vec<_>>()),
        Some("storage") => storage::run(&args.collect::<Vec<_>>())?,
        Some("texts") => texts::run(&args.collect::<Vec<_>>())?,
        Some("nights") => return nights::run(&args.collect::<Vec<_>>()),
        Some("userland") => return userland::run(&args.collect::<Vec<_>>()),
        Some("truth") => return truth::run(&args.collect::<Vec<_>>()),
        Some("reality") => reality::run(&args.collect::<Vec<_>>())?,
        Some("tables") => tables::run(&args.collect::<Vec<_>>())?,
        Some("tune-zoo") => zoo::run(&args.collect::<Vec<_>>())?,
        Some("decide") => {
            if !decide::run(&args.collect::<Vec<_>>())? {
                return Ok(ExitCode::from(MISSED));
            }
        }
        _ => {
            bail!(
                "give a task: accuracy, campaign, cuts, decide, domains, formats, governor, guest, hibernate, history, idle, nights, probes, published-storage, reality, replay, series, soc9000, source, storage, tables, texts, truth, tune-zoo, userland; checks of the tree: cargo test -p xtask"
            )
        }
    }
    Ok(ExitCode::SUCCESS)
}
