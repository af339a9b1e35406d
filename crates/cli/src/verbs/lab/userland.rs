//! `dormouse lab run --userland`: Debian's systemd in a guest, with delays that are planted.

use super::{MachineArgs, find_kernel, make_machine, sleep};
use crate::number::number;
use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_lab::plan::Sleep;
use dormouse_lab::userland::delay::{self, Delay};
use dormouse_lab::userland::{self, Wish};
use dormouse_words::lab::slept_with;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Let Debian's systemd ask a kernel to sleep, and keep its journal.
///
/// Delays are planted in it, each with an owner: hooks, units, a delay lock, a program that says
/// when it is ready. --seed draws them; --set delays=LIST names them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab run --userland --seed 7 -o slept\n  dormouse show slept/journal.export"
)]
pub(crate) struct UserlandArgs {
    #[command(flatten)]
    machine: MachineArgs,
    /// Boot Debian with systemd, plant delays, sleep, and keep the journal.
    #[arg(long, required = true)]
    userland: bool,
    /// s2idle or deep; s2idle if absent.
    #[arg(long, value_parser = sleep, value_name = "s2idle|deep")]
    sleep: Option<Sleep>,
    /// Cycles of the boot.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1, 10_000))]
    cycles: u32,
    /// Delays, separated by commas, as KIND:OWNER=MSms: lock, unit-before, hook-before,
    /// hook-after, unit-after, app. Without, --seed draws them.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = delay::parse)]
    delays: Option<Vec<Delay>>,
    /// Run a shell script as root behind the sleeps.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Static programs of yours, separated by commas, that the guest finds in /usr/bin.
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    own_programs: Vec<PathBuf>,
    /// Folder to write.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

/// Runs the form.
pub(crate) fn run(a: &UserlandArgs) -> Result<()> {
    let deep = match a.sleep {
        None | Some(Sleep::S2idle) => false,
        Some(Sleep::Deep) => true,
        Some(other) => {
            let said =
                format!("--userland really sleeps: write s2idle or deep, not {}", other.name());
            return Err(Usage(said).into());
        }
    };
    let read =
        |path: &PathBuf| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let script = a.script.as_ref().map(read).transpose()?;
    let named = |path: &PathBuf| -> Result<(String, Vec<u8>)> {
        let name = path.file_name().with_context(|| format!("{} is no file", path.display()))?;
        Ok((name.to_string_lossy().into_owned(), read(path)?))
    };
    let programs = a.own_programs.iter().map(named).collect::<Result<_>>()?;
    let kernel = find_kernel(&a.machine)?;
    let machine = make_machine(&a.machine, &kernel, None);
    let delays = a.delays.clone().unwrap_or_else(|| delay::drawn(a.machine.seed));
    let limit = Duration::from_secs(a.machine.limit);
    let wish = Wish { cycles: a.cycles, deep, delays, script, programs, limit };
    let told = userland::run(&kernel, &machine, &wish)?;
    let folder = &a.output;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let write = |name: &str, bytes: &[u8]| -> Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    };
    let journal = write("journal.export", &told.journal)?;
    let planted: Vec<String> = wish.delays.iter().map(Delay::to_string).collect();
    write("delays", planted.iter().map(|d| format!("{d}\n")).collect::<String>().as_bytes())?;
    if wish.script.is_some() {
        write("said", told.said.as_bytes())?;
    }
    let mode = if deep { "deep" } else { "s2idle" };
    terminal::print(&slept_with(&kernel.release, mode, a.cycles, &planted, &name(&journal)))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
