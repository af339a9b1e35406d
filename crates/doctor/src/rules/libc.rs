//! Words of the C library for errors.

use crate::message::{Message, Trust};

/// Errno 16.
pub(super) const EBUSY: i32 = 16;

/// So many letters tell which of them is meant.
const TELLING: usize = 4;

/// The number of an error that the C library put into words, of those that a write to
/// `/sys/power/state` can give.
pub(super) fn said_by_libc(why: &str) -> Option<i32> {
    const WORDS: [(&str, i32); 9] = [
        ("Operation not permitted", 1),
        ("Interrupted system call", 4),
        ("Input/output error", 5),
        ("Cannot allocate memory", 12),
        ("Device or resource busy", EBUSY),
        ("No such device", 19),
        ("Invalid argument", 22),
        ("No space left on device", 28),
        ("Connection timed out", 110),
    ];
    // A pager cuts what is wider than its screen, and says so.
    let cut = why.trim_end().strip_suffix(['>', '…']).filter(|c| c.len() >= TELLING);
    let is = |w: &&(&str, i32)| why.starts_with(w.0) || cut.is_some_and(|c| w.0.starts_with(c));
    WORDS.iter().find(is).map(|w| w.1)
}

/// Whether a driver says, in whatever words, that it had an error of this number, which is none
/// of the kernel: a code of its device.
pub(super) fn is_code(m: &Message, error: i32) -> bool {
    let mut words = m.text.split(|c: char| !c.is_ascii_alphanumeric());
    let number = error > 1 && words.any(|w| w.parse() == Ok(error));
    number && m.text.to_ascii_lowercase().contains("error") && m.trust != Trust::Prose
}
