//! The last line of a screen: the next command.

use dormouse_model::capture::Capture;

/// `Next: dormouse predict FILE --without usb1`.
pub fn next(command: &str) -> String {
    format!("Next: dormouse {command}")
}

/// The file that every cycle of `captures` comes from, as it was typed;
/// `FILE` if there are several, or none.
pub fn file<'a>(captures: impl IntoIterator<Item = &'a Capture>) -> String {
    let mut found: Option<&str> = None;
    for c in captures {
        for cycle in &c.cycles {
            let source = c.names.get(cycle.source);
            let file = match source.rsplit_once('#') {
                Some((file, n)) if n.bytes().all(|b| b.is_ascii_digit()) => file,
                _ => source,
            };
            if found.is_some_and(|f| f != file) {
                return "FILE".into();
            }
            found = Some(file);
        }
    }
    match found {
        None | Some("" | "stdin") => "FILE".into(),
        Some(f) => word(f),
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

/// How to get a log that names devices: as long as the log has no callbacks.
pub const NO_CALLBACKS: &str =
    "No device callbacks in this log, so no device can be named. Run these two as root:";

/// The two commands.
pub const PRINT_TIMES: [&str; 2] =
    ["echo 1 > /sys/power/pm_print_times", "echo 1 > /sys/power/pm_debug_messages"];

/// And then.
pub const THEN_RECORD: &str = "Then suspend, wake up, and: dmesg > log; dormouse show log";

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn words_of_a_shell() {
        assert_eq!(word("captures/a-1.tar.gz"), "captures/a-1.tar.gz");
        assert_eq!(word("a b"), "'a b'");
        assert_eq!(word("it's"), "'it'\\''s'");
    }
}
