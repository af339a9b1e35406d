//! What `--json` prints: one schema a command, and what of it was asked.
//!
//! A schema is `dormouse-COMMAND/VERSION`. New fields may come; one that goes, or
//! changes its name or meaning, raises the version.

use serde::Serialize;
use serde_json::Value;

/// `show --json`: sleep at the top, a member for each other subject.
pub const SHOW: &str = "dormouse-show/2";
/// `check --json`.
pub const CHECK: &str = "dormouse-check/1";
/// `predict --json`.
pub const PREDICT: &str = "dormouse-predict/1";
/// `tune --json`.
pub const TUNE: &str = "dormouse-tune/1";
/// `compare --json`.
pub const COMPARE: &str = "dormouse-compare/1";
/// `search --json`.
pub const SEARCH: &str = "dormouse-search/1";
/// `calibrate --json`.
pub const CALIBRATE: &str = "dormouse-calibrate/1";
/// `lab run --json`.
pub const RUN: &str = "dormouse-run/1";
/// `watch --json`.
pub const WATCH: &str = "dormouse-watch/1";

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    subject: &'static str,
    #[serde(flatten)]
    answer: Value,
}

/// The document of an answer, which is an object. `subject` is what `--only` takes.
pub fn document(schema: &'static str, subject: &'static str, answer: impl Serialize) -> String {
    pretty(&Document { schema, subject, answer: value(answer) })
}

/// An answer that becomes a member of a document.
pub fn section(answer: impl Serialize) -> String {
    pretty(&value(answer))
}

/// An answer with its keys in the order of the alphabet, whatever its fields are in.
pub(crate) fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("an answer is an object with names as keys")
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a value is JSON") + "\n"
}
