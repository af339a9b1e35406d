//! The `dormouse` command as a function: [`run`] parses a command line and calls
//! one verb.

use dormouse_record::terminal::Terminal;
use dormouse_record::{number, recording, terminal};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

#[macro_use(say, remark)]
extern crate dormouse_record;
mod apply;
mod asked;
mod changes;
mod exit;
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
    if dormouse_lab::guest::is_init() {
        return dormouse_lab::guest::main();
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
