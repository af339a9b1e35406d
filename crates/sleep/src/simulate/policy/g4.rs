//! G4: mainline 6.18 to 7.3, stable 6.17.8 and later.
//!
//! As G3, but nobody waits on links that are only there for sync_state
//! (632d31067be2). They still count in the leaf and root tests and still
//! trigger. From 6.18 a syscore device passes the late phase as
//! "late-suspended".

use super::{Evidence, G3, Policy};

/// No wait on `SYNC_STATE_ONLY` links.
pub const G4: Policy = Policy {
    name: "G4",
    kernels: "6.17.8 to 7.3",
    title: "as G3, without waiting on sync_state_only links",
    source: "mainline 6.18 to 7.3, stable 6.17.8 and later; commit 632d31067be2",
    evidence: Evidence::Kernel("7.2"),
    waits_sync_state_only: false,
    syscore_is_late: true,
    ..G3
};
