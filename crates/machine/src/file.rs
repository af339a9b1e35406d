//! Writes a capture file: a gzip'd tar, the same bytes for the same content.

use crate::recording::Recording;
use dormouse_capture::schema::{CycleMembers, DeviceRow, LinkRow, NameRow};
use dormouse_capture::table;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes `recording` to `path`: all of it or nothing. The file appears under
/// its name only when it is complete and on disk.
pub fn save(recording: &Recording, path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the name of the capture file is empty")
    })?;
    let mut temporary = PathBuf::from(folder);
    temporary.push(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let written = (|| {
        let file = File::create(&temporary)?;
        let file = encode(recording, BufWriter::new(file))?.into_inner()?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        // The new name must be on disk as well; some file systems refuse to
        // sync a folder, and then there is nothing more to be done.
        let _ = File::open(folder).and_then(|f| f.sync_all());
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

impl Recording {
    /// Writes the capture file, all of it or nothing.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        save(self, path)
    }
}

/// Writes `recording` to `out` and gives `out` back.
pub fn encode<W: Write>(recording: &Recording, out: W) -> io::Result<W> {
    // Text as regular as a trace gains little above level 6.
    let mut tar = tar::Builder::new(GzEncoder::new(out, Compression::new(6)));
    let file = &recording.file;
    let mut document = file.document.clone();
    document.cycles = u32::try_from(recording.len()).unwrap_or(u32::MAX);
    member(&mut tar, "capture.json", &json(&document)?)?;
    member(&mut tar, "devices.tsv", devices(&file.devices).as_bytes())?;
    member(&mut tar, "links.tsv", links(&file.links).as_bytes())?;
    if !file.names.is_empty() {
        member(&mut tar, "names.tsv", names(&file.names).as_bytes())?;
    }
    for (name, data) in [("domains.txt", &file.domains), ("device-tree.dtb", &file.tree)] {
        if !data.is_empty() {
            member(&mut tar, name, data)?;
        }
    }
    for cycle in recording.cycles() {
        let CycleMembers { trace, dmesg, stats, idle, sysfs } = cycle?;
        let folder = format!("cycle-{:04}", stats.number);
        member(&mut tar, &format!("{folder}/stats.json"), &json(&stats)?)?;
        member(&mut tar, &format!("{folder}/dmesg.txt"), &dmesg)?;
        for (name, text) in ["idle-before.txt", "idle-after.txt"].iter().zip(&idle) {
            if !text.is_empty() {
                member(&mut tar, &format!("{folder}/{name}"), text)?;
            }
        }
        if !sysfs.is_empty() {
            member(&mut tar, &format!("{folder}/sysfs.txt"), &sysfs)?;
        }
        member(&mut tar, &format!("{folder}/trace.txt"), &trace)?;
    }
    tar.into_inner()?.finish()
}

fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

fn member<W: Write>(tar: &mut tar::Builder<W>, name: &str, data: &[u8]) -> io::Result<()> {
    // Nothing of the time, the user or the machine that wrote the file.
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(data.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    tar.append(&header, data)
}

fn flag(value: Option<bool>) -> Cow<'static, str> {
    Cow::Borrowed(match value {
        Some(true) => "1",
        Some(false) => "0",
        None => "",
    })
}

fn text(value: &str) -> Cow<'_, str> {
    Cow::Borrowed(value)
}

fn devices(rows: &[DeviceRow]) -> String {
    const HEADER: [&str; 21] = [
        "devpath",
        "name",
        "parent",
        "subsystem",
        "driver",
        "module",
        "async",
        "wakeup",
        "control",
        "runtime_status",
        "runtime_enabled",
        "runtime_usage",
        "runtime_active_kids",
        "autosuspend_delay_ms",
        "no_pm",
        "of_fullname",
        "firmware_node",
        "modalias",
        "essential",
        "guest",
        "class",
    ];
    table::write(
        &HEADER,
        rows.iter().map(|r| -> [Cow<'_, str>; 21] {
            [
                text(&r.devpath),
                text(&r.name),
                text(&r.parent),
                text(&r.subsystem),
                text(&r.driver),
                text(&r.module),
                flag(r.async_flag),
                flag(r.wakeup),
                text(&r.control),
                text(&r.runtime_status),
                text(&r.runtime_enabled),
                text(&r.runtime_usage),
                text(&r.runtime_active_kids),
                text(&r.autosuspend_delay_ms),
                flag(Some(r.no_pm)),
                text(&r.of_fullname),
                text(&r.firmware_node),
                text(&r.modalias),
                text(&r.essential),
                flag(Some(r.guest)),
                flag(r.class),
            ]
        }),
    )
}

fn links(rows: &[LinkRow]) -> String {
    const HEADER: [&str; 6] =
        ["supplier", "consumer", "status", "sync_state_only", "runtime_pm", "auto_remove_on"];
    table::write(
        &HEADER,
        rows.iter().map(|r| -> [Cow<'_, str>; 6] {
            [
                text(&r.supplier),
                text(&r.consumer),
                text(&r.status),
                flag(r.sync_state_only),
                flag(r.runtime_pm),
                text(&r.auto_remove_on),
            ]
        }),
    )
}

fn names(rows: &[NameRow]) -> String {
    const HEADER: [&str; 5] = ["guest", "name", "driver", "subsystem", "devpath"];
    table::write(
        &HEADER,
        rows.iter().map(|r| -> [Cow<'_, str>; 5] {
            [text(&r.guest), text(&r.name), text(&r.driver), text(&r.subsystem), text(&r.devpath)]
        }),
    )
}
