//! What a tool's report says of the machine, where it has no cycle to tell of.

use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::night::report::{Check, Report};
use crate::night::round::End;
use crate::night::{Fact, Item};

/// So many checks of one kind are told.
const MOST: usize = 3;

/// Whether the text has a cycle: by the report, or by a log.
fn has_cycles(case: &Case) -> bool {
    let cycle = |f: &Fact| match f {
        Fact::Report(r) => !matches!(r, Report::Marked(_)),
        // A line that only begins one has no result.
        Fact::Round(r) => r.end != End::Unknown,
        Fact::Slept(_) | Fact::Clock { .. } | Fact::Verdict { .. } => true,
        _ => false,
    };
    !case.attempts.is_empty()
        || !case.parts.is_empty()
        || case.night.items.iter().any(|i| cycle(&i.fact))
}

/// What is told of some checks, and the lines of those.
fn told<'a>(all: &[(&'a Item, &str)]) -> (String, Vec<&'a Item>) {
    let words: Vec<String> = all.iter().take(MOST).map(|c| format!("\"{}\"", c.1)).collect();
    let more = match all.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (format!("{}{more}", words.join(", ")), all.iter().take(MOST).map(|c| c.0).collect())
}

/// The checks that AMD's report has of a machine (amd-debug-tools 0.2, prerequisites.py), by their
/// marks, where it has the results of no cycle.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let checks: Vec<(&Item, &Check)> = case
        .night
        .of(|f| match f {
            Fact::Check(c) => Some(c),
            _ => None,
        })
        .collect();
    let Some((head, _)) = checks.iter().find(|c| *c.1 == Check::Head) else { return };
    if has_cycles(case) || checks.iter().all(|c| *c.1 == Check::Head) {
        return;
    }
    let held = checks.iter().filter(|c| *c.1 == Check::Held).count();
    let pick = |of: fn(&Check) -> Option<&str>| -> Vec<(&Item, &str)> {
        checks.iter().filter_map(|(i, c)| Some((*i, of(c)?))).collect()
    };
    let failed = pick(|c| match c {
        Check::Failed(w) => Some(w),
        _ => None,
    });
    let warned = pick(|c| match c {
        Check::Warned(w) => Some(w),
        _ => None,
    });
    let are = |n: usize| if n == 1 { "1 check".to_string() } else { format!("{n} checks") };
    let (bad, mut shown) = told(&failed);
    let (odd, more) = told(&warned);
    shown.extend(more);
    let (level, mut text) = match failed.len() {
        0 => (Level::Note, format!("None of the report's checks failed ({held} hold).")),
        n => (Level::Risk, format!("The report says that {} failed: {bad}.", are(n))),
    };
    if !warned.is_empty() {
        text += &format!(" It warns of {odd}.");
    }
    text += " It has the results of no cycle, so whether the hardware slept is not told.";
    let mut evidence = vec![Evidence::from(*head)];
    evidence.extend(shown.into_iter().map(Evidence::from));
    out.push(
        Finding::new(("night-no-cycle", Area::Mode, level), Confidence::Certain)
            .says(text)
            .look("Give the part of the report with its cycles: amd-s2idle test makes some, amd-s2idle report has those of the days before.")
            .shown_by(evidence),
    );
}
