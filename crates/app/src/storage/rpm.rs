//! What inputs say of runtime power management.

use crate::failure::Nothing;
use anyhow::Result;
use dormouse_read::storage::{StorageReading, read};
use dormouse_read::{Input, Options};
use dormouse_storage::held::{
    Broken, Held, Pointless, Refused, Short, broken_by_events, broken_by_settings, by_events,
    by_settings, pointless, refused, short,
};
use std::path::PathBuf;

/// What keeps devices awake, and what wakes them for nothing.
#[derive(Clone, Debug)]
pub struct Rpm {
    /// All that was read.
    pub reading: StorageReading,
    /// Devices that settings hold awake.
    pub held: Vec<Held>,
    /// Devices whose runtime power management settings say is broken.
    pub broken: Vec<Broken>,
    /// What each trace says.
    pub traces: Vec<Traced>,
}

/// What the events of a trace say.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Devices that every event found held.
    pub held: Vec<Held>,
    /// Devices whose calls failed, or do not end.
    pub broken: Vec<Broken>,
    /// Devices that would not be suspended.
    pub refused: Vec<Refused>,
    /// Devices resumed only to be suspended.
    pub pointless: Vec<Pointless>,
    /// Devices asleep for too short.
    pub short: Vec<Short>,
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
        .map(|t| Traced {
            held: by_events(&t.runtime),
            broken: broken_by_events(&t.runtime, t.until),
            refused: refused(&t.runtime),
            pointless: pointless(&t.runtime),
            short: short(&t.runtime, even),
        })
        .collect();
    let broken = broken_by_settings(&reading.knobs);
    Ok(Rpm { reading, held, broken, traces })
}
