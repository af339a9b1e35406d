//! A finding, and its place among those that are equally bad.

use dormouse_base::finding::Finding;

/// A finding, and its place among those that are equally bad.
pub(crate) struct Found {
    pub(crate) finding: Finding,
    /// A probe that failed comes first: what waits may do so because of it.
    pub(crate) is_failure: bool,
    /// How much it explains.
    pub(crate) weight: u64,
}

pub(super) fn found(finding: Finding) -> Found {
    weighing(finding, 0)
}

/// One that explains so many others.
pub(super) fn weighing(finding: Finding, weight: u64) -> Found {
    Found { finding, is_failure: false, weight }
}
