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

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a command as a shell hands them over.
    fn shell(command: &str) -> Vec<String> {
        let (mut out, mut quoted, mut any) = (vec![String::new()], false, false);
        let mut chars = command.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    any = true;
                }
                '\\' if !quoted => match chars.next() {
                    Some('\n') | None => {}
                    Some(c) => out.last_mut().expect("a word").push(c),
                },
                ' ' | '\n' if !quoted => {
                    if any || !out.last().expect("a word").is_empty() {
                        out.push(String::new());
                        any = false;
                    }
                }
                c => out.last_mut().expect("a word").push(c),
            }
        }
        out.retain(|w| !w.is_empty());
        out
    }

    /// The last line of every golden screen is a command as it could be typed:
    /// whole, and with options that exist.
    #[test]
    fn each_next_command_of_a_golden_screen_parses() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).expect("golden files").flatten() {
            let name = entry.file_name();
            let text = std::fs::read_to_string(entry.path()).expect("text");
            for (at, _) in text.match_indices("\nNext: ") {
                let rest = &text[at + "\nNext: ".len()..];
                // A line goes on where a shell would read on.
                let mut lines = Vec::new();
                for line in rest.lines() {
                    lines.push(line);
                    if !line.ends_with(" \\") {
                        break;
                    }
                }
                let command = lines.join("\n");
                seen += 1;
                if !command.starts_with("dormouse ") {
                    let others = ["trace-cmd ", "grep ", "cat ", "cyclictest ", "less ", "dmesg "];
                    assert!(others.iter().any(|o| command.starts_with(o)), "{name:?}: {command}");
                    continue;
                }
                if let Err(e) = surface::parses(&shell(&command)) {
                    panic!("{name:?}: {command}: {e}");
                }
            }
        }
        assert!(seen >= 30, "{seen}");
    }

    /// Every verb that takes an input shows two commands, and these are valid.
    #[test]
    fn each_verb_has_two_examples_that_parse() {
        for verb in surface::VERBS.iter().map(|v| v.command()) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().filter(|l| l.starts_with("  dormouse ")).collect();
            assert!(lines.len() >= 2, "{}: {help}", verb.get_name());
            for line in lines {
                assert!(line.len() <= 80, "{line}");
                if let Err(e) = surface::parses(&shell(line.trim())) {
                    panic!("{line}: {e}");
                }
            }
        }
    }
}
