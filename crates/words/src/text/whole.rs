//! A sleep from the request to a machine that can be used, as rows.

use super::page::{Ink, Page};
use super::safe::{left, right, safe};
use crate::wording::number::plural;
use dormouse_base::say::span;
use dormouse_base::time::Ns;
use dormouse_doctor::whole::{Firmware, Mark, WholeWay, common};

/// Columns of the marks.
const MARKS: usize = 42;

/// The table, where the text tells of any sleep as a whole.
pub(crate) fn table<'a>(page: &mut Page, ways: impl IntoIterator<Item = &'a WholeWay>) {
    let ways: Vec<&WholeWay> = ways.into_iter().collect();
    let coarse = ways.iter().any(|w| w.is_coarse());
    let stamps = if coarse { ", by stamps of whole seconds" } else { "" };
    match ways[..] {
        [] => return,
        [way] => one(page, way, stamps),
        _ => several(page, &ways, stamps),
    }
    if ways.iter().flat_map(|w| &w.rows).any(|r| r.until == Mark::Back) {
        page.paragraph(2, "The row until the kernel is back has the time asleep, where the clock of the stamps counts it.");
    }
}

fn one(page: &mut Page, way: &WholeWay, stamps: &str) {
    page.heading(&format!("The whole way{stamps}"));
    let head = format!("{}{}{}", left("  until", MARKS), right("took", 14), right("since", 14));
    page.line(&[(Ink::Faint, &head)]);
    let begins = format!("  {} (line {})", way.from.name(), way.line);
    page.line(&[(
        Ink::Plain,
        &format!("{}{}{}", left(&begins, MARKS), right("", 14), right("0 s", 14)),
    )]);
    let mut since = Ns::ZERO;
    for row in &way.rows {
        since = Ns(since.0.saturating_add(row.took_ns.0));
        let name = format!("  {} (line {})", row.until.name(), row.line);
        let cells = [right(&span(row.took_ns), 14), right(&span(since), 14)].concat();
        page.line(&[(Ink::Plain, &format!("{}{cells}", left(&name, MARKS)))]);
        if let Some(f) = &row.firmware {
            page.wrapped(Ink::Faint, 6, 8, &part(f));
        }
        if let Some(s) = &row.silence {
            let said =
                format!("{} of it before line {}: \"{}\"", span(s.took_ns), s.line, safe(&s.text));
            page.wrapped(Ink::Faint, 6, 8, &said);
        }
    }
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
pub(crate) fn firmware<'a>(page: &mut Page, all: impl IntoIterator<Item = &'a Firmware>) {
    let all: Vec<&Firmware> = all.into_iter().collect();
    let Some(most) = all.iter().max_by_key(|f| f.took_ns) else { return };
    let most = format!("{} (line {})", span(most.took_ns), most.line);
    let said = match all.len() {
        1 => format!(
            "Until the kernel was back the firmware took {most} of one sleep, by its own clock; nobody here can mend that."
        ),
        n => format!(
            "Until the kernel was back the firmware took up to {most} of {n} sleeps, by its own clock; nobody here can mend that."
        ),
    };
    page.paragraph(2, &said);
}

fn several(page: &mut Page, ways: &[&WholeWay], stamps: &str) {
    page.heading(&format!("The whole way of {}{stamps}", plural(ways.len(), "sleep")));
    let head = [left("  until", MARKS), right("of", 6), right("median", 14), right("longest", 14)];
    page.line(&[(Ink::Faint, &head.concat())]);
    for row in common(ways.iter().copied()) {
        let name = format!("  {}", row.until.name());
        let cells = [
            left(&name, MARKS),
            right(&row.sleeps.to_string(), 6),
            right(&span(row.median), 14),
            right(&span(row.most), 14),
        ];
        page.line(&[(Ink::Plain, &cells.concat())]);
    }
    firmware(page, ways.iter().flat_map(|w| &w.rows).filter_map(|r| r.firmware.as_ref()));
}
