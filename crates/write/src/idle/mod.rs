//! CPU idle states for a terminal.

mod numbers;
mod predict;
mod show;

pub use predict::{Outlook, predict};
pub use show::{Page, show};
