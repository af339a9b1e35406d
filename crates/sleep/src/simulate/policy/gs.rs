//! GS: Saravana Kannan's first series, "Optimize async device suspend/resume"
//! (14 November 2024, Message-Id 20241114220921.2529905-1, patch 4/5), never
//! merged.
//!
//! Breadth first: an asynchronous device is started when everything it depends
//! on is done, by whoever finished the last dependency, so workers never wait.
//! Devices without callbacks and direct-complete ones run in the place that
//! starts them. Synchronous devices, also without callbacks, are still
//! completed by the main walk only.

use super::{Ends, Evidence, Finished, FirstPass, G1, Policy, Reached, Rest, Walk};

const BREADTH_FIRST: Walk = Walk {
    first_pass: FirstPass::StartReady,
    ends: Ends::TreeAndLinks,
    reached: Reached::LeaveToOthers,
    finished: Finished::StartReady,
    unlock_each: false,
    workers_wait: false,
    skip_empty_wait: false,
    skip_repeated: false,
};

/// Breadth first.
pub const GS: Policy = Policy {
    name: "GS",
    kernels: "a series that was never merged",
    title: "Kannan's breadth-first series, only ready devices are queued",
    source: "lore.kernel.org 20241114220921.2529905-1-saravanak@google.com, patch 4/5",
    evidence: Evidence::NotHeld("read in the patch; never merged"),
    suspend: BREADTH_FIRST,
    resume: BREADTH_FIRST,
    rest: Rest::Moves,
    counts_against_order: true,
    ..G1
};

/// Without the last patch of the series, 5/5, which switches energy-aware scheduling
/// off while devices resume, so that workers spread over all CPUs. Differs from the
/// whole series only where CPUs differ.
pub const GS_PACKED: Policy = Policy {
    name: "GS-packed",
    title: "the same without its patch that spreads workers over all CPUs",
    source: "lore.kernel.org 20241114220921.2529905-1-saravanak@google.com, without 5/5",
    packs_workers: true,
    passes_inert: false,
    ..GS
};
