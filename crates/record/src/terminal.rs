//! Where a command is told what to do and says what came of it: the streams of
//! this process, or what a caller gave. It is a thread's, so that
//! tests run side by side; a thread that was given none has the process's.

use anyhow::{Context, Result};
use dormouse_words::text::page::{Ink, Page};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

/// Where a command is told what to do, and says what came of it.
pub struct Terminal {
    program: &'static str,
    arguments: Vec<OsString>,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Whether these are the streams of the process, which may be a real terminal.
    of_process: bool,
}

impl Terminal {
    /// The command line and the streams of this process, which runs `program`.
    #[must_use]
    pub fn of_process(program: &'static str) -> Terminal {
        Terminal {
            program,
            arguments: std::env::args_os().skip(1).collect(),
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            of_process: true,
        }
    }

    /// A command line of `dormouse`, without that word, and where it prints.
    #[must_use]
    pub fn of(arguments: Vec<OsString>, out: Box<dyn Write>, err: Box<dyn Write>) -> Terminal {
        Terminal { program: "dormouse", arguments, out, err, of_process: false }
    }
}

thread_local! {
    static NOW: RefCell<Terminal> = RefCell::new(Terminal::of_process("dormouse"));
}

/// Does `what` on `terminal`, and puts back what was there.
pub fn with<T>(terminal: Terminal, what: impl FnOnce() -> T) -> T {
    let before = NOW.replace(terminal);
    let done = what();
    NOW.set(before);
    done
}

/// The name of the program, as commands are typed.
#[must_use]
pub fn program() -> &'static str {
    NOW.with_borrow(|t| t.program)
}

/// Does `what` as if this command line had been typed.
pub fn told<T>(arguments: Vec<OsString>, what: impl FnOnce() -> T) -> T {
    let before = NOW.with_borrow_mut(|t| std::mem::replace(&mut t.arguments, arguments));
    let done = what();
    NOW.with_borrow_mut(|t| t.arguments = before);
    done
}

/// What `what` prints, and what comes of it.
pub fn captured<T>(what: impl FnOnce() -> T) -> (Vec<u8>, T) {
    let kept = Kept::default();
    let done = into(Box::new(kept.clone()), what);
    (kept.0.take(), done)
}

/// Does `what` with its output going to `out`.
pub fn into<T>(out: Box<dyn Write>, what: impl FnOnce() -> T) -> T {
    let before = NOW.with_borrow_mut(|t| std::mem::replace(&mut t.out, out));
    let done = what();
    NOW.with_borrow_mut(|t| t.out = before);
    done
}

/// Output in memory.
#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The command line, without the name of the program.
#[must_use]
pub fn arguments() -> Vec<OsString> {
    NOW.with_borrow(|t| t.arguments.clone())
}

/// Whether a person watches standard output.
#[must_use]
pub fn is_watched() -> bool {
    NOW.with_borrow(|t| t.of_process) && io::stdout().is_terminal()
}

/// Whether a person watches standard error, where progress is shown.
#[must_use]
pub fn shows_progress() -> bool {
    NOW.with_borrow(|t| t.of_process) && io::stderr().is_terminal()
}

/// Prints a line. A terminal that has gone or a pipe that was closed must not
/// end a recording, so nobody is told if it fails.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::terminal::spoken(&format!($($text)*)) };
}

/// Writes a line to standard error, where progress and remarks go.
#[macro_export]
macro_rules! remark {
    ($($text:tt)*) => { $crate::terminal::remarked(&(format!($($text)*) + "\n")) };
}

/// As `say!`.
pub fn spoken(line: &str) {
    let line = named(line, program());
    let _ = NOW.with_borrow_mut(|t| writeln!(t.out, "{line}"));
}

/// Writes text to standard error. Nobody is left to be told if this fails.
pub fn remarked(text: &str) {
    let _ = NOW.with_borrow_mut(|t| t.err.write_all(text.as_bytes()));
}

/// Writes `text` to standard output. A reader that has had enough, as with
/// `| head`, is no error.
///
/// # Errors
/// If it cannot be written for another reason.
pub fn print(text: &str) -> Result<()> {
    let text = named(text, program());
    print_with(|out| out.write_all(text.as_bytes()))
}

/// The text, whose next command is of this program if that has its verb. The recorder
/// alone cannot show what it recorded: that stays a command of `dormouse`.
fn named(text: &str, program: &str) -> String {
    let verbs = ["record", "restore", "hold", "sync"];
    verbs.iter().fold(text.to_string(), |text, verb| {
        text.replace(&format!("Next: dormouse {verb}"), &format!("Next: {program} {verb}"))
    })
}

/// As [`print`], for output that is written in pieces.
///
/// # Errors
/// As [`print`].
pub fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    // Taken out meanwhile: who writes may remark something.
    let to = NOW.with_borrow_mut(|t| std::mem::replace(&mut t.out, Box::new(io::sink())));
    let mut out = io::BufWriter::with_capacity(1 << 16, to);
    let wrote = write(&mut out).and_then(|()| out.flush());
    // What a failure leaves in the buffer cannot be written either.
    let (to, _) = out.into_parts();
    NOW.with_borrow_mut(|t| t.out = to);
    match wrote {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// A sentence in lines of at most 80 columns.
#[must_use]
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
    remarked(&text);
}

/// What an error says, with its causes.
pub fn whole(error: &anyhow::Error) -> String {
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
    whole
}

/// Says on standard error what went wrong. Names in it may come from anywhere.
pub fn complain(error: &anyhow::Error) {
    let mut page = Page::new(false);
    for (i, line) in format!("{}: {}", program(), whole(error)).lines().enumerate() {
        let line = dormouse_words::text::safe(line);
        let indent = line.len() - line.trim_start().len();
        page.wrapped(Ink::Plain, indent, if i == 0 { 2 } else { indent + 2 }, &line);
    }
    remarked(&page.finish());
}

/// The exit code of what a verb gave, after saying on standard error what went wrong.
pub fn said(given: Result<()>, code: impl FnOnce(&anyhow::Error) -> u8) -> u8 {
    match given {
        Ok(()) => crate::exit::SUCCESS,
        Err(e) => {
            // Who ends with a code of its own has said why.
            if !e.is::<crate::exit::Ended>() {
                complain(&e);
            }
            code(&e)
        }
    }
}

/// Says what is wrong with words that cannot be understood, or gives help, and gives
/// the exit code. An error keeps 80 columns: only help is broken by its library.
pub fn misused(error: &clap::Error) -> u8 {
    let code = u8::try_from(error.exit_code()).unwrap_or(crate::exit::USAGE);
    if !error.use_stderr() {
        let help = error.render();
        let ink = wants_colour();
        let text = if ink { help.ansi().to_string() } else { help.to_string() };
        return match print(&text) {
            Ok(()) => code,
            Err(_) => crate::exit::INPUT,
        };
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
    remarked(&page.finish());
    code
}

/// Colour only on a terminal that wants it: not if `NO_COLOR` is set to
/// anything (no-color.org), nor on `TERM=dumb`.
#[must_use]
pub fn wants_colour() -> bool {
    let no = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
    !no && !dumb && is_watched()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_is_one_of_this_program_if_it_has_it() {
        let text = "Nothing to put back.\n\nNext: dormouse record --yes\n";
        assert_eq!(named(text, "dormouse"), text);
        assert!(named(text, "dormouse-record").ends_with("\nNext: dormouse-record record --yes\n"));
        let shown = "Wrote a.tar.gz.\n\nNext: dormouse show a.tar.gz\n";
        assert_eq!(named(shown, "dormouse-record"), shown);
    }
}
