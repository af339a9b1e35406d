//! Verbs about the power states of storage.

pub(crate) mod predict;
pub(crate) mod show;
pub(crate) mod tune;
pub(crate) mod verify;
