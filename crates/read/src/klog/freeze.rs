//! Who would not freeze.

use dormouse_doctor::stack;

/// The task that a line of the dump after a failed freeze names.
pub(super) fn task(text: &[u8]) -> Option<String> {
    stack::task(&String::from_utf8_lossy(text)).map(|t| t.name)
}
