//! What is said of inputs in which nothing was found.

use crate::failure::{Damaged, Nothing};
use crate::subject::{elsewhere, is_board_file, unread};
use dormouse_base::capture::Capture;
use dormouse_base::loss::{Loss, Losses, Severity};
use dormouse_read::Given;
use dormouse_words::text::safe;
use std::path::{Path, PathBuf};

/// Losses that mean that bytes are missing or wrong.
const DAMAGE: [&str; 7] = [
    "damaged_input",
    "capture_truncated",
    "capture_unreadable",
    "tracedat_truncated",
    "unreadable_trace_dat",
    "perfetto_cut",
    "perfetto_damaged_bundle",
];

/// No sleep cycle is in `inputs`: [`Damaged`], or [`Nothing`] with what was
/// looked at, what the readers say about it, and what would help.
pub fn nothing_in<'a>(
    given: &Given,
    captures: impl IntoIterator<Item = &'a Capture>,
) -> anyhow::Error {
    let captures: Vec<&Capture> = captures.into_iter().collect();
    let inputs = given.paths();
    if let Some(damaged) = damaged(inputs, &captures) {
        return damaged.into();
    }
    let ranked = captures.iter().any(|c| !c.ranked.is_empty());
    let mut out = what_is_there(given, "no suspend or resume event");
    let losses = losses_of(captures, Severity::Info);
    out.push_str(&losses);
    if ranked {
        out.push_str(
            "\n  it lists ends of callbacks alone: `dormouse show` ranks them, all else needs the \
             `calling` lines too",
        );
    } else if inputs.iter().any(|p| is_board_file(given, p)) {
        out.push_str(
            "\n  a board file says what devices do, not what happened: give it to predict, \
             tune or lab run",
        );
    } else if let Some(form) = elsewhere(given) {
        out.push_str(&form);
    } else if losses.is_empty() {
        out.push_str(
            "\n  give a kernel log (pm_print_times helps), a trace with power events, a run of \
             pm-graph, or a capture of `dormouse record`",
        );
    }
    Nothing(out).into()
}

/// The inputs have cycles, but not what is asked for: why, and what the readers
/// say that went wrong.
pub fn nothing_of<'a>(
    inputs: &[PathBuf],
    captures: impl IntoIterator<Item = &'a Capture>,
    why: &str,
) -> anyhow::Error {
    let captures: Vec<&Capture> = captures.into_iter().collect();
    if let Some(damaged) = damaged(inputs, &captures) {
        return damaged.into();
    }
    Nothing(format!("{}: {why}{}", names(inputs), losses_of(captures, Severity::Error))).into()
}

fn damaged(inputs: &[PathBuf], captures: &[&Capture]) -> Option<Damaged> {
    damage_of(inputs, captures.iter().map(|c| &c.losses))
}

/// That `inputs`, in which nothing was found, are damaged, if one of their losses says so.
pub(crate) fn damage_of<'a>(
    inputs: &[PathBuf],
    losses: impl IntoIterator<Item = &'a Losses>,
) -> Option<Damaged> {
    let mut losses = losses.into_iter().flat_map(|l| &l.list);
    losses.any(|l| DAMAGE.contains(&l.kind)).then(|| {
        Damaged(format!(
            "{} is damaged or ends early, and no cycle of it can be used. Copy it again from where \
             it was recorded.",
            names(inputs)
        ))
    })
}

/// What kind of nothing a single input is; else `missing` in all of them.
pub(crate) fn what_is_there(given: &Given, missing: &str) -> String {
    let inputs = given.paths();
    let name = names(inputs);
    let [only] = inputs else { return format!("{missing} in {name}") };
    if let Ok(mut list) = std::fs::read_dir(only) {
        if list.next().is_none() {
            return format!("the folder {name} is empty");
        }
        let links = std::fs::read_dir(only).map_or(0, |list| {
            list.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_symlink())).count()
        });
        if links > 0 {
            let were = if links == 1 { "1 link was" } else { &format!("{links} links were") };
            return format!("{missing} in {name}; {were} not followed");
        }
    }
    if !only.is_dir() && given.raw(only).is_ok_and(|b| b.is_empty()) {
        return format!("{name} is empty");
    }
    if given.raw(only).is_ok_and(|b| dormouse_read::detect::is_database(&b)) {
        return format!("{name} is a database; one of dormouse watch is for dormouse show");
    }
    if given.raw(only).is_ok_and(|b| b.starts_with(&BLOB)) {
        return format!(
            "{name} is a device tree blob: dormouse check reads it, and names what would not probe"
        );
    }
    if is_binary(given, only) {
        return format!("{name} is no log and no trace: its bytes are no text and no known format");
    }
    match unread(given, only) {
        Some(what) => format!("{missing} in {name}; it has {what}, which dormouse does not read"),
        None => format!("{missing} in {name}"),
    }
}

/// How a device tree blob begins (scripts/dtc/libfdt/fdt.h: FDT_MAGIC).
const BLOB: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];

/// How compressed files begin (gzip, xz, zstd, zip): what is in them was read.
const PACKED: [&[u8]; 4] = [b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];

/// Whether a file begins with bytes that no text has.
pub(crate) fn is_binary(given: &Given, path: &Path) -> bool {
    let Ok(bytes) = given.raw(path) else { return false };
    let head = &bytes[..bytes.len().min(4096)];
    let packed = PACKED.iter().any(|magic| head.starts_with(magic));
    !path.is_dir() && !packed && head.contains(&0)
}

/// The first of the inputs.
fn names(inputs: &[PathBuf]) -> String {
    let name = |p: &PathBuf| match p.to_str() {
        Some("-") => "standard input".to_string(),
        _ => safe(&p.display().to_string()).into_owned(),
    };
    let shown = inputs.iter().take(3).map(name);
    let mut names: Vec<String> = shown.collect();
    if inputs.len() > 3 {
        names.push(format!("and {} more", inputs.len() - 3));
    }
    names.join(", ")
}

/// The first losses that are at least so bad, a line each.
fn losses_of<'a>(captures: impl IntoIterator<Item = &'a Capture>, least: Severity) -> String {
    let all = captures.into_iter().flat_map(|c| &c.losses.list).filter(|l| l.severity >= least);
    let line = |l: &Loss| {
        let kind = l.kind.replace('_', " ");
        format!("\n  {}: {kind}: {}", l.severity.name(), safe(&l.advice))
    };
    all.take(8).map(line).collect()
}
