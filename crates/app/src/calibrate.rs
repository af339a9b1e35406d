//! The costs of the kernel's machinery from recordings.

use crate::failure::{NotMet, Usage};
use crate::nothing::{nothing_in, nothing_of};
use anyhow::{Context, Result, anyhow};
use dormouse_board::Board;
use dormouse_read::Given;
use dormouse_sleep::simulate::calibrate::{Calibration, calibrate as fit};
use std::fs;
use std::path::{Path, PathBuf};

/// What to fit, and on what.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Profile to begin with: a name or a file.
    pub from: String,
    /// Boards of the laboratory, one for each input, or none.
    pub boards: Vec<PathBuf>,
    /// What the profile is of; the names of the inputs, if absent.
    pub name: Option<String>,
}

/// Fits a profile.
///
/// # Errors
/// If an input cannot be read or holds no cycle, or [`Usage`].
pub fn calibrate(given: &Given, ask: &Ask) -> Result<Calibration> {
    let from = crate::settings::profile(&ask.from)?;
    let mut captures = Vec::new();
    for input in given.paths() {
        let read = given.only(std::slice::from_ref(input)).sleep()?;
        captures.extend(read.captures.iter().map(|c| (**c).clone()));
    }
    if captures.iter().all(|c| c.cycles.is_empty()) {
        return Err(nothing_in(given, &captures));
    }
    let name = ask.name.clone().unwrap_or_else(|| {
        let name = |i: &PathBuf| i.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names: Vec<String> = given.paths().iter().map(name).collect();
        format!("fitted on {}", names.join(", "))
    });
    if name.contains(['\n', '"']) {
        return Err(Usage("--name: quotes and line ends are not possible".into()).into());
    }
    if !ask.boards.is_empty() && ask.boards.len() != captures.len() {
        let message = "--board: give one board for each recording, in the same order";
        return Err(Usage(message.into()).into());
    }
    let boards: Vec<Board> = ask.boards.iter().map(|f| board(f)).collect::<Result<_>>()?;
    fit(&captures, &boards, &from, &name).map_err(|e| nothing_of(given.paths(), &captures, &e))
}

fn board(file: &Path) -> Result<Board> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    dormouse_board::parse(&text).map_err(|e| anyhow!("{}: {e}", file.display()))
}

/// Whether the fit is better than the profile called `from` that it began with.
///
/// # Errors
/// [`NotMet`] if it is not.
pub fn better(fitted: &Calibration, from: &str) -> Result<()> {
    if fitted.after.phase < fitted.before.phase {
        return Ok(());
    }
    Err(NotMet(format!(
        "calibration failed: {} error per phase, no better than {from} ({}); no profile is \
         written. Record with `dormouse record`, and give more cycles",
        fitted.after.phase, fitted.before.phase
    ))
    .into())
}
