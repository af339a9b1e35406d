//! The one door: a file behind the inputs of a command is opened once. What was mapped or
//! unpacked of it is kept, within bounds, for whoever looks at it again.

use super::compress::{Unpacked, unpack};
use super::source::Source;
use super::{archive, io, mail, map, unpacked, walk};
use crate::error::ReadError;
use crate::input::{Input, Limits};
use memmap2::Mmap;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Unpacked bytes that are kept at most; what is beyond is unpacked again, of bytes that
/// stay mapped, if somebody looks again.
const KEPT: usize = 256 << 20;

/// Files that stay mapped at most: the kernel allows 65,530 mappings by default
/// (`DEFAULT_MAX_MAP_COUNT`, include/linux/mm.h, 6.12).
const MAPPED: usize = 16_384;

/// The bytes of a file.
pub enum Bytes {
    /// Of a file that has a length.
    Mapped(Mmap),
    /// Of a pipe, of /proc, of a folder that was a capture file.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(m) => m,
            Bytes::Owned(v) => v,
        }
    }
}

/// A file that was opened.
#[derive(Clone)]
struct Opened {
    raw: Arc<Bytes>,
    /// What it unpacked to; `None` if it is not packed, or not kept.
    unpacked: Option<Arc<Vec<u8>>>,
    damage: Option<Cow<'static, str>>,
    /// Whether `unpacked` and `damage` say all.
    whole: bool,
}

#[derive(Default)]
struct Kept {
    files: HashMap<PathBuf, Opened>,
    owned: usize,
    mapped: usize,
}

/// Where files are opened, for one command.
#[derive(Default)]
pub struct Door {
    limits: Limits,
    kept: Mutex<Kept>,
}

/// How often each file was opened by this process.
static OPENED: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// How often `path` was opened by this process, for tests: each command opens it once.
#[doc(hidden)]
#[must_use]
pub fn times_opened(path: &Path) -> u64 {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.get(path).copied().unwrap_or(0)
}

/// A file that is still to be opened.
#[derive(Clone, Debug)]
pub struct File {
    /// `-` is standard input.
    path: PathBuf,
    /// Where it was found; `None` if the caller named it.
    folder: Option<PathBuf>,
}

impl Door {
    /// A door that nobody went through.
    #[must_use]
    pub fn new(limits: Limits) -> Door {
        Door { limits, ..Door::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `each` for every file behind `input`, and for every member of an archive, in
    /// order of path.
    ///
    /// # Errors
    /// If `input` itself cannot be read. Inside a folder, a file that cannot be
    /// read is handed on empty, with its damage.
    pub fn for_each(
        &self,
        input: &Input,
        each: &mut dyn FnMut(Source<'_>),
    ) -> Result<(), ReadError> {
        self.files(input)?.iter().try_for_each(|file| self.open(file, each))
    }

    /// Every file behind `input`, in order of path.
    ///
    /// # Errors
    /// If `input` cannot be found or listed.
    pub fn files(&self, input: &Input) -> Result<Vec<File>, ReadError> {
        let path = match input {
            Input::Stdin => return Ok(vec![File { path: "-".into(), folder: None }]),
            Input::Path(path) => path,
        };
        let is_dir = std::fs::metadata(path).map_err(|e| io(path, e))?.is_dir();
        if !is_dir || unpacked::is_capture(path, self) {
            return Ok(vec![File { path: path.clone(), folder: None }]);
        }
        let mut found = Vec::new();
        walk(path, 0, self, &mut found).map_err(|e| io(path, e))?;
        found.sort();
        let folder = |file: &PathBuf| Some(file.parent().unwrap_or(path).to_owned());
        Ok(found.into_iter().map(|file| File { folder: folder(&file), path: file }).collect())
    }

    /// Hands the content of `file` to `each`.
    ///
    /// # Errors
    /// If the caller named the file and it cannot be read.
    pub fn open(&self, file: &File, each: &mut dyn FnMut(Source<'_>)) -> Result<(), ReadError> {
        let path = file.path.as_path();
        let name = match path.as_os_str() == "-" {
            true => "stdin".to_string(),
            false => path.display().to_string(),
        };
        let Some(folder) = &file.folder else { return self.hand_on(path, &name, "", each) };
        let group = folder.display().to_string();
        if let Err(e) = self.hand_on(path, &name, &group, each) {
            let damage = Some(Cow::Owned(e.to_string()));
            each(Source { name: &name, group: &group, bytes: b"", damage });
        }
        Ok(())
    }

    fn hand_on(
        &self,
        path: &Path,
        name: &str,
        group: &str,
        each: &mut dyn FnMut(Source<'_>),
    ) -> Result<(), ReadError> {
        let opened = self.unpacked(path)?;
        let bytes = opened.unpacked.as_ref().map_or(&**opened.raw, |b| &b[..]);
        archive::expand(Source { name, group, bytes, damage: opened.damage }, &self.limits, each);
        Ok(())
    }

    /// What is in the file at `path`.
    fn unpacked(&self, path: &Path) -> Result<Opened, ReadError> {
        let mut opened = self.raw_of(path)?;
        if opened.whole {
            return Ok(opened);
        }
        let Unpacked { bytes, damage } = unpack(path, &opened.raw, &self.limits)?;
        let mail = mail::as_sent(bytes.as_deref().unwrap_or(&opened.raw));
        opened.unpacked = mail.or(bytes).map(Arc::new);
        opened.damage = damage;
        opened.whole = true;
        let mut kept = self.kept();
        let size = opened.unpacked.as_ref().map_or(0, |b| b.len());
        if kept.owned + size <= KEPT && kept.files.contains_key(path) {
            kept.owned += size;
            kept.files.insert(path.to_owned(), opened.clone());
        }
        Ok(opened)
    }

    /// The bytes at `path` as they lie there; `-` is standard input.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn raw(&self, path: &Path) -> Result<Arc<Bytes>, ReadError> {
        Ok(self.raw_of(path)?.raw)
    }

    fn raw_of(&self, path: &Path) -> Result<Opened, ReadError> {
        if let Some(opened) = self.kept().files.get(path) {
            return Ok(opened.clone());
        }
        let bytes = self.bytes_of(path)?;
        let raw = Arc::new(bytes);
        let opened = Opened { raw, unpacked: None, damage: None, whole: false };
        let mut kept = self.kept();
        let keep = match &*opened.raw {
            // What comes through a pipe comes once.
            Bytes::Owned(_) => true,
            Bytes::Mapped(_) => kept.mapped < MAPPED,
        };
        if keep {
            match &*opened.raw {
                Bytes::Owned(v) => kept.owned += v.len(),
                Bytes::Mapped(_) => kept.mapped += 1,
            }
            kept.files.insert(path.to_owned(), opened.clone());
        }
        Ok(opened)
    }

    fn bytes_of(&self, path: &Path) -> Result<Bytes, ReadError> {
        count(path);
        if path.as_os_str() == "-" {
            return Ok(Bytes::Owned(self.all_of(path, std::io::stdin().lock(), 0)?));
        }
        let file = std::fs::File::open(path).map_err(|e| io(path, e))?;
        let meta = file.metadata().map_err(|e| io(path, e))?;
        if meta.is_dir() {
            return Ok(Bytes::Owned(
                unpacked::packed(path, self, &self.limits).map_err(|e| io(path, e))?,
            ));
        }
        // Without an operating system, in the page, nothing can be mapped.
        if cfg!(unix) && meta.is_file() && meta.len() > 0 {
            return Ok(Bytes::Mapped(map::map(&file).map_err(|e| io(path, e))?));
        }
        // Pipes, /proc and tracefs files have no length to map.
        Ok(Bytes::Owned(self.all_of(path, file, meta.len())?))
    }

    /// All of `reader`, at most the limit; so many bytes are expected.
    fn all_of(&self, path: &Path, reader: impl Read, length: u64) -> Result<Vec<u8>, ReadError> {
        let limit = self.limits.unpacked;
        let mut bytes = Vec::new();
        bytes.try_reserve(length.min(limit) as usize).map_err(|e| io(path, e.into()))?;
        reader.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| io(path, e))?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(bytes)
    }
}

fn count(path: &Path) {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    *opened.entry(path.to_owned()).or_default() += 1;
}

impl File {
    /// Its size on disk; 0 if that is not known.
    #[must_use]
    pub fn size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |m| m.len())
    }
}
