//! A capture file that somebody unpacked: the folder is read as the file was.

use super::Door;
use crate::input::Limits;
use dormouse_capture::schema::FORMAT;
use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};

/// The member that every capture file begins with.
const FIRST: &str = "capture.json";

/// Its format stands at its begin.
const HEAD: usize = 4096;

/// Whether `folder` holds the members of a capture file.
pub(super) fn is_capture(folder: &Path, door: &Door) -> bool {
    let first = folder.join(FIRST);
    let found = first.is_file().then(|| door.raw(&first).ok()).flatten();
    found
        .is_some_and(|b| memchr::memmem::find(&b[..b.len().min(HEAD)], FORMAT.as_bytes()).is_some())
}

/// The members of `folder` as the archive that they came from.
pub(super) fn packed(folder: &Path, door: &Door, limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut left = limits.unpacked;
    let mut add = |file: &Path, name: &Path| {
        let bytes = door.raw(file).map_err(Error::other)?;
        let size = bytes.len() as u64;
        left = left.checked_sub(size).ok_or_else(|| Error::other("the folder is too large"))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &bytes[..])
    };
    add(&folder.join(FIRST), Path::new(FIRST))?;
    for file in members(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        if name != Path::new(FIRST) {
            add(&file, name)?;
        }
    }
    archive.into_inner()
}

/// The files of a folder and of those in it, in order.
fn members(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let list = |folder: &Path| -> Result<Vec<fs::DirEntry>, Error> {
        fs::read_dir(folder)?.collect::<Result<_, _>>()
    };
    let mut found = Vec::new();
    for entry in list(folder)? {
        if entry.file_type()?.is_dir() {
            let inside = list(&entry.path())?;
            found.extend(inside.iter().map(fs::DirEntry::path).filter(|p| p.is_file()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
