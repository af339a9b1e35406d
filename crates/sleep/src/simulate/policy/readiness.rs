//! DC and DCw: two proposals.
//!
//! A counter per device says how many dependencies are not done yet; it counts
//! list members and live links only (no `no_pm` children, no dormant or
//! sync_state_only links, no edge against the list order, so it cannot
//! deadlock). The device that takes it to zero starts the dependent: a worker
//! item if it is asynchronous, in place if it has nothing to run in this phase.
//! No list mutex is held, nobody parks.
//!
//! DC keeps strict list order for synchronous devices; DCw lets the main thread
//! take the first one of the list that is ready, which drivers that rely on
//! list order without a declared link may not survive.

use super::{Ends, Evidence, Finished, FirstPass, G4, Policy, Reached, Rest, Walk};

const COUNTED: Walk = Walk {
    first_pass: FirstPass::StartReady,
    ends: Ends::TreeAndLinks,
    reached: Reached::InOrder,
    finished: Finished::StartReady,
    unlock_each: false,
    workers_wait: false,
    skip_empty_wait: true,
    skip_repeated: false,
};

/// Dependency counters, synchronous devices in strict list order.
pub const DC: Policy = Policy {
    name: "DC",
    kernels: "proposal, in no kernel",
    title: "dependency counters, list order for synchronous devices",
    source: "proposal of this project",
    evidence: Evidence::Proposal,
    suspend: COUNTED,
    resume: COUNTED,
    rest: Rest::Moves,
    counts_against_order: false,
    ..G4
};

/// Dependency counters, work-conserving main thread.
pub const DCW: Policy = Policy {
    name: "DCw",
    title: "dependency counters, main thread takes the first ready device",
    suspend: Walk { reached: Reached::FirstReady, ..COUNTED },
    resume: Walk { reached: Reached::FirstReady, ..COUNTED },
    ..DC
};
