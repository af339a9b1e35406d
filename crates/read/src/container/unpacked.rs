//! A capture file that somebody unpacked: the folder is read as the file was.

use crate::capture_file::schema::FORMAT;
use crate::input::Limits;
use std::fs;
use std::io::{Error, Read};
use std::path::{Path, PathBuf};

/// The member that every capture file begins with.
const FIRST: &str = "capture.json";

/// Its format stands at its begin.
const HEAD: u64 = 4096;

/// Whether `folder` holds the members of a capture file.
pub(crate) fn is_capture(folder: &Path) -> bool {
    let mut head = Vec::new();
    let opened = fs::File::open(folder.join(FIRST)).ok();
    opened.is_some_and(|f| f.take(HEAD).read_to_end(&mut head).is_ok())
        && memchr::memmem::find(&head, FORMAT.as_bytes()).is_some()
}

/// The members of `folder` as the archive that they came from.
pub(super) fn packed(folder: &Path, limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.mode(tar::HeaderMode::Deterministic);
    let mut left = limits.unpacked;
    let mut add = |file: &Path, name: &Path| {
        let size = fs::metadata(file)?.len();
        left = left.checked_sub(size).ok_or_else(|| Error::other("the folder is too large"))?;
        archive.append_path_with_name(file, name)
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
