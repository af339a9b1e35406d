//! G1: mainline up to 6.7 and 6.9 to 6.15; Debian 6.12.
//!
//! Suspend phases queue an asynchronous device when the walk reaches it. Resume
//! phases queue all of them in a first pass, under the list mutex, before any
//! synchronous device runs (the order that commit 7839d0078e0d lost for 6.8 and
//! 3e999770ac1c restored).

use super::{Ends, Evidence, Finished, FirstPass, Policy, Reached, Rest, Walk};

/// Two-pass resume.
pub const G1: Policy = Policy {
    name: "G1",
    kernels: "up to 6.7, 6.9 to 6.15",
    title: "queued while walking; resume queues all first",
    source: "mainline up to 6.7 and 6.9 to 6.15, Debian 6.12; commit 3e999770ac1c",
    evidence: Evidence::Kernel("6.12"),
    workers: true,
    suspend: Walk {
        first_pass: FirstPass::Nothing,
        ends: Ends::Tree,
        reached: Reached::InitAndQueue,
        finished: Finished::Nothing,
        unlock_each: false,
        workers_wait: true,
        skip_empty_wait: false,
        skip_repeated: false,
    },
    resume: Walk {
        first_pass: FirstPass::QueueAll,
        ends: Ends::Tree,
        reached: Reached::Leave,
        finished: Finished::Nothing,
        unlock_each: false,
        workers_wait: true,
        skip_empty_wait: false,
        skip_repeated: false,
    },
    waits_sync_state_only: true,
    parent_under_lock: true,
    rest: Rest::Stays,
    syscore_is_late: false,
    counts_against_order: false,
    packs_workers: false,
    passes_inert: false,
};

/// Before 5.6 a worker does not take the list mutex to wait for its superiors,
/// so it starts while the first pass still queues others (seen in recordings of
/// 5.3).
pub const G1_BEFORE_5_6: Policy = Policy { parent_under_lock: false, ..G1 };
