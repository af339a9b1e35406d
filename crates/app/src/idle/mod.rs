//! What inputs say of CPU idle states, and what would be better.

pub mod apply;
mod machine;
mod predict;
mod reads;
mod recorded;
mod show;
mod tune;
pub mod verify;
mod watts;

pub use machine::{Cpu, Machine, Present};
pub use predict::{Asked, Limit, Outcome, Prediction, Setting, Sweep, predict, sweep};
pub use reads::{Reads, Row, Wait, reads};
pub use show::{
    Shown, compare, compare_late, compare_late_one, compare_one, says_none, show, show_sleeps,
};
pub use tune::{Budget, Tuned, Wish, tune};
pub use watts::{Watts, microwatts};
