//! What inputs say of storage.

use crate::failure::Nothing;
use anyhow::Result;
use dormouse_read::Given;
use dormouse_read::storage::StorageReading;
use dormouse_storage::beside::{Beside, beside};
use dormouse_storage::recording::Trace;
use dormouse_storage::summary::{Cpus, DiskSummary, summarise};
use dormouse_words::text::safe;
use std::rc::Rc;

/// Inputs, read.
#[derive(Clone, Debug)]
pub struct Shown {
    /// All that was read.
    pub reading: Rc<StorageReading>,
    /// The disks of each trace, those with most latency first.
    pub disks: Vec<Vec<DiskSummary>>,
}

/// Reads what `inputs` say of storage.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none speaks of storage.
pub fn show(given: &Given) -> Result<Shown> {
    let reading = given.storage()?;
    if !reading.speaks() {
        let mut why = String::from("no storage events or tables in the input");
        for l in &reading.losses.list {
            why += &format!("\n  {}: {}", l.severity.name(), safe(&l.advice));
        }
        return Err(Nothing(why).into());
    }
    let exits = Some(&reading.knobs.exits).filter(|e| !e.is_empty());
    let one = |t: &Trace| {
        let cpus = Cpus { woken: &t.woken, exits };
        summarise(&t.requests, &t.spans, t.watched, cpus, t.begin)
    };
    let disks = reading.traces.iter().map(one).collect();
    Ok(Shown { reading, disks })
}

/// Requests of two inputs beside each other; nothing if one of them has none.
///
/// # Errors
/// If an input cannot be read.
pub fn compare(sides: [&Given; 2], labels: [&str; 2]) -> Result<Option<Beside>> {
    let (a, b) = (show(sides[0])?, show(sides[1])?);
    let all = |s: Shown| -> Vec<DiskSummary> { s.disks.into_iter().flatten().collect() };
    Ok(beside([&all(a), &all(b)], labels))
}
