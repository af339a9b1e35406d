//! The machine that a verb is asked about: a board file, or what is recorded of
//! a machine; with the kernel it runs and what that kernel's machinery costs.

use crate::failure::{Nothing, Usage, nothing_in, nothing_of};
use crate::kernels::Now;
use crate::predict;
use crate::verify::{How, Lab};
use anyhow::{Context, Result, anyhow, bail};
use dormouse_board::Board;
use dormouse_board::derive::Derived;
use dormouse_board::trips::trips;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::Outcome;
use dormouse_model::device::DeviceId;
use dormouse_read::{Input, Options};
use dormouse_sleep::simulate::change::glob;
use dormouse_sleep::simulate::infer;
use dormouse_sleep::simulate::predict::{Scheduler, hang, outlook};
use dormouse_sleep::simulate::{Profile, Settings, profile as profiles};
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// The board with its cycles, and the kernel release if the input names one. Of
/// hibernations the first trip.
///
/// # Errors
/// If the input cannot be read, holds no cycle, or holds several machines.
pub fn load(input: &Path) -> Result<(Derived, String)> {
    // There is at least one.
    Ok(load_trips(input)?.swap_remove(0))
}

/// The same for every trip that the recording shows: of a hibernation those that
/// make the image, power off and restore are machines of their own.
///
/// # Errors
/// As [`load`].
pub fn load_trips(input: &Path) -> Result<Vec<(Derived, String)>> {
    let path = input.display();
    let inputs = [input.to_path_buf()];
    if input.is_file() {
        let bytes = fs::read(input).with_context(|| format!("cannot read {path}"))?;
        if let Some(text) = board_text(&bytes) {
            let board = dormouse_board::parse(text).map_err(|e| anyhow!("{path}: {e}"))?;
            return Ok(vec![(Derived { board, ..Derived::default() }, String::new())]);
        }
    }
    let reading = dormouse_read::read(&[Input::from_arg(input)], &Options::default())?;
    let (mut captures, empty): (Vec<Capture>, Vec<Capture>) =
        reading.captures.into_iter().partition(|c| !c.cycles.is_empty());
    if captures.len() > 1 {
        bail!("{path} holds recordings of {} machines; give one of them", captures.len());
    }
    let Some(capture) = captures.pop() else {
        return Err(nothing_in(&inputs, &empty));
    };
    let all: Result<Vec<_>, String> =
        trips(&capture).iter().map(|(_, part)| infer::machine(part)).collect();
    all.map_err(|e| nothing_of(&inputs, &[capture], &e))
}

/// The text of a board file, which begins with `board N`.
pub fn board_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'))?;
    first.strip_prefix("board")?.starts_with(char::is_whitespace).then_some(text)
}

/// Whether a file can be read and is a board file.
pub fn is_board_file(path: &Path) -> bool {
    let mut begin = Vec::new();
    let opened = path.is_file().then(|| fs::File::open(path).ok()).flatten();
    opened.is_some_and(|f| f.take(4096).read_to_end(&mut begin).is_ok())
        && board_text(String::from_utf8_lossy(&begin).as_bytes()).is_some()
}

/// That the machine sleeps at all: what comes after a failed suspend is short,
/// and nothing that anybody wants to be shorter.
///
/// # Errors
/// If a callback of `board` ends its way down, or the kernel would hang.
pub fn sleeps(board: &Board, by: Scheduler, settings: &Settings) -> Result<()> {
    let o = outlook(board, by, settings).map_err(|e| Usage(hang(board, &e)))?;
    let Outcome::AbortedByDevice { device, errno } = o.run.cycle.outcome else { return Ok(()) };
    let device = device.and_then(|d| board.graph.devices.get(d.index()));
    let name = device.map_or("a device", |d| board.names.get(d.name));
    Err(Nothing(format!(
        "the suspend fails: a callback of {name} returns {errno}, so this machine does not sleep \
         and there is no time to shorten. Mend that driver first, or take ret={errno} out of the \
         board to see what would come after"
    ))
    .into())
}

/// A built-in profile or one in a file.
///
/// # Errors
/// If the file cannot be read or is no profile.
pub fn profile(name: &str) -> Result<Profile> {
    if let Some(p) = Profile::find(name) {
        return Ok(p);
    }
    let text = fs::read_to_string(name).with_context(|| {
        format!("cannot read the profile {name} (built in are x86, phone and zero)")
    })?;
    profiles::parse(&text).map_err(|e| anyhow!("{name}: {e}"))
}

/// How to simulate: see [`predict::settings`].
///
/// # Errors
/// As [`profile`].
pub fn settings(profile_name: &str, cpus: Option<u32>) -> Result<Settings> {
    Ok(predict::settings(profile(profile_name)?, cpus))
}

/// The scheduling rules of a kernel release or of a policy by name.
///
/// # Errors
/// [`Usage`], if there is no such kernel or policy.
pub fn scheduler(text: &str) -> Result<Scheduler> {
    Ok(crate::kernels::scheduler(text).map_err(Usage)?)
}

/// The rules of the kernel the machine runs now: see [`Now::of`].
///
/// # Errors
/// [`Usage`], if the kernel asked for is not known.
pub fn kernel_now(asked: Option<&str>, release: &str) -> Result<Now> {
    Ok(Now::of(asked, release).map_err(Usage)?)
}

/// What `plan` and `tune` start from.
#[derive(Debug)]
pub struct Machine {
    /// The devices.
    pub board: Board,
    /// The laboratory, if it is to confirm the answer.
    pub lab: Option<Lab>,
    /// The rules of the kernel.
    pub now: Now,
    /// Costs, complete for this board and kernel.
    pub settings: Settings,
}

/// Reads the machine and opens the laboratory if it is asked for.
///
/// # Errors
/// If the input or the profile cannot be read, the kernel is not known, the
/// laboratory is asked for and not to be had, or the machine does not sleep.
pub fn open(
    input: &Path,
    kernel: Option<&str>,
    profile_name: &str,
    verify: Option<How>,
) -> Result<Machine> {
    let (derived, release) = load(input)?;
    let board = derived.board;
    let lab = verify.map(|how| Lab::open(how, kernel, &release)).transpose()?;
    let now = kernel_now(lab.as_ref().map(Lab::release).or(kernel), &release)?;
    let mut settings = settings(profile_name, None)?;
    settings.complete(&board, now.by.kernel.as_ref());
    sleeps(&board, now.by, &settings)?;
    Ok(Machine { board, lab, now, settings })
}

/// The devices whose whole name matches `pattern`.
///
/// # Errors
/// [`Usage`], if there is none.
pub fn matching(board: &Board, pattern: &str) -> Result<Vec<DeviceId>> {
    let name = |d: &DeviceId| board.names.get(board.graph.get(*d).name);
    let found: Vec<DeviceId> = board.graph.ids().filter(|d| glob(pattern, name(d))).collect();
    if found.is_empty() {
        let text = format!("no device matches `{pattern}`; patterns match the whole name");
        return Err(Usage(text).into());
    }
    Ok(found)
}
