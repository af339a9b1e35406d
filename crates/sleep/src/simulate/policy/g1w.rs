//! G1w: mainline 6.8, stable 6.1.76 and later, 6.6.15 and later.
//!
//! Commit 7839d0078e0d and its backports fold the two resume passes into one:
//! an asynchronous device is queued only when the walk reaches it, so one that
//! stands behind slow synchronous devices starts late. The list mutex is
//! released around every device, in both directions.

use super::{FirstPass, G1, Policy, Reached, Walk};

/// Single-pass resume.
pub const G1W: Policy = Policy {
    name: "G1w",
    kernels: "6.8, 6.1.76 and later, 6.6.15 and later",
    title: "queued while walking, in both directions",
    source: "mainline 6.8, stable 6.1.76 and later and 6.6.15 and later; commit 7839d0078e0d",
    evidence: super::Evidence::Kernel("6.1.192"),
    suspend: Walk { unlock_each: true, ..G1.suspend },
    resume: Walk {
        first_pass: FirstPass::Nothing,
        reached: Reached::InitAndQueue,
        unlock_each: true,
        ..G1.resume
    },
    ..G1
};
