//! Times that tables and tools tell.

use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::rules::columns::COLUMNS;
use crate::way::{Figure, Teller, shown};

/// So many are listed.
const LISTED: usize = 12;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let of =
        |by: Teller| -> Vec<&Figure> { case.way.figures.iter().filter(|f| f.by == by).collect() };
    let list = |all: &[&Figure]| -> String {
        let one = |f: &&Figure| format!("{}: {}", f.what, f.value);
        all.iter().take(LISTED).map(one).collect::<Vec<_>>().join("; ")
    };
    let lines = |all: &[&Figure]| -> Vec<Evidence> {
        let mut lines: Vec<Evidence> = all.iter().map(|f| shown(f.line, &f.text)).collect();
        lines.dedup();
        lines.truncate(LISTED);
        lines
    };
    // A table of other things than a sleep stands in many texts.
    let mut table = of(Teller::Table);
    // How long a machine slept is no wait.
    let asleep = |what: &str| {
        let what = what.to_lowercase();
        ["suspended", "asleep", "slept", "time in", "residency", "sleep time"]
            .iter()
            .any(|w| what.contains(w))
    };
    table.retain(|f| !asleep(&f.what));
    let is_of_sleep = table.iter().any(|f| {
        let what = f.what.to_lowercase();
        ["suspend", "resume", "sleep", "wake", "thaw", "freeze", "hook", "bind"]
            .iter()
            .any(|w| what.contains(w))
    });
    // A table with a change and without it is told as one.
    let told =
        |l: u64| out.iter().any(|f| f.id == COLUMNS && f.evidence.iter().any(|e| e.line == l));
    if table.iter().any(|f| told(f.line)) {
        return;
    }
    if is_of_sleep && !case.night.speaks() {
        out.push(
            Finding::new(("way-table", Area::Phase, Level::Note), Confidence::Likely)
                .says(format!("A table tells times that somebody measured: {}. No line of a log says what took them.", list(&table)))
                .shown_by(lines(&table)),
        );
        return;
    }
    let tool = of(Teller::Tool);
    if tool.len() > 1 {
        out.push(
            Finding::new(("way-tool", Area::Phase, Level::Note), Confidence::Certain)
                .says(format!("The tool tells: {}. No part of it is told as the firmware's, and what took the rest is not in the text.", list(&tool)))
                .shown_by(lines(&tool)),
        );
    }
}
