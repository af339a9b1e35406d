//! What inputs say of runtime power management.

use crate::failure::Nothing;
use anyhow::Result;
use dormouse_read::storage::{StorageReading, read};
use dormouse_read::{Input, Options};
use dormouse_storage::held::{Held, Pointless, Short, by_events, by_settings, pointless, short};
use std::path::PathBuf;

/// What keeps devices awake, and what wakes them for nothing.
#[derive(Clone, Debug)]
pub struct Rpm {
    /// All that was read.
    pub reading: StorageReading,
    /// Devices that settings hold awake.
    pub held: Vec<Held>,
    /// Of each trace: devices that its events found held, resumed for nothing, and
    /// asleep for too short.
    pub traces: Vec<(Vec<Held>, Vec<Pointless>, Vec<Short>)>,
}

/// Reads it. `even` is the break-even time of a sleep, ns.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none speaks of runtime power
/// management.
pub fn rpm(inputs: &[PathBuf], even: Option<i64>) -> Result<Rpm> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let mut reading = read(&list, &Options::default())?;
    reading.traces.retain(|t| !t.runtime.devices.is_empty());
    if reading.traces.is_empty() && reading.knobs.power.is_empty() {
        let why = "no event of runtime power management (rpm_*) and no settings of power/ in the \
                   input. A trace with them: dormouse record --with rpm --for 10s. Settings as text: \
                   grep -r . /sys/devices/*/*/power 2>/dev/null";
        return Err(Nothing(why.into()).into());
    }
    let held = by_settings(&reading.knobs);
    let traces = reading
        .traces
        .iter()
        .map(|t| (by_events(&t.runtime), pointless(&t.runtime), short(&t.runtime, even)))
        .collect();
    Ok(Rpm { reading, held, traces })
}
