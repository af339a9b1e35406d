//! What inputs say of idle states.

use crate::failure::Nothing;
use anyhow::Result;
use dormouse_idle::snapshot::Snapshot;
use dormouse_read::idle::{IdleReading, Keep, read};
use dormouse_read::{Input, Options};
use dormouse_write::text::safe;
use std::path::PathBuf;

/// Inputs, read.
#[derive(Clone, Debug)]
pub struct Shown {
    /// All that was read.
    pub reading: IdleReading,
    /// What was counted between the two snapshots, if there are two and the
    /// second is the later one of the same machine.
    pub difference: Option<Snapshot>,
}

/// Reads what `inputs` say of idle states.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none speaks of idle states.
pub fn show(inputs: &[PathBuf]) -> Result<Shown> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let reading = read(&list, &Options::default(), Keep::Counts)?;
    let none = reading.snapshots.is_empty() && reading.runs.is_empty();
    if none && reading.traces.iter().all(|t| t.tally.sleeps() == 0) {
        let mut why = String::from("no idle states in the input");
        for l in &reading.losses.list {
            why += &format!("\n  {}: {}", l.severity.name(), safe(&l.advice));
        }
        return Err(Nothing(why).into());
    }
    let difference = match &reading.snapshots[..] {
        // Counters that ran backwards are of another boot or another machine.
        [before, after] => {
            after.since(before).ok().filter(|(_, backwards)| *backwards == 0).map(|(d, _)| d)
        }
        _ => None,
    };
    Ok(Shown { reading, difference })
}
