//! The guard: the only code that changes the system, and what puts every
//! change back.
//!
//! A change is announced in the journal, then made. At the end, on an error,
//! when a signal ends the recording, and when the guard is dropped, all changes
//! are undone in reverse order and the journal is removed. After `kill -9` or a
//! crash of the program [`restore`] does the same from the journal.

use crate::journal::{self, Entry, Found, Journal};
use crate::knob;
use crate::root::Root;
use std::collections::HashSet;
use std::io;

/// One elementary action on the system, in the order in which they happen.
/// Tests stop between any two of them; `--dry-run` prints them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The journal is made.
    OpenJournal,
    /// A line is added to the journal.
    Announce(Entry),
    /// A value is written to a file.
    Write {
        /// Usual path of the file.
        path: String,
        /// Value.
        value: String,
    },
    /// A folder is made.
    MakeDir(String),
    /// A folder is removed.
    RemoveDir(String),
    /// A child is started that syncs the file system mounted here.
    Flush(String),
    /// The journal is removed.
    CloseJournal,
    /// The journal is put aside: its changes stay.
    KeepJournal,
}

/// Sees every step before and after it happens.
pub trait Observer {
    /// The step is about to happen; an error stops it.
    fn before(&mut self, step: &Step) -> io::Result<()> {
        let _ = step;
        Ok(())
    }
    /// The step has happened.
    fn after(&mut self, step: &Step) {
        let _ = step;
    }
}

/// Sees nothing.
#[derive(Debug)]
pub struct NoObserver;
impl Observer for NoObserver {}

/// Why the guard could not begin or undo.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be written.
    #[error("cannot write {value:?} to {path}: {source}")]
    Write {
        /// Usual path.
        path: String,
        /// Value.
        value: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A file could not be read before changing it, so it was not changed.
    #[error("{path} cannot be read, so it is left alone: {advice}")]
    Absent {
        /// Usual path.
        path: String,
        /// What to do.
        advice: &'static str,
    },
    /// The journal failed.
    #[error(
        "the journal in {folder} cannot be written: {source}; use --journal DIR to keep it elsewhere"
    )]
    Journal {
        /// Its folder.
        folder: String,
        /// The system's answer.
        source: io::Error,
    },
    /// An earlier recorder left a knob that cannot be put back.
    #[error(
        "an earlier recording left {} changed, and it cannot be set back to {:?}: {}; free it and run `dormouse restore`, or restart the machine", .0.path, .0.value, .0.reason
    )]
    LeftBehind(NotRestored),
    /// Another recorder is at work.
    #[error(
        "another dormouse (process {pid}) is recording on this machine: wait until it has finished"
    )]
    Held {
        /// That process.
        pid: u32,
    },
}

/// A knob that could not be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRestored {
    /// Usual path.
    pub path: String,
    /// Value it should have.
    pub value: String,
    /// Why not.
    pub reason: String,
}

/// What [`restore`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Knobs put back: path and value.
    pub done: Vec<(String, String)>,
    /// Knobs that had their old value already.
    pub unchanged: usize,
    /// Knobs that could not be put back; the journal is kept.
    pub failed: Vec<NotRestored>,
    /// The journal was of an earlier boot, so there was nothing to put back.
    pub earlier_boot: bool,
}

/// Changes knobs and remembers how they were.
pub struct Guard<'o> {
    root: Root,
    folder: String,
    journal: Option<Journal>,
    entries: Vec<Entry>,
    announced: HashSet<String>,
    observer: &'o mut dyn Observer,
    dry: bool,
}

impl<'o> Guard<'o> {
    /// Begins: puts back what an earlier recorder left behind, then makes a
    /// journal in `folder`.
    pub fn begin(
        root: &Root,
        folder: &str,
        observer: &'o mut dyn Observer,
    ) -> Result<Guard<'o>, Error> {
        let failed = |source| Error::Journal { folder: folder.into(), source };
        if let Some(left) = restore(root, folder, observer)?.failed.into_iter().next() {
            return Err(Error::LeftBehind(left));
        }
        observer.before(&Step::OpenJournal).map_err(failed)?;
        let journal = Journal::create(root, folder).map_err(failed)?;
        observer.after(&Step::OpenJournal);
        let mut guard = Guard::dry(root, folder, observer);
        guard.journal = Some(journal);
        guard.dry = false;
        Ok(guard)
    }

    /// A guard that changes nothing and only shows its steps to `observer`.
    pub fn dry(root: &Root, folder: &str, observer: &'o mut dyn Observer) -> Guard<'o> {
        Guard {
            root: root.clone(),
            folder: folder.into(),
            journal: None,
            entries: Vec::new(),
            announced: HashSet::new(),
            observer,
            dry: true,
        }
    }

    /// Whether nothing is really changed.
    pub(crate) fn is_dry(&self) -> bool {
        self.dry
    }

    /// Gives `path` the value `new` until the end. Does nothing if it has that
    /// value.
    pub fn set(&mut self, path: &str, new: &str) -> Result<(), Error> {
        let text = self.root.read(path).ok_or_else(|| Error::Absent {
            path: path.into(),
            advice: "this kernel or device does not have it; leave the option out",
        })?;
        let old = knob::in_force(&text);
        if old == new && !knob::is_alarm(path) {
            return Ok(());
        }
        self.announce(Entry::Write { path: path.into(), old: old.into(), new: new.into() })?;
        if knob::is_alarm(path) && !old.is_empty() && new != "0" {
            self.write(path, "0")?;
        }
        self.write(path, new)
    }

    /// [`Guard::set`] for a knob that not every kernel has; says whether this
    /// one has it.
    pub(crate) fn set_if_there(&mut self, path: &str, new: &str) -> Result<bool, Error> {
        match self.set(path, new) {
            Ok(()) => Ok(true),
            Err(Error::Absent { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Makes a folder that is removed at the end.
    pub(crate) fn make_dir(&mut self, path: &str) -> Result<(), Error> {
        self.announce(Entry::MakeDir { path: path.into() })?;
        let step = Step::MakeDir(path.into());
        let place = self.root.resolve(path);
        let result = self.act(&step, || match std::fs::create_dir(place) {
            // Left by a recorder whose journal was lost: the name is ours.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        });
        result.map_err(|source| Error::Write { path: path.into(), value: "(mkdir)".into(), source })
    }

    /// Announces a trace event before [`Guard::probe`] makes it: what is announced
    /// later is undone before it is removed.
    pub(crate) fn announce_probe(&mut self, list: &str, name: &str) -> Result<(), Error> {
        self.announce(Entry::Probe { list: list.into(), name: name.into() })
    }

    /// Makes a trace event that is removed at the end: `name` is its group and
    /// name, `what` what it traces (Documentation/trace/fprobetrace.rst).
    pub fn probe(&mut self, list: &str, name: &str, what: &str) -> Result<(), Error> {
        self.probe_many(list, name, what, "")
    }

    /// The same for the end of a function that so many threads may be in at once. Without
    /// a number a kernel follows two for each CPU and misses the ends of others
    /// (kernel/trace/fprobe.c, 6.12).
    pub(crate) fn probe_many(
        &mut self,
        list: &str,
        name: &str,
        what: &str,
        threads: &str,
    ) -> Result<(), Error> {
        self.define(list, name, &format!("f{threads}:{name} {what}"))
    }

    /// The same by the whole line that makes it, of whatever kind the event is.
    pub(crate) fn define(&mut self, list: &str, name: &str, line: &str) -> Result<(), Error> {
        self.announce_probe(list, name)?;
        let step = Step::Write { path: list.into(), value: line.into() };
        let root = self.root.clone();
        self.act(&step, || root.append(list, line)).map_err(|source| Error::Write {
            path: list.into(),
            value: line.into(),
            source,
        })
    }

    /// Takes a device from the driver whose folder this is, until the end. Does nothing if that
    /// does not have it.
    pub(crate) fn unbind(&mut self, driver: &str, device: &str) -> Result<(), Error> {
        if !self.root.exists(&format!("{driver}/{device}")) {
            return Ok(());
        }
        self.announce(Entry::Unbind { driver: driver.into(), device: device.into() })?;
        self.write(&format!("{driver}/unbind"), device)
    }

    /// Writes without remembering the old value: for files inside a folder made
    /// by [`Guard::make_dir`], and for actions such as `/sys/power/state`.
    pub fn write(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let step = Step::Write { path: path.into(), value: value.into() };
        let root = self.root.clone();
        self.act(&step, || root.write(path, value)).map_err(|source| Error::Write {
            path: path.into(),
            value: value.into(),
            source,
        })
    }

    /// Lets `start` start a child that syncs the file system at `mount`. Nothing is
    /// remembered: data that is on disk needs no putting back.
    pub fn flush(&mut self, mount: &str, start: impl FnOnce()) -> Result<(), Error> {
        let step = Step::Flush(mount.into());
        let done = self.act(&step, || {
            start();
            Ok(())
        });
        done.map_err(|source| Error::Write { path: mount.into(), value: "(sync)".into(), source })
    }

    /// Every change made so far.
    pub fn changes(&self) -> &[Entry] {
        &self.entries
    }

    /// Undoes everything now and tells what could not be undone.
    pub fn end(mut self) -> Restored {
        self.undo()
    }

    /// Makes every change stay, until [`restore_kept`] undoes it, and says how
    /// many there are. If that fails, they are undone.
    ///
    /// # Errors
    /// If the journal cannot be put aside.
    pub fn keep(mut self) -> Result<usize, Error> {
        let count = self.entries.len();
        if count == 0 {
            return Ok(0);
        }
        let failed = |source| Error::Journal { folder: self.folder.clone(), source };
        self.observer.before(&Step::KeepJournal).map_err(failed)?;
        if let Some(journal) = &self.journal {
            journal.keep(&self.root, &self.folder).map_err(failed)?;
        }
        // Nothing is left to undo when this is dropped.
        self.journal = None;
        self.observer.after(&Step::KeepJournal);
        Ok(count)
    }

    /// A change of the same file is announced once: only the first old value
    /// counts.
    fn announce(&mut self, entry: Entry) -> Result<(), Error> {
        let file = match &entry {
            Entry::Write { path, .. } | Entry::MakeDir { path } => path.clone(),
            Entry::Probe { name, .. } => name.clone(),
            Entry::Unbind { driver, device } => format!("{driver}/{device}"),
        };
        if !self.announced.insert(file) {
            return Ok(());
        }
        let failed = |source| Error::Journal { folder: self.folder.clone(), source };
        let step = Step::Announce(entry.clone());
        self.observer.before(&step).map_err(failed)?;
        if let Some(journal) = &mut self.journal {
            journal.announce(&entry).map_err(failed)?;
        }
        self.observer.after(&step);
        self.entries.push(entry);
        Ok(())
    }

    fn act(&mut self, step: &Step, action: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.observer.before(step)?;
        if !self.dry {
            action()?;
        }
        self.observer.after(step);
        Ok(())
    }

    fn undo(&mut self) -> Restored {
        let Some(journal) = self.journal.take() else { return Restored::default() };
        let restored = put_back(&self.root, &self.entries, self.observer);
        // Knobs that failed stay in the journal for `dormouse restore`.
        if restored.failed.is_empty() && self.observer.before(&Step::CloseJournal).is_ok() {
            // Nothing in the journal is in force any more: keeping it harms
            // nobody, so failing to remove it is no error.
            let _ = journal.end();
            self.observer.after(&Step::CloseJournal);
        }
        restored
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.undo();
    }
}

/// Undoes what a recorder that ended badly left in the journal of `folder`.
///
/// # Errors
/// If the journal cannot be read, or a running recorder holds it. A knob that
/// cannot be put back is no error: it is in [`Restored::failed`], and the
/// journal is kept.
pub fn restore(root: &Root, folder: &str, observer: &mut dyn Observer) -> Result<Restored, Error> {
    let found = journal::find(root, folder);
    carry_out(root, folder, found, observer)
}

/// Undoes changes that were made to stay ([`Guard::keep`]), the last first.
///
/// # Errors
/// As [`restore`].
pub fn restore_kept(
    root: &Root,
    folder: &str,
    observer: &mut dyn Observer,
) -> Result<Restored, Error> {
    let failed = |source| Error::Journal { folder: folder.into(), source };
    let mut all = Restored::default();
    for number in journal::kept(root, folder).into_iter().rev() {
        let mut one = match journal::find_kept(root, folder, number).map_err(failed)? {
            Found::Nothing => Restored::default(),
            Found::Held { pid } => return Err(Error::Held { pid }),
            Found::EarlierBoot => Restored { earlier_boot: true, ..Restored::default() },
            Found::Left(entries) => put_back(root, &entries, observer),
        };
        if one.failed.is_empty() {
            observer.before(&Step::CloseJournal).map_err(failed)?;
            journal::remove_kept(root, folder, number).map_err(failed)?;
            observer.after(&Step::CloseJournal);
        }
        all.done.append(&mut one.done);
        all.unchanged += one.unchanged;
        all.earlier_boot |= one.earlier_boot;
        all.failed.append(&mut one.failed);
        if !all.failed.is_empty() {
            // What was kept before it goes back to values further in the past.
            break;
        }
    }
    Ok(all)
}

/// How many changes are kept since this boot.
pub fn count_kept(root: &Root, folder: &str) -> usize {
    let entries = |n| match journal::find_kept(root, folder, n) {
        Ok(Found::Left(entries)) => entries.len(),
        _ => 0,
    };
    journal::kept(root, folder).into_iter().map(entries).sum()
}

/// [`restore`] for a process that panics while it holds the journal itself.
///
/// # Errors
/// As [`restore`].
pub fn restore_own(root: &Root, folder: &str) -> Result<Restored, Error> {
    let found = journal::find_own(root, folder);
    carry_out(root, folder, found, &mut NoObserver)
}

fn carry_out(
    root: &Root,
    folder: &str,
    found: io::Result<Found>,
    observer: &mut dyn Observer,
) -> Result<Restored, Error> {
    let failed = |source| Error::Journal { folder: folder.into(), source };
    let mut restored = match found.map_err(failed)? {
        Found::Nothing => return Ok(Restored::default()),
        Found::Held { pid } => return Err(Error::Held { pid }),
        Found::EarlierBoot => Restored { earlier_boot: true, ..Restored::default() },
        Found::Left(entries) => put_back(root, &entries, observer),
    };
    if restored.failed.is_empty() {
        observer.before(&Step::CloseJournal).map_err(failed)?;
        if let Err(e) = journal::remove(root, folder) {
            restored.failed.push(NotRestored {
                path: format!("{folder}/journal"),
                value: "(removed)".into(),
                reason: e.to_string(),
            });
        }
        observer.after(&Step::CloseJournal);
    }
    Ok(restored)
}

fn put_back(root: &Root, entries: &[Entry], observer: &mut dyn Observer) -> Restored {
    let mut out = Restored::default();
    for entry in entries.iter().rev() {
        let (path, value, result) = match entry {
            Entry::Write { path, old, .. } => {
                (path.clone(), old.clone(), put_back_value(root, path, old, observer))
            }
            Entry::MakeDir { path } => {
                (path.clone(), "(removed)".to_string(), remove_dir(root, path, observer))
            }
            Entry::Probe { list, name } => {
                (name.clone(), "(removed)".to_string(), remove_probe(root, list, name, observer))
            }
            Entry::Unbind { driver, device } => {
                (format!("{driver}/bind"), device.clone(), bind(root, driver, device, observer))
            }
        };
        match result {
            Ok(true) => out.done.push((path, value)),
            Ok(false) => out.unchanged += 1,
            Err(e) => out.failed.push(NotRestored { path, value, reason: e.to_string() }),
        }
    }
    out
}

fn put_back_value(
    root: &Root,
    path: &str,
    old: &str,
    observer: &mut dyn Observer,
) -> io::Result<bool> {
    let Some(text) = root.read(path) else {
        // The device has gone, and its knob with it.
        return Ok(false);
    };
    let writes = knob::writes_back(path, knob::in_force(&text), old);
    for value in &writes {
        let step = Step::Write { path: path.into(), value: value.clone() };
        observer.before(&step)?;
        match root.write(path, value) {
            // The alarm that was set before has rung in the meantime.
            Err(_) if knob::is_alarm(path) && value != "0" => {}
            other => other?,
        }
        observer.after(&step);
    }
    Ok(!writes.is_empty())
}

/// Gives a device back to its driver; it may have it, or the device may have gone.
fn bind(root: &Root, driver: &str, device: &str, observer: &mut dyn Observer) -> io::Result<bool> {
    let there = driver.rsplit_once("/drivers/").map(|(bus, _)| format!("{bus}/devices/{device}"));
    let gone = there.is_some_and(|d| !root.exists(&d));
    if gone || root.exists(&format!("{driver}/{device}")) {
        return Ok(false);
    }
    let path = format!("{driver}/bind");
    let step = Step::Write { path: path.clone(), value: device.into() };
    observer.before(&step)?;
    root.write(&path, device)?;
    observer.after(&step);
    Ok(true)
}

/// Removes a trace event; there may be none, because the kernel did not take it.
fn remove_probe(
    root: &Root,
    list: &str,
    name: &str,
    observer: &mut dyn Observer,
) -> io::Result<bool> {
    let there = root.read(list).is_some_and(|text| {
        let is =
            |l: &str| l.split_once(':').is_some_and(|(_, l)| l.split(' ').next() == Some(name));
        text.lines().any(is)
    });
    if !there {
        return Ok(false);
    }
    let value = format!("-:{name}");
    let step = Step::Write { path: list.into(), value: value.clone() };
    observer.before(&step)?;
    root.append(list, &value)?;
    observer.after(&step);
    Ok(true)
}

fn remove_dir(root: &Root, path: &str, observer: &mut dyn Observer) -> io::Result<bool> {
    if !root.exists(path) {
        return Ok(false);
    }
    let step = Step::RemoveDir(path.into());
    observer.before(&step)?;
    std::fs::remove_dir(root.resolve(path))?;
    observer.after(&step);
    Ok(true)
}
