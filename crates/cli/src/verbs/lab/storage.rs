//! `dormouse lab storage`: loads on disks of chosen power states.

use super::{MachineArgs, find_kernel, make_machine};
use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_lab::plan::Script;
use dormouse_lab::qemu::Machine;
use dormouse_lab::storage::{Trial, run as measure};
use dormouse_lab::{kernels::Kernel, script};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Disks, loads, and what becomes of the figures.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab storage ufs.disk --kernel 7.3 -o measured/\n  dormouse storage verify measured/"
)]
pub struct StorageArgs {
    #[command(flatten)]
    machine: MachineArgs,
    /// Descriptions of a disk, its settings and a load (docs/storage.md).
    #[arg(value_name = "DISK", required_unless_present = "script")]
    disks: Vec<PathBuf>,
    /// With qos, let our module find its time-out itself.
    #[arg(long, conflicts_with = "script")]
    finds_timeout: bool,
    /// Run a shell script instead, and write what it prints. Beside it lie
    /// dormouse_pdisk.ko, dormouse_fqos.ko and governor_simpleondemand.ko
    /// (docs/lab.md).
    #[arg(long, value_name = "FILE", conflicts_with = "disks")]
    script: Option<PathBuf>,
    /// Drivers of the kernel for the script, beside it as NAME.ko.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "script")]
    drivers: Vec<String>,
    /// More words for the kernel command line.
    #[arg(long, value_name = "WORDS")]
    words: Option<String>,
    /// Folder to write to, with a description and what was measured of each disk; for
    /// a script a file.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(a: &StorageArgs) -> Result<()> {
    let kernel = find_kernel(&a.machine)?;
    let machine = make_machine(&a.machine, &kernel, None);
    let machine = Machine { words: a.words.clone().unwrap_or_default(), ..machine };
    let limit = Duration::from_secs(a.machine.limit);
    if let Some(path) = &a.script {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let wish = Script { file: "script".into(), idle: None };
        let said = script::run(&kernel, &machine, &wish, &text, &a.drivers, true, limit)?;
        return put(&a.output, said.as_bytes());
    }
    disks(a, &kernel, &machine, limit)
}

fn disks(a: &StorageArgs, kernel: &Kernel, machine: &Machine, limit: Duration) -> Result<()> {
    let mut trials: Vec<Trial> = Vec::new();
    for path in &a.disks {
        let read = fs::read_to_string(path);
        let description = read.with_context(|| format!("cannot read {}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name: String = stem.chars().map(|c| if c.is_whitespace() { '-' } else { c }).collect();
        if trials.iter().any(|t| t.name == name) {
            return Err(Usage(format!("two disks are called {name}; rename a file")).into());
        }
        let seed = a.machine.seed;
        trials.push(Trial { name, description, finds_timeout: a.finds_timeout, seed });
    }
    let measured = measure(kernel, machine, &trials, limit)?;
    fs::create_dir_all(&a.output).with_context(|| format!("cannot make {}", a.output.display()))?;
    for (trial, text) in trials.iter().zip(&measured) {
        put(&a.output.join(format!("{}.disk", trial.name)), trial.description.as_bytes())?;
        put(&a.output.join(format!("{}.measured", trial.name)), text.as_bytes())?;
    }
    Ok(())
}

fn put(to: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
    terminal::wrote(to, "");
    Ok(())
}
