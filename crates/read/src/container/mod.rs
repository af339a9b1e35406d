//! From names to bytes: files, folders, standard input, archives, compression, mails.

mod archive;
mod bars;
mod coded;
mod compress;
mod dictionary;
mod door;
pub(crate) mod frames;
mod mail;
mod map;
mod source;
mod unpacked;

use crate::error::ReadError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use compress::{Unpacked, unpack};
pub use door::{Bytes, Door, File, times_opened};
pub use source::Source;

/// Deepest folder below the one that the caller named.
const DEPTH: usize = 32;

fn io(path: &Path, source: std::io::Error) -> ReadError {
    ReadError::Io { path: path.to_owned(), source: Arc::new(source) }
}

/// Regular files below `dir`. Symbolic links are not followed: a loop would
/// never end.
fn walk(dir: &Path, depth: usize, door: &Door, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && unpacked::is_capture(&entry.path(), door) {
            files.push(entry.path());
        } else if kind.is_dir() && depth < DEPTH {
            // A folder that may not be read must not hide the others.
            let _ = walk(&entry.path(), depth + 1, door, files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
