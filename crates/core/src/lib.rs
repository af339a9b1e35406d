//! The nouns of dormouse and all of its thinking.
//!
//! This crate does no I/O, spawns no thread, reads no clock and has no unsafe
//! code, so it compiles to WebAssembly and gives the same bits there. Time is
//! integer nanoseconds ([`time::Ns`]), ids are newtypes, and graphs are flat
//! arrays indexed by them.
//!
//! The flow: readers fill a [`capture::Capture`]; `understand` explains its
//! cycles; `simulate` makes new cycles of the same type from a
//! [`board::Board`]; `decide` compares and chooses.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

pub mod board;
pub mod capture;
pub mod cycle;
pub mod decide;
pub mod device;
pub mod loss;
pub mod names;
pub mod phase;
pub mod random;
pub mod simulate;
pub mod statistics;
pub mod time;
pub mod understand;
