//! Inputs read and explained.

use crate::failure::nothing_in;
use anyhow::Result;
use dormouse_read::{Input, Options, read};
use dormouse_sleep::analyse::explain;
use dormouse_write::Explained;
use std::path::{Path, PathBuf};

/// The captures of `inputs`, explained. Inputs of one machine are joined.
///
/// # Errors
/// If an input cannot be read, or [`crate::failure::Nothing`] if there is no
/// cycle in any, and no list of durations.
pub fn inputs(inputs: &[PathBuf]) -> Result<Vec<Explained>> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let reading = read(&list, &Options::default())?;
    let all: Vec<Explained> = reading
        .captures
        .into_iter()
        .map(|capture| Explained { views: explain(&capture), capture })
        .collect();
    if all.iter().all(|e| e.views.is_empty() && e.capture.ranked.is_empty()) {
        return Err(nothing_in(inputs, all.iter().map(|e| &e.capture)));
    }
    Ok(all)
}

/// Captures with what to call them. Inputs of one machine are joined unless
/// they are to be told `apart`.
///
/// # Errors
/// As [`inputs`].
pub fn labelled(paths: &[PathBuf], apart: bool) -> Result<Vec<(String, Explained)>> {
    let groups: Vec<&[PathBuf]> = if apart { paths.chunks(1).collect() } else { vec![paths] };
    let mut out = Vec::new();
    for group in groups {
        let list: Vec<Input> = group.iter().map(Input::from_arg).collect();
        let reading = read(&list, &Options::default())?;
        let label = group.iter().map(|p| short(p)).collect::<Vec<_>>().join(", ");
        let several = reading.captures.iter().filter(|c| !c.cycles.is_empty()).count() > 1;
        for (i, capture) in reading.captures.into_iter().enumerate() {
            let host = capture.names.get(capture.machine.host).to_string();
            let name = match (several, host.is_empty()) {
                (false, _) => label.clone(),
                (true, false) => host,
                (true, true) => format!("{label} ({})", i + 1),
            };
            out.push((name, Explained { views: explain(&capture), capture }));
        }
    }
    if out.iter().all(|(_, e)| e.views.is_empty()) {
        return Err(nothing_in(paths, out.iter().map(|(_, e)| &e.capture)));
    }
    Ok(out)
}

/// The last part of a path: enough to recognise it, and safe to pass on.
fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
