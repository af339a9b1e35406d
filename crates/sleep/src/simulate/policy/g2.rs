//! G2: mainline 6.16.
//!
//! A first pass queues the ends of the tree: devices without children when
//! suspending (aa7a9275ab81), without parent when resuming (0cbef962ce1f,
//! 443046d1ad66). A finished device queues its parent or its children, ready or
//! not. The walk still queues whatever asynchronous device it reaches. An abort
//! completes the devices that were not reached and moves them over
//! (ebd6884167ea).

use super::{Ends, Evidence, Finished, FirstPass, G1, Policy, Reached, Rest, Walk};

/// Triggers along the tree.
pub const G2: Policy = Policy {
    name: "G2",
    kernels: "6.16",
    title: "leaves and roots first, a finished device queues parent or children",
    source: "mainline 6.16; commits 0cbef962ce1f, aa7a9275ab81, 443046d1ad66, ebd6884167ea",
    evidence: Evidence::NotHeld("read in a disassembly of 6.16.12"),
    suspend: Walk {
        first_pass: FirstPass::QueueEnds,
        ends: Ends::Tree,
        reached: Reached::Claim,
        finished: Finished::QueueTree,
        ..G1.suspend
    },
    resume: Walk {
        first_pass: FirstPass::QueueEnds,
        ends: Ends::Tree,
        reached: Reached::Claim,
        finished: Finished::QueueTree,
        ..G1.resume
    },
    rest: Rest::Moves,
    counts_against_order: true,
    ..G1
};
