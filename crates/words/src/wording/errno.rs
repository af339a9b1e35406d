//! Numbers of errors: their names, and what they mean of a device.

/// The name of an error, and what it means here.
fn error(n: i32) -> (&'static str, &'static str) {
    match n {
        -16 => ("EBUSY", "it was busy, or a wakeup was pending"),
        -22 => ("EINVAL", "it cannot do what was asked"),
        -110 => ("ETIMEDOUT", "it did not answer in time"),
        -108 => ("ESHUTDOWN", "its bus was suspended already"),
        -121 => ("EREMOTEIO", "it did not answer on its bus"),
        -6 => ("ENXIO", "it could not be reached"),
        -5 => ("EIO", "an I/O error"),
        -11 => ("EAGAIN", "try again"),
        -13 => ("EACCES", "it may not be used now"),
        -71 => ("EPROTO", "it answered wrongly on its bus"),
        -19 => ("ENODEV", "it is gone"),
        -12 => ("ENOMEM", "memory did not suffice"),
        -28 => ("ENOSPC", "there was no room: of a hibernation, in swap"),
        -95 => ("EOPNOTSUPP", "it cannot do that"),
        _ => ("", ""),
    }
}

/// `error -16 (EBUSY: it was busy, or a wakeup was pending)`.
pub(super) fn told(n: i32) -> String {
    match error(n) {
        ("", _) => format!("error {n}"),
        (name, what) => format!("error {n} ({name}: {what})"),
    }
}
