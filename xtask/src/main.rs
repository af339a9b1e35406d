//! What `make accuracy`, `make tables` and `make decide` call. Checks of the source tree live
//! in `tests/tidy.rs`.

mod accuracy;
mod tables;
mod zoo;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("accuracy") => accuracy::run(&args.collect::<Vec<_>>()),
        Some("tables") => tables::run(&args.collect::<Vec<_>>()),
        Some("tune-zoo") => zoo::run(&args.collect::<Vec<_>>()),
        _ => bail!(
            "give a task: accuracy, tables, tune-zoo; checks of the tree: cargo test -p xtask"
        ),
    }
}
