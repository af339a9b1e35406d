//! `dormouse restore`: put back what a killed recording left changed.

use crate::terminal::{print, program};
use anyhow::{Result, bail};
use clap::Args;
use dormouse_machine::guard::{self, NoObserver, Restored};
use dormouse_machine::journal;
use dormouse_machine::root::Root;
use dormouse_words::recorded as written;
use std::path::PathBuf;

/// Put back the settings that a killed recording left changed.
///
/// They put everything back themselves unless they are killed. Needed at most once; the next
/// recording does the same first.
#[derive(Args)]
#[command(after_help = "Examples:\n  dormouse restore\n  dormouse restore --kept")]
pub struct RestoreArgs {
    /// Also put back the flags that `tune --apply` kept.
    #[arg(long)]
    kept: bool,
    /// Folder of the journal.
    #[arg(long, value_name = "DIR", hide = true, default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /proc below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// What went wrong, which has a code of [`crate::exit`].
pub fn run(args: RestoreArgs) -> Result<()> {
    let root = Root::below(&args.root);
    let mut restored = guard::restore(&root, &args.journal, &mut NoObserver)?;
    if args.kept {
        let mut kept = guard::restore_kept(&root, &args.journal, &mut NoObserver)?;
        restored.done.append(&mut kept.done);
        restored.failed.append(&mut kept.failed);
        restored.earlier_boot |= kept.earlier_boot;
    }
    print(&written::restored(&written::Restored {
        done: &restored.done,
        failed: restored.failed.len(),
        earlier_boot: restored.earlier_boot,
        kept: guard::count_kept(&root, &args.journal),
    }))?;
    complain(&restored)
}

/// An error if some knob could not be put back.
pub fn complain(restored: &Restored) -> Result<()> {
    if restored.failed.is_empty() {
        return Ok(());
    }
    for f in &restored.failed {
        remark!("dormouse: {} could not be set back to {:?}: {}", f.path, f.value, f.reason);
    }
    bail!(
        "{} not put back: run `{} restore` again as root, or restart the machine",
        match restored.failed.len() {
            1 => "one setting was".to_string(),
            n => format!("{n} settings were"),
        },
        program()
    )
}
