//! Storage power states: one file a use case.

mod change;
mod clocked;
mod described;
mod observed;
mod predict;
mod rpm;
mod seek;
mod show;
mod sleeper;
mod tune;
mod verify;

pub use change::{Change, Site};
pub use clocked::{Clocked, clocked};
pub use described::{Basis, Foretold, described};
pub use observed::Observed;
pub use predict::{Predicted, predict};
pub use rpm::{Rpm, rpm};
pub use seek::{Sought, seek_described, seek_recorded};
pub use show::{Shown, compare, show};
pub use sleeper::{Asked, Sleeper};
pub use tune::{Budget, Tuned, Wish, tune};
pub use verify::{FITTED, Verified, verify};
