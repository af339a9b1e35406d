//! The four patches of kernel/upstream on 7.3: what they leave of the walk.
//!
//! A leaf is a device that would not wait (patch 3). A device that is inert, which has no
//! callback in any phase, no runtime PM and no link, is passed by the walk until nothing
//! would hold it up; whoever waits for it before that handles it, and the walk handles
//! the rest at its end (patch 4). Patches 1 and 2 mend hangs and take no time.

use super::{Ends, Evidence, G4, Policy, Walk};

/// Nothing but work holds up the walk.
pub const SERIES: Policy = Policy {
    name: "series",
    kernels: "7.3 with the patches of kernel/upstream",
    title: "as G4, nothing but work holds up the walk",
    source: "kernel/upstream of this project",
    evidence: Evidence::Kernel("7.3"),
    suspend: Walk { ends: Ends::Unhindered, ..G4.suspend },
    resume: Walk { ends: Ends::Unhindered, ..G4.resume },
    passes_inert: true,
    ..G4
};
