//! System sleep: suspend, resume and hibernation.
//!
//! `analyse` explains the cycles of a capture; `simulate` makes new cycles of
//! the same type from a [`dormouse_board::Board`]; `compare`, `plan` and `tune`
//! decide. Like all pure crates this one does no I/O, spawns no thread, reads
//! no clock and has no unsafe code, so it compiles to WebAssembly and gives the
//! same bits there.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod acceptance;
pub mod analyse;
pub mod budget;
pub mod compare;
pub mod culprits;
pub mod energy;
pub mod evaluate;
pub mod evidence;
pub mod modes;
pub mod plan;
pub mod simulate;
pub mod tolerance;
pub mod tune;
pub mod validate;
