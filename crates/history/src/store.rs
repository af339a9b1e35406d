//! The database: a row a sleep, its batteries and versions, and what could not be written.

use crate::columns::{Cell, columns, gauge_name, gauge_of, meant};
use crate::folder::LINK;
use crate::row::{HOOK, SET};
use dormouse_base::say::span;
use dormouse_base::time::Ns;
use dormouse_doctor::history::{Battery, Row};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params_from_iter};
use std::path::Path;
use std::time::Duration;

/// The version of the schema.
pub const SCHEMA: i64 = 1;
/// What SQLite keeps in the head of the file to tell whose it is: `dorm`.
const APPLICATION: i64 = 0x646f_726d;

/// What went wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no database, or a damaged one.
    #[error("the database is damaged ({0})")]
    Damaged(String),
    /// It is a database of others.
    #[error("this SQLite database is no history of sleeps")]
    Foreign,
    /// A newer dormouse made it.
    #[error("a newer dormouse made this history (schema {0}); use that one")]
    Newer(i64),
    /// It cannot be read or written now.
    #[error("{0}")]
    Sqlite(String),
}

impl From<rusqlite::Error> for Error {
    fn from(e: rusqlite::Error) -> Error {
        match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Error::Damaged(e.to_string())
            }
            _ => Error::Sqlite(e.to_string()),
        }
    }
}

/// What could not be written at its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When, ms of the epoch.
    pub at_ms: i64,
    /// What, as a clause.
    pub what: String,
}

/// All that a database holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Sleeps, in order of their times.
    pub rows: Vec<Row>,
    /// What could not be written at its time.
    pub faults: Vec<Fault>,
    /// Why the rest cannot be read; what could be is in `rows`.
    pub damage: Option<String>,
    /// Lines that hold no figures of a sleep.
    pub unread: usize,
}

/// An open database.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    /// So many bytes are missing at its end.
    missing: usize,
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Cell::None => ToSqlOutput::Owned(Value::Null),
            Cell::Number(n) => ToSqlOutput::Owned(Value::Integer(*n)),
            Cell::Text(t) => ToSqlOutput::Borrowed(ValueRef::Text(t.as_bytes())),
        })
    }
}

impl Store {
    /// Opens the database at `path`, or makes it. Another program that holds it is waited for
    /// at most so long.
    ///
    /// # Errors
    /// If it is damaged, foreign, newer, or cannot be opened.
    pub fn open(path: &Path, patience: Duration) -> Result<Store, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // SQLite says of a link only that it cannot open it.
        if std::fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) {
            return Err(Error::Sqlite(format!("{} {LINK}", path.display())));
        }
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(patience)?;
        let store = Store::bounded(db, 0)?;
        if store.version()? == 0 {
            store.make()?;
        }
        Ok(store)
    }

    /// A database that is in memory, to be read.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn of_bytes(bytes: &[u8]) -> Result<Store, Error> {
        let mut db = Connection::open_in_memory()?;
        // SQLite reads nothing of a file that is shorter than its head says.
        let missing = size(bytes).saturating_sub(bytes.len()).min(MOST);
        let all = bytes.len() + missing;
        let whole = std::io::Read::chain(bytes, std::io::repeat(0));
        db.deserialize_read_exact("main", whole, all, true)?;
        let store = Store::bounded(db, missing)?;
        match store.version()? {
            0 => Err(Error::Foreign),
            _ => Ok(store),
        }
    }

    /// A file may be of anybody: what it defines runs no function that can do harm, and no
    /// value is longer than a row of ours.
    fn bounded(db: Connection, missing: usize) -> Result<Store, Error> {
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        db.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
        Ok(Store { db, missing })
    }

    /// What can be read of a damaged database. Its first page may be lost: all of ours have the
    /// same one but for the number of pages, as one transaction makes all tables.
    pub(crate) fn saved(bytes: &[u8]) -> History {
        let read = |bytes: &[u8]| Store::of_bytes(bytes).and_then(|s| s.history());
        let as_it_is = read(bytes).unwrap_or_default();
        let with_head = headed(bytes).and_then(|b| read(&b).ok()).unwrap_or_default();
        if with_head.rows.len() > as_it_is.rows.len() { with_head } else { as_it_is }
    }

    /// Looks whether pages that no reader of rows meets are whole too: an index that is damaged
    /// takes no row.
    ///
    /// # Errors
    /// If they are not.
    pub(crate) fn sound(&self) -> Result<(), Error> {
        let said: String =
            self.db.query_row("PRAGMA integrity_check(1)", [], |r| r.get::<_, String>(0))?;
        match said.as_str() {
            "ok" => Ok(()),
            _ => Err(Error::Damaged(said.lines().last().unwrap_or_default().trim().into())),
        }
    }

    /// Adds the row of the sleep that has just ended, and says so if the wall clock was set back
    /// before it: an earlier sleep of the same boot then ended after it began.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn add_last(&mut self, row: &Row, mut faults: Vec<Fault>) -> Result<usize, Error> {
        let latest: Option<i64> = self.db.query_row(
            "SELECT max(ended_ms) FROM sleep WHERE boot = ? AND source = ? AND began_ms <> ?",
            (&row.boot, HOOK, row.began_ms),
            |r| r.get(0),
        )?;
        let back = latest.map_or(0, |ms| ms.saturating_sub(row.began_ms));
        if back > SET && !row.boot.is_empty() {
            let by = span(Ns(back.saturating_mul(1_000_000)));
            let what = format!("the wall clock was set back by {by} or more before this sleep");
            faults.push(Fault { at_ms: row.began_ms, what });
        }
        self.add(std::slice::from_ref(row), &faults)
    }

    /// The version of its schema; 0 of an empty database.
    fn version(&self) -> Result<i64, Error> {
        let pragma = |name| self.db.pragma_query_value(None, name, |r| r.get::<_, i64>(0));
        let (whose, version) = (pragma("application_id")?, pragma("user_version")?);
        let tables: i64 =
            self.db.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
        match (whose, version) {
            (0, 0) if tables == 0 => Ok(0),
            (APPLICATION, 1..=SCHEMA) if self.is_plain()? => Ok(version),
            (APPLICATION, 1..=SCHEMA) => Err(Error::Foreign),
            (APPLICATION, _) => Err(Error::Newer(version)),
            _ => Err(Error::Foreign),
        }
    }

    /// Whether its tables are tables: no views, which may run without an end, no virtual tables,
    /// and no columns that are computed.
    fn is_plain(&self) -> Result<bool, Error> {
        let names = "name IN ('sleep', 'battery', 'version', 'fault')";
        let count = |query: String| self.db.query_row(&query, [], |r| r.get::<_, i64>(0));
        let tables = count(format!(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND {names}"
        ))?;
        let computed = count(format!(
            "SELECT count(*) FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS c \
             WHERE c.hidden <> 0 AND s.{names}"
        ))?;
        Ok((tables, computed) == (4, 0))
    }

    fn make(&self) -> Result<(), Error> {
        let list: String =
            columns().iter().map(|c| format!("  {} {},\n", c.name, c.kind)).collect();
        // Two hooks that run at once make it once.
        self.db.execute_batch(&format!(
            "BEGIN IMMEDIATE;\n\
             CREATE TABLE IF NOT EXISTS sleep (\n  id INTEGER PRIMARY KEY,\n{list}  depth TEXT NOT NULL,\n  UNIQUE (boot, began_ms)\n);\n\
             CREATE TABLE IF NOT EXISTS battery (\n  sleep INTEGER NOT NULL REFERENCES sleep (id),\n  name TEXT NOT NULL,\n  gauge TEXT NOT NULL,\n  before INTEGER,\n  after INTEGER,\n  \"full\" INTEGER\n);\n\
             CREATE TABLE IF NOT EXISTS version (\n  sleep INTEGER NOT NULL REFERENCES sleep (id),\n  name TEXT NOT NULL,\n  version TEXT NOT NULL\n);\n\
             CREATE TABLE IF NOT EXISTS fault (\n  at_ms INTEGER NOT NULL,\n  what TEXT NOT NULL\n);\n\
             PRAGMA application_id = {APPLICATION};\nPRAGMA user_version = {SCHEMA};\nCOMMIT;"
        ))?;
        Ok(())
    }

    /// Adds rows and faults, all or none, and says how many rows are new: a sleep is kept
    /// once.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, rows: &[Row], faults: &[Fault]) -> Result<usize, Error> {
        let all = columns();
        let names: Vec<&str> = all.iter().map(|c| c.name).chain(["depth"]).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let names = names.join(", ");
        let put = format!("INSERT OR IGNORE INTO sleep ({names}) VALUES ({marks})");
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut new = 0;
        for r in rows {
            let depth = Cell::Text(r.depth().map_or("", |d| d.name()).into());
            let cells: Vec<Cell> = all.iter().map(|c| (c.get)(r)).chain([depth]).collect();
            if tx.execute(&put, params_from_iter(cells))? == 0 {
                continue;
            }
            new += 1;
            let id = tx.last_insert_rowid();
            for b in &r.batteries {
                tx.execute(
                    "INSERT INTO battery VALUES (?, ?, ?, ?, ?, ?)",
                    (id, &b.name, gauge_name(b.gauge), b.before, b.after, b.full),
                )?;
            }
            for (name, version) in &r.versions {
                tx.execute("INSERT INTO version VALUES (?, ?, ?)", (id, name, version))?;
            }
        }
        for f in faults {
            tx.execute("INSERT INTO fault VALUES (?, ?)", (f.at_ms, &f.what))?;
        }
        tx.commit()?;
        Ok(new)
    }

    /// All that can be read of it.
    ///
    /// # Errors
    /// If it cannot be read now, for another reason than damage.
    pub fn history(&self) -> Result<History, Error> {
        let cut = format!("its last {} bytes are missing", self.missing);
        let damage = Some(cut).filter(|_| self.missing > 0);
        let mut out = History { damage, ..History::default() };
        let mut rows = std::collections::BTreeMap::new();
        // From both ends, if something between them is damaged.
        for order in ["", "DESC"] {
            match self.rows(order, &mut rows) {
                Ok(()) => break,
                Err(e) => _ = out.damage.get_or_insert(damage_in(e)?),
            }
        }
        let mut beside = || {
            let unread = self.batteries(&mut rows)? + self.versions(&mut rows)?;
            Ok(unread + self.faults(&mut out.faults)?)
        };
        match beside() {
            Ok(unread) => out.unread = unread,
            Err(e) => _ = out.damage.get_or_insert(damage_in(e)?),
        }
        out.rows = rows.into_values().collect();
        out.rows.sort_by_key(|r| r.began_ms);
        Ok(out)
    }

    fn rows(&self, order: &str, out: &mut Rows) -> rusqlite::Result<()> {
        let all = columns();
        let names: Vec<&str> = all.iter().map(|c| c.name).collect();
        let names = names.join(", ");
        let mut get =
            self.db.prepare(&format!("SELECT id, {names} FROM sleep ORDER BY id {order}"))?;
        let mut found = get.query([])?;
        while let Some(r) = found.next()? {
            let mut row = Row::default();
            for (i, c) in all.iter().enumerate() {
                let cell = match r.get_ref(i + 1)? {
                    ValueRef::Integer(n) => Cell::Number(n),
                    ValueRef::Text(t) => Cell::Text(String::from_utf8_lossy(t).into_owned()),
                    _ => Cell::None,
                };
                (c.set)(&mut row, cell);
            }
            out.insert(r.get(0)?, row);
        }
        Ok(())
    }

    fn batteries(&self, rows: &mut Rows) -> rusqlite::Result<usize> {
        let query = "SELECT sleep, name, gauge, before, after, \"full\" FROM battery";
        self.each(query, |r| {
            let number = |i| number(r, i).and_then(meant);
            let (before, after, full) = (number(3), number(4), number(5));
            let (name, gauge) = (text(r, 1)?, gauge_of(&text(r, 2)?)?);
            let row = rows.get_mut(&self::number(r, 0)?)?;
            row.batteries.push(Battery { name, gauge, before, after, full });
            Some(())
        })
    }

    fn versions(&self, rows: &mut Rows) -> rusqlite::Result<usize> {
        self.each("SELECT sleep, name, version FROM version", |r| {
            let row = rows.get_mut(&number(r, 0)?)?;
            row.versions.insert(text(r, 1)?, text(r, 2)?);
            Some(())
        })
    }

    fn faults(&self, out: &mut Vec<Fault>) -> rusqlite::Result<usize> {
        self.each("SELECT at_ms, what FROM fault ORDER BY at_ms", |r| {
            out.push(Fault { at_ms: number(r, 0)?, what: text(r, 1)? });
            Some(())
        })
    }

    /// Hands on each line that is found, and says of how many nothing could be made.
    fn each(
        &self,
        query: &str,
        mut take: impl FnMut(&rusqlite::Row<'_>) -> Option<()>,
    ) -> rusqlite::Result<usize> {
        let mut get = self.db.prepare(query)?;
        let mut found = get.query([])?;
        let mut unread = 0;
        while let Some(r) = found.next()? {
            unread += usize::from(take(r).is_none());
        }
        Ok(unread)
    }
}

fn number(r: &rusqlite::Row<'_>, i: usize) -> Option<i64> {
    r.get_ref(i).ok()?.as_i64().ok()
}

fn text(r: &rusqlite::Row<'_>, i: usize) -> Option<String> {
    Some(String::from_utf8_lossy(r.get_ref(i).ok()?.as_bytes().ok()?).into_owned())
}

/// What is damaged, if `e` says that: a file that is held or cannot be read is whole for all
/// that.
fn damage_in(e: rusqlite::Error) -> Result<String, Error> {
    match e.into() {
        Error::Damaged(why) => Ok(why),
        other => Err(other),
    }
}

/// Bytes of a value, at most (chosen): the longest of ours is a list of wakeup sources.
const LONGEST: i32 = 1 << 20;
/// A history that is cut has lost no more than this.
const MOST: usize = 64 << 20;

/// The size that the head of a database gives: bytes a page, and pages (SQLite's file format,
/// 1.3.2 and 1.3.7).
fn size(bytes: &[u8]) -> usize {
    let (Some(page), Some(pages)) = (bytes.get(16..18), bytes.get(28..32)) else { return 0 };
    let page = match u16::from_be_bytes([page[0], page[1]]) {
        1 => 65_536,
        n => usize::from(n),
    };
    page.saturating_mul(u32::from_be_bytes([pages[0], pages[1], pages[2], pages[3]]) as usize)
}

/// A database with the first page that each of ours has, and as many pages as it is long.
fn headed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut new = Store::bounded(Connection::open_in_memory().ok()?, 0).ok()?;
    new.make().ok()?;
    let first = new.db.serialize("main").ok()?;
    let page = usize::from(u16::from_be_bytes([*first.get(16)?, *first.get(17)?]));
    let pages = u32::try_from(bytes.len() / page).ok().filter(|n| *n > 1)?;
    let mut out = first.get(..page)?.to_vec();
    out.get_mut(28..32)?.copy_from_slice(&pages.to_be_bytes());
    out.extend_from_slice(bytes.get(page..)?);
    Some(out)
}

/// Rows by their number.
type Rows = std::collections::BTreeMap<i64, Row>;
