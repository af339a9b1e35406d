//! Searching for changes: the smallest set that meets a budget, and the best
//! setting of many flags. Both know nothing of devices; they ask a caller what
//! a choice costs, and stop after a number of such questions, so that a result
//! does not depend on how fast the machine is.

pub mod flags;
pub mod smallest;
