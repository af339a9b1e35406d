//! `make prove SUBJECT=reality`: every log with callbacks, and every recording of the
//! project, simulated as it was, and what came out beside what was recorded.
//!
//! The logs lie outside of the project (`DORMOUSE_DATA`); without them only the
//! project's recordings are judged, and that is said.

mod across;
#[cfg(test)]
mod damage;
mod page;
#[cfg(test)]
mod pixel;
mod printing;

use anyhow::{Context, Result};
use dormouse_base::capture::Capture;
use dormouse_base::time::Ns;
use dormouse_board::trips::trips;
use dormouse_read::{Input, Options};
use dormouse_sleep::evidence::{self, Check, Machine};
use dormouse_sleep::simulate::{Profile, Settings};
use std::fs;
use std::path::{Path, PathBuf};

/// One file, judged.
pub(crate) struct Judged {
    /// Its name below the folder of logs, or of the project's recordings.
    pub name: String,
    /// What it holds.
    pub capture: Capture,
    /// The machine it shows.
    pub machine: Machine,
    /// Phases worth a look.
    pub checks: Vec<Check>,
}

/// How everything is simulated: the built-in x86 costs.
pub(crate) fn settings() -> Settings {
    Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None }
}

/// Judges everything and prints the page, or writes it to the file after `-o`.
///
/// # Errors
/// If a folder cannot be read or the page not be written.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    let data = std::env::var_os("DORMOUSE_DATA").map_or("../shared/data".into(), PathBuf::from);
    let logs = data.join("logs");
    let there = logs.is_dir();
    if there {
        collect(&logs, &logs, &mut files)?;
    }
    let own = files.len();
    collect(Path::new("captures"), Path::new("captures"), &mut files)?;
    let mut judged = Vec::new();
    let mut without = Vec::new();
    for (i, (name, path)) in files.iter().enumerate() {
        let name = if i < own { name.clone() } else { format!("captures/{name}") };
        match judge(&name, path) {
            Ok(list) if list.is_empty() => without.push((name, "no callbacks".to_owned())),
            Ok(list) => judged.extend(list),
            Err(e) => without.push((name, e.to_string())),
        }
    }
    let text = page::page(&judged, &without, there);
    match args {
        [flag, file] if flag == "-o" => {
            fs::write(file, text).with_context(|| format!("cannot write {file}"))
        }
        _ => {
            print!("{text}");
            Ok(())
        }
    }
}

/// Files below `folder` that may be logs or recordings, in order of their names.
fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    let list = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        list.map(|e| e.map(|e| e.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_none_or(|e| e != "md") {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.push((name, path));
        }
    }
    Ok(())
}

fn judge(name: &str, path: &Path) -> Result<Vec<Judged>> {
    let reading = dormouse_read::read(&[Input::from_arg(path)], &Options::default())?;
    let mut list = Vec::new();
    // Of a hibernation every trip is a machine of its own.
    for (_, capture) in reading.captures.iter().flat_map(trips) {
        let Ok(machine) = evidence::machine(&capture, None) else { continue };
        let found = machine.check(&capture, &settings());
        let mut checks = found.checks;
        checks.retain(|c| c.recorded >= evidence::fidelity::WORTH);
        list.push(Judged { name: name.to_owned(), capture, machine, checks });
    }
    Ok(list)
}

/// Milliseconds with three digits.
pub(crate) fn ms(t: Ns) -> String {
    format!("{:.3}", t.0 as f64 / 1e6)
}
