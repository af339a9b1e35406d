//! Sleeps that are kept: what hooks around a natural sleep write, and the database.
//!
//! [`before`] leaves what was read in a file, synced: it is all that delays a sleep, and all
//! that is left of one that never comes back. [`after`] makes a [`Row`] of it and keeps it in
//! the database ([`store`]). What cannot be written there goes as a line into a spool, in the
//! [`folder`] or in a spare one in memory; [`Kept::open`] brings it in and says so.
#![forbid(unsafe_code)]

pub mod columns;
pub mod folder;
pub mod hooks;
mod row;
pub mod store;

pub use dormouse_doctor::history::Row;
use dormouse_doctor::history::since::{Since, since};
use dormouse_doctor::history::{Night, nights, past};
use dormouse_machine::natural::{self, Reading};
use dormouse_machine::root::Root;
use dormouse_read::capture_file::schema::Clocks;
use dormouse_read::{Given, ReadError};
use folder::Folder;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::Duration;
use store::{Error, Fault, History, Store};

/// Where history lies.
pub const FOLDER: &str = "/var/lib/dormouse";
/// Where it waits if it cannot lie there: in memory.
pub const SPARE: &str = "/run/dormouse-history";
/// The database.
pub const DATABASE: &str = "history.db";
/// What was read before a sleep.
const BEFORE: &str = "before";
/// Rows that wait for the database.
const SPOOL: &str = "spool";
/// So long a hook waits for whoever holds the database.
const HOOK: Duration = Duration::from_millis(20);
/// So long a person does.
const PERSON: Duration = Duration::from_secs(5);

/// The nights of a history, and since when they are others.
#[must_use]
pub fn judged(history: &History) -> (Vec<Night>, Vec<Since>) {
    let nights = nights(&history.rows);
    let since = since(&history.rows, &nights);
    (nights, since)
}

/// The sleeps that logs tell of, and how many of them have no date with a year.
///
/// # Errors
/// If one cannot be read.
pub fn of_logs(given: &Given) -> Result<(Vec<Row>, usize), ReadError> {
    let mut out = (Vec::new(), 0);
    for text in given.said()?.iter() {
        let (rows, undated) = past::rows(&text.case);
        out.0.extend(rows);
        out.1 += undated;
    }
    Ok(out)
}

/// Folders that can be used, the usual one first, and why it cannot.
fn folders(root: &Root, make: bool) -> (Vec<Folder>, Option<io::Error>) {
    let open = |path: &str| Folder::open(&root.resolve(path), make);
    let (main, mut why) = match open(FOLDER) {
        Ok(folder) => (Some(folder), None),
        Err(e) => (None, Some(e)),
    };
    why = why.filter(|e| make || e.kind() != io::ErrorKind::NotFound);
    (main.into_iter().chain(open(SPARE).ok()).collect(), why)
}

/// Does `write` in the first folder that takes it.
fn first(
    folders: &[Folder],
    why: Option<io::Error>,
    write: impl Fn(&Folder) -> io::Result<()>,
) -> io::Result<()> {
    let mut error = why.unwrap_or_else(|| io::ErrorKind::NotFound.into());
    for folder in folders {
        match write(folder) {
            Ok(()) => return Ok(()),
            Err(e) => error = e,
        }
    }
    Err(error)
}

/// Keeps what is read before a sleep.
///
/// # Errors
/// If it can be written nowhere.
pub fn before(root: &Root, at: Option<Clocks>) -> io::Result<()> {
    let now = natural::reading(root, at);
    let (folders, why) = folders(root, true);
    // The sleep before this one has no end: power failed in it, or its hook was killed.
    let open: Vec<Row> = folders.iter().filter_map(|f| unended(root, f, &now)).collect();
    for row in &open {
        first(&folders, None, |f| f.append(SPOOL, &line(row, None)))?;
    }
    let text = serde_json::to_vec(&now)?;
    for folder in &folders {
        let _ = folder.remove(BEFORE);
    }
    first(&folders, why, |f| f.replace(BEFORE, &text))
}

/// What a folder has of a sleep that has begun.
fn begun(folder: &Folder) -> Option<Reading> {
    serde_json::from_slice(&folder.read(BEFORE).ok()??).ok()
}

/// The row of a sleep whose hook after it never ran.
fn unended(root: &Root, folder: &Folder, now: &Reading) -> Option<Row> {
    let was = begun(folder)?;
    if was.boot != now.boot {
        return Some(row::began(&was));
    }
    // The machine runs on, so it came back; when, nobody knows.
    let mut row = row::slept(root, &was, now, &natural::After::default());
    row.span_ms = None;
    row.ended_ms = Some(row.began_ms + row.slept_ms.unwrap_or(0));
    row.batteries.iter_mut().for_each(|b| b.after = None);
    Some(row)
}

/// Keeps the sleep that has ended. Says whether one had begun.
///
/// # Errors
/// If it can be kept nowhere. What the database does not take is kept beside it, which is none.
pub fn after(root: &Root, at: Option<Clocks>) -> io::Result<bool> {
    let now = natural::reading(root, at);
    let (folders, why) = folders(root, true);
    let Some(was) = folders.iter().find_map(begun) else { return Ok(false) };
    let row = match was.boot == now.boot {
        true => row::slept(root, &was, &now, &natural::after(root)),
        false => row::began(&was),
    };
    let fault = match (folders.first().filter(|_| why.is_none()), why) {
        (Some(folder), _) => {
            let written = Store::open(&folder.place(DATABASE), HOOK)
                .and_then(|mut s| s.add(std::slice::from_ref(&row), &[]));
            written.err().map(|e| e.to_string())
        }
        (None, why) => Some(why.map_or(String::new(), |e| e.to_string())),
    };
    if let Some(what) = fault {
        let line = line(&row, Some(&Fault { at_ms: now.realtime / 1_000_000, what }));
        first(&folders, None, |f| f.append(SPOOL, &line))?;
    }
    for folder in &folders {
        let _ = folder.remove(BEFORE);
    }
    Ok(true)
}

/// A line of the spool.
fn line(row: &Row, fault: Option<&Fault>) -> String {
    let mut object = columns::object(row);
    if let Some(f) = fault {
        object["fault"] = json!({ "at_ms": f.at_ms, "what": f.what });
    }
    object.to_string()
}

/// The rows and faults of a spool, and how many lines are neither.
fn spooled(text: &[u8]) -> (Vec<Row>, Vec<Fault>, usize) {
    let (mut rows, mut faults, mut lost) = (Vec::new(), Vec::new(), 0);
    for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        let object: Value = serde_json::from_slice(line).unwrap_or_default();
        let Some(row) = columns::row(&object) else {
            lost += 1;
            continue;
        };
        let fault = &object["fault"];
        if let (Some(at_ms), Some(what)) = (fault["at_ms"].as_i64(), fault["what"].as_str()) {
            faults.push(Fault { at_ms, what: what.into() });
        }
        rows.push(row);
    }
    (rows, faults, lost)
}

/// The history of this machine, open.
#[derive(Debug)]
pub struct Kept {
    store: Store,
    /// What was done to open it: sentences.
    pub remarks: Vec<String>,
}

impl Kept {
    /// Opens the history below `root`, mends what is damaged, and brings in what waits.
    ///
    /// # Errors
    /// If there is no folder for it, or the database is held, foreign or newer.
    pub fn open(root: &Root, make: bool) -> Result<Kept, Error> {
        let (folders, why) = folders(root, make);
        let main = folders.first().filter(|_| why.is_none());
        let failed = |e: io::Error| Error::Sqlite(format!("{FOLDER} cannot be used: {e}"));
        let Some(folder) = main else {
            return Err(failed(why.unwrap_or_else(|| io::ErrorKind::NotFound.into())));
        };
        let mut remarks = Vec::new();
        let place = folder.place(DATABASE);
        let mut store = match checked(&place) {
            Err(Error::Damaged(why)) => mended(&place, &why, &mut remarks)?,
            other => other?,
        };
        let now = natural::reading(root, None);
        for f in &folders {
            // One that has begun in this boot may be asleep now, for all we know.
            if let Some(was) = begun(f).filter(|w| w.boot != now.boot) {
                store.add(&[row::began(&was)], &[])?;
                f.remove(BEFORE).map_err(failed)?;
            }
            let Some(text) = f.read(SPOOL).map_err(failed)? else { continue };
            let (rows, faults, lost) = spooled(&text);
            store.add(&rows, &faults)?;
            f.remove(SPOOL).map_err(failed)?;
            if lost > 0 {
                remarks.push(format!("{lost} kept lines could not be read and are lost."));
            }
        }
        Ok(Kept { store, remarks })
    }

    /// All that it holds.
    pub fn history(&self) -> History {
        self.store.history()
    }

    /// Adds sleeps that logs tell of, and says how many are new: of a sleep that is kept
    /// already a log says no more.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn add_past(&mut self, rows: &[Row]) -> Result<usize, Error> {
        let mut there: Vec<Row> = self.history().rows;
        let mut new: Vec<Row> = Vec::new();
        for r in rows {
            if !there.iter().any(|t| overlap(t, r)) {
                there.push(r.clone());
                new.push(r.clone());
            }
        }
        self.store.add(&new, &[])
    }
}

/// All that history leaves on a machine below `root`: files, then folders.
#[must_use]
pub fn traces(root: &Root) -> Vec<String> {
    let mut out = Vec::new();
    for folder in [FOLDER, SPARE] {
        let ours = |name: &String| {
            let name = name.strip_suffix(".new").unwrap_or(name);
            [BEFORE, SPOOL, DATABASE, "history.db-journal"].contains(&name)
                || name.starts_with("history.damaged-")
        };
        out.extend(root.list(folder).into_iter().filter(ours).map(|n| format!("{folder}/{n}")));
    }
    let folders = [FOLDER, SPARE].into_iter().filter(|f| root.exists(f));
    out.extend(folders.map(String::from));
    out
}

/// Whether two rows are of one sleep, as hooks and logs time it.
fn overlap(a: &Row, b: &Row) -> bool {
    let end = |r: &Row| r.ended_ms.unwrap_or(r.began_ms);
    a.began_ms == b.began_ms || a.began_ms < end(b) && b.began_ms < end(a)
}

/// Opens the database and looks whether all of it can be read.
fn checked(place: &Path) -> Result<Store, Error> {
    let store = Store::open(place, PERSON)?;
    match store.history().damage {
        Some(why) => Err(Error::Damaged(why)),
        None => Ok(store),
    }
}

/// Puts a damaged database aside, and makes a new one of what can be read of it.
fn mended(place: &Path, why: &str, remarks: &mut Vec<String>) -> Result<Store, Error> {
    let failed = |e: io::Error| Error::Sqlite(e.to_string());
    let bytes = std::fs::read(place).map_err(failed)?;
    let saved = Store::of_bytes(&bytes).map(|s| s.history()).unwrap_or_default();
    let aside = (1..).map(|n| place.with_extension(format!("damaged-{n}")));
    let aside = aside.into_iter().find(|p| !p.exists()).unwrap_or_else(|| place.into());
    std::fs::rename(place, &aside).map_err(failed)?;
    // A journal of what is put aside is of no other database.
    let _ = std::fs::remove_file(place.with_extension("db-journal"));
    let mut store = Store::open(place, PERSON)?;
    store.add(&saved.rows, &saved.faults)?;
    remarks.push(format!(
        "The database was damaged ({why}): {} could be saved; what is left of it is {}.",
        dormouse_base::say::plural(saved.rows.len(), "sleep"),
        aside.display()
    ));
    Ok(store)
}
