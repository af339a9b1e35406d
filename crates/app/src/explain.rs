//! Inputs read and explained.

use crate::doctor;
use crate::nothing::nothing_in;
use anyhow::Result;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_doctor::finding::Finding;
use dormouse_doctor::waits::Wait;
use dormouse_doctor::whole::WholeWay;
use dormouse_read::Given;
use dormouse_read::doctor::Heard;
use dormouse_sleep::analyse::Explainer;
use dormouse_words::Explained;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The captures of `inputs`, explained. Inputs of one machine are joined.
///
/// # Errors
/// If an input cannot be read, or [`crate::failure::Nothing`] if there is no
/// cycle in any, and no list of durations.
pub fn inputs(given: &Given) -> Result<Vec<Explained>> {
    let all = explained(given)?;
    if all.iter().all(|e| e.views.is_empty() && e.capture.ranked.is_empty()) {
        return Err(nothing_in(given, all.iter().map(|e| &*e.capture)));
    }
    Ok(all)
}

/// Captures with what to call them. Inputs of one machine are joined unless
/// they are to be told `apart`.
///
/// # Errors
/// As [`inputs`].
pub fn labelled(given: &Given, apart: bool) -> Result<Vec<(String, Explained)>> {
    let paths = given.paths();
    let groups: Vec<&[PathBuf]> = if apart { paths.chunks(1).collect() } else { vec![paths] };
    let mut out = Vec::new();
    for group in groups {
        let captures = match apart {
            true => explained(&given.only(group))?,
            false => explained(given)?,
        };
        let label = group.iter().map(|p| short(p)).collect::<Vec<_>>().join(", ");
        let several = captures.iter().filter(|e| !e.capture.cycles.is_empty()).count() > 1;
        for (i, e) in captures.into_iter().enumerate() {
            let host = e.capture.names.get(e.capture.machine.host).to_string();
            let name = match (several, host.is_empty()) {
                (false, _) => label.clone(),
                (true, false) => host,
                (true, true) => format!("{label} ({})", i + 1),
            };
            out.push((name, e));
        }
    }
    if out.iter().all(|(_, e)| e.views.is_empty()) {
        return Err(nothing_in(given, out.iter().map(|(_, e)| &*e.capture)));
    }
    Ok(out)
}

/// The captures of `inputs`, explained, with or without cycles.
fn explained(given: &Given) -> Result<Vec<Explained>> {
    let read = given.heard()?;
    let findings = doctor::findings(&read.captures, &read.heard);
    let ways = doctor::ways(&read.captures, &read.heard);
    let all = read.captures.iter().zip(findings.into_iter().zip(ways));
    type Told = (Vec<Finding>, Vec<WholeWay>);
    let explained = |(capture, (findings, ways)): (&Arc<Capture>, Told)| {
        let waits = waits(capture, &read.heard);
        Explained { waits, ways, ..on_every_cpu(capture.clone(), findings) }
    };
    Ok(all.map(explained).collect())
}

/// `capture` with its views: a few parts for each CPU, because cycles are not
/// equally long.
fn on_every_cpu(capture: Arc<Capture>, findings: Vec<Finding>) -> Explained {
    let explainer = Explainer::new(&capture);
    let part = capture.cycles.len().div_ceil(4 * rayon::current_num_threads()).max(1);
    let parts = capture.cycles.par_chunks(part);
    let views = parts.flat_map_iter(|cycles| explainer.explain(cycles)).collect();
    Explained { views, findings, ways: Vec::new(), waits: Vec::new(), capture }
}

/// What the logs say of devices that were waited for, by cycle.
fn waits(capture: &Capture, told: &[Heard]) -> Vec<Vec<Wait>> {
    let mut out = vec![Vec::new(); capture.cycles.len()];
    for heard in told {
        let of_log = |c: &Cycle| {
            c.callbacks.is_empty()
                && c.lines.first > 0
                && capture.names.get(c.source) == heard.name.as_str()
        };
        let cycles = capture.cycles.iter().enumerate().filter(|(_, c)| of_log(c));
        let (places, ranges): (Vec<usize>, Vec<(u64, u64)>) =
            cycles.map(|(i, c)| (i, (c.lines.first, c.lines.last))).unzip();
        for (place, list) in
            places.into_iter().zip(dormouse_doctor::waits::waits(&heard.case, &ranges))
        {
            out[place] = list;
        }
    }
    out
}

/// The last part of a path: enough to recognise it, and safe to pass on.
fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
