//! A sleep from the request to a machine that can be used, as rows.

use super::page::{Ink, Page};
use super::safe::{left, right, safe};
use crate::wording::whole;
use dormouse_doctor::whole::WholeWay;

/// Columns of the marks, and of a figure.
const MARKS: usize = 42;
const FIGURE: usize = 14;

/// The table, where the text tells of any sleep as a whole.
pub(crate) fn table<'a>(page: &mut Page, ways: impl IntoIterator<Item = &'a WholeWay>) {
    let Some(table) = whole::table(ways) else { return };
    page.heading(&table.title);
    // A count needs less room than a time.
    let room = |i: usize| if table.head[i] == "of" { 6 } else { FIGURE };
    let line = |cells: &[&str]| {
        let mark = left(&format!("  {}", cells[0]), MARKS);
        let figures = cells.iter().enumerate().skip(1).map(|(i, c)| right(c, room(i)));
        mark + &figures.collect::<String>()
    };
    page.line(&[(Ink::Faint, &line(&table.head))]);
    for row in &table.rows {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        page.line(&[(Ink::Plain, &line(&cells))]);
        for note in &row.notes {
            page.wrapped(Ink::Faint, 6, 8, &safe(note));
        }
    }
    for note in &table.notes {
        page.paragraph(2, note);
    }
}
