//! Sleeps that are kept: what hooks around a natural sleep write, and the database.
//!
//! [`before`] leaves what was read in a file, synced: it is all that delays a sleep, and all
//! that is left of one that never comes back. [`after`] makes a [`Row`] of it and keeps it in
//! the database ([`store`]). What cannot be written there goes as a line into a spool, in the
//! [`folder`] or in a spare one in memory; [`Kept::open`] brings it in and says so.
#![forbid(unsafe_code)]
// SQLite and hooks: the page that reads has neither.
#![cfg(unix)]

pub mod columns;
pub mod folder;
pub mod hooks;
mod row;
pub mod store;

use dormouse_capture::schema::Clocks;
pub use dormouse_doctor::history::Night;
pub use dormouse_doctor::history::Row;
pub use dormouse_doctor::history::since::Since;
use dormouse_doctor::history::since::since;
use dormouse_doctor::history::{nights, past};
use dormouse_machine::cut::{self, Begun, Cut};
use dormouse_machine::machine::boot_id;
use dormouse_machine::measure::clocks;
use dormouse_machine::natural::{self, Reading};
use dormouse_machine::root::Root;
use dormouse_read::klog::last_words;
use dormouse_read::{Given, ReadError};
use folder::{Folder, TAKEN};
use serde_json::{Value, json};
use std::fs;
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
/// What was read after a sleep that nothing was read before.
const AFTER: &str = "after";
/// Rows that wait for the database.
const SPOOL: &str = "spool";
/// So long a hook waits for whoever holds the database.
const HOOK: Duration = Duration::from_millis(20);
/// Two hooks after one sleep run within this.
const TWICE: Duration = Duration::from_secs(5);
/// What was read before a sleep is written within this after it, ns, if whoever read it was frozen.
const LATE: i64 = 60_000_000_000;
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

/// The folders that can be used.
struct Folders {
    /// The usual one, or why there is none.
    main: io::Result<Folder>,
    /// The one in memory. It never holds the database.
    spare: Option<Folder>,
}

impl Folders {
    fn open(root: &Root, make: bool) -> Folders {
        let open = |path: &str| Folder::open(&root.resolve(path), make);
        Folders { main: open(FOLDER), spare: open(SPARE).ok() }
    }

    fn all(&self) -> impl Iterator<Item = &Folder> {
        self.main.iter().chain(&self.spare)
    }

    /// Does `write` in the first folder that takes it.
    fn first(&self, write: impl Fn(&Folder) -> io::Result<()>) -> io::Result<()> {
        let mut error = None;
        for folder in self.all() {
            match write(folder) {
                Ok(()) => return Ok(()),
                Err(e) => error = Some(e),
            }
        }
        let why = || self.main.as_ref().err().map(|e| io::Error::new(e.kind(), e.to_string()));
        Err(error.or_else(why).unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Adds a row to what waits for the database.
    fn spool(&self, row: &Row, fault: Option<&Fault>) -> io::Result<()> {
        let line = line(row, fault);
        self.first(|f| f.append(SPOOL, &line))
    }

    /// The reading after a sleep that found none before it, if it is of the sleep that `was`
    /// about to begin: whoever read that was frozen, and wrote it when the machine was back.
    fn ended(&self, was: &Reading) -> Option<Reading> {
        let after = self.all().filter_map(|f| read(f, AFTER));
        after.filter(|a| a.boot == was.boot && a.boottime > was.boottime).min_by_key(|a| a.boottime)
    }

    /// Whether the machine may have slept, or was refused, between two readings: a hook that runs
    /// twice before one sleep reads the same of the kernel.
    fn may_have_slept(&self, was: &Reading, now: &Reading) -> bool {
        let stood = (now.boottime - now.monotonic) - (was.boottime - was.monotonic);
        let counted = was.stats.is_empty() || was.stats != now.stats;
        was.boot != now.boot || counted || stood > natural::TORN || self.ended(was).is_some()
    }

    /// The row of a sleep whose hook after it kept none.
    fn unended(&self, was: &Reading, now: &Reading) -> Row {
        if let Some(end) = self.ended(was) {
            return row::slept(was, &end, &natural::After::default());
        }
        if was.boot != now.boot {
            return row::began(was);
        }
        // The machine runs on, so it came back; when, nobody knows.
        let mut row = row::slept(was, now, &natural::After::default());
        row.span_ms = None;
        row.ended_ms = Some(row.began_ms + row.slept_ms.unwrap_or(0));
        row.batteries.iter_mut().for_each(|b| b.after = None);
        row
    }
}

/// Keeps what is read before a sleep that was announced at `begun`. Clocks at the end are those
/// of `at`, if it gives them.
///
/// # Errors
/// If it can be written nowhere.
pub fn before(root: &Root, begun: Clocks, at: Option<Clocks>) -> io::Result<()> {
    let mut now = natural::reading(root, begun, at);
    let folders = Folders::open(root, true);
    // The sleep before this one has no end: power failed in it, or its hook was killed.
    let open = folders.all().filter_map(begun_in).filter(|w| folders.may_have_slept(w, &now));
    let open: Vec<Row> = open.map(|w| folders.unended(&w, &now)).collect();
    for row in &open {
        folders.spool(row, None)?;
    }
    for folder in folders.all() {
        let _ = folder.remove(BEFORE);
        // One that is newer is of this sleep.
        let old = |a: &Reading| a.boot != now.boot || a.boottime <= now.boottime;
        let Some(a) = read(folder, AFTER).filter(old) else { continue };
        folders.first(|f| f.append(SPOOL, &unread_before(&a)))?;
        let _ = folder.remove(AFTER);
    }
    now.look_again(at);
    let text = serde_json::to_vec(&now)?;
    folders.first(|f| f.replace(BEFORE, &text))
}

fn read(folder: &Folder, name: &str) -> Option<Reading> {
    serde_json::from_slice(&folder.read(name).ok()??).ok()
}

/// What a folder has of a sleep that has begun.
fn begun_in(folder: &Folder) -> Option<Reading> {
    read(folder, BEFORE)
}

/// Keeps the sleep that has ended. Says whether one had begun. The clocks are those of `at`, if
/// it gives them.
///
/// # Errors
/// If it can be kept nowhere. What the database does not take is kept beside it, which is none.
pub fn after(root: &Root, at: Option<Clocks>) -> io::Result<bool> {
    let now = natural::reading(root, at.unwrap_or_else(clocks), at);
    let folders = Folders::open(root, true);
    // A folder that became read-only has an old one, which nobody could remove.
    let newest = |w: &Reading| (w.boot == now.boot, w.boottime);
    let Some(was) = folders.all().filter_map(begun_in).max_by_key(newest) else {
        // Whoever reads before a sleep may be frozen yet: it meets this.
        let text = serde_json::to_vec(&now)?;
        folders.first(|f| f.replace(AFTER, &text))?;
        return Ok(false);
    };
    if was.boot != now.boot {
        // What the kernel said last is looked for by whoever brings it in.
        folders.spool(&folders.unended(&was, &now), None)?;
    } else {
        let row = row::slept(&was, &now, &natural::after(root));
        let kept = match &folders.main {
            Ok(folder) => {
                let faults = Vec::from_iter(emptied(folder, &now));
                Store::open(&folder.place(DATABASE), HOOK)
                    .and_then(|mut s| s.add_last(&row, faults))
                    .map_err(|e| e.to_string())
            }
            Err(e) => Err(e.to_string()),
        };
        if let Err(what) = kept {
            folders.spool(&row, Some(&Fault { at_ms: now.realtime / 1_000_000, what }))?;
        }
    }
    for folder in folders.all() {
        let _ = folder.remove(BEFORE);
    }
    Ok(true)
}

/// A line of the spool for a sleep that ended then, before which nothing was read.
fn unread_before(after: &Reading) -> String {
    json!({ "unread_before_ms": after.realtime / 1_000_000 }).to_string()
}

/// Of sleeps before which nothing was read those that no row is of: a hook that runs twice after
/// one sleep finds nothing the second time.
fn without_row(alone: Vec<i64>, history: &History) -> Vec<Fault> {
    let near = |end: i64, at: i64| end.abs_diff(at) <= TWICE.as_millis() as u64;
    let has_row = |at| history.rows.iter().any(|r| r.ended_ms.is_some_and(|e| near(e, at)));
    let what = "nothing was read before a sleep that ended then, so it has no row";
    let fault = |at_ms| Fault { at_ms, what: what.into() };
    alone.into_iter().filter(|at| !has_row(*at)).map(fault).collect()
}

/// What is said of a database without a byte: nobody leaves one so but who is killed as it makes
/// its first one, and there SQLite would begin a new one without a word.
fn emptied(folder: &Folder, now: &Reading) -> Option<Fault> {
    let what = "the database was empty, and what it held before is lost, if it held anything";
    let is_empty = folder.size(DATABASE) == Some(0);
    is_empty.then(|| Fault { at_ms: now.realtime / 1_000_000, what: what.into() })
}

/// A line of the spool.
fn line(row: &Row, fault: Option<&Fault>) -> String {
    let mut object = columns::object(row);
    if let Some(f) = fault {
        object["fault"] = json!({ "at_ms": f.at_ms, "what": f.what });
    }
    object.to_string()
}

/// What a spool holds.
#[derive(Default)]
struct Spooled {
    rows: Vec<Row>,
    faults: Vec<Fault>,
    /// When sleeps ended before which nothing was read, ms.
    alone: Vec<i64>,
    /// Lines that are nothing.
    lost: usize,
}

fn spooled(text: &[u8]) -> Spooled {
    let mut out = Spooled::default();
    for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        let object: Value = serde_json::from_slice(line).unwrap_or_default();
        if let Some(at_ms) = object["unread_before_ms"].as_i64() {
            out.alone.push(at_ms);
            continue;
        }
        let Some(row) = columns::row(&object) else {
            out.lost += 1;
            continue;
        };
        let fault = &object["fault"];
        if let (Some(at_ms), Some(what)) = (fault["at_ms"].as_i64(), fault["what"].as_str()) {
            out.faults.push(Fault { at_ms, what: what.into() });
        }
        out.rows.push(row);
    }
    out
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
        let mut folders = Folders::open(root, make);
        // What waits in memory needs a place.
        if folders.main.is_err() && folders.spare.is_some() && !make {
            folders = Folders::open(root, true);
        }
        let failed = |e: &io::Error| Error::Sqlite(format!("{FOLDER} cannot be used: {e}"));
        let folder = folders.main.as_ref().map_err(failed)?;
        let mut remarks = Vec::new();
        let place = folder.place(DATABASE);
        let emptied = emptied(folder, &natural::reading(root, clocks(), None));
        let mut store = match checked(&place) {
            Err(Error::Damaged(why)) => mended(&place, &why, &mut remarks)?,
            other => other?,
        };
        if let Some(fault) = emptied {
            store.add(&[], &[fault])?;
        }
        // Two that look at once bring in once.
        let held = folders.all().all(Folder::hold);
        for f in folders.all().filter(|_| held) {
            let waiting = Waiting { root, folders: &folders, folder: f };
            match waiting.bring(&mut store, &mut remarks) {
                Err(Error::Sqlite(why)) => {
                    let text = "What waits cannot be brought into the database now";
                    remarks.push(format!("{text} ({why}); it waits on."));
                }
                other => other?,
            }
        }
        Ok(Kept { store, remarks })
    }

    /// All that it holds.
    ///
    /// # Errors
    /// If it cannot be read now.
    pub fn history(&self) -> Result<History, Error> {
        self.store.history()
    }

    /// Adds sleeps that logs tell of, and says how many are new: of a sleep that is kept
    /// already a log says no more.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn add_past(&mut self, rows: &[Row]) -> Result<usize, Error> {
        let mut there: Vec<Row> = self.history()?.rows;
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

/// What waits in a folder for the database.
struct Waiting<'a> {
    root: &'a Root,
    folders: &'a Folders,
    folder: &'a Folder,
}

impl Waiting<'_> {
    fn bring(&self, store: &mut Store, remarks: &mut Vec<String>) -> Result<(), Error> {
        let failed = |e: io::Error| Error::Sqlite(format!("{FOLDER} cannot be used: {e}"));
        let boot = boot_id(self.root);
        let now = Reading { boot: boot.clone(), ..Reading::default() };
        let waits = begun_in(self.folder);
        // One that has begun in this boot may be asleep now, for all we know.
        let over = |w: &Reading| w.boot != boot || self.folders.ended(w).is_some();
        if let Some(was) = waits.filter(over) {
            let row = self.folders.unended(&was, &now);
            store.add(&self.told(store, vec![row])?, &[])?;
            self.folder.remove(BEFORE).map_err(failed)?;
        }
        let lonely = read(self.folder, AFTER).filter(|a| {
            a.boot != boot || clocks().boottime_before.saturating_sub(a.boottime) > LATE
        });
        if let Some(after) = lonely.filter(|_| self.folders.all().all(|f| begun_in(f).is_none())) {
            self.folder.append(SPOOL, &unread_before(&after)).map_err(failed)?;
            self.folder.remove(AFTER).map_err(failed)?;
        }
        while let Some(text) = self.folder.take(SPOOL).map_err(failed)? {
            let Spooled { rows, faults, alone, lost } = spooled(&text);
            store.add(&self.told(store, rows)?, &faults)?;
            if !alone.is_empty() {
                store.add(&[], &without_row(alone, &store.history()?))?;
            }
            self.folder.taken(SPOOL).map_err(failed)?;
            if lost > 0 {
                let lines = dormouse_base::say::plural(lost, "kept line");
                let are = if lost == 1 { "is" } else { "are" };
                remarks.push(format!("{lines} could not be read and {are} lost."));
            }
        }
        Ok(())
    }

    /// Rows, with what the kernel said last in those that never came back.
    fn told(&self, store: &Store, mut rows: Vec<Row>) -> Result<Vec<Row>, Error> {
        if rows.iter().all(|r| r.ended_ms.is_some()) {
            return Ok(rows);
        }
        let later: Vec<(String, i64)> = store
            .history()?
            .rows
            .iter()
            .chain(&rows)
            .map(|r| (r.boot.clone(), r.began_ms))
            .collect();
        let s = |ms: i64| u64::try_from(ms / 1_000).ok();
        for r in rows.iter_mut().filter(|r| r.ended_ms.is_none()) {
            let other = later.iter().filter(|l| l.0 != r.boot && l.1 > r.began_ms);
            let begun = Begun {
                at: s(r.began_ms).unwrap_or(0),
                until: other.map(|l| l.1).min().and_then(s),
                boot_id: r.boot.clone(),
                pm_trace: false,
            };
            let cut = cut::told(self.root, Cut::default(), &begun, last_words);
            r.failed_device = cut.device.unwrap_or_default();
            r.failed_step = cut.phase.unwrap_or_default();
        }
        Ok(rows)
    }
}

/// What an installation leaves on a machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Files and folders, in the order in which they can be removed.
    pub ours: Vec<String>,
    /// Folders that hold files of others too.
    pub shared: Vec<String>,
}

/// All that history leaves on a machine below `root`.
#[must_use]
pub fn traces(root: &Root) -> Traces {
    let mut out = Traces::default();
    let is_ours = |name: &str| {
        let name = name.strip_suffix(".new").or(name.strip_suffix(TAKEN)).unwrap_or(name);
        [BEFORE, AFTER, SPOOL, DATABASE, "history.db-journal"].contains(&name)
            || name.starts_with("history.damaged-")
    };
    let mut empty = Vec::new();
    for folder in [FOLDER, SPARE].into_iter().filter(|f| root.exists(f)) {
        let place = |name: &String| format!("{folder}/{name}");
        let is_file = |name: &String| {
            fs::symlink_metadata(root.resolve(&place(name))).is_ok_and(|m| !m.is_dir())
        };
        let (ours, others): (Vec<String>, Vec<String>) =
            root.list(folder).into_iter().partition(|n| is_ours(n) && is_file(n));
        out.ours.extend(ours.iter().map(place));
        if others.is_empty() { &mut empty } else { &mut out.shared }.push(folder.to_string());
    }
    out.ours.extend(empty);
    out
}

/// Whether two rows are of one sleep, as hooks and logs time it.
fn overlap(a: &Row, b: &Row) -> bool {
    let end = |r: &Row| r.ended_ms.unwrap_or(r.began_ms);
    a.began_ms == b.began_ms || a.began_ms < end(b) && b.began_ms < end(a)
}

/// Opens the database and looks whether all of it can be read, and written.
fn checked(place: &Path) -> Result<Store, Error> {
    let store = Store::open(place, PERSON)?;
    match store.history()?.damage {
        Some(why) => Err(Error::Damaged(why)),
        None => store.sound().map(|()| store),
    }
}

/// Puts a damaged database aside, and makes a new one of what can be read of it.
fn mended(place: &Path, why: &str, remarks: &mut Vec<String>) -> Result<Store, Error> {
    let failed = |e: io::Error| Error::Sqlite(e.to_string());
    let bytes = fs::read(place).map_err(failed)?;
    let saved = Store::saved(&bytes);
    let aside = (1..).map(|n| place.with_extension(format!("damaged-{n}")));
    let aside = aside.into_iter().find(|p| !p.exists()).unwrap_or_else(|| place.into());
    fs::rename(place, &aside).map_err(failed)?;
    // A journal of what is put aside is of no other database.
    let _ = fs::remove_file(place.with_extension("db-journal"));
    let mut store = Store::open(place, PERSON)?;
    store.add(&saved.rows, &saved.faults)?;
    remarks.push(format!(
        "The database was damaged ({why}): {} could be saved; what is left of it is {}.",
        dormouse_base::say::plural(saved.rows.len(), "sleep"),
        aside.display()
    ));
    Ok(store)
}
