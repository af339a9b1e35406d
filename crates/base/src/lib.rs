//! The nouns that all kinds of sleep share.
//!
//! Readers fill a [`capture::Capture`]: devices, cycles, losses. Time is integer
//! nanoseconds ([`time::Ns`]), ids are newtypes, and graphs are flat arrays
//! indexed by them. This crate knows no rule of any kind of sleep; like the
//! other pure crates it does no I/O, spawns no thread and reads no clock.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod beside;
pub mod capture;
pub mod complete;
pub mod cycle;
pub mod device;
pub mod failure;
pub mod finding;
pub mod folder;
pub mod gate;
pub mod guest;
pub mod image;
pub mod inside;
pub mod loss;
pub mod lost;
pub mod mark;
pub mod names;
pub mod pairs;
pub mod phase;
pub mod power_domain;
pub mod ranked;
pub mod say;
pub mod stats;
pub mod tick;
pub mod time;
pub mod tolerance;
pub mod trip;
