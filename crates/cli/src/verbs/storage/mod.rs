//! Verbs about the power states of storage.

pub mod predict;
pub mod show;
pub mod tune;
pub mod verify;
