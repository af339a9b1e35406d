//! What another delay before the storage falls asleep would have given.

use super::sleeper::{Asked, Sleeper, latency};
use anyhow::Result;
use dormouse_read::Given;
use dormouse_storage::request::Disk;
use dormouse_storage::simulate::again::{Again, again, foreseen};
use dormouse_storage::summary::Latency;

/// An answer.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// What was recorded.
    pub sleeper: Sleeper,
    /// The delay asked for, ns; `None` for never.
    pub delay: Option<i64>,
    /// The model with the delay asked for.
    pub changed: (Latency, Again),
    /// Who knows every request: it sleeps in every rest that is longer than waking
    /// takes, and nobody waits.
    pub oracle: (Latency, Again),
    /// A delay of the time that waking takes.
    pub rule: (Latency, Again),
}

/// Predicts. Without `disk` the one that waited most.
///
/// # Errors
/// As [`Sleeper::open`].
pub fn predict(
    given: &Given,
    asked: Asked,
    delay: Option<i64>,
    disk: Option<Disk>,
) -> Result<Predicted> {
    let sleeper = Sleeper::open(given, asked, disk)?;
    let then = again(&sleeper.arrivals, delay, sleeper.wake);
    let (arrivals, wake) = (&sleeper.arrivals, sleeper.wake);
    let with = |a: Again| (latency(&a), a);
    let oracle = with(foreseen(arrivals, wake, wake));
    let rule = with(again(arrivals, Some(wake), wake));
    Ok(Predicted { delay, changed: with(then), oracle, rule, sleeper })
}
