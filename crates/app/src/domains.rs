//! What keeps domains on and devices from probing, by what a kernel says.

use crate::failure::{Nothing, Usage, what_is_there};
use anyhow::Result;
use dormouse_power::cost;
use dormouse_power::judge;
pub use dormouse_power::{Case, Report};
use dormouse_read::domains::{read, switched};
pub use dormouse_read::text::Text;
use dormouse_read::{Input, Options};
use dormouse_sleep::simulate::change::Ratio;
use dormouse_words::text::safe;
use std::path::PathBuf;

/// Judges every text behind `inputs`.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of domains,
/// clocks, regulators or probing.
pub fn show(inputs: &[PathBuf]) -> Result<Vec<(Text<Case>, Report)>> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let mut texts = read(&list, &Options::default())?;
    let again: Vec<Input> =
        inputs.iter().filter(|p| p.as_os_str() != "-").map(Input::from_arg).collect();
    if let Ok(reading) = dormouse_read::read(&again, &Options::default()) {
        for c in &reading.captures {
            let of = |t: &&mut Text<Case>| {
                let source = c.cycles.first().map_or("", |x| c.names.get(x.source));
                source.strip_prefix(&*t.name).is_some_and(|r| r.is_empty() || r.starts_with('#'))
            };
            if let Some(t) = texts.iter_mut().find(of) {
                t.case.switched = switched(c);
            }
        }
    }
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

/// Whether a text says more than which links there are: a table, something that
/// waits, or a finding. A page on other subjects has room for no less.
pub fn says_more_than_links(text: &(Text<Case>, Report)) -> bool {
    let (Text { case, .. }, report) = text;
    let tables = case.dumps.len() + case.clocks.len() + case.regulators.len() + case.rails.len();
    let more = case.states.len() + case.switched.len() + case.deferrals.len() + case.cycles.len();
    tables + more + report.findings.len() + report.suppliers.len() > 0 || !case.acpi.is_empty()
}

/// `NAME=WATTS` of every name: millionths of a watt.
///
/// # Errors
/// [`Usage`] for what is no such pair, or a name that no text has.
pub fn watts(words: &[String], all: &[(Text<Case>, Report)]) -> Result<Vec<(String, u64)>> {
    let one = |word: &String| {
        let (name, watts) = word
            .rsplit_once('=')
            .ok_or_else(|| Usage(format!("--draws {word}: write NAME=WATTS, such as gpu=0.12")))?;
        let ratio = Ratio::parse(watts).map_err(|e| Usage(format!("--draws {word}: {e}")))?;
        if !all.iter().any(|(t, _)| cost::names(&t.case).any(|n| n == name)) {
            return Err(Usage(format!("--draws {word}: no domain of the texts is called {name}")));
        }
        Ok((name.to_owned(), ratio.of(1_000_000).unsigned_abs()))
    };
    Ok(words.iter().map(one).collect::<Result<_, Usage>>()?)
}

/// Whether one of `inputs` holds what `show --only domains` reads: another verb that found
/// nothing can say so.
pub fn speaks(inputs: &[PathBuf]) -> bool {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    read(&list, &Options::default()).is_ok_and(|all| all.iter().any(|t| t.case.speaks()))
}
