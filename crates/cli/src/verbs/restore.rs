//! `dormouse restore`: put back what a killed recording left changed.

use anyhow::{Result, bail};
use clap::Args;
use dormouse_record::guard::{self, NoObserver, Restored};
use dormouse_record::journal;
use dormouse_record::root::Root;
use std::path::PathBuf;

/// Put every knob back that `dormouse record` changed and could not put back
/// itself, because it was killed. Needed at most once; the next recording does
/// the same first.
#[derive(Args)]
pub struct RestoreArgs {
    /// Folder of the journal.
    #[arg(long, value_name = "DIR", default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /proc below DIR (for tests).
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
}

/// Runs the verb.
pub fn run(args: RestoreArgs) -> Result<()> {
    let restored = guard::restore(&Root::below(&args.root), &args.journal, &mut NoObserver)?;
    if restored.earlier_boot {
        say!("nothing to put back: the machine has been restarted since, which reset every knob");
    } else if restored.done.is_empty() && restored.failed.is_empty() {
        say!("nothing to put back");
    }
    for (path, value) in &restored.done {
        say!("{path} = {value}");
    }
    complain(&restored)
}

/// An error if some knob could not be put back.
pub fn complain(restored: &Restored) -> Result<()> {
    if restored.failed.is_empty() {
        return Ok(());
    }
    for f in &restored.failed {
        eprintln!("dormouse: {} could not be set back to {:?}: {}", f.path, f.value, f.reason);
    }
    bail!(
        "{} not put back: run `dormouse restore` again as root, or restart the machine",
        match restored.failed.len() {
            1 => "one knob was".to_string(),
            n => format!("{n} knobs were"),
        }
    )
}
