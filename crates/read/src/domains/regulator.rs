//! `regulator_summary`: regulators under their supplies, consumers under them.

use super::lines::{Line, Lines, number};
use dormouse_power::regulator::{Regulator, Table};

/// What a regulator feeds stands three columns further in
/// (drivers/regulator/core.c:regulator_summary_show_subtree). One less than two is a blank
/// that a row lost on its way.
const STEP: usize = 2;

/// Leaves on the stack what may feed the row in `line`.
fn pop(stack: &mut Vec<(usize, usize)>, line: &Line<'_>) {
    while stack.last().is_some_and(|(indent, _)| indent + STEP > line.indent) {
        stack.pop();
    }
}

/// Where the table goes on that stopped before line `at`: a name, three counts, and a
/// voltage behind the mode.
fn goes_on(lines: &Lines<'_>, at: usize, quotes: usize) -> Option<usize> {
    let is_row = |line: &Line<'_>, _: usize| {
        let words = line.words();
        words.len() > 4
            && words[1..4].iter().all(|w| number(w).is_some())
            && words[4..].iter().any(|w| with_unit(w).is_some())
    };
    lines.resumes(at, quotes, is_row, is_head)
}

/// Whether a line is the head of a table.
pub(crate) fn is_head(line: &Line<'_>) -> bool {
    line.text.starts_with("regulator ") && line.text.contains(" use open")
}

/// `3300mV`, `0mA`.
fn with_unit(word: &str) -> Option<(u64, &str)> {
    let at = word.find('m')?;
    Some((number(&word[..at]).filter(|_| at > 0)?, &word[at..]))
}

/// What a row says of its mode (drivers/regulator/core.c:regulator_opmode_to_str).
const MODES: [&str; 6] = ["fast", "normal", "idle", "standby", "undefined", "unknown"];

/// The first voltage of a row.
fn millivolts(words: &[&str]) -> Option<u64> {
    words.iter().find_map(|w| with_unit(w).filter(|(_, u)| *u == "mV").map(|(n, _)| n))
}

/// Reads the table whose head is line `from`, and says where it ends.
pub(super) fn read(lines: &Lines<'_>, from: usize) -> Option<(Table, usize)> {
    let head = lines.get(from);
    let mut table = Table { line: from as u64 + 1, ..Table::default() };
    let mut stack: Vec<(usize, usize)> = Vec::new();
    // A page of the web made one blank of each run: nothing shows who feeds whom.
    let squeezed = !head.text.contains("  ");
    // The regulator in the line before, if its row broke off before the voltage.
    let mut broken: Option<usize> = None;
    let mut at = from + 1;
    while at < lines.len() {
        let line = lines.get(at);
        if line.quotes == head.quotes && line.elided() {
            // Who feeds the next row, only the rows left out would tell.
            stack.clear();
            table.cut = true;
            at += 1;
            continue;
        }
        if line.quotes != head.quotes || line.text.is_empty() || line.fence() {
            let Some(next) = goes_on(lines, at, head.quotes) else { break };
            stack.clear();
            (table.cut, at) = (true, next);
            continue;
        }
        at += 1;
        let words = line.words();
        // The rest of a row or of the head that a mail program wrapped.
        let units = words.iter().filter(|w| with_unit(w).is_some()).count();
        let of_row = broken.take();
        let moded = of_row.is_some() && MODES.contains(&words[0]) && units + 1 == words.len();
        if line.ruled()
            || units == words.len()
            || moded
            || matches!(words[0], "current" | "voltage")
        {
            if let Some(r) = of_row {
                table.regulators[r].millivolts = millivolts(&words);
            }
            continue;
        }
        let Some(begin) = (1..words.len()).find(|&i| number(words[i]).is_some()) else {
            // A consumer of a kernel that does not count its uses: voltages alone.
            pop(&mut stack, &line);
            let parent = match stack.last() {
                Some((_, p)) => Some(*p),
                None if squeezed => table.regulators.len().checked_sub(1),
                None => None,
            };
            if let (Some(p), true) = (parent, units > 1) {
                let name = words[..words.len() - units].join(" ");
                table.regulators[p].consumers.push((name, None));
                continue;
            }
            at -= 1;
            let next = goes_on(lines, at, head.quotes);
            table.cut |= next.is_some() || !line.prompt();
            let Some(next) = next else { break };
            stack.clear();
            at = next;
            continue;
        };
        let run = words[begin..].iter().take_while(|w| number(w).is_some()).count();
        let value = |i: usize| words.get(i).and_then(|w| number(w)).unwrap_or(0);
        pop(&mut stack, &line);
        let parent = stack.last().map(|(_, i)| *i);
        if run >= 3 {
            // A name may end with a number.
            let begin = begin + run - 3;
            stack.push((line.indent, table.regulators.len()));
            table.regulators.push(Regulator {
                line: at as u64,
                name: words[..begin].join(" "),
                parent,
                used: value(begin),
                open: value(begin + 1),
                millivolts: millivolts(&words[begin..]),
                consumers: Vec::new(),
            });
            let of_row = table.regulators.len() - 1;
            broken = table.regulators[of_row].millivolts.is_none().then_some(of_row);
        } else if let Some(p) = parent {
            let name = words[..begin].join(" ");
            table.regulators[p].consumers.push((name, Some(value(begin))));
        } else if !table.cut {
            at -= 1;
            break;
        }
    }
    // The last row ends inside a column: `0m`, or a number alone.
    let last = lines.get(at.saturating_sub(1));
    let word = last.text.rsplit(' ').next().unwrap_or("");
    table.cut |= word.strip_suffix('m').is_some_and(|n| number(n).is_some());
    (!table.regulators.is_empty()).then_some((table, at))
}
