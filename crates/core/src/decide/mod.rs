//! Decisions: is there a difference, what meets a budget, which flags to set;
//! and whether a kernel then did what was predicted.

pub mod compare;
pub mod energy;
pub mod hold;
pub mod keep;
pub mod plan;
pub mod search;
pub mod tune;
