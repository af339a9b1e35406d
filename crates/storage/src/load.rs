//! What a load measured by itself: a job of fio.

/// One direction of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Name of the job, and of the file.
    pub name: String,
    /// `read`, `write` or `trim`.
    pub direction: String,
    /// Requests.
    pub requests: u64,
    /// Bytes a second.
    pub bandwidth: u64,
    /// Mean latency of completion, ns.
    pub mean: u64,
    /// Least, ns.
    pub least: u64,
    /// Most, ns.
    pub most: u64,
    /// Latency of completion that 50, 99 and 99.9 % do not exceed, ns.
    pub quantiles: [Option<u64>; 3],
}
