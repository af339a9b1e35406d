//! CPU idle states for a terminal, for programs, and as files that set them.

mod absent;
pub mod apply;
pub mod check;
mod contrast;
mod dumps;
pub mod handover;
pub mod json;
mod late;
mod limit;
pub(crate) mod numbers;
mod pack;
mod powertop;
mod predict;
pub mod reads;
mod setting;
mod show;
pub mod tune;
mod turbostat;
mod used;
mod verdict;
mod wrapped;

pub use late::beside as late_beside;
pub use predict::{Outlook, predict};
pub use setting::words as setting_words;
pub use show::{Page, show};
pub use turbostat::beside;
pub use verdict::verdicts;
