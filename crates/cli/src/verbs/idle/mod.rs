//! Verbs about the idle states of CPUs.

mod apply;
pub(super) mod asked;
pub(crate) mod check;
pub(crate) mod predict;
pub(crate) mod reads;
pub(crate) mod show;
pub(crate) mod tune;
pub(crate) mod verify;

#[cfg(unix)]
pub(crate) use dormouse_record::verbs::hold;
