//! Tables of what sleeps drew, that somebody measured: a row a way of sleeping or a setting, one
//! column in units of power.

use super::looped::cells;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust, thousandths};
use dormouse_base::say;

/// The name of the rule.
pub(crate) const DRAWN: &str = "drawn-table";
/// Words of a table that is about sleep.
const SLEEP: [&str; 8] =
    ["s2idle", "deep", "suspend", "sleep", "s0ix", "standby", "hibernat", "mem_sleep"];

/// Where a table has what.
struct Head<'a> {
    cells: Vec<&'a str>,
    power: usize,
    unit: &'static str,
    mode: Option<usize>,
}

/// A row: what it drew in thousandths of the unit, the way of sleeping, and what else it names.
struct Row<'a> {
    drew: u64,
    mode: &'a str,
    rest: String,
    said: &'a Message,
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut open: Option<(Head<'_>, Vec<Row<'_>>)> = None;
    // What may be a head is one if the rule of dashes stands below it.
    let mut above: Option<Vec<&str>> = None;
    // A line with the prefix of a log is no row.
    for m in case.messages.iter().filter(|m| m.trust != Trust::Logged) {
        let here = cells(&m.text, '|');
        if let Some((head, rows)) = &mut open
            && here.len() == head.cells.len()
            && take(head, &here, m, rows)
        {
            continue;
        }
        if let Some((head, rows)) = open.take() {
            tell(&head, &rows, out);
        }
        let rule = here.iter().all(|c| !c.is_empty() && c.bytes().all(|b| b"-: ".contains(&b)));
        let named = above.take().filter(|a| rule && a.len() == here.len());
        open = named.and_then(head).map(|h| (h, Vec::new()));
        above = Some(here);
    }
    if let Some((head, rows)) = open {
        tell(&head, &rows, out);
    }
}

/// The head of such a table: one column alone is of power or of a battery's share an hour.
fn head(cells: Vec<&str>) -> Option<Head<'_>> {
    let unit = |c: &str| {
        let lower = c.to_ascii_lowercase();
        let word = |w: &str| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|p| p == w);
        let hourly = ["%/h", "% / h", "%/hour", "% per hour", "% an hour"];
        if hourly.iter().any(|w| lower.contains(w)) {
            Some("% an hour")
        } else if word("mw") {
            Some("mW")
        } else if lower.contains("(w)")
            || word("watt")
            || word("watts")
            || word("w") && (word("power") || word("draw"))
        {
            Some("W")
        } else {
            None
        }
    };
    // What a charger gives, or a chip may take at most, no sleep drew.
    const OTHERS: [&str; 7] = ["tdp", "charger", "max", "rated", "limit", "adapter", "supply"];
    let other = |c: &&str| {
        let lower = c.to_ascii_lowercase();
        OTHERS.iter().any(|w| lower.contains(w))
    };
    if cells.iter().any(other) {
        return None;
    }
    let power: Vec<(usize, &'static str)> =
        cells.iter().enumerate().filter_map(|(n, c)| Some((n, unit(c)?))).collect();
    let [(power, unit)] = power[..] else { return None };
    let mode = cells.iter().position(|c| {
        let lower = c.to_ascii_lowercase();
        ["mode", "state", "mem_sleep", "sleep"].iter().any(|w| lower.contains(w))
    });
    (cells.len() > 1).then_some(Head { cells, power, unit, mode })
}

/// Takes in a row. Whether it is one.
fn take<'a>(head: &Head<'_>, row: &[&'a str], m: &'a Message, rows: &mut Vec<Row<'a>>) -> bool {
    let cell = row[head.power].trim_start_matches(['-', '~']).trim();
    let end = cell.find(|c: char| !c.is_ascii_digit() && !".,".contains(c)).unwrap_or(cell.len());
    let (value, unit) = (&cell[..end], cell[end..].trim());
    let of_unit = match head.unit {
        "% an hour" => unit.starts_with('%'),
        u => unit.eq_ignore_ascii_case(u),
    };
    // `0,35` is a decimal comma, `1,200` may be either, and a unit of its own is another column.
    let value = match value.split_once(',') {
        Some((_, part)) if part.len() == 3 => return false,
        Some((whole, part)) => format!("{whole}.{part}"),
        None => value.to_string(),
    };
    let Some(drew) = thousandths(&value).filter(|_| {
        (unit.is_empty() || of_unit)
            && value.starts_with(|c: char| c.is_ascii_digit())
            && value.matches('.').count() < 2
    }) else {
        return false;
    };
    let sum = ["total", "sum", "average", "avg", "mean"];
    if row.iter().any(|c| sum.iter().any(|w| c.eq_ignore_ascii_case(w))) {
        return true;
    }
    let number = |c: &str| c.bytes().all(|b| b.is_ascii_digit() || b"-+.,~ ".contains(&b));
    let rest = row
        .iter()
        .enumerate()
        .filter(|(n, c)| *n != head.power && Some(*n) != head.mode && !number(c));
    let rest: Vec<&str> = rest.map(|(_, c)| *c).collect();
    let mode = head.mode.map_or("", |n| row[n]);
    rows.push(Row { drew, mode, rest: rest.join(", "), said: m });
    true
}

fn tell(head: &Head<'_>, rows: &[Row<'_>], out: &mut Vec<Finding>) {
    let of_sleep = |text: &str| {
        let lower = text.to_ascii_lowercase();
        SLEEP.iter().any(|w| lower.contains(w))
    };
    let speaks = head.cells.iter().any(|c| of_sleep(c))
        || rows.iter().any(|r| of_sleep(r.mode) || of_sleep(&r.rest));
    let (Some(least), Some(most)) =
        (rows.iter().min_by_key(|r| r.drew), rows.iter().max_by_key(|r| r.drew))
    else {
        return;
    };
    if !speaks || rows.len() < 2 || least.drew == most.drew {
        return;
    }
    let figure = |r: &Row<'_>| {
        let (whole, part) = (r.drew / 1_000, r.drew % 1_000);
        let part = format!("{part:03}");
        let part = part.trim_end_matches('0');
        let point = if part.is_empty() { "" } else { "." };
        format!("{}{point}{part} {}", say::grouped(whole), head.unit)
    };
    let who = |r: &Row<'_>| match (r.mode, r.rest.as_str()) {
        ("", rest) => rest.to_string(),
        (mode, "") => mode.to_string(),
        (mode, rest) => format!("{mode} with {rest}"),
    };
    let mut sentence = format!(
        "In the writer's table of {} {} drew most, {}, and {} least, {}.",
        say::plural(rows.len(), "row"),
        who(most),
        figure(most),
        who(least),
        figure(least)
    );
    // Two ways of sleeping with all else alike.
    let pairs =
        rows.iter().enumerate().flat_map(|(n, a)| rows[n + 1..].iter().map(move |b| (a, b)));
    let alike = |(a, b): &(&Row<'_>, &Row<'_>)| {
        a.rest == b.rest && a.mode != b.mode && !a.mode.is_empty() && a.drew != b.drew
    };
    if let Some((a, b)) = pairs.into_iter().find(alike).filter(|_| rows.len() > 2) {
        let with = if a.rest.is_empty() { String::new() } else { format!(" With {}:", a.rest) };
        sentence += &format!("{with} {} {}, {} {}.", a.mode, figure(a), b.mode, figure(b));
    }
    out.push(
        Finding::new((DRAWN, Area::Mode, Level::Note), Confidence::Likely)
            .says(sentence)
            .look("How long each was measured decides how far such figures hold: a gauge moves in steps. Compare sleeps of hours, from the same charge.")
            .shown_by(lines(rows.iter().map(|r| r.said))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rows: &[&str]) -> Option<String> {
        let message = |(i, text): (usize, &&str)| Message {
            line: i as u64 + 1,
            time: None,
            second: None,
            text: (*text).into(),
            trust: Trust::Prose,
        };
        let case = Case::new(rows.iter().enumerate().map(message).collect(), &[]);
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn a_table_of_what_sleeps_drew_says_which_drew_most() {
        let table = [
            "| cards | mode | hours | P (mW) |",
            "|---|---|---|---|",
            "| two A | deep | 7.5 | -1498 |",
            "| two A | s2idle | 8.1 | -520 |",
            "| four C | deep | 8.0 | -400.5 |",
        ];
        let want = "In the writer's table of 3 rows deep with two A drew most, 1,498 mW, and deep \
                    with four C least, 400.5 mW. With two A: deep 1,498 mW, s2idle 520 mW.";
        assert_eq!(said(&table).as_deref(), Some(want));
        let hourly = ["| mem_sleep | %/h |", "|---|---|", "| deep | 0.6 |", "| s2idle | 2.1 % |"];
        assert!(said(&hourly).is_some_and(|s| s.contains("s2idle drew most, 2.1 % an hour")));
    }

    #[test]
    fn other_tables_and_single_rows_are_none() {
        assert_eq!(said(&["| lamp | W |", "|---|---|", "| desk | 8 |", "| wall | 40 |"]), None);
        assert_eq!(said(&["| mode | W |", "|---|---|", "| deep | 0.4 |"]), None);
        assert_eq!(
            said(&["| mode | W |", "|---|---|", "| deep | good |", "| s2idle | bad |"]),
            None
        );
    }
}
