//! `dormouse lab run --only storage`: loads on disks of chosen power states.

use super::{MachineArgs, find_kernel, make_machine};
use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_lab::qemu::Machine;
use dormouse_lab::storage::{Trial, run as measure};
use dormouse_lab::{kernels::Kernel, script};
use dormouse_machine::options::Detail;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Disks, loads, and what becomes of the figures.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab run --only storage ufs.disk --kernel 7.3 -o measured/\n  dormouse compare --only storage measured/"
)]
pub(crate) struct StorageArgs {
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
    /// Then run this one, recorded as by "dormouse record --with storage". The output is
    /// a folder with recording.tar.gz, said.txt, and the files that the scripts left in
    /// their folder "kept".
    #[arg(long, value_name = "FILE", requires = "script")]
    recorded: Option<PathBuf>,
    /// Load made-up idle states of the CPU before: "LATENCY:RESIDENCY,..." in
    /// microseconds, after the polling state.
    #[arg(long, value_name = "LAT:RES,…", requires = "script")]
    states: Option<String>,
    /// Drivers of the kernel for the script, beside it as NAME.ko with those that they
    /// depend on; the file "drivers" lists them in the order in which they load.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "script")]
    drivers: Vec<String>,
    /// More words for the kernel command line.
    #[arg(long, value_name = "WORDS")]
    words: Option<String>,
    /// More words for QEMU, such as "-drive if=none,id=d,driver=null-co -device
    /// nvme,drive=d,serial=1".
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    hardware: Option<String>,
    /// Folder to write to, with a description and what was measured of each disk; for
    /// a script a file.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the verb.
pub(crate) fn run(a: &StorageArgs) -> Result<()> {
    super::are_there(a.disks.iter().chain(&a.script).chain(&a.recorded))?;
    let kernel = find_kernel(&a.machine)?;
    let machine = make_machine(&a.machine, &kernel, None);
    let hardware = a.hardware.as_deref().unwrap_or_default().split_whitespace();
    let machine = Machine {
        words: a.words.clone().unwrap_or_default(),
        hardware: hardware.map(str::to_owned).collect(),
        ..machine
    };
    let limit = Duration::from_secs(a.machine.limit);
    if let Some(path) = &a.script {
        return scripts(a, path, &kernel, &machine, limit);
    }
    disks(a, &kernel, &machine, limit)
}

fn scripts(
    a: &StorageArgs,
    first: &Path,
    kernel: &Kernel,
    machine: &Machine,
    limit: Duration,
) -> Result<()> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let second = a.recorded.as_deref().map(read).transpose()?;
    let wish = script::Wish {
        text: read(first)?,
        idle: a.states.as_ref().map(|s| format!("states={s} seed={}", a.machine.seed)),
        recorded: second.map(|text| (text, vec![Detail::Storage])),
        drivers: a.drivers.clone(),
        disks: true,
    };
    let said = script::run(kernel, machine, &wish, limit)?;
    let Some(capture) = said.capture else {
        return put(&a.output, said.text.as_bytes());
    };
    fs::create_dir_all(&a.output).with_context(|| format!("cannot make {}", a.output.display()))?;
    put(&a.output.join("said.txt"), said.text.as_bytes())?;
    put(&a.output.join("recording.tar.gz"), &capture)?;
    for (name, bytes) in &said.kept {
        put(&a.output.join(name), bytes)?;
    }
    Ok(())
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
