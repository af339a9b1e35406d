//! What another delay before the storage falls asleep would have given.

use super::sleeper::{Asked, Sleeper, latency};
use anyhow::Result;
use dormouse_storage::request::Disk;
use dormouse_storage::simulate::again::{Again, again};
use dormouse_storage::summary::Latency;
use std::path::PathBuf;

/// An answer.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The recording.
    pub source: String,
    /// The disk.
    pub disk: Disk,
    /// Which sleep.
    pub asked: Asked,
    /// The delay asked for, ns; `None` for never.
    pub delay: Option<i64>,
    /// The delay in force: longer than the first, at most the second, ns.
    pub present: (i64, i64),
    /// The delay that the model takes, ns: the middle of those that were seen, if
    /// any was, else the longest that explains the recording.
    pub taken: i64,
    /// What one wait for the sleeping storage took, ns.
    pub wake: i64,
    /// Times that requests waited in the recording.
    pub wakes: u64,
    /// As recorded.
    pub recorded: Latency,
    /// The model with the delay in force.
    pub model: (Latency, Again),
    /// The model with the delay asked for.
    pub changed: (Latency, Again),
    /// From the first request to the last completion, ns.
    pub span: i64,
}

/// Predicts. Without `disk` the one that waited most.
///
/// # Errors
/// As [`Sleeper::open`].
pub fn predict(
    inputs: &[PathBuf],
    asked: Asked,
    delay: Option<i64>,
    disk: Option<Disk>,
) -> Result<Predicted> {
    let s = Sleeper::open(inputs, asked, disk)?;
    let then = again(&s.arrivals, delay, s.wake);
    Ok(Predicted {
        delay,
        changed: (latency(&then), then),
        source: s.source,
        disk: s.disk,
        asked,
        present: s.present,
        taken: s.taken,
        wake: s.wake,
        wakes: s.wakes,
        recorded: s.recorded,
        model: s.model,
        span: s.span,
    })
}
