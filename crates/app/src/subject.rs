//! What inputs speak of, so that whoever finds nothing in them can say where to look.

use dormouse_read::Given;
use dormouse_read::idle::Keep;
use std::path::{Path, PathBuf};

/// Whether an input holds what `show --only domains` reads: another verb that found
/// nothing can say so.
pub fn speaks_of_domains(given: &Given) -> bool {
    given.power().is_ok_and(|all| all.iter().any(|t| t.case.speaks()))
}

/// Whether an input holds what `show --only storage` reads: another verb that found
/// nothing can say so.
pub fn speaks_of_storage(given: &Given) -> bool {
    given.storage().is_ok_and(|r| r.speaks())
}

/// Whether an input holds what `show --only idle` reads: another verb that found nothing can
/// say so.
pub fn speaks_of_idle(given: &Given) -> bool {
    given.idle(Keep::Counts).is_ok_and(|r| r.speaks())
}

/// Programs whose output people post and no reader here knows, each with words that one of its
/// lines has.
const UNREAD: [(&str, &[&str]); 5] = [
    ("rows of cyclictest that are cut", &["T: ", "Min:", "Act:"]),
    ("a report of stress-ng", &["stress-ng: info:"]),
    ("a table of PowerTOP", &["Package", "|", "CPU 0"]),
    ("a table of rtla", &["Operating System Noise"]),
    ("what turbostat prints before its table", &["MSR_", "pkg-cstate-limit"]),
];

/// What an input is of that no reader here knows.
pub(crate) fn unread(given: &Given, path: &Path) -> Option<&'static str> {
    let bytes = (!path.is_dir()).then(|| given.raw(path).ok()).flatten()?;
    let text = String::from_utf8_lossy(&bytes);
    let has = |words: &[&str]| text.lines().any(|l| words.iter().all(|w| l.contains(w)));
    UNREAD.iter().find(|(_, words)| has(words)).map(|(what, _)| *what)
}

/// The text of a board file, which begins with `board N`.
pub fn board_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'))?;
    first.strip_prefix("board")?.starts_with(char::is_whitespace).then_some(text)
}

/// Whether a file can be read and is a board file.
pub fn is_board_file(given: &Given, path: &Path) -> bool {
    let opened = (!path.is_dir()).then(|| given.raw(path).ok()).flatten();
    opened.is_some_and(|b| {
        board_text(String::from_utf8_lossy(&b[..b.len().min(4096)]).as_bytes()).is_some()
    })
}

/// The form that reads what another one found nothing in.
pub(crate) fn elsewhere(given: &Given) -> Option<&'static str> {
    if speaks_of_domains(given) {
        return Some(
            "\n  it speaks of power domains or probing: dormouse show --only domains (before: domains show)",
        );
    }
    if speaks_of_storage(given) {
        return Some(
            "\n  it speaks of storage: dormouse show --only storage (before: storage show)",
        );
    }
    if speaks_of_idle(given) {
        return Some("\n  it speaks of CPU idle: dormouse show --only idle (before: idle show)");
    }
    let boots = |path: &PathBuf| !path.is_dir() && given.raw(path).is_ok_and(|b| is_boot(&b));
    given.paths().iter().any(boots).then_some("\n  this is a boot, no sleep")
}

/// Whether a text without a sleep tells of a boot: `initcall FN returned 0 after N usecs`
/// (init/main.c:trace_initcall_finish_cb, 6.12), or what systemd-analyze prints.
fn is_boot(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().any(|l| {
        l.contains("initcall ") && l.contains(" returned ") && l.contains(" usecs")
            || l.contains("Startup finished in ") && l.contains("(kernel)")
    })
}
