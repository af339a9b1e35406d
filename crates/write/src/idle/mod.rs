//! CPU idle states for a terminal.

mod numbers;
mod show;

pub use show::{Page, show};
