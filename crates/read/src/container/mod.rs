//! From names to bytes: files, folders, standard input, compression, mails.

mod compress;
mod dictionary;
pub(crate) mod frames;
mod mail;
mod map;
mod unpacked;

use crate::error::ReadError;
use crate::input::{Input, Limits};
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use compress::{Unpacked, unpack};

/// Whether bytes are a tar archive.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// One input, unpacked.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// As shown to the user.
    pub name: &'a str,
    /// The folder in which it was found; empty if the caller named it.
    pub group: &'a str,
    /// Content.
    pub bytes: &'a [u8],
    /// Why `bytes` may be incomplete, if they may.
    pub damage: Option<Cow<'static, str>>,
}

/// Deepest folder below the one that the caller named.
const DEPTH: usize = 32;

/// Calls `each` for every file behind `input`, in order of path. Only one
/// input is in memory at a time.
///
/// # Errors
/// If `input` itself cannot be read. Inside a folder, a file that cannot be
/// read is handed on empty, with its damage.
pub fn for_each(
    input: &Input,
    limits: &Limits,
    each: &mut dyn FnMut(Source<'_>),
) -> Result<(), ReadError> {
    files(input)?.iter().try_for_each(|file| file.open(limits, each))
}

/// A file that is still to be opened.
#[derive(Clone, Debug)]
pub struct File {
    /// `-` is standard input.
    path: PathBuf,
    /// Where it was found; `None` if the caller named it.
    folder: Option<PathBuf>,
}

/// Every file behind `input`, in order of path.
///
/// # Errors
/// If `input` cannot be found or listed.
pub fn files(input: &Input) -> Result<Vec<File>, ReadError> {
    let path = match input {
        Input::Stdin => return Ok(vec![File { path: "-".into(), folder: None }]),
        Input::Path(path) => path,
    };
    if !std::fs::metadata(path).map_err(|e| io(path, e))?.is_dir() || unpacked::is_capture(path) {
        return Ok(vec![File { path: path.clone(), folder: None }]);
    }
    let mut found = Vec::new();
    walk(path, 0, &mut found).map_err(|e| io(path, e))?;
    found.sort();
    let folder = |file: &PathBuf| Some(file.parent().unwrap_or(path).to_owned());
    Ok(found.into_iter().map(|file| File { folder: folder(&file), path: file }).collect())
}

impl File {
    /// Hands the content to `each`.
    ///
    /// # Errors
    /// If the caller named the file and it cannot be read.
    pub fn open(&self, limits: &Limits, each: &mut dyn FnMut(Source<'_>)) -> Result<(), ReadError> {
        let path = self.path.as_path();
        let Some(folder) = &self.folder else {
            if path.as_os_str() == "-" {
                let bytes = standard_input(path, limits)?;
                return hand_on(path, "stdin", "", bytes, limits, each);
            }
            return one(path, &path.display().to_string(), "", limits, each);
        };
        let name = path.display().to_string();
        let group = folder.display().to_string();
        if let Err(e) = one(path, &name, &group, limits, each) {
            let damage = Some(Cow::Owned(e.to_string()));
            each(Source { name: &name, group: &group, bytes: b"", damage });
        }
        Ok(())
    }

    /// Its size on disk; 0 if that is not known.
    pub fn size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |m| m.len())
    }
}

fn io(path: &Path, source: std::io::Error) -> ReadError {
    ReadError::Io { path: path.to_owned(), source }
}

/// Regular files below `dir`. Symbolic links are not followed: a loop would
/// never end.
fn walk(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && unpacked::is_capture(&entry.path()) {
            files.push(entry.path());
        } else if kind.is_dir() && depth < DEPTH {
            // A folder that may not be read must not hide the others.
            let _ = walk(&entry.path(), depth + 1, files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn one(
    path: &Path,
    name: &str,
    group: &str,
    limits: &Limits,
    each: &mut dyn FnMut(Source<'_>),
) -> Result<(), ReadError> {
    let file = std::fs::File::open(path).map_err(|e| io(path, e))?;
    let meta = file.metadata().map_err(|e| io(path, e))?;
    if meta.is_dir() {
        let bytes = unpacked::packed(path, limits).map_err(|e| io(path, e))?;
        return hand_on(path, name, group, &bytes, limits, each);
    }
    let mapped;
    let copied;
    let bytes: &[u8] = if meta.is_file() && meta.len() > 0 {
        mapped = map::map(&file).map_err(|e| io(path, e))?;
        &mapped
    } else {
        // Pipes, /proc and tracefs files have no length to map.
        copied = read_bounded(path, file, limits)?;
        &copied
    };
    hand_on(path, name, group, bytes, limits, each)
}

fn hand_on(
    path: &Path,
    name: &str,
    group: &str,
    bytes: &[u8],
    limits: &Limits,
    each: &mut dyn FnMut(Source<'_>),
) -> Result<(), ReadError> {
    let Unpacked { bytes: unpacked, damage } = unpack(path, bytes, limits)?;
    let bytes = unpacked.as_deref().unwrap_or(bytes);
    let mail = mail::unpacked(bytes);
    each(Source { name, group, bytes: mail.as_deref().unwrap_or(bytes), damage });
    Ok(())
}

/// All of standard input. It is read once and kept: several subjects may be asked of it.
fn standard_input(path: &Path, limits: &Limits) -> Result<&'static [u8], ReadError> {
    static KEPT: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = KEPT.get() {
        return Ok(bytes);
    }
    let bytes = read_bounded(path, std::io::stdin().lock(), limits)?;
    Ok(KEPT.get_or_init(|| bytes))
}

/// All of `reader`, at most the limit.
fn read_bounded(path: &Path, reader: impl Read, limits: &Limits) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    reader
        .take(limits.unpacked.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|e| io(path, e))?;
    if bytes.len() as u64 > limits.unpacked {
        return Err(ReadError::TooLarge { path: path.to_owned(), limit: limits.unpacked });
    }
    Ok(bytes)
}
