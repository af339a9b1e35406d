//! Words of the page that are not figures.

use dormouse_core::understand::path::Reason;

/// Every reason in the order of its number on the page, with its words. Those
/// that end in "for" or "after" are followed by a device.
pub const REASONS: [(Reason, &str); 10] = [
    (Reason::Unexplained, "not explained by this log"),
    (Reason::Child, "waited for its child"),
    (Reason::Parent, "waited for its parent"),
    (Reason::Consumer, "waited for its consumer"),
    (Reason::Supplier, "waited for its supplier"),
    (Reason::MainThread, "order on the main thread, after"),
    (Reason::Queue, "queued by the main thread only after"),
    (Reason::WorkerStart, "ready, but its worker thread started late, after"),
    (Reason::PhaseBegin, "the first of its phase"),
    (Reason::PhaseEnd, "after the last callback, until the phase ended"),
];

/// The number of a reason on the page.
pub fn reason_number(reason: Reason) -> u8 {
    REASONS.iter().position(|(r, _)| *r == reason).unwrap_or(0) as u8
}
