//! Flags tried on this machine, and kept if they help.

use crate::compare::refused;
use crate::failure::Usage;
use anyhow::{Context, Result, bail, ensure};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Outcome;
use dormouse_base::device::Device;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_machine::apply::{Flags, Measured, keep, measure};
use dormouse_machine::guard::{NotRestored, Observer};
use dormouse_machine::options::Options;
use dormouse_machine::recorder::Watch;
use dormouse_machine::recording::Recording;
use dormouse_machine::root::Root;
use dormouse_read::{Options as Reader, read_bytes};
use dormouse_sleep::acceptance::{Judgement, Pair, Slept, judge};
use dormouse_sleep::analyse::explain;
use dormouse_sleep::compare::{Comparison, Subject, compare};
use dormouse_sleep::tune::Tuned;
use std::fs;
use std::path::{Path, PathBuf};

/// The machine and who watches what is done to it.
pub struct Host<'a> {
    /// Where its sysfs is.
    pub root: &'a Root,
    /// How it sleeps.
    pub options: &'a Options,
    /// Told of every write.
    pub observer: &'a mut dyn Observer,
    /// Told of progress, and asked whether to stop.
    pub watch: &'a mut dyn Watch,
}

/// What came of it.
#[derive(Debug)]
pub struct Attempt<T> {
    /// Recordings that were saved.
    pub saved: Vec<PathBuf>,
    /// Knobs that could not be put back.
    pub failed: Vec<NotRestored>,
    /// The verdict; an error if not every cycle was recorded, or the flags help
    /// and could not be kept. They were put back then.
    pub judged: Result<Judged<T>>,
}

/// The verdict.
#[derive(Debug)]
pub struct Judged<T> {
    /// What the pairs say.
    pub judgement: Judgement,
    /// What was made of the comparison of both sides.
    pub comparison: T,
    /// How many flags were set to stay.
    pub kept: usize,
}

/// Whether the flags of `board` could be set on a machine: it says where its
/// devices are in sysfs.
///
/// # Errors
/// If it does not.
pub fn can_be_of_a_machine(board: &Board, input: &Path) -> Result<()> {
    let known = |d: &Device| !board.names.get(d.facts.devpath).is_empty();
    if board.graph.devices.iter().any(known) {
        return Ok(());
    }
    Err(Usage(format!(
        "--apply needs a recording of this machine (dormouse record); {} does not say where \
         its devices are in sysfs: it is a board, a log, or from the laboratory",
        input.display()
    ))
    .into())
}

/// Whether this machine was started with the command line that `capture` has: a guest
/// of the laboratory may apply what was recorded in itself.
pub fn is_of_this_machine(capture: &Capture) -> bool {
    let now = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    capture.names.get(capture.machine.command_line).trim() == now.trim()
}

/// The flags as paths of this machine.
///
/// # Errors
/// [`Usage`], if `board` does not say where one of the devices is.
pub fn flags(board: &Board, tuned: &Tuned) -> Result<Flags> {
    let mut flags = Flags { pm_async: tuned.pm_async, devices: Vec::new() };
    for f in &tuned.flips {
        let d = board.graph.get(f.device);
        let path = board.names.get(d.facts.devpath);
        if path.is_empty() {
            return Err(Usage(format!(
                "--apply: the input does not say where {} is in sysfs: record this machine with \
                 `dormouse record` and tune that",
                board.names.get(d.name)
            ))
            .into());
        }
        let path = if path.starts_with("/sys/") { path.into() } else { format!("/sys{path}") };
        flags.devices.push((path, f.to_async));
    }
    Ok(flags)
}

/// Lets the machine sleep in pairs with and without `flags` (`with_first` says for
/// each which comes first), saves the recordings in the folder `save`, and keeps
/// the flags if they help. `show` makes of the comparison what the caller prints.
///
/// # Errors
/// If nothing could be recorded, saved or compared. Every flag is as it was then.
pub fn attempt<T>(
    host: Host<'_>,
    flags: &Flags,
    with_first: &[bool],
    save: Option<&Path>,
    show: impl FnOnce(&Comparison<'_>) -> T,
) -> Result<Attempt<T>> {
    if let Some(folder) = save {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let Host { root, options, observer, watch } = host;
    let measured = measure(root, options, flags, with_first, observer, watch)?;
    let saved = save.map_or(Ok(Vec::new()), |folder| saved(folder, &measured))?;
    let judged = whole(&measured).and_then(|()| {
        let judgement = judge(&pairs(&measured)?);
        let comparison = with_both_sides(&measured, show)?;
        let mut kept = 0;
        if judgement.keep() {
            kept = keep(root, &options.journal, flags, observer)
                .context("it is faster, but the flags could not be kept; they were put back")?;
        }
        Ok(Judged { judgement, comparison, kept })
    });
    Ok(Attempt { saved, failed: measured.failed, judged })
}

/// An error unless every cycle was recorded.
fn whole(measured: &Measured) -> Result<()> {
    if let Some(e) = &measured.error {
        bail!("{e}; the flags were not kept, and every setting was put back");
    }
    ensure!(measured.failed.is_empty(), "a setting was not put back; the flags were not kept");
    ensure!(!measured.stopped, "stopped: the flags were not kept, and every setting was put back");
    Ok(())
}

/// Saves what was recorded; says in which files.
fn saved(folder: &Path, measured: &Measured) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (label, with_flags) in SIDES {
        let side = measured.side(with_flags);
        if !side.is_empty() {
            let path = folder.join(format!("{label}.tar.gz"));
            side.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
            files.push(path);
        }
    }
    Ok(files)
}

const SIDES: [(&str, bool); 2] = [("without", false), ("with", true)];

fn captures(label: &str, recording: &Recording) -> Result<Vec<Capture>> {
    let bytes = dormouse_machine::file::encode(recording, Vec::new())?;
    Ok(read_bytes(label, &bytes, &Reader::default())?.captures)
}

/// The pairs as they slept.
fn pairs(measured: &Measured) -> Result<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for t in &measured.tries {
        let Some(n) = t.pair else { continue };
        pairs.resize(pairs.len().max(n + 1), Pair::default());
        let slept = slept(&captures("try", &t.recording)?);
        if t.with_flags {
            pairs[n].with = slept;
        } else {
            pairs[n].without = slept;
        }
    }
    Ok(pairs)
}

/// The one cycle of a recording, if it is whole.
fn slept(captures: &[Capture]) -> Option<Slept> {
    let [capture] = captures else { return None };
    let views = explain(capture);
    let (Some(cycle), Some(view)) = (capture.cycles.first(), views.first()) else { return None };
    let total = |d| Ns(view.rows.counted(d).0);
    (capture.cycles.len() == 1 && cycle.outcome == Outcome::Slept)
        .then(|| Slept { suspend: total(Direction::Suspend), resume: total(Direction::Resume) })
}

/// What `show` makes of the two sides beside each other.
fn with_both_sides<T>(measured: &Measured, show: impl FnOnce(&Comparison<'_>) -> T) -> Result<T> {
    let mut sides = Vec::new();
    for (label, with_flags) in SIDES {
        sides.push(captures(label, &measured.side(with_flags))?);
    }
    let views: Vec<Vec<_>> = sides.iter().map(|s| s.iter().map(explain).collect()).collect();
    let subjects: Vec<Subject<'_>> = SIDES
        .into_iter()
        .zip(sides.iter().zip(&views))
        .map(|((label, _), (captures, views))| Subject {
            label: label.into(),
            captures: captures.iter().zip(views).map(|(c, v)| (c, v.as_slice())).collect(),
        })
        .collect();
    Ok(show(&compare(&subjects, false).map_err(refused)?))
}
