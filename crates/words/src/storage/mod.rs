//! Storage power states: pages, sentences and JSON.

mod beside;
pub mod disk;
pub mod handover;
mod json;
pub mod model;
pub mod predict;
pub mod rpm;
pub mod seek;
mod show;
mod tables;
pub mod tune;
pub mod verdict;

pub use beside::beside;
pub use json::json;
pub use show::show;

use dormouse_base::loss::Losses;
use dormouse_storage::knobs::Knobs;
use dormouse_storage::levels::{Drive, Transitions};
use dormouse_storage::load::Job;
use dormouse_storage::recording::Trace;
use dormouse_storage::summary::DiskSummary;

/// Of so many things each is told by itself.
const FEW: usize = 3;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Traces.
    pub traces: &'a [Trace],
    /// The disks of each trace, those with most latency first.
    pub disks: &'a [Vec<DiskSummary>],
    /// NVMe drives.
    pub drives: &'a [Drive],
    /// Tables of devfreq.
    pub transitions: &'a [Transitions],
    /// Jobs of fio.
    pub jobs: &'a [Job],
    /// Settings of sysfs.
    pub knobs: &'a Knobs,
    /// What could not be read.
    pub losses: &'a Losses,
    /// Whether another delay can be predicted of what was read: that of clocks, and that of
    /// runtime suspend.
    pub foretold: [bool; 2],
    /// Most entries in a list.
    pub top: usize,
}
