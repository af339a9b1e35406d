//! Verbs about the idle states of CPUs.

mod apply;
pub(super) mod asked;
pub mod check;
pub mod predict;
pub mod reads;
pub mod show;
pub mod tune;
pub mod verify;

pub use dormouse_record::verbs::hold;
