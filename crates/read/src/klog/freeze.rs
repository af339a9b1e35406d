//! Freezing: how long it took, and who would not freeze.

use super::number::seconds;
use crate::text;
use dormouse_base::time::Ns;
use dormouse_doctor::stack;

/// The task that a line of the dump after a failed freeze names.
pub(super) fn task(text: &[u8]) -> Option<String> {
    stack::task(&String::from_utf8_lossy(text)).map(|t| t.name)
}

/// `(elapsed 0.001 seconds)`.
pub(super) fn elapsed(text: &[u8]) -> Option<Ns> {
    let at = text::find(text, b"(elapsed ")?;
    seconds(&text[at + b"(elapsed ".len()..])
}
