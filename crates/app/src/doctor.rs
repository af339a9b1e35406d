//! What is wrong with the sleep of a machine, by what its kernel said.

use crate::failure::{Nothing, what_is_there};
use anyhow::Result;
use dormouse_doctor::{Report, judge};
use dormouse_model::loss::Losses;
use dormouse_read::doctor::read;
use dormouse_read::{Input, Options};
use dormouse_write::text::safe;
use std::path::PathBuf;

/// One text, judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// As the user named it.
    pub name: String,
    /// Findings, and what was not checked.
    pub report: Report,
    /// What could not be read.
    pub losses: Losses,
}

/// Judges every text behind `inputs`.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of sleep.
pub fn doctor(inputs: &[PathBuf]) -> Result<Vec<Judged>> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let texts = read(&list, &Options::default())?;
    let mut why = String::new();
    let mut out = Vec::new();
    let mut spoke = false;
    let mut logged = false;
    for t in texts {
        let report = judge(&t.case);
        logged |= report.logged > 0;
        spoke |=
            !report.sleeps.is_empty() || !report.findings.is_empty() || !t.case.values.is_empty();
        for l in &t.losses.list {
            why += &format!("\n  {}", safe(&l.advice));
        }
        out.push(Judged { name: t.name, report, losses: t.losses });
    }
    if !spoke {
        let missing = if logged { "no kernel message about sleep" } else { "no kernel message" };
        let what = what_is_there(inputs, missing);
        if crate::domains::speaks(inputs) {
            why += "\n  it speaks of power domains or probing: dormouse domains show";
        }
        why += "\n  give a kernel log (dmesg > FILE, journalctl -k) or the mail that quotes it";
        return Err(Nothing(what + &why).into());
    }
    Ok(out)
}
