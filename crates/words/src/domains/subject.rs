//! One judged text, and how its lists and numbers are written.

use crate::text::page::Page;
use crate::text::safe;
use dormouse_base::loss::Losses;
use dormouse_power::cost::Cost;
use dormouse_power::{Case, Report};

/// One judged text.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// What it says.
    pub case: &'a Case,
    /// What was found.
    pub report: &'a Report,
    /// What a sleep pays for its domains.
    pub costs: &'a [Cost],
    /// What could not be read.
    pub losses: &'a Losses,
}

/// A list that says how much it leaves out.
pub(crate) fn list(page: &mut Page, heading: &str, rows: &[String], top: usize) {
    if rows.is_empty() {
        return;
    }
    page.heading(&safe(heading));
    for row in rows.iter().take(top) {
        page.entry("  ", &safe(row));
    }
    if rows.len() > top {
        page.entry("  ", &format!("and {} more (--top)", rows.len() - top));
    }
}

pub(crate) fn times(n: u64) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}
