//! What a log keeps until it knows what it belongs to.

use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// The end of a callback whose begin did not come.
pub(crate) struct Loose {
    pub(super) owner: Box<[u8]>,
    pub(super) function: Box<[u8]>,
    pub(super) error: i32,
    pub(super) took: Ns,
    pub(super) at: u64,
    pub(super) timed: bool,
    /// The line is a row of a table and cannot be anything else.
    pub(super) row: bool,
    /// The duration holds what the device waited for its parent, and devices of
    /// several subsystems share the name: the longest counts, not their sum.
    pub(super) with_waits: bool,
}

/// Where the way down was given up.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    /// The phase that the first line of the refusal names.
    pub(super) phase: Phase,
    /// When its last line came.
    pub(super) at: Ns,
    /// What lies before it was laid out.
    pub(super) laid_out: bool,
}

/// Reading the image of the open cycle.
pub(super) struct Restore {
    /// When the image was made, by its clock as the log shows it and as the cycle counts.
    pub(super) made: Ns,
    pub(super) made_at: Ns,
    /// When the kernel that reads began with it, and its last word, by its own clock.
    pub(super) begun: Option<Ns>,
    pub(super) last: Option<Ns>,
    /// Its release, if the log tells.
    pub(super) release: Vec<u8>,
}
