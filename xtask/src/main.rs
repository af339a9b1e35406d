//! What `make accuracy` and `make tables` call. Checks of the source tree live
//! in `tests/tidy.rs`.

mod accuracy;
mod tables;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("accuracy") => accuracy::run(&args.collect::<Vec<_>>()),
        Some("tables") => tables::run(&args.collect::<Vec<_>>()),
        _ => bail!("give a task: accuracy, tables; checks of the tree: cargo test -p xtask"),
    }
}
