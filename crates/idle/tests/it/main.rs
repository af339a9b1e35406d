//! Tests of the idle crate, one binary.
// Tests read files; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod by_hand;
mod data;
mod golden;
mod predict;
mod realtime;
mod recording;
