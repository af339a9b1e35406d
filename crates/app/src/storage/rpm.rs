//! What inputs say of runtime power management.

use crate::failure::Nothing;
use anyhow::Result;
use dormouse_read::Given;
use dormouse_read::storage::StorageReading;
use dormouse_storage::held::{
    Broken, Held, Pointless, Refused, Short, broken_by_events, broken_by_settings, by_events,
    by_settings, pointless, refused, short,
};
use dormouse_storage::recording::Trace;
use std::rc::Rc;

/// What keeps devices awake, and what wakes them for nothing.
#[derive(Clone, Debug)]
pub struct Rpm {
    /// All that was read.
    pub reading: Rc<StorageReading>,
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

impl Rpm {
    /// The traces that speak of it, as [`Rpm::traces`] has them.
    pub fn speaking(&self) -> impl Iterator<Item = &Trace> {
        speaking(&self.reading)
    }
}

fn speaking(reading: &StorageReading) -> impl Iterator<Item = &Trace> {
    reading.traces.iter().filter(|t| !t.runtime.devices.is_empty())
}

/// Reads it. `even` is the break-even time of a sleep, ns.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none speaks of runtime power
/// management.
pub fn rpm(given: &Given, even: Option<i64>) -> Result<Rpm> {
    let reading = given.storage()?;
    if speaking(&reading).next().is_none() && reading.knobs.power.is_empty() {
        let why = "no event of runtime power management (rpm_*) and no settings of power/ in the \
                   input. A trace with them: dormouse record --with rpm --for 10s. Settings as text: \
                   grep -r . /sys/devices/*/*/power 2>/dev/null";
        return Err(Nothing(why.into()).into());
    }
    let held = by_settings(&reading.knobs);
    let traces = speaking(&reading)
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
