//! Loads of the laboratory, simulated beside what its kernels measured.

use crate::failure::{Nothing, Usage};
use anyhow::{Context, Result};
use dormouse_read::storage::described::{Described, Draft};
use dormouse_read::storage::measured::measured;
use dormouse_storage::simulate::disk::simulate;
use dormouse_storage::summary::Latency;
use dormouse_storage::verdict::{Measured, Row};
use std::fs;
use std::path::{Path, PathBuf};

/// The load from which the one figure is fitted that nobody describes: what the
/// kernel adds to a request. Its disk sleeps in no way and keeps its clock.
pub const FITTED: &str = "software";

/// Loads of one kernel.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Its release.
    pub kernel: String,
    /// What it adds to a request, ns.
    pub software: i64,
    /// Loads, by name.
    pub rows: Vec<Row>,
}

/// Judges each folder that `dormouse lab run --only storage` wrote.
///
/// # Errors
/// [`Usage`] if a file cannot be understood, [`Nothing`] if a folder has no load, or
/// not the one that the kernel's part is fitted from.
pub fn verify(folders: &[PathBuf]) -> Result<Vec<Verified>> {
    folders.iter().map(|f| folder(f)).collect()
}

fn folder(path: &Path) -> Result<Verified> {
    let name = path.display();
    let list = fs::read_dir(path).with_context(|| format!("cannot read {name}"))?;
    let mut stems: Vec<PathBuf> = list
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "measured"))
        .map(|p| p.with_extension(""))
        .collect();
    stems.sort();
    let Some(at) = stems.iter().position(|s| s.file_name().is_some_and(|n| n == FITTED)) else {
        let why = format!(
            "{name} has no {FITTED}.measured, from which the kernel's own part is fitted \
             (docs/storage.md)"
        );
        return Err(Nothing(why).into());
    };
    let (d, m) = one(&stems.remove(at))?;
    let software = fitted(&d, &m);
    let mut rows = Vec::new();
    for stem in &stems {
        let (mut d, m) = one(stem)?;
        d.drive.law.software = software;
        let load = d.load.as_ref().context("a description without a load")?;
        let name = stem.file_name().unwrap_or_default().to_string_lossy();
        rows.push(Row::of(&name, &simulate(&d.drive, &d.settings, load), &m));
    }
    if rows.is_empty() {
        return Err(Nothing(format!("{name} has no load but {FITTED}")).into());
    }
    Ok(Verified { kernel: m.kernel, software, rows })
}

/// What the middle request took beyond the drive.
fn fitted(d: &Described, m: &Measured) -> i64 {
    let mut d = d.clone();
    d.drive.law.software = 0;
    let bare = d.load.as_ref().map_or(0, |l| simulate(&d.drive, &d.settings, l).latency().p50);
    (Latency::of(&mut m.latencies.clone()).p50 - bare).max(0)
}

fn one(stem: &Path) -> Result<(Described, Measured)> {
    let read = |extension: &str| {
        // A name may have dots of its own.
        let mut path = stem.as_os_str().to_owned();
        path.push(".");
        path.push(extension);
        let path = PathBuf::from(path);
        let text = fs::read_to_string(&path);
        Ok::<_, anyhow::Error>((
            text.with_context(|| format!("cannot read {}", path.display()))?,
            path,
        ))
    };
    let (text, path) = read("disk")?;
    let mut draft = Draft::default();
    let described = draft.read(&text).and_then(|()| draft.finish());
    let d = described.map_err(|e| Usage(format!("{}: {e} (docs/storage.md)", path.display())))?;
    let (text, path) = read("measured")?;
    let m = measured(&text).map_err(|e| Usage(format!("{}: {e}", path.display())))?;
    Ok((d, m))
}
