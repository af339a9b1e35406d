//! CPU idle states for a terminal, for programs, and as files that set them.

pub mod check;
mod contrast;
pub mod handover;
pub mod json;
mod numbers;
mod predict;
mod setting;
mod show;
pub mod tune;
mod turbostat;

pub use predict::{Outlook, TRUSTED, predict};
pub use setting::words as setting_words;
pub use show::{Page, show};
