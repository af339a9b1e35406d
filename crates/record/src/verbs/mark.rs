//! `dormouse mark`: a program says that it is ready.

use crate::terminal::print;
use anyhow::{Result, bail};
use clap::Args;
use dormouse_base::mark::Name;
use dormouse_machine::mark::mark;
use dormouse_machine::root::Root;
use dormouse_words::recorded as written;
use std::path::PathBuf;

/// Mark that a program is ready: one line in the trace buffer and in the kernel's log.
///
/// `show`, `check --ready app:NAME=250ms` and `tune` count from the kernel's return to the first
/// such line behind it. `logger "dormouse: mark NAME"` writes the same into a journal. Nothing
/// else is touched. Most systems let root alone write there.
#[derive(Args)]
#[command(after_help = "Examples:\n  dormouse mark scanner\n  dormouse mark first-frame")]
pub struct MarkArgs {
    /// What is ready: up to 32 letters, digits, - and _.
    #[arg(value_name = "NAME", value_parser = Name::new)]
    name: Name,
    /// Look for /sys, /proc and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// If no file could be written.
pub fn run(args: &MarkArgs) -> Result<()> {
    let marked = mark(&Root::below(&args.root), args.name);
    if marked.written.is_empty() {
        bail!(written::unmarked(&marked));
    }
    print(&written::marked(&marked))
}
