//! What would keep a limit on the way back as a whole, by the rows of recorded sleeps.

use crate::doctor::Judged;
use crate::failure::Nothing;
use crate::faults::checked;
use anyhow::Result;
use dormouse_base::say::plural;
pub use dormouse_doctor::whole::budget::Plan;
use dormouse_doctor::whole::budget::plan;
pub use dormouse_doctor::whole::{Mark, ready::Ready};
use dormouse_read::Given;

/// The limits of which all names are marks of the way back; nothing if one is a device's.
pub fn marks(asked: &[(String, dormouse_base::time::Ns)]) -> Option<Vec<Ready>> {
    let of =
        |(name, within): &(String, _)| Some(Ready { mark: Mark::find(name)?, within: *within });
    asked.iter().map(of).collect()
}

/// What would keep these limits; nothing if no input tells of a sleep as a whole.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if its sleeps tell nothing of a limit.
pub fn ready(given: &Given, asked: &[Ready]) -> Result<Option<Plan>> {
    let judged: Vec<Judged> = match checked(given) {
        Ok(all) => all,
        Err(e) if e.is::<Nothing>() => return Ok(None),
        Err(e) => return Err(e),
    };
    let told: Vec<_> = judged.iter().map(Judged::told).collect();
    let ways: usize = told.iter().map(|t| t.report.ways.len()).sum();
    if ways == 0 {
        return Ok(None);
    }
    let why = || {
        let names: Vec<_> = asked.iter().map(|r| r.mark.asked()).collect();
        let text = format!(
            "{} told as a whole, and no line with a time tells both the kernel's return and {}; \
             `dormouse show` has the rows",
            plural(ways, "sleep"),
            names.join(" or ")
        );
        Nothing(text)
    };
    Ok(Some(plan(&told, asked).ok_or_else(why)?))
}
