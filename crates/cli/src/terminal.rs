//! Standard output: broken pipes and colour.

use anyhow::{Context, Result};
use dormouse_words::text::page::{Ink, Page};
use std::io::{self, IsTerminal, Write};

/// Prints a line. A terminal that has gone or a pipe that was closed must not
/// end a recording, so nobody is told if it fails.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// Writes `text` to standard output. A reader that has had enough, as with
/// `| head`, is no error.
///
/// # Errors
/// If it cannot be written for another reason.
pub fn print(text: &str) -> Result<()> {
    print_with(|out| out.write_all(text.as_bytes()))
}

/// As [`print`], for output that is written in pieces.
///
/// # Errors
/// As [`print`].
pub fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
            // What is left in the buffer cannot be written either.
            let _ = out.into_parts();
            Ok(())
        }
        other => other.context("cannot write to standard output"),
    }
}

/// A sentence in lines of at most 80 columns.
pub fn wrapped(text: &str) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 0, &dormouse_words::text::safe(text));
    page.finish()
}

/// Says on standard error that a file was written, and what can be done with it:
/// standard output may be the input of another program.
pub fn wrote(path: &std::path::Path, more: &str) {
    let text = wrapped(&format!(
        "Wrote {}{}{more}",
        path.display(),
        if more.is_empty() { "." } else { "" }
    ));
    // Nobody is left to be told if this fails.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Says on standard error what went wrong. Names in it may come from anywhere.
pub fn complain(error: &anyhow::Error) {
    let mut whole = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some errors name their cause themselves.
        if !whole.contains(&cause) {
            if !whole.is_empty() {
                whole.push_str(": ");
            }
            whole.push_str(&cause);
        }
    }
    let mut page = Page::new(false);
    for (i, line) in format!("dormouse: {whole}").lines().enumerate() {
        let line = dormouse_words::text::safe(line);
        let indent = line.len() - line.trim_start().len();
        page.wrapped(Ink::Plain, indent, if i == 0 { 2 } else { indent + 2 }, &line);
    }
    // Nobody is left to be told if this fails.
    let _ = io::stderr().lock().write_all(page.finish().as_bytes());
}

/// Ends the program after words that cannot be understood, or after help. An error
/// keeps 80 columns: only help is broken by its library.
pub fn misused(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let mut page = Page::new(false);
    for line in error.to_string().lines() {
        if line.is_empty() {
            page.blank();
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        page.wrapped(Ink::Plain, indent, indent + 2, &dormouse_words::text::safe(line));
    }
    // Nobody is left to be told if this fails.
    let _ = io::stderr().lock().write_all(page.finish().as_bytes());
    std::process::exit(error.exit_code())
}

/// Colour only on a terminal that wants it: not if `NO_COLOR` is set to
/// anything (no-color.org), nor on `TERM=dumb`.
pub fn wants_colour() -> bool {
    let no = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
    !no && !dumb && io::stdout().is_terminal()
}
