//! G3: mainline 6.17 up to 6.17.7.
//!
//! As G2, and links count: a leaf has no consumer link and a root no supplier
//! link, whatever its state, dormant ones included (06799631d522,
//! ed18738fff02); a finished device also queues its suppliers or consumers,
//! dormant links excepted.

use super::{Ends, Evidence, Finished, G2, Policy, Walk};

/// Triggers along tree and links.
pub const G3: Policy = Policy {
    name: "G3",
    kernels: "6.17 up to 6.17.7",
    title: "as G2, and along device links",
    source: "mainline 6.17 up to 6.17.7; commits ed18738fff02, 06799631d522",
    evidence: Evidence::NotHeld("read in source; no kernel package without the later fix exists"),
    suspend: Walk { ends: Ends::TreeAndLinks, finished: Finished::QueueTreeAndLinks, ..G2.suspend },
    resume: Walk { ends: Ends::TreeAndLinks, finished: Finished::QueueTreeAndLinks, ..G2.resume },
    ..G2
};
