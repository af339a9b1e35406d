//! What keeps domains on and devices from probing, by what a kernel says.

use crate::failure::{Nothing, what_is_there};
use anyhow::Result;
use dormouse_domains::{Case, Report, judge};
use dormouse_read::domains::read;
use dormouse_read::text::Text;
use dormouse_read::{Input, Options};
use dormouse_write::text::safe;
use std::path::PathBuf;

/// Judges every text behind `inputs`.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of domains,
/// clocks, regulators or probing.
pub fn show(inputs: &[PathBuf]) -> Result<Vec<(Text<Case>, Report)>> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let texts = read(&list, &Options::default())?;
    if !texts.iter().any(|t| t.case.speaks()) {
        let mut what = what_is_there(inputs, "no table of domains and no message on probing");
        for l in texts.iter().flat_map(|t| &t.losses.list) {
            what += &format!("\n  {}", safe(&l.advice));
        }
        what += "\n  give pm_genpd_summary, clk_summary, regulator_summary or devices_deferred of \
                 debugfs, a kernel log, or the mail that quotes them";
        return Err(Nothing(what).into());
    }
    Ok(texts
        .into_iter()
        .map(|t| {
            let r = judge(&t.case);
            (t, r)
        })
        .collect())
}

/// Whether one of `inputs` holds what `domains show` reads: another verb that found
/// nothing can say so.
pub fn speaks(inputs: &[PathBuf]) -> bool {
    let list: Vec<Input> =
        inputs.iter().filter(|p| p.as_os_str() != "-").map(Input::from_arg).collect();
    read(&list, &Options::default()).is_ok_and(|all| all.iter().any(|t| t.case.speaks()))
}
