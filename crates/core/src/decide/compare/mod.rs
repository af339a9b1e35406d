//! Comparing recordings with honest statistics.
//!
//! [`contrast`] answers "is there a difference" for one figure, [`steady`]
//! says whether a recording may be judged at all.

pub mod contrast;
pub mod steady;
