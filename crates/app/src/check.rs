//! Limits that inputs are held against: what `check` answers with a gate.

use crate::doctor::{Judged, live};
use crate::explain;
use crate::failure::Nothing;
use crate::faults::checked;
use anyhow::Result;
use dormouse_doctor::finding::Level;
use dormouse_doctor::gate::{findings, hardware_sleep, max_power};
use dormouse_doctor::whole::ready::ready;
pub use dormouse_doctor::whole::{Mark, ready::Ready};
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_sleep::budget::{Budgets, Gated, judge};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What each half may take.
    pub budgets: Budgets,
    /// The least share that the hardware is to sleep, in thousandths of a per cent.
    pub hardware_sleep: Option<i64>,
    /// What a sleep may draw at most, in uW.
    pub max_power: Option<i64>,
    /// What is to be ready, and how long after the kernel's return.
    pub ready: Vec<Ready>,
    /// Findings as bad as this fail.
    pub fail_on: Option<Level>,
}

impl Asked {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.budgets == Budgets::default()
            && self.hardware_sleep.or(self.max_power).is_none()
            && self.fail_on.is_none()
            && self.ready.is_empty()
    }
}

/// Holds the inputs against what is asked; without inputs the machine below `root`, of which
/// no cycle is recorded. Why the input tells nothing at all, if it does not.
///
/// # Errors
/// If an input cannot be read.
pub fn gated(asked: &Asked, given: &Given, root: &Root) -> Result<(Gated, Option<String>)> {
    let here = given.paths().is_empty();
    let (mut told, mut nothing) = (false, String::new());
    let timed = asked.budgets != Budgets::default();
    let mut all = Vec::new();
    if timed && !here {
        all = or_nothing(explain::inputs(given), &mut told, &mut nothing)?;
    }
    let cycles = all.iter().flat_map(|e| e.capture.cycles.iter().zip(&e.views));
    let numbered = cycles.enumerate().map(|(i, (cycle, view))| (i + 1, cycle, view));
    let budgets = judge(numbered, asked.budgets);
    let mut judged: Vec<Judged> = Vec::new();
    let of_findings = asked.fail_on.is_some() || !asked.ready.is_empty();
    if asked.hardware_sleep.or(asked.max_power).is_some() || of_findings {
        judged = match here {
            true => vec![live(root)],
            false => or_nothing(checked(given), &mut told, &mut nothing)?,
        };
    }
    let of: Vec<_> = judged.iter().map(Judged::told).collect();
    let others = [
        asked.hardware_sleep.map(|least| hardware_sleep(&of, least)),
        asked.max_power.map(|most| max_power(&of, most)),
        asked.fail_on.map(|worst| findings(&of, worst)),
    ];
    let nothing = (!told && !here && !nothing.is_empty()).then_some(nothing);
    let ready = asked.ready.iter().map(|r| ready(&of, *r));
    Ok((Gated::new(budgets, others.into_iter().flatten().chain(ready)), nothing))
}

/// What was read, or nothing with the reason kept.
fn or_nothing<T>(read: Result<Vec<T>>, told: &mut bool, nothing: &mut String) -> Result<Vec<T>> {
    match read.map_err(anyhow::Error::downcast::<Nothing>) {
        Ok(all) => {
            *told = true;
            Ok(all)
        }
        Err(Ok(Nothing(why))) => {
            if nothing.is_empty() {
                *nothing = why;
            }
            Ok(Vec::new())
        }
        Err(Err(e)) => Err(e),
    }
}
