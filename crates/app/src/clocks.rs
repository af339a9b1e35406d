//! What becomes of clocks and timers in a sleep: before it, of the running machine, and
//! after it, of recordings.

use crate::doctor::{looked, measured_of};
use crate::failure::{Nothing, nothing_in};
use anyhow::Result;
use dormouse_doctor::timer::in_s2idle;
use dormouse_machine::root::Root;
use dormouse_read::{Input, Options, read_heard};
use dormouse_words::clocks::{Ahead, Past};
use std::path::PathBuf;

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
pub fn of_inputs(inputs: &[PathBuf]) -> Result<Past> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let (reading, told) = read_heard(&list, &Options::default())?;
    let captures = &reading.captures;
    let past = Past { cycles: captures.iter().flat_map(|c| measured_of(c, &told)).collect() };
    if !past.cycles.is_empty() {
        return Ok(past);
    }
    if captures.iter().all(|c| c.cycles.is_empty()) {
        return Err(nothing_in(inputs, captures));
    }
    let text = "no readings of two clocks: only recordings of dormouse record have them";
    Err(Nothing(text.into()).into())
}
