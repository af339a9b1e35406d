//! Words of the page that are not figures.

use dormouse_sleep::analyse::path::Reason;

/// A reason in words; those that end in "child", "after" and the like are
/// followed by a device.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Unexplained => "not explained by this log",
        Reason::Child => "waited for its child",
        Reason::Parent => "waited for its parent",
        Reason::Consumer => "waited for its consumer",
        Reason::Supplier => "waited for its supplier",
        Reason::MainThread => "order on the main thread, after",
        Reason::Queue => "queued by the main thread only after",
        Reason::WorkerStart => "ready, but its worker thread started late, after",
        Reason::PhaseBegin => "the first of its phase",
        Reason::PhaseEnd => "after the last callback, until the phase ended",
    }
}
