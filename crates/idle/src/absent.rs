//! What a text says of a machine that has no idle states: that answer is one too.

use serde::Serialize;

/// An answer that there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// The text.
    pub label: String,
    /// Its line, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
    /// The CPU it is about, if it says so.
    pub cpu: Option<u32>,
    /// The governor that would choose, if it says so: it is there without a driver too.
    pub governor: Option<String>,
}
