//! What a source shows to have lost.

use crate::phase::Phase;

/// What a source shows to have lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostKind {
    /// Callbacks ended whose begin is missing.
    Starts,
    /// Lines that are cut off or torn apart.
    Lines,
    /// Messages that the kernel says it dropped.
    Messages,
    /// Places where lines were left out (`grep`).
    Places,
    /// Places where a line breaks off and goes on in the middle of a later one: what
    /// lay between is lost.
    Holes,
    /// Events with a time before that of an event further up. Nothing of them is
    /// missing.
    Order,
}

/// So many losses of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The device phase it happened in; `None` where that is not known, which
    /// may be any.
    pub phase: Option<Phase>,
    /// What.
    pub kind: LostKind,
    /// How many.
    pub count: u64,
}
