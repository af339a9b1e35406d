//! Words of the C library for errors.

/// Errno 16.
pub(super) const EBUSY: i32 = 16;

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
    WORDS.iter().find(|w| why.starts_with(w.0)).map(|w| w.1)
}
