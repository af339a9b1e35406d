//! A sleep from the request to a machine that can be used, as a table in words: what a screen
//! and a page show.

use super::number::plural;
use dormouse_base::say::span;
use dormouse_base::time::Ns;
use dormouse_doctor::whole::{Common, Firmware, Mark, WholeWay, common};
use serde::Serialize;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// What it is of.
    pub title: String,
    /// The first column is of words, the others of figures.
    pub head: Vec<&'static str>,
    /// In the order of the marks.
    pub rows: Vec<Row>,
    /// What holds of all of it.
    pub notes: Vec<String>,
}

/// A row of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// As many as the head has.
    pub cells: Vec<String>,
    /// What is told of it beside.
    pub notes: Vec<String>,
}

/// The table of the sleeps of a text; nothing if it tells of none as a whole.
pub fn table<'a>(ways: impl IntoIterator<Item = &'a WholeWay>) -> Option<Table> {
    let ways: Vec<&WholeWay> = ways.into_iter().collect();
    let coarse = ways.iter().any(|w| w.is_coarse());
    let stamps = if coarse { ", by stamps of whole seconds" } else { "" };
    let mut table = match ways[..] {
        [] => return None,
        [way] => one(way, stamps),
        _ => several(&ways, stamps),
    };
    if ways.iter().flat_map(|w| &w.rows).any(|r| r.until == Mark::Back) {
        table.notes.insert(
            0,
            "The row until the kernel is back has the time asleep, where the clock of the stamps \
             counts it."
                .into(),
        );
    }
    Some(table)
}

fn one(way: &WholeWay, stamps: &str) -> Table {
    let begins = format!("{} (line {})", way.from.name(), way.line);
    let mut rows =
        vec![Row { cells: vec![begins, String::new(), "0 s".into()], notes: Vec::new() }];
    let mut since = Ns::ZERO;
    for row in &way.rows {
        since = Ns(since.0.saturating_add(row.took_ns.0));
        let name = format!("{} (line {})", row.until.name(), row.line);
        let silence = row
            .silence
            .as_ref()
            .map(|s| format!("{} of it before line {}: \"{}\"", span(s.took_ns), s.line, s.text));
        rows.push(Row {
            cells: vec![name, span(row.took_ns), span(since)],
            notes: row.firmware.as_ref().map(part).into_iter().chain(silence).collect(),
        });
    }
    let title = format!("The whole way{stamps}");
    Table { title, head: vec!["until", "took", "since"], rows, notes: Vec::new() }
}

/// What a firmware took of a row.
fn part(f: &Firmware) -> String {
    let (took, line) = (span(f.took_ns), f.line);
    match f.inside {
        true => format!("{took} of it firmware, by its own clock (line {line})"),
        false => format!(
            "{took} of firmware on top, while the clock of the stamps stood still (line {line})"
        ),
    }
}

/// What firmwares took before the kernel was back, of the sleep in which that was longest.
pub(crate) fn firmware<'a>(all: impl IntoIterator<Item = &'a Firmware>) -> Option<String> {
    let all: Vec<&Firmware> = all.into_iter().collect();
    let most = all.iter().max_by_key(|f| f.took_ns)?;
    let most = format!("{} (line {})", span(most.took_ns), most.line);
    Some(match all.len() {
        1 => format!(
            "Until the kernel was back the firmware took {most} of one sleep, by its own clock; nobody here can mend that."
        ),
        n => format!(
            "Until the kernel was back the firmware took up to {most} of {n} sleeps, by its own clock; nobody here can mend that."
        ),
    })
}

fn several(ways: &[&WholeWay], stamps: &str) -> Table {
    let title = format!("The whole way of {}{stamps}", plural(ways.len(), "sleep"));
    let row = |row: Common| Row {
        cells: vec![
            row.until.name().into_owned(),
            row.sleeps.to_string(),
            span(row.median),
            span(row.most),
        ],
        notes: Vec::new(),
    };
    let rows = common(ways.iter().copied()).into_iter().map(row).collect();
    let firmware = firmware(ways.iter().flat_map(|w| &w.rows).filter_map(|r| r.firmware.as_ref()));
    let head = vec!["until", "of", "median", "longest"];
    Table { title, head, rows, notes: firmware.into_iter().collect() }
}
