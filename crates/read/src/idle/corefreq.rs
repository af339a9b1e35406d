//! The table of idle states that CoreFreq prints: a row a figure, a column a
//! state, with bars or blanks between.

use crate::grams::Asked;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::snapshot::{Snapshot, StateSeen};

/// The head of a row and its cells: `Latency   |      0|      2`,
/// `   |- Latency:        0       2`.
fn row(line: &str) -> Option<(&str, Vec<&str>)> {
    let line = line.trim_start_matches(['>', ' ', '\t', '|', '-']).trim_end();
    let end = line.find(|c: char| !c.is_ascii_alphabetic())?;
    let cells = line[end..].trim_start_matches([':', ' ']);
    let cells = cells.split(['|', ' ', '\t']).map(str::trim).filter(|c| !c.is_empty());
    Some((&line[..end], cells.collect()))
}

/// Names of states, if a line has them.
fn names(line: &str) -> Option<Vec<&str>> {
    let (head, cells) = row(line)?;
    let is_state = |c: &&str| {
        *c == "POLL"
            || c.strip_prefix('C').is_some_and(|n| n.starts_with(|d: char| d.is_ascii_digit()))
    };
    let named = matches!(head, "State" | "States") && cells.len() > 1 && cells.iter().all(is_state);
    named.then_some(cells)
}

/// Whether a text has such a table.
pub(crate) fn is_corefreq(text: &str, asked: &Asked<'_>) -> bool {
    if !asked.has_any(&["Latency"]) {
        return false;
    }
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if names(line).is_some() {
            let below = lines.clone().take(6).filter_map(row);
            return below.into_iter().any(|(head, _)| head == "Latency");
        }
    }
    false
}

/// Reads every such table as a snapshot of one CPU: CoreFreq says no counters.
pub(super) fn read(name: &str, text: &str, out: &mut Vec<Snapshot>, losses: &mut Losses) {
    let mut driver = None;
    let mut unread = 0;
    let mut open = false;
    for line in text.lines() {
        if let Some((_, after)) = line.split_once("dle driver") {
            let word = after.trim_matches([' ', '[', ']', '\t', ':', '|']);
            driver = (!word.is_empty()).then(|| word.to_lowercase());
        }
        if let Some(names) = names(line) {
            let one = |(i, n): (u32, &&str)| {
                (i, StateSeen { name: Some((*n).to_owned()), ..StateSeen::default() })
            };
            let states = (0..).zip(&names).map(one).collect();
            let label = name.to_owned();
            out.push(Snapshot {
                label,
                driver: driver.clone(),
                cpus: [(0, states)].into(),
                ..Snapshot::default()
            });
            open = true;
            continue;
        }
        let Some((head, cells)) = row(line).filter(|_| open) else { continue };
        let Some(states) = out.last_mut().and_then(|s| s.cpus.get_mut(&0)) else { continue };
        if !matches!(head, "Latency" | "Residency") {
            continue;
        }
        let numbers: Option<Vec<u64>> = cells.iter().map(|c| c.parse().ok()).collect();
        match numbers.filter(|n| n.len() == states.len()) {
            Some(numbers) => {
                for (s, n) in states.values_mut().zip(numbers) {
                    *(if head == "Latency" { &mut s.latency } else { &mut s.residency }) = Some(n);
                }
            }
            None => unread += 1,
        }
        open = head != "Residency";
    }
    let advice =
        "rows of CoreFreq's table with another number of cells than states: they are left out";
    losses.add("unread_line", unread, Severity::Warning, advice, None);
}
