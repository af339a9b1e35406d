//! Storage power states: one file a use case.

mod predict;
mod show;

pub use predict::{Asked, Predicted, predict};
pub use show::{Shown, show};
