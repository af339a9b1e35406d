//! The journal: what the recorder is about to change, on disk before it is
//! changed, so that `dormouse restore` can undo it after any kind of end.
//!
//! Text, one JSON object a line. The first line carries the boot id: knobs do
//! not survive a reboot, so a journal of an earlier boot is void. Every line is
//! synced before the change it announces; a line cut off by a crash therefore
//! announces a change that was not made.

use crate::machine::boot_id;
use crate::root::Root;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Usual folder of the journal.
pub const FOLDER: &str = "/run/dormouse";
const FILE: &str = "journal";
/// A journal whose changes stay: this and a number.
const KEPT: &str = "kept-";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Version of the journal's format.
    pub dormouse_journal: u32,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Process that wrote it.
    pub pid: u32,
}

/// One announced change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Entry {
    /// A file's value.
    Write {
        /// Usual path.
        path: String,
        /// Value in force before.
        old: String,
        /// Value written.
        new: String,
    },
    /// A folder made (a tracefs instance).
    MakeDir {
        /// Usual path.
        path: String,
    },
    /// A trace event made (a line of tracefs' `dynamic_events`).
    Probe {
        /// Usual path of the list.
        list: String,
        /// Its group and name, such as `dormouse/idle_sel`.
        name: String,
    },
    /// A device taken from its driver.
    Unbind {
        /// Usual path of the driver's folder.
        driver: String,
        /// The device, as its bus names it.
        device: String,
    },
}

/// A journal of this boot, open and locked.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

/// What was found in the journal's place.
#[derive(Debug)]
pub enum Found {
    /// No journal.
    Nothing,
    /// One of an earlier boot: nothing of it is in force any more.
    EarlierBoot,
    /// One of this boot that nobody holds.
    Left(Vec<Entry>),
    /// One that a running process holds.
    Held {
        /// That process, 0 if the journal does not say.
        pid: u32,
    },
}

fn place(root: &Root, folder: &str) -> PathBuf {
    root.resolve(folder).join(FILE)
}

/// Looks for a journal in `folder`.
pub fn find(root: &Root, folder: &str) -> io::Result<Found> {
    look(root, &place(root, folder), false)
}

/// [`find`] in a process that is about to die and may hold the journal itself.
pub(crate) fn find_own(root: &Root, folder: &str) -> io::Result<Found> {
    look(root, &place(root, folder), true)
}

/// Numbers of the journals in `folder` whose changes were made to stay
/// ([`Journal::keep`]), oldest first.
pub fn kept(root: &Root, folder: &str) -> Vec<u32> {
    let number = |name: &String| name.strip_prefix(KEPT)?.parse().ok();
    let mut numbers: Vec<u32> = root.list(folder).iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// [`find`] for a kept journal.
pub(crate) fn find_kept(root: &Root, folder: &str, number: u32) -> io::Result<Found> {
    look(root, &kept_place(root, folder, number), false)
}

/// Removes a kept journal that is void or carried out.
pub(crate) fn remove_kept(root: &Root, folder: &str, number: u32) -> io::Result<()> {
    gone(fs::remove_file(kept_place(root, folder, number)))
}

fn kept_place(root: &Root, folder: &str, number: u32) -> PathBuf {
    root.resolve(folder).join(format!("{KEPT}{number}"))
}

/// Looks at a lock that is held, and the time between them: more than a program
/// needs to start.
const STARTING: (u32, Duration) = (20, Duration::from_millis(5));

/// Whether a lock can be had. Its holder's ends with its process, however that ended; a child
/// that it was starting has the lock too, until it runs its own program (execve(2)).
pub(crate) fn comes(mut lock: impl FnMut() -> bool) -> bool {
    (0..STARTING.0).any(|again| {
        if again > 0 {
            thread::sleep(STARTING.1);
        }
        lock()
    })
}

fn look(root: &Root, place: &Path, own: bool) -> io::Result<Found> {
    let file = match File::open(place) {
        Ok(f) => f,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(e) => return Err(e),
    };
    let held = !comes(|| file.try_lock_shared().is_ok());
    let mut lines = BufReader::new(&file).split(b'\n');
    let head = lines.next().transpose()?.and_then(|l| serde_json::from_slice::<Head>(&l).ok());
    let pid = head.as_ref().map_or(0, |h| h.pid);
    if held && !(own && pid == std::process::id()) {
        return Ok(Found::Held { pid });
    }
    let Some(head) = head else {
        // The crash came while the first line was written: before any change.
        return Ok(Found::Left(Vec::new()));
    };
    if head.boot_id != boot_id(root) {
        return Ok(Found::EarlierBoot);
    }
    let mut entries = Vec::new();
    for line in lines {
        match serde_json::from_slice(&line?) {
            Ok(entry) => entries.push(entry),
            // Only the last line can be cut off.
            Err(_) => break,
        }
    }
    Ok(Found::Left(entries))
}

/// Removes a journal that is void or carried out.
pub fn remove(root: &Root, folder: &str) -> io::Result<()> {
    gone(fs::remove_file(place(root, folder)))
}

/// A file that is not there needs no removal.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

impl Journal {
    /// Makes a new journal in `folder`, which must hold none.
    pub(crate) fn create(root: &Root, folder: &str) -> io::Result<Journal> {
        let path = place(root, folder);
        fs::create_dir_all(root.resolve(folder))?;
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        file.try_lock().map_err(io::Error::from)?;
        let mut journal = Journal { file, path };
        let head = Head { dormouse_journal: 1, boot_id: boot_id(root), pid: std::process::id() };
        journal.line(&head)?;
        // The name of the file must be on disk as well.
        File::open(root.resolve(folder))?.sync_all()?;
        Ok(journal)
    }

    /// Announces a change. When it returns, the announcement is on disk.
    pub(crate) fn announce(&mut self, entry: &Entry) -> io::Result<()> {
        self.line(entry)
    }

    /// Ends the journal: everything in it was undone.
    pub(crate) fn end(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Ends the journal: its changes stay until they are asked back. One rename,
    /// so that after a crash they are either all undone or all kept.
    pub(crate) fn keep(&self, root: &Root, folder: &str) -> io::Result<()> {
        let number = kept(root, folder).last().map_or(1, |n| n.saturating_add(1));
        fs::rename(&self.path, kept_place(root, folder, number))?;
        File::open(root.resolve(folder))?.sync_all()
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_all()
    }
}
