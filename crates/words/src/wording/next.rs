//! The last line of a screen: the next command.

use crate::text::{WIDTH, safe, width};
use dormouse_base::capture::Capture;

/// `Next: dormouse predict FILE --without usb1`, with its line end.
pub fn next(command: &str) -> String {
    run(&format!("dormouse {command}"))
}

/// `Next: trace-cmd record -e irq`: a command of another program.
pub fn run(command: &str) -> String {
    lines(&format!("Next: {command}"))
}

/// A command in lines of at most 80 columns, each but the last with the
/// backslash that makes a shell read on. A word that is longer is not cut: it
/// would be another command.
pub fn lines(command: &str) -> String {
    let command = safe(command);
    let mut out = String::new();
    let mut used = 0;
    let mut words = with_values(split(&command)).into_iter().peekable();
    while let Some(w) = words.next() {
        let room = if words.peek().is_some() { WIDTH - " \\".len() } else { WIDTH };
        if used > 0 && used + 1 + width(&w) > room {
            out.push_str(" \\\n");
            used = 0;
            if 2 + width(&w) <= room {
                out.push_str("  ");
                used = 2;
            }
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(&w);
        used += width(&w);
    }
    out + "\n"
}

/// An option and its value stay together, where a line has room for both.
fn with_values(words: Vec<&str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut option = false;
    for w in words {
        let value = option && !w.starts_with('-');
        match out.last_mut().filter(|o| value && width(o) + 1 + width(w) <= WIDTH - 4) {
            Some(o) => {
                o.push(' ');
                o.push_str(w);
            }
            None => out.push(w.into()),
        }
        option = w.starts_with('-') && w != "-";
    }
    out
}

/// The words of a command line as a shell sees them, quotes and all.
fn split(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if !quoted => escaped = true,
            '\'' => quoted = !quoted,
            ' ' if !quoted => {
                out.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out.retain(|w| !w.is_empty());
    out
}

/// The file of a source: without the number of its cycle, `a.tar.gz#2`.
pub fn file_of(source: &str) -> &str {
    match source.rsplit_once('#') {
        Some((file, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => file,
        _ => source,
    }
}

/// A path as an argument, as it was typed; `FILE` for standard input, which
/// cannot be read twice.
pub fn typed(path: &str) -> String {
    if matches!(path, "" | "-" | "stdin") { "FILE".into() } else { word(path) }
}

/// The file that every cycle of `captures` comes from, as it was typed;
/// `FILE` if there are several, or none.
pub fn file<'a>(captures: impl IntoIterator<Item = &'a Capture>) -> String {
    let mut found: Option<&str> = None;
    for c in captures {
        for cycle in &c.cycles {
            let file = file_of(c.names.get(cycle.source));
            if found.is_some_and(|f| f != file) {
                return "FILE".into();
            }
            found = Some(file);
        }
    }
    typed(found.unwrap_or(""))
}

/// The inputs of a command as they were `typed`, if each can be read again; else the
/// file of `captures`.
pub fn inputs<'a>(typed: &[String], captures: impl IntoIterator<Item = &'a Capture>) -> String {
    let again = |t: &String| !matches!(t.as_str(), "" | "-");
    match typed.iter().all(again) && !typed.is_empty() {
        true => typed.iter().map(|t| word(t)).collect::<Vec<_>>().join(" "),
        false => file(captures),
    }
}

/// The one input of a command: the one that was `typed`, or of several the file that
/// `source` names.
pub fn input<'a>(
    inputs: &[String],
    source: &str,
    captures: impl IntoIterator<Item = &'a Capture>,
) -> String {
    match inputs {
        [one] => typed(one),
        [] => file(captures),
        _ => typed(file_of(source)),
    }
}

/// A word of a command line: quoted if a shell would read more into it.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Why no device is named, as long as the log has no callbacks.
pub(crate) const NO_CALLBACKS: &str = "No device callbacks in this log, so no device can be named.";

/// The same where a message names the device that failed.
pub(crate) const NO_TIMES: &str = "No device callbacks in this log, so no device's time is known.";

/// The same where nothing but the end of a sleep is timed.
pub(crate) const NO_PHASES: &str = "This log times no phase of a sleep and names no device of it.";

/// What gets a log that does.
pub(crate) const FOR_CERTAIN: &str = "To have each device's time, run these two as root:";

/// The two commands.
pub(crate) const PRINT_TIMES: [&str; 2] =
    ["echo 1 > /sys/power/pm_print_times", "echo 1 > /sys/power/pm_debug_messages"];

/// And then.
pub(crate) const THEN_RECORD: &str = "Then suspend, wake up, and: dmesg > log; dormouse show log";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        assert_eq!(word("captures/a-1.tar.gz"), "captures/a-1.tar.gz");
        assert_eq!(word("a b"), "'a b'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(split("a 'b c' 'it'\\''s x' d"), ["a", "'b c'", "'it'\\''s x'", "d"]);
    }

    #[test]
    fn a_long_command_is_still_one_command() {
        let text = next(&format!("show {} {} 'a b'", "x".repeat(58), "y".repeat(90)));
        let want =
            format!("Next: dormouse show {} \\\n{} \\\n  'a b'\n", "x".repeat(58), "y".repeat(90));
        assert_eq!(text, want);
        // The last word needs no room for a backslash.
        let text = next(&format!("show {}", "x".repeat(60)));
        assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [80]);
    }

    #[test]
    fn a_file_is_named_without_the_number_of_its_cycle() {
        assert_eq!(file_of("a.tar.gz#12"), "a.tar.gz");
        assert_eq!(file_of("log#x"), "log#x");
        assert_eq!(file_of("log#"), "log#");
        assert_eq!(typed("-"), "FILE");
    }
}
