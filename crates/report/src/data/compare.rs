//! How the captures of a report differ, in the words of `dormouse compare`.

use super::summary::{CompareRow, Comparison};
use crate::Labelled;
use dormouse_base::stats::describe::median;
use dormouse_base::time::Ns;
use dormouse_sleep::compare::contrast::{Contrast, Verdict};
use dormouse_sleep::compare::figure::Figure;
use dormouse_sleep::compare::{Refusal, Subject, compare as core_compare};
use dormouse_words::wording::comparison::{cautions, sentences};
use dormouse_words::wording::{self, number};

/// Compares every further capture with the first.
pub fn compare(captures: &[Labelled<'_>]) -> Comparison {
    let subjects: Vec<Subject<'_>> = captures
        .iter()
        .map(|c| Subject { label: c.label.into(), captures: vec![(c.capture, c.views)] })
        .collect();
    let found = match core_compare(&subjects, false) {
        Ok(c) => c,
        Err(refusal) => {
            let text = match refusal {
                Refusal::NothingToCompare { label } => {
                    format!("{label} has no complete cycle, so nothing is compared.")
                }
                Refusal::DifferentModes { modes } => format!(
                    "The captures slept in different ways ({}), so their phases do not mean the \
                     same and are not compared.",
                    modes.join(", ").replace("pm_test:", "pm_test=")
                ),
            };
            return Comparison { sentences: vec![text], rows: Vec::new() };
        }
    };
    // The answer first, what limits it last.
    let mut said: Vec<String> =
        (1..found.sides.len()).flat_map(|side| sentences(&found, side)).collect();
    said.extend(cautions(&found));
    let rows = found.rows.iter().filter(|r| r.figure.is_time()).map(|row| CompareRow {
        label: match row.figure {
            Figure::Total(d) => format!("total {}", d.name()),
            Figure::Gaps(d) => format!("gaps in {}", d.name()),
            Figure::Phase(p) => wording::phase(p),
            Figure::Count(c) => c.name().into(),
        },
        median_ns: row.samples.iter().map(|s| (!s.is_empty()).then(|| median(s) as i64)).collect(),
        difference: row.contrasts.iter().map(difference).collect::<Vec<_>>().join("; "),
    });
    Comparison { rows: rows.collect(), sentences: said }
}

fn difference(c: &Contrast) -> String {
    let (was, is) = (Ns(c.median[0] as i64), Ns(c.median[1] as i64));
    let share =
        c.percent.map_or(String::new(), |p| format!(" ({})", wording::comparison::percent(p)));
    let verdict = match c.verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::NoDifference => "no significant change",
        Verdict::Untested => "too few cycles to test",
    };
    format!("{}{share}, {verdict}", number::change(was, is))
}
