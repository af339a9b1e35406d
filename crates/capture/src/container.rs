//! Takes a capture file apart into its members: `tar`, usually inside `gzip`.

use crate::schema::{CaptureFile, CycleMembers, DeviceRow, Document, LinkRow, NameRow};
use crate::schema::{FORMAT, VERSION};
use crate::table::Table;
use dormouse_base::loss::{Losses, Severity};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Largest member that is read, so that a file made to expand cannot fill the
/// memory. A cycle of 10,000 devices with scheduler events is below a tenth.
const MEMBER_LIMIT: u64 = 256 << 20;
/// Most bytes read from one capture file after decompression.
const TOTAL_LIMIT: u64 = 1 << 30;
/// Most cycles in one file.
const CYCLE_LIMIT: usize = 100_000;

/// Why a capture file cannot be read at all. Damage inside is a loss instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed before anything useful was found.
    #[error(
        "the capture file cannot be read: {0}; is it whole, and of `dormouse record` or `lab`?"
    )]
    Io(#[from] io::Error),
    /// No `capture.json`, or one of something else.
    #[error("this is no capture file of dormouse: {0}")]
    NotACapture(String),
    /// Written by a newer program.
    #[error(
        "the capture file has format version {found}, this dormouse reads up to {VERSION}: use the dormouse that wrote it ({recorder}) or a newer one"
    )]
    Newer {
        /// Version in the file.
        found: u32,
        /// Who wrote it.
        recorder: String,
    },
}

/// Whether `head`, the first bytes of a tar archive after decompression, is the
/// begin of a capture file: its first member is `capture.json`.
pub fn is_capture_tar(head: &[u8]) -> bool {
    head.len() > 262 && head.starts_with(b"capture.json\0") && &head[257..262] == b"ustar"
}

/// Reads a capture file, compressed by gzip or not. What is damaged is counted
/// in the losses; what was read before the damage is kept.
pub fn read(bytes: &[u8]) -> Result<(CaptureFile, Losses), Error> {
    let mut losses = Losses::default();
    let members = if bytes.starts_with(&[0x1f, 0x8b]) {
        members(flate2::bufread::MultiGzDecoder::new(bytes), &mut losses)?
    } else {
        members(bytes, &mut losses)?
    };
    Ok((assemble(members, &mut losses)?, losses))
}

fn truncated(losses: &mut Losses) {
    losses.add(
        "capture_truncated",
        1,
        Severity::Error,
        "the file ends early or is damaged; what came before is used: copy it again from where it was recorded",
        None,
    );
}

fn members(input: impl Read, losses: &mut Losses) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut found = BTreeMap::new();
    let mut archive = tar::Archive::new(input.take(TOTAL_LIMIT));
    for entry in archive.entries()? {
        // Once something was read, damage further on must not lose it.
        let mut entry = match entry {
            Ok(e) => e,
            Err(e) if found.is_empty() => return Err(e.into()),
            Err(_) => {
                truncated(losses);
                break;
            }
        };
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !is_member(&name) {
            losses.add(
                "capture_member_unknown",
                1,
                Severity::Info,
                "a newer dormouse may show more of this file",
                None,
            );
            continue;
        }
        let mut data = Vec::new();
        let result = entry.by_ref().take(MEMBER_LIMIT).read_to_end(&mut data);
        if data.len() as u64 == MEMBER_LIMIT {
            losses.add(
                "capture_member_too_large",
                1,
                Severity::Error,
                "a member is larger than 256 MiB and was cut there: record fewer events with --with",
                None,
            );
        }
        let short = (data.len() as u64) < entry.size().min(MEMBER_LIMIT);
        if found.len() < CYCLE_LIMIT * 5 {
            found.insert(name, data);
        }
        if result.is_err() || short {
            truncated(losses);
            break;
        }
    }
    Ok(found)
}

fn is_member(name: &str) -> bool {
    matches!(
        name,
        "capture.json"
            | "devices.tsv"
            | "links.tsv"
            | "names.tsv"
            | "domains.txt"
            | "device-tree.dtb"
    ) || name.split_once('/').is_some_and(|(dir, file)| {
        cycle_number(dir).is_some()
            && matches!(
                file,
                "trace.txt"
                    | "dmesg.txt"
                    | "stats.json"
                    | "idle-before.txt"
                    | "idle-after.txt"
                    | "sysfs.txt"
            )
    })
}

fn cycle_number(dir: &str) -> Option<u32> {
    dir.strip_prefix("cycle-")?.parse().ok()
}

fn assemble(
    mut members: BTreeMap<String, Vec<u8>>,
    losses: &mut Losses,
) -> Result<CaptureFile, Error> {
    let json = members
        .remove("capture.json")
        .ok_or_else(|| Error::NotACapture("it has no member capture.json".into()))?;
    // Version and format first, so that a newer file says so even where its
    // other fields changed their types.
    #[derive(serde::Deserialize, Default)]
    #[serde(default)]
    struct Head {
        format: String,
        version: u32,
        recorder: String,
    }
    let head: Head = serde_json::from_slice(&json)
        .map_err(|e| Error::NotACapture(format!("capture.json is not valid: {e}")))?;
    if head.format != FORMAT {
        return Err(Error::NotACapture(format!(
            "capture.json says format {:?}, expected {FORMAT:?}",
            head.format
        )));
    }
    if head.version > VERSION {
        return Err(Error::Newer { found: head.version, recorder: head.recorder });
    }
    let document: Document = serde_json::from_slice(&json)
        .map_err(|e| Error::NotACapture(format!("capture.json is not valid: {e}")))?;

    let mut whole = |name: &str| members.remove(name).unwrap_or_default();
    let (domains, tree) = (whole("domains.txt"), whole("device-tree.dtb"));
    let mut take = |name: &str| {
        String::from_utf8_lossy(&members.remove(name).unwrap_or_default()).into_owned()
    };
    let devices = devices(&take("devices.tsv"), losses);
    let links = links(&take("links.tsv"), losses);
    let names = names(&take("names.tsv"), losses);

    // By number, not by name: cycle-10000 comes after cycle-9999.
    let mut cycles: BTreeMap<u32, CycleMembers> = BTreeMap::new();
    for (name, data) in members {
        let Some((dir, file)) = name.split_once('/') else { continue };
        let Some(number) = cycle_number(dir) else { continue };
        let cycle = cycles.entry(number).or_default();
        match file {
            "trace.txt" => cycle.trace = data,
            "dmesg.txt" => cycle.dmesg = data,
            "idle-before.txt" => cycle.idle[0] = data,
            "idle-after.txt" => cycle.idle[1] = data,
            "sysfs.txt" => cycle.sysfs = data,
            _ => match serde_json::from_slice(&data) {
                Ok(stats) => cycle.stats = stats,
                Err(_) => losses.add(
                    "capture_stats_damaged",
                    1,
                    Severity::Warning,
                    "stats.json of a cycle is not valid; clocks and counts of that cycle are missing",
                    None,
                ),
            },
        }
    }
    let cycles = cycles
        .into_iter()
        .map(|(number, mut c)| {
            c.stats.number = number;
            c
        })
        .collect();
    Ok(CaptureFile { document, devices, links, names, domains, tree, cycles })
}

/// Calls `row` for every whole line of `text`, counting the others.
fn rows<T>(
    text: &str,
    losses: &mut Losses,
    mut row: impl FnMut(&super::table::Row<'_, '_>) -> T,
) -> Vec<T> {
    let mut table = Table::new(text);
    let mut out = Vec::new();
    while let Some(r) = table.next_row() {
        if r.is_whole() {
            out.push(row(&r));
        } else {
            losses.add(
                "capture_row_damaged",
                1,
                Severity::Warning,
                "a line of a table has too few or too many columns and was left out",
                Some(r.line),
            );
        }
    }
    out
}

fn devices(text: &str, losses: &mut Losses) -> Vec<DeviceRow> {
    rows(text, losses, |r| DeviceRow {
        devpath: r.text("devpath"),
        name: r.text("name"),
        parent: r.text("parent"),
        subsystem: r.text("subsystem"),
        driver: r.text("driver"),
        module: r.text("module"),
        async_flag: r.flag("async"),
        wakeup: r.flag("wakeup"),
        control: r.text("control"),
        runtime_status: r.text("runtime_status"),
        runtime_enabled: r.text("runtime_enabled"),
        runtime_usage: r.text("runtime_usage"),
        runtime_active_kids: r.text("runtime_active_kids"),
        autosuspend_delay_ms: r.text("autosuspend_delay_ms"),
        no_pm: r.flag("no_pm") == Some(true),
        of_fullname: r.text("of_fullname"),
        firmware_node: r.text("firmware_node"),
        modalias: r.text("modalias"),
        essential: r.text("essential"),
        guest: r.flag("guest") == Some(true),
        class: r.flag("class"),
    })
}

fn links(text: &str, losses: &mut Losses) -> Vec<LinkRow> {
    rows(text, losses, |r| LinkRow {
        supplier: r.text("supplier"),
        consumer: r.text("consumer"),
        status: r.text("status"),
        sync_state_only: r.flag("sync_state_only"),
        runtime_pm: r.flag("runtime_pm"),
        auto_remove_on: r.text("auto_remove_on"),
    })
}

fn names(text: &str, losses: &mut Losses) -> Vec<NameRow> {
    rows(text, losses, |r| NameRow {
        guest: r.text("guest"),
        name: r.text("name"),
        driver: r.text("driver"),
        subsystem: r.text("subsystem"),
        devpath: r.text("devpath"),
    })
}
