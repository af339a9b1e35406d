//! What keeps domains on and devices from probing, by what a kernel says.

use crate::failure::{Nothing, Usage};
use crate::nothing::what_is_there;
use anyhow::Result;
use dormouse_base::finding::{Finding, Level};
use dormouse_doctor::gate::counts;
use dormouse_power::cost;
use dormouse_power::judge;
pub use dormouse_power::{Case, Report};
use dormouse_read::Given;
pub use dormouse_read::text::Text;
use dormouse_sleep::simulate::change::Ratio;
use dormouse_words::text::safe;

/// Judges every text that is given.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of domains,
/// clocks, regulators or probing.
pub fn show(given: &Given) -> Result<Vec<(Text<Case>, Report)>> {
    let texts = given.power()?;
    if !texts.iter().any(|t| t.case.speaks()) {
        let mut what = what_is_there(given, "no table of domains and no message on probing");
        for l in texts.iter().flat_map(|t| &t.losses.list) {
            what += &format!("\n  {}", safe(&l.advice));
        }
        what += "\n  give pm_genpd_summary, clk_summary, regulator_summary or devices_deferred of \
                 debugfs, a kernel log, or the mail that quotes them";
        return Err(Nothing(what).into());
    }
    Ok(texts.iter().map(|t| (t.clone(), judge(&t.case))).collect())
}

/// How many findings say that something is broken, and are no guesses: those fail a check.
pub fn broken(all: &[(Text<Case>, Report)]) -> usize {
    let broken = |f: &&Finding| counts(f, Level::Broken);
    all.iter().flat_map(|(_, report)| &report.findings).filter(broken).count()
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
