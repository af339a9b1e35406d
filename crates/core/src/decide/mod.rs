//! Decisions: is there a difference, what meets a budget, which flags to set.

pub mod compare;
pub mod energy;
pub mod plan;
pub mod search;
pub mod tune;
