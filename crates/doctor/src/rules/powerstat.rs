//! Tables of powerstat (Colin King, 0.04), which writes what the battery or RAPL gave of each
//! sample: what a machine drew that is awake, with a change and without it.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::remedy::cut;
use dormouse_base::say;

/// The name of the rule.
pub(crate) const POWERSTAT: &str = "power-measured";

/// So many tables are told.
const MOST: usize = 4;

/// So many bytes of what stands above a table are quoted.
const QUOTED: usize = 60;

/// So many lines above its head says a line what a table is of.
const ABOVE: u64 = 4;

/// One table.
struct Table<'a> {
    head: &'a Message,
    /// What stands above it.
    caption: Option<&'a Message>,
    last: &'a Message,
    /// Watts of each sample.
    watts: Vec<f64>,
}

impl Table<'_> {
    fn mean(&self) -> f64 {
        self.watts.iter().sum::<f64>() / self.watts.len() as f64
    }

    /// `"Unpatched" 19.39 W (19.27 to 19.53, 6 samples)`.
    fn words(&self) -> String {
        let of = self.caption.map_or(String::new(), |m| {
            format!("\"{}\" ", cut(m.text.trim().trim_end_matches(':'), QUOTED))
        });
        let least = self.watts.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.watts.iter().copied().fold(0.0, f64::max);
        let n = say::plural(self.watts.len(), "sample");
        format!("{of}{:.2} W ({least:.2} to {most:.2}, {n})", self.mean())
    }
}

/// The number of columns of a table whose head a line is.
fn head(text: &str) -> Option<usize> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let known = ["User", "Nice", "Sys", "Idle"].iter().all(|w| words.contains(w));
    (words.first() == Some(&"Time") && known && words.last() == Some(&"Watts"))
        .then_some(words.len())
}

/// The watts of a row of so many columns; its time may be taken for that of a log.
fn row(text: &str, columns: usize) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let from = columns.checked_sub(words.len()).filter(|n| *n <= 1)?;
    let numbers = &words[1 - from..];
    let all: Option<Vec<f64>> = numbers.iter().map(|w| w.parse().ok()).collect();
    all?.last().copied().filter(|w| w.is_finite() && *w >= 0.0)
}

fn tables(case: &Case) -> Vec<Table<'_>> {
    let mut out: Vec<Table<'_>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut above: Option<&Message> = None;
    for m in case.messages.iter() {
        if let Some(columns) = head(&m.text) {
            let caption = above.filter(|a| m.line - a.line <= ABOVE);
            out.push(Table { head: m, caption, last: m, watts: Vec::new() });
            open = Some(columns);
            continue;
        }
        let watts = open.and_then(|columns| row(&m.text, columns));
        match (watts, out.last_mut()) {
            (Some(watts), Some(table)) => {
                table.watts.push(watts);
                table.last = m;
            }
            _ => open = None,
        }
        // `Running for 300 seconds …` says nothing of what is measured.
        let says = m.text.trim_end().ends_with(':') && !m.text.starts_with("Running for ");
        above = if says { Some(m) } else { above };
    }
    out.retain(|t| !t.watts.is_empty());
    out
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    if !case.messages.has("Watts") {
        return;
    }
    let all = tables(case);
    if all.is_empty() {
        return;
    }
    let list: Vec<String> = all.iter().take(MOST).map(Table::words).collect();
    let change = match &all[..] {
        [a, b] if a.mean() > 0.0 => {
            let by = ((b.mean() - a.mean()) * 100.0 / a.mean()).round();
            let sign = if by > 0.0 { "+" } else { "" };
            format!(
                " That is {sign}{by} %, of two runs, each once: what else differed is not in the tables."
            )
        }
        _ => String::new(),
    };
    let more = match all.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!("; {n} more"),
    };
    let shown = all.iter().take(MOST).flat_map(|t| [t.head, t.last]);
    out.push(
        Finding::new((POWERSTAT, Area::Mode, Level::Note), Confidence::Likely)
            .says(format!(
                "powerstat measured in the mean {}{more}.{change} It samples a machine that is awake.",
                list.join(", then ")
            ))
            .shown_by(lines(shown)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        let mut out = Vec::new();
        judge(&Case::of_prose(text), &mut out);
        out.pop().map(|f| f.sentence)
    }

    const HEAD: &str =
        "  Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s Fork Exec Exit  Watts\n";

    #[test]
    fn two_tables_are_told_with_their_captions_and_the_change() {
        let rows = |a: &str, b: &str| {
            format!(
                "{HEAD}20:17:10   0.7   0.0   0.4  98.9   0.0    1    858    294    3    2    3  {a}\n\
                 20:17:20   0.5   0.0   0.4  99.1   0.0    1    746    252    0    0    0  {b}\n"
            )
        };
        let text = format!(
            "Plain:\n\n{}\nWith the patch:\n{}",
            rows("20.00", "18.00"),
            rows("9.50", "9.50")
        );
        let told = said(&text).expect("two tables");
        assert!(
            told.contains(
                "\"Plain\" 19.00 W (18.00 to 20.00, 2 samples), then \"With the patch\" 9.50 W"
            ),
            "{told}"
        );
        assert!(told.contains("That is -50 %, of two runs"), "{told}");
        // A clock that was taken for the time of a log is no column.
        let cut = rows("20.00", "18.00").replace("20:17:10", "").replace("20:17:20", "");
        assert!(said(&cut).is_some_and(|s| s.contains("19.00 W")));
    }

    #[test]
    fn a_head_without_rows_and_other_tables_are_none() {
        for text in [
            HEAD.to_owned(),
            format!("{HEAD}and so on\n"),
            "Time Watts\n20:17:10 12.0\n".to_owned(),
            "It drew 12 Watts\n".to_owned(),
        ] {
            assert_eq!(said(&text), None, "{text}");
        }
    }
}
