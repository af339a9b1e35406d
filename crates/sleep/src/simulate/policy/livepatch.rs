//! The livepatch of kernel/scheduler (core.c, graph.c, pool.c) in a stock kernel.
//!
//! Its rules are those of DC and, with `conserve=1`, DCw. Here is also what the
//! machinery around them does: a graph that is made in the first phase and looked
//! through in the others, a pool of threads of its own whose idle ones are handed
//! their job, devices without a callback passed on by whoever made them ready. The
//! function that runs one device stays the kernel's, with the looks it takes at the
//! neighbours of a device; from 6.16 on it also offers them to workers, which do
//! nothing with them.

use super::{Ends, Evidence, Finished, FirstPass, G4, Policy, Reached, Rest, Walk};

const READY_WALK: Walk = Walk {
    first_pass: FirstPass::HandOut,
    ends: Ends::TreeAndLinks,
    reached: Reached::InOrder,
    finished: Finished::OfferAndPassOn,
    unlock_each: false,
    workers_wait: true,
    skip_empty_wait: false,
    skip_repeated: false,
};
const BEFORE_6_16: Walk = Walk { finished: Finished::PassOn, ..READY_WALK };

/// Devices start when they are ready, synchronous ones in list order.
pub const READY: Policy = Policy {
    name: "ready",
    kernels: "6.12 and 7.3 with dormouse_scheduler",
    title: "the livepatch: each device starts when it is ready",
    source: "kernel/scheduler of this project",
    evidence: Evidence::Kernel("6.12, 7.3"),
    suspend: READY_WALK,
    resume: READY_WALK,
    rest: Rest::Moves,
    counts_against_order: false,
    ..G4
};

/// And the main thread takes the first synchronous device that is ready.
pub const CONSERVE: Policy = Policy {
    name: "conserve",
    title: "the livepatch, main thread takes the first ready device",
    suspend: Walk { reached: Reached::FirstReady, ..READY_WALK },
    resume: Walk { reached: Reached::FirstReady, ..READY_WALK },
    ..READY
};

/// In a kernel whose devices wait for `SYNC_STATE_ONLY` links and offer nobody.
pub const READY_BEFORE_6_16: Policy = Policy {
    suspend: BEFORE_6_16,
    resume: BEFORE_6_16,
    waits_sync_state_only: true,
    syscore_is_late: false,
    ..READY
};

/// The same with the first ready device.
pub const CONSERVE_BEFORE_6_16: Policy = Policy {
    name: CONSERVE.name,
    title: CONSERVE.title,
    suspend: Walk { reached: Reached::FirstReady, ..BEFORE_6_16 },
    resume: Walk { reached: Reached::FirstReady, ..BEFORE_6_16 },
    ..READY_BEFORE_6_16
};
