//! The `dormouse` command as a function: [`run`] parses a command line and calls
//! one verb.

use dormouse_record::terminal::Terminal;
use dormouse_record::{number, recording, terminal};
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

#[macro_use(say, remark)]
extern crate dormouse_record;
mod apply;
mod asked;
mod changes;
mod exit;
mod redact;
#[cfg(feature = "parquet")]
pub mod rows;
mod surface;
#[cfg(test)]
mod typed;
mod verbs;
mod verify;
#[cfg(test)]
mod vocabulary;

/// Runs the command of this process, on its standard streams.
#[must_use]
pub fn main() -> ExitCode {
    // As process 1 of a laboratory guest there is no command line to read.
    #[cfg(unix)]
    if dormouse_guest::init::is_init() {
        return dormouse_guest::init::main();
    }
    ExitCode::from(terminal::with(Terminal::of_process("dormouse"), surface::ended))
}

/// Runs one command line, given without the name of the program, and gives its
/// exit code. What it prints goes to `out` and `err`, without colour; `-` stands
/// for the standard input of this process.
///
/// Commands that start the program again (`sync`, `lab run`) start the program
/// of this process.
pub fn run<A: Into<OsString>>(
    arguments: impl IntoIterator<Item = A>,
    out: impl Write + 'static,
    err: impl Write + 'static,
) -> u8 {
    let arguments = arguments.into_iter().map(Into::into).collect();
    terminal::with(Terminal::of(arguments, Box::new(out), Box::new(err)), surface::ended)
}

/// Keeps what a command prints, for whoever gave a copy of it to [`run`].
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// All that was printed so far and not taken yet.
    pub fn taken(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
