//! What the screens and the JSON of `doctor` and `domains` have in common: how a
//! finding begins, its evidence, what was not checked and what could not be read.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::plural;
use dormouse_base::finding::{Evidence, Level};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::say::moment;
use serde_json::{Value, json};

/// How a level begins a sentence.
pub(crate) fn word(level: Level) -> &'static str {
    match level {
        Level::Broken => "Broken",
        Level::Slow => "Slow",
        Level::Risk => "Risk",
        Level::Note => "Note",
    }
}

/// `line 123, at 45.678901 s: text`.
pub(crate) fn shown(e: &Evidence) -> String {
    let time = e.time.map_or(String::new(), |t| format!(" at {}", moment(t, 6)));
    match e.line {
        // A file of the machine, or its log, which has no lines to count.
        0 if time.is_empty() => safe(&e.text).into_owned(),
        0 => format!("{}: {}", time.trim_start(), safe(&e.text)),
        line => format!("line {line}{time}: {}", safe(&e.text)),
    }
}

/// How many findings stand below the first.
pub(crate) fn below(rest: usize) -> String {
    format!("{} below.", plural(rest, "further finding"))
}

/// The end of a screen: what was not checked and why, and what could not be read.
pub(crate) fn left_out(page: &mut Page, unchecked: &[(String, String)], losses: &Losses) {
    if !unchecked.is_empty() {
        page.blank();
        page.line(&[(Ink::Plain, "Not checked")]);
        for (what, why) in unchecked {
            page.entry("  - ", &format!("{what}: {why}"));
        }
    }
    for l in losses.list.iter().filter(|l| l.severity > Severity::Info) {
        page.entry("Caution: ", &safe(&l.advice));
    }
}

/// What was not checked, as JSON.
pub(crate) fn not_checked(unchecked: &[(String, String)]) -> Value {
    unchecked.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect()
}
