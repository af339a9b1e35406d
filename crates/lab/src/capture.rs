//! Results of the laboratory as capture files: with the recorded names, and
//! with the recipe that makes the same file again.

use crate::describe::{Description, guest_name};
use crate::kernels::Kernel;
use crate::plan::Sleep;
use crate::qemu::Machine;
use crate::run::{Job, Outcome, run};
use crate::{Error, Result};
use dormouse_core::board::{self, Board};
use dormouse_read::capture_file;
use dormouse_read::capture_file::schema::{CaptureFile, NameRow};
use dormouse_record::recording::Recording;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything a capture depends on. The member `lab` of `capture.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Kernel series.
    pub series: String,
    /// Exact release.
    pub release: String,
    /// Exact packages.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The virtual machine; its seed is that of the first sample.
    pub machine: Machine,
    /// The board file; absent for the guest's own devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// How deep.
    pub sleep: Sleep,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// Cycles of each boot.
    pub cycles: u32,
    /// Boots, each with the next seed.
    pub samples: u32,
    /// Checksum of the program that ran in the guest: another build of it takes
    /// another number of instructions.
    #[serde(default)]
    pub program: String,
    /// What the guest does differently from the board.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
}

/// What to run for a capture.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// The board; none for the guest's own devices.
    pub board: Option<&'a Board>,
    /// How deep.
    pub sleep: Sleep,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// Cycles of each boot.
    pub cycles: u32,
    /// Boots, each with the next seed.
    pub samples: u32,
    /// Time limit of each boot.
    pub limit: Duration,
}

/// Boots `kernel` as often as wished and gives one recording with the cycles
/// of all boots.
pub fn capture(kernel: &Kernel, machine: &Machine, wish: &Wish<'_>) -> Result<Recording> {
    let job = Job {
        name: "board".into(),
        board: wish.board,
        sleep: wish.sleep,
        pm_async: wish.pm_async,
        cycles: wish.cycles,
        record: true,
    };
    let mut file: Option<CaptureFile> = None;
    let mut description = Description::default();
    for sample in 0..wish.samples.max(1) {
        let mut machine = machine.clone();
        machine.seed += u64::from(sample);
        let mut boot = run(kernel, &machine, std::slice::from_ref(&job), wish.limit)?;
        let outcome: Outcome = boot.outcomes.pop().ok_or_else(|| Error::other("no outcome"))?;
        let mut seen = read(&outcome.capture)?;
        match &mut file {
            None => {
                description = outcome.description;
                file = Some(seen);
            }
            Some(file) => {
                let done = file.cycles.len() as u32;
                for c in &mut seen.cycles {
                    c.stats.number += done;
                }
                file.cycles.append(&mut seen.cycles);
            }
        }
    }
    let mut file = file.ok_or_else(|| Error::other("no sample"))?;
    let recipe = Recipe {
        series: kernel.series.clone(),
        release: kernel.release.clone(),
        packages: kernel.packages.clone(),
        machine: machine.clone(),
        board: wish.board.map(|b| board::print(b, "")),
        sleep: wish.sleep,
        pm_async: wish.pm_async,
        cycles: wish.cycles,
        samples: wish.samples.max(1),
        program: crate::run::program_checksum(machine.arch)?,
        differences: description.differences.clone(),
    };
    file.document.lab =
        Some(serde_json::to_value(recipe).map_err(|e| Error::other(e.to_string()))?);
    file.document.settings.cycles = file.cycles.len() as u32;
    if let Some(board) = wish.board {
        file.names = names(board, &description);
    }
    Recording::new(file).map_err(|e| Error::other(e.to_string()))
}

/// The recipe in the bytes of a capture file.
pub fn recipe(bytes: &[u8]) -> Result<Recipe> {
    let file = read(bytes)?;
    let lab = file.document.lab.ok_or_else(|| {
        Error::other("not made by dormouse lab: nothing in it says how to make it again")
    })?;
    serde_json::from_value(lab).map_err(|e| Error::other(format!("its recipe: {e}")))
}

fn read(bytes: &[u8]) -> Result<CaptureFile> {
    let tar;
    // Capture files are gzip'd; the reader wants the archive inside.
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        use std::io::Read;
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes)
            .take(4 << 30)
            .read_to_end(&mut out)
            .map_err(|e| Error::other(format!("capture: {e}")))?;
        tar = out;
        &tar[..]
    } else {
        bytes
    };
    let (file, losses) = capture_file::read(bytes).map_err(|e| Error::other(e.to_string()))?;
    match losses.list.first() {
        None => Ok(file),
        Some(l) => Err(Error::other(format!("capture: {} ({})", l.kind, l.advice))),
    }
}

/// Which recorded device each device of the guest stands for.
fn names(board: &Board, description: &Description) -> Vec<NameRow> {
    let text = |s| board.names.get(s).to_owned();
    description
        .devices
        .iter()
        .enumerate()
        .map(|(i, id)| {
            let d = board.graph.get(*id);
            NameRow {
                guest: guest_name(i),
                name: text(d.name),
                driver: text(d.driver),
                subsystem: text(d.subsystem),
                devpath: text(d.facts.devpath),
            }
        })
        .collect()
}
