//! What becomes of clocks and timers in a sleep: before it, of the running machine, and
//! after it, of recordings.

use crate::doctor::{looked, measured_of};
use crate::failure::Nothing;
use crate::nothing::nothing_in;
use anyhow::Result;
use dormouse_doctor::stands::in_s2idle;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_words::clocks::{Ahead, Past};

/// Of the machine below `root`, before it sleeps.
pub fn live(root: &Root) -> Ahead {
    let seen = looked(root);
    let case = seen.text.case;
    let mode = case.values.iter().find(|v| v.path == "/sys/power/mem_sleep");
    Ahead {
        chosen: mode.and_then(|v| dormouse_doctor::offered::bracketed(&v.value)),
        stands: in_s2idle(&case),
        timers: case.timers,
        hidden: seen.hidden,
    }
}

/// Of the cycles of `inputs`.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none holds readings of two clocks.
pub fn of_inputs(given: &Given) -> Result<Past> {
    let read = given.heard()?;
    let captures = &read.captures;
    let past = Past { cycles: captures.iter().flat_map(|c| measured_of(c, &read.heard)).collect() };
    if !past.cycles.is_empty() {
        return Ok(past);
    }
    if captures.iter().all(|c| c.cycles.is_empty()) {
        return Err(nothing_in(given, captures.iter().map(|c| &**c)));
    }
    let text = "no readings of two clocks: only recordings of dormouse record have them";
    Err(Nothing(text.into()).into())
}
