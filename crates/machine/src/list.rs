//! A list of what happened, a line of JSON each, that outlives whatever ends the machine or this
//! process: a line is on disk when [`List::add`] returns.

use crate::journal;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// A list, open and locked.
#[derive(Debug)]
pub(crate) struct List {
    file: File,
    /// A line could not be written.
    full: bool,
}

impl List {
    /// Opens the list called `name` in `folder`, which is there, and gives the whole lines that
    /// it has. `busy` says that another process works on it.
    pub(crate) fn open(folder: &Path, name: &str, busy: &str) -> io::Result<(List, Vec<u8>)> {
        let path = folder.join(name);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        if !journal::comes(|| file.try_lock().is_ok()) {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, busy));
        }
        File::open(folder)?.sync_all()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line that was being written says nothing; the next one must not join it.
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        bytes.truncate(whole);
        Ok((List { file, full: false }, bytes))
    }

    /// Adds a line. Behind one that could not be written whole there is no other: they would
    /// join.
    pub(crate) fn add(&mut self, line: &impl Serialize) -> io::Result<()> {
        if self.full {
            return Err(io::Error::other("a line before could not be written"));
        }
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.full = true;
        self.file.write_all(&text)?;
        self.file.sync_data()?;
        self.full = false;
        Ok(())
    }
}
