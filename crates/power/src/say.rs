//! Pieces of the sentences that rules and screens are made of.

use crate::root::{Cause, Fate};

/// `waits`, `wait`.
pub(crate) fn verb(n: usize, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

/// ` (EREMOTEIO)` behind a number.
pub(crate) fn error(n: i32) -> String {
    let name = match n {
        -2 => "ENOENT",
        -5 => "EIO",
        -6 => "ENXIO",
        -16 => "EBUSY",
        -19 => "ENODEV",
        -22 => "EINVAL",
        -110 => "ETIMEDOUT",
        -121 => "EREMOTEIO: it did not answer on its bus",
        _ => return n.to_string(),
    };
    format!("{n} ({name})")
}

/// A probe that failed.
pub fn failure(device: &str, n: i32) -> String {
    format!("{device}: error {}", error(n))
}

/// `LNXPOWER:02 (\\_SB.PR02)`.
pub fn named(name: &str, path: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{name} ({path})") }
}

/// What holds devices up.
pub fn cause(c: &Cause) -> String {
    match c {
        Cause::Device { name, fate: Fate::Failed(e) } => {
            format!("{name}, whose own probe failed with error {}", error(*e))
        }
        Cause::Device { name, fate: Fate::Probing(driver) } => {
            format!("{name}, whose driver {driver} had begun and was not ready")
        }
        Cause::Device { name, fate: Fate::Later(driver) } => {
            format!("{name}, of which {driver} speaks later")
        }
        Cause::Device { name, fate: Fate::Silent } => format!("{name}, which has no driver yet"),
        Cause::Node { path } => format!("the node {path}, which is no device yet"),
        Cause::Lost => "a supplier whose name the text lost".into(),
        Cause::Own { reason } => format!("what the driver says: {reason}"),
        Cause::Parts { reason } => format!("the parts of a sound card ({reason})"),
        Cause::Brother { name, error: e } => format!(
            "something that the kernel does not say; {name}, of the same kind, failed with error {}",
            error(*e)
        ),
        Cause::Unsaid { hint: Some(hint) } => {
            format!("something that the kernel does not say; nearby stands: {hint}")
        }
        Cause::Unsaid { hint: None } => "something that the kernel does not say".into(),
        Cause::Loop => "each other".into(),
        Cause::Part { of, part, by } => format!(
            "each other, most likely: {of} cannot make its part {part}, and {by} waits for what is \
             inside"
        ),
    }
}
