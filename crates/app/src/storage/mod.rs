//! Storage power states: one file a use case.

mod predict;
mod show;
mod sleeper;

pub use predict::{Predicted, predict};
pub use show::{Shown, show};
pub use sleeper::{Asked, Sleeper};
