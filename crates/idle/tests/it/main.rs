//! Tests of the idle crate, one binary.

mod by_hand;
mod data;
mod golden;
mod predict;
mod realtime;
mod recording;
