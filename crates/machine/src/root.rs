//! Where the files of the kernel are: below a prefix, so that tests run on a
//! made-up tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file, or a line of one, and its content.
pub type File = (String, String);

/// The place below which `/sys`, `/proc`, `/dev` and `/run` are looked for.
///
/// Everything else in this crate names files by their usual absolute path;
/// only this type knows the prefix.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
}

impl Root {
    /// The running system.
    pub fn real() -> Root {
        Root { prefix: PathBuf::from("/") }
    }

    /// A tree below `prefix`.
    pub fn below(prefix: &Path) -> Root {
        // Links inside the tree resolve to their real place, so the prefix
        // must be real as well to be taken off again.
        Root { prefix: fs::canonicalize(prefix).unwrap_or_else(|_| prefix.into()) }
    }

    /// Where the file with the usual path `path` really is.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.prefix.join(path.trim_start_matches('/'))
    }

    /// The usual path of a place in the tree, after following links.
    pub fn usual(&self, place: &Path) -> Option<String> {
        let real = fs::canonicalize(place).ok()?;
        let below = real.strip_prefix(&self.prefix).ok()?;
        Some(format!("/{}", below.to_str()?))
    }

    /// The text of a file without blanks at the ends; `None` if it cannot be
    /// read, which is common: many attributes answer with an error.
    pub fn read(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.resolve(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// The same as a number.
    pub(crate) fn read_number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// Whether there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path).exists()
    }

    /// Whether a folder is missing, or may be looked into.
    pub fn may_list(&self, path: &str) -> bool {
        match fs::read_dir(self.resolve(path)) {
            Ok(_) => true,
            Err(e) => e.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Names in a folder, sorted; empty if it cannot be read.
    pub fn list(&self, path: &str) -> Vec<String> {
        let Ok(dir) = fs::read_dir(self.resolve(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            dir.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Folders in a folder, sorted, without links: in sysfs those lead to other devices, and
    /// round in circles.
    pub fn folders(&self, at: &str) -> Vec<String> {
        let paths = self.list(at).into_iter().map(|name| format!("{at}/{name}"));
        let is_folder =
            |p: &String| fs::symlink_metadata(self.resolve(p)).is_ok_and(|m| m.is_dir());
        paths.filter(is_folder).collect()
    }

    /// Last part of what a link points to, such as the driver's name.
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.resolve(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_string())
    }

    /// Whether a device belongs to a class and not to a bus: where its link
    /// `subsystem` points. `None` if it has none.
    pub(crate) fn is_class(&self, subsystem: &str) -> Option<bool> {
        let target = fs::read_link(self.resolve(subsystem)).ok()?;
        match target.parent()?.file_name()?.to_str()? {
            "class" => Some(true),
            "bus" => Some(false),
            _ => None,
        }
    }

    /// Writes `value` to a file that exists. Nothing in this crate but the
    /// guard may call it for a knob.
    pub(crate) fn write(&self, path: &str, value: &str) -> io::Result<()> {
        use std::io::Write;
        let mut file =
            fs::OpenOptions::new().write(true).truncate(true).open(self.resolve(path))?;
        file.write_all(value.as_bytes())
    }

    /// Adds a line to a list of the kernel: opened to be written from its start,
    /// tracefs' `dynamic_events` would forget everybody's events.
    pub(crate) fn append(&self, path: &str, line: &str) -> io::Result<()> {
        use std::io::Write;
        let mut file = fs::OpenOptions::new().append(true).open(self.resolve(path))?;
        file.write_all(format!("{line}\n").as_bytes())
    }

    /// The folder of tracefs.
    pub fn tracefs(&self) -> Option<&'static str> {
        ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .into_iter()
            .find(|p| self.exists(&format!("{p}/instances")))
    }
}
