//! `dormouse man`: the manual pages, made from the same text as `--help`.

use crate::terminal;
use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;
use std::fs;
use std::path::{Path, PathBuf};

/// Print the manual page, or write one page a verb into a folder.
///
/// The page on standard output is for `man -l -`.
#[derive(Args)]
#[command(after_help = "Examples:\n  dormouse man\n  dormouse man -o target/man")]
pub(crate) struct ManArgs {
    /// Write dormouse.1 and a page for every verb into this folder.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Runs the verb for the whole command line, `command`.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn run(args: &ManArgs, mut command: Command) -> Result<()> {
    // Gives every verb its whole name and what it inherits.
    command.build();
    let Some(folder) = &args.output else {
        return terminal::print_with(|out| Man::new(command).render(out));
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut pages = 0;
    write(folder, "dormouse", command, &mut pages)?;
    say!("Wrote {pages} pages to {}.", folder.display());
    Ok(())
}

/// The page of `command`, then those of the verbs below it.
fn write(folder: &Path, name: &str, command: Command, pages: &mut usize) -> Result<()> {
    for verb in command.get_subcommands().filter(|v| !v.is_hide_set() && v.get_name() != "help") {
        write(folder, &format!("{name}-{}", verb.get_name()), verb.clone(), pages)?;
    }
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    // clap keeps names for the life of the process.
    let name: &'static str = name.to_string().leak();
    Man::new(command.name(name)).render(&mut page)?;
    *pages += 1;
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}
