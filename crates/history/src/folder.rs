//! A folder of one's own, in which nothing is opened through a link.

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A folder that belongs to this user alone.
#[derive(Debug)]
pub struct Folder {
    dir: OwnedFd,
    path: PathBuf,
}

/// What is said of a link where a file or folder of ours should be.
pub(crate) const LINK: &str = "is a link, and nothing is opened through one: remove it";
/// The end of the name of a file that was taken aside.
pub const TAKEN: &str = ".taken";
/// More is no file of ours.
const MOST: u64 = 16 << 20;

impl Folder {
    /// Opens the folder, or makes it. The folder above may be reached by links: it is the
    /// system's own.
    ///
    /// # Errors
    /// If it cannot be made, is a link, or belongs to somebody else.
    pub fn open(path: &Path, make: bool) -> io::Result<Folder> {
        let above = path.parent().unwrap_or(Path::new("/"));
        let above = std::fs::canonicalize(above)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = fs::open(&above, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        if make {
            match fs::mkdirat(&parent, name, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = fs::openat(&parent, name, flags, Mode::empty()).map_err(|e| {
            let there = fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
            match there.is_ok_and(|t| FileType::from_raw_mode(t.st_mode).is_symlink()) {
                true => io::Error::other(format!("{} {LINK}", path.display())),
                false => e.into(),
            }
        })?;
        let stat = fs::fstat(&dir)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            let why = format!("{} belongs to another user", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        if stat.st_mode & 0o077 != 0 {
            fs::fchmod(&dir, Mode::RWXU)?;
        }
        Ok(Folder { dir, path: above.join(name) })
    }

    /// Where a file of it lies.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other(format!("{name} is no file"))),
        }
    }

    /// What a file holds; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match self.file(name, OFlags::RDONLY) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut out = Vec::new();
        file.take(MOST).read_to_end(&mut out)?;
        Ok(Some(out))
    }

    /// How long a file is; `None` if there is none.
    pub fn size(&self, name: &str) -> Option<u64> {
        let there = fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(there.st_mode).is_file();
        u64::try_from(there.st_size).ok().filter(|_| is_file)
    }

    /// Gives a file this content, all or nothing, and on disk when it returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        self.remove(&new)?;
        let mut file = self.file(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::renameat(&self.dir, &new, &self.dir, name)?;
        Ok(fs::fsync(&self.dir)?)
    }

    /// Adds a line to a file, on disk when it returns. A line that was cut before it is ended.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&self, name: &str, line: &str) -> io::Result<()> {
        loop {
            let cut = self.read(name)?.is_some_and(|t| t.last().is_some_and(|b| *b != b'\n'));
            let mut file = self.file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?;
            let start = if cut { "\n" } else { "" };
            let there = file.metadata()?.len();
            let text = format!("{start}{line}\n");
            if let Err(e) = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()) {
                // A full disk takes a part of a line: it is no line, and is not lost either, for
                // the whole of it goes elsewhere.
                if file.metadata()?.len() < there + text.len() as u64 {
                    file.set_len(there)?;
                }
                return Err(e);
            }
            // Whoever took it meanwhile may have read it before this line stood there.
            let of = fs::fstat(&file)?;
            let there = fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
            if there.is_ok_and(|t| (t.st_dev, t.st_ino) == (of.st_dev, of.st_ino)) {
                return Ok(());
            }
        }
    }

    /// Takes a file aside, so that what is added from now on begins a new one, and gives what it
    /// holds. [`Folder::taken`] ends that; what was taken and not ended comes first.
    ///
    /// # Errors
    /// If it cannot be taken or read.
    pub fn take(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let aside = format!("{name}{TAKEN}");
        if let Some(left) = self.read(&aside)? {
            return Ok(Some(left));
        }
        match fs::renameat(&self.dir, name, &self.dir, &aside) {
            Ok(()) => self.read(&aside),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes what was taken.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn taken(&self, name: &str) -> io::Result<()> {
        self.remove(&format!("{name}{TAKEN}"))
    }

    /// Whether this process may take files of it: no other does until the folder is dropped.
    pub fn hold(&self) -> bool {
        fs::flock(&self.dir, fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::unlinkat(&self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}
