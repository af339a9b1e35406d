//! Results of the laboratory as capture files: with the recorded names, and
//! with the recipe that makes the same file again.

use crate::describe::{Description, guest_name};
use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::run::{Job, Outcome, run};
use crate::{Error, Result};
use dormouse_base::device::DeviceId;
use dormouse_board::Board;
use dormouse_capture as capture_file;
use dormouse_capture::schema::{CaptureFile, NameRow};
use dormouse_guest::plan::{Record, Sleep};
use dormouse_machine::options::Detail;
use dormouse_machine::recording::Recording;
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
    /// What the boot did.
    #[serde(flatten)]
    pub task: Task,
    /// What the same boot did before, in order: a kernel that has slept already
    /// has warm worker pools and a later clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Task>,
    /// Boots, each with the next seed.
    pub samples: u32,
    /// Checksum of the program that ran in the guest: another build of it takes
    /// another number of instructions.
    #[serde(default)]
    pub program: String,
    /// What the guest does differently from the board.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// Nothing kept QEMU's threads in step (a QEMU that loads no library, or
    /// names its threads otherwise), so the same again may differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_step: bool,
}

/// A board and what was done with it in a boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The board file; absent for the guest's own devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Undeclared orders of the board, by number of the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<(u32, u32)>,
    /// How deep.
    pub sleep: Sleep,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// Cycles of each boot that the capture holds.
    pub cycles: u32,
    /// Events beyond those of suspend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detail: Vec<Detail>,
    /// Cycles before them that were thrown away.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What to run for a capture.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// The board; none for the guest's own devices.
    pub board: Option<&'a Board>,
    /// Who waits for whom inside the callbacks of the way up (waiter, awaited),
    /// which neither the board nor the recording shows.
    pub waits: &'a [(DeviceId, DeviceId)],
    /// How deep.
    pub sleep: Sleep,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// Cycles of each boot.
    pub cycles: u32,
    /// Events beyond those of suspend.
    pub detail: Vec<Detail>,
    /// Boots, each with the next seed.
    pub samples: u32,
    /// Time limit of each boot.
    pub limit: Duration,
}

/// What [`captures`] gives.
#[derive(Debug)]
pub struct Captures {
    /// One for each wish, in order.
    pub recordings: Vec<Recording>,
    /// The kernel log of each boot from its first line on, as records of
    /// `/dev/kmsg`.
    pub logs: Vec<String>,
}

/// Boots `kernel` as often as wished and gives one recording with the cycles
/// of all boots.
///
/// # Errors
/// As [`captures`].
pub fn capture(kernel: &Kernel, machine: &Machine, wish: &Wish<'_>) -> Result<Recording> {
    let mut all = captures(kernel, machine, std::slice::from_ref(wish), 0)?;
    all.recordings.pop().ok_or_else(|| Error::other("no recording"))
}

/// Does all `wishes` one after the other in the same boots of `kernel`: as many
/// boots as the first wish has samples, each within the sum of their limits.
/// The first `warm_up` cycles of each board are thrown away.
///
/// # Errors
/// When a boot fails ([`run`]) or what it sends is not a capture.
pub fn captures(
    kernel: &Kernel,
    machine: &Machine,
    wishes: &[Wish<'_>],
    warm_up: u32,
) -> Result<Captures> {
    let jobs: Vec<Job<'_>> = wishes
        .iter()
        .enumerate()
        .map(|(i, wish)| Job {
            name: format!("board{i}"),
            board: wish.board,
            waits: wish.waits,
            sleep: wish.sleep,
            pm_async: wish.pm_async,
            cycles: wish.cycles + warm_up,
            detail: wish.detail.clone(),
            record: Record::Full,
            phases: false,
        })
        .collect();
    let samples = wishes.first().map_or(1, |w| w.samples.max(1));
    let limit = wishes.iter().map(|w| w.limit).sum();
    let mut files: Vec<(CaptureFile, Description)> = Vec::new();
    let mut logs = Vec::new();
    let mut out_of_step = false;
    for sample in 0..samples {
        let mut machine = machine.clone();
        machine.seed += u64::from(sample);
        let boot = run(kernel, &machine, &jobs, limit)?;
        logs.push(boot.log);
        out_of_step |= boot.out_of_step;
        for (i, outcome) in boot.outcomes.into_iter().enumerate() {
            let mut seen = read(&outcome.capture)?;
            seen.cycles.drain(..seen.cycles.len().min(warm_up as usize));
            match files.get_mut(i) {
                None => files.push((seen, outcome.description)),
                Some((file, _)) => file.cycles.append(&mut seen.cycles),
            }
        }
    }
    let program = crate::run::program_checksum(machine.arch)?;
    let mut before: Vec<Task> = Vec::new();
    let mut recordings = Vec::new();
    for (wish, (mut file, description)) in wishes.iter().zip(files) {
        let task = Task {
            board: wish.board.map(|b| dormouse_board::print(b, "")),
            waits: wish.waits.iter().map(|(a, b)| (a.0, b.0)).collect(),
            sleep: wish.sleep,
            pm_async: wish.pm_async,
            cycles: wish.cycles,
            detail: wish.detail.clone(),
            warm_up,
        };
        for (n, c) in (1..).zip(&mut file.cycles) {
            c.stats.number = n;
        }
        if let Some(board) = wish.board {
            file.names = names(board, &description);
        }
        let recipe = Recipe {
            series: kernel.series.clone(),
            release: kernel.release.clone(),
            packages: kernel.packages.clone(),
            machine: machine.clone(),
            task: task.clone(),
            before: before.clone(),
            samples,
            program: program.clone(),
            differences: description.differences,
            out_of_step,
        };
        before.push(task);
        file.document.lab =
            Some(serde_json::to_value(recipe).map_err(|e| Error::other(e.to_string()))?);
        file.document.settings.cycles = file.cycles.len() as u32;
        recordings.push(Recording::new(file).map_err(|e| Error::other(e.to_string()))?);
    }
    Ok(Captures { recordings, logs })
}

/// Makes the recording of `recipe` again, with the same machine.
///
/// # Errors
/// When a board of the recipe does not parse, and as [`captures`].
pub fn rerun(kernel: &Kernel, recipe: &Recipe, limit: Duration) -> Result<Recording> {
    let tasks: Vec<&Task> = recipe.before.iter().chain([&recipe.task]).collect();
    let boards: Vec<Option<Board>> = tasks
        .iter()
        .map(|t| {
            let parsed = t.board.as_deref().map(dormouse_board::parse).transpose();
            parsed.map_err(|e| Error::other(format!("the board in its recipe: {e}")))
        })
        .collect::<Result<_>>()?;
    let waits: Vec<Vec<(DeviceId, DeviceId)>> = tasks
        .iter()
        .map(|t| t.waits.iter().map(|&(a, b)| (DeviceId(a), DeviceId(b))).collect())
        .collect();
    let wishes: Vec<Wish<'_>> = tasks
        .iter()
        .zip(&boards)
        .zip(&waits)
        .map(|((t, board), waits)| Wish {
            board: board.as_ref(),
            waits,
            sleep: t.sleep,
            pm_async: t.pm_async,
            cycles: t.cycles,
            detail: t.detail.clone(),
            samples: recipe.samples,
            limit,
        })
        .collect();
    let all = captures(kernel, &recipe.machine, &wishes, recipe.task.warm_up)?;
    all.recordings.into_iter().next_back().ok_or_else(|| Error::other("no recording"))
}

/// The recipe in the bytes of a capture file.
pub fn recipe(bytes: &[u8]) -> Result<Recipe> {
    let file = read(bytes)?;
    let lab = file.document.lab.ok_or_else(|| {
        Error::other("recorded on a machine, not by dormouse lab: it cannot be made again")
    })?;
    serde_json::from_value(lab)
        .map_err(|_| Error::other("made by another version of dormouse lab: its recipe is unknown"))
}

/// The recording that an outcome of [`crate::run`] holds, with the names of `board`:
/// without a recipe, so it cannot be made again from what it says of itself.
///
/// # Errors
/// When it is not a capture.
pub fn of_outcome(outcome: &Outcome, board: &Board) -> Result<Recording> {
    let mut file = read(&outcome.capture)?;
    file.names = names(board, &outcome.description);
    file.document.lab = Some(serde_json::json!({}));
    Recording::new(file).map_err(|e| Error::other(e.to_string()))
}

/// The trace of each cycle of such an outcome, as text.
///
/// # Errors
/// When it is not a capture.
pub fn traces(outcome: &Outcome) -> Result<Vec<String>> {
    let file = read(&outcome.capture)?;
    Ok(file.cycles.iter().map(|c| String::from_utf8_lossy(&c.trace).into_owned()).collect())
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
            .map_err(|_| Error::other("damaged, or no capture of dormouse lab"))?;
        tar = out;
        &tar[..]
    } else {
        bytes
    };
    // What is wrong with it in detail would quote the file, which may be anything.
    let (file, losses) = capture_file::read(bytes)
        .map_err(|_| Error::other("no capture of dormouse record or lab"))?;
    match losses.list.first() {
        None => Ok(file),
        Some(_) => Err(Error::other("damaged: copy the capture again")),
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
