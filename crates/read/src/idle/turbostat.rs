//! Tables of turbostat: a head, a line for the machine, lines for CPUs, again
//! and again.

use dormouse_idle::turbostat::{Interval, Row, Run};
use dormouse_model::loss::{Losses, Severity};

/// Columns of which a head has some.
const KNOWN: [&str; 14] = [
    "Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "CPU%c1", "CPU%c3", "CPU%c6", "CPU%c7", "CoreTmp",
    "PkgTmp", "PkgWatt", "Pkg%pc2", "Pkg%pc6", "CorWatt",
];

/// Fewest of them that make a line a head.
const FEWEST: usize = 3;

/// Names of columns, if a line is a head.
fn head(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let known = words.iter().filter(|w| KNOWN.contains(w)).count();
    (known >= FEWEST).then_some(words)
}

/// Whether a text has a head with a line of numbers below it.
pub fn is_turbostat(text: &str) -> bool {
    let mut lines = text.lines().map(plain);
    while let Some(line) = lines.next() {
        let Some(mut columns) = head(line) else { continue };
        let mut below = lines.clone();
        let mut next = below.next();
        while let Some(more) = next.and_then(rest_of_head) {
            columns.extend(more);
            next = below.next();
        }
        if next.is_some_and(|l| row(&columns, l).is_some()) {
            return true;
        }
    }
    false
}

/// A line without the marks of a mail that quotes it.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' '])
}

/// Names of columns that a mail client moved to the line below.
fn rest_of_head(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = |w: &&str| {
        w.len() > 1 && w.chars().any(|c| c.is_ascii_alphabetic()) && !w.starts_with("0x")
    };
    // A sentence ends with a full stop and has small words.
    let table = words.iter().any(|w| w.ends_with('%') || w.contains('%') || w.ends_with("Watt"));
    (!words.is_empty() && table && words.iter().all(name)).then_some(words)
}

/// A decimal number in thousandths.
fn thousandths(word: &str) -> Option<i64> {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let part: i64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(part)
}

/// One line: values by column, and whether it is of the whole machine. Later
/// threads of a core and later cores of a package end early.
fn row(columns: &[&str], line: &str) -> Option<(Row, bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.is_empty() || words.len() > columns.len() {
        return None;
    }
    let mut out = Row::new();
    let mut dashes = 0;
    for (column, word) in columns.iter().zip(&words) {
        match thousandths(word) {
            Some(n) => {
                out.insert((*column).to_owned(), n);
            }
            None if *word == "-" => dashes += 1,
            // A register that the caller added.
            None if word.starts_with("0x") => {}
            // A counter that could not be read is printed as stars or words.
            None => return None,
        }
    }
    // A line of dashes says nothing.
    let names_cpu = columns.contains(&"CPU");
    (!out.is_empty()).then_some((out, if names_cpu { dashes > 0 } else { true }))
}

/// Most that shares of one CPU can add up to, thousandths of a per cent: counters
/// are not read at one instant.
const WHOLE: i64 = 105_000;

/// Shares of hardware states that exceed the whole: columns are misplaced.
fn is_impossible(row: &Row) -> bool {
    let shares = row.iter().filter(|(c, _)| c.starts_with("CPU%c") || c.as_str() == "Busy%");
    let package = row.iter().filter(|(c, _)| c.starts_with("Pkg%pc") || c.starts_with("Pk%pc"));
    let sum = |shares: &mut dyn Iterator<Item = (&String, &i64)>| -> i64 {
        shares.fold(0, |a, s| a.saturating_add(*s.1))
    };
    sum(&mut { shares }) > WHOLE || sum(&mut { package }) > WHOLE
}

/// Reads the tables of a text as one run; a head with other columns begins
/// another.
pub fn read(name: &str, text: &str, out: &mut Vec<Run>, losses: &mut Losses) {
    let first = out.len();
    let mut columns: Vec<&str> = Vec::new();
    let (mut unread, mut at) = (0, None);
    let mut impossible = 0;
    let mut headless = false;
    let mut inside = false;
    let mut wrapped = false;
    let mut lines = text.lines().map(plain).enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        if let Some(mut found) = head(line) {
            wrapped = false;
            while let Some(more) = lines.peek().and_then(|l| rest_of_head(l.1)) {
                found.extend(more);
                wrapped = true;
                lines.next();
            }
            if out.len() == first || columns != found {
                let columns = found.iter().map(|c| (*c).to_owned()).collect();
                out.push(Run { label: name.to_owned(), columns, intervals: Vec::new() });
            }
            columns = found;
            inside = true;
            continue;
        }
        if !inside {
            continue;
        }
        let Some(run) = out.last_mut() else { continue };
        let mut whole = line.to_owned();
        // The line of the machine has every column, so its pieces can be joined;
        // those of CPUs may end early, so theirs cannot.
        while wrapped
            && row(&columns, &whole).is_some()
            && whole.split_whitespace().count() < columns.len()
            && let Some((_, more)) = lines.next_if(|l| !l.1.trim().is_empty())
        {
            whole = format!("{whole} {more}");
        }
        match row(&columns, &whole) {
            Some((row, machine)) if is_impossible(&row) => {
                impossible += 1;
                headless |= machine;
            }
            // What belongs to a line of the machine that was left out.
            Some((_, false)) if headless => impossible += 1,
            Some((machine, true)) => {
                headless = false;
                run.intervals.push(Interval { machine, cpus: Vec::new() });
                inside = !wrapped;
            }
            Some((cpu, false)) => match run.intervals.last_mut() {
                Some(interval) => interval.cpus.push(cpu),
                // One CPU has no line for the machine.
                None => run.intervals.push(Interval { machine: cpu.clone(), cpus: vec![cpu] }),
            },
            None => {
                inside = false;
                // Text after a table is no damage; numbers that do not fit are.
                if line.split_whitespace().take(3).filter(|w| thousandths(w).is_some()).count() == 3
                {
                    unread += 1;
                    at.get_or_insert(i as u64 + 1);
                }
            }
        }
    }
    let mut i = 0;
    out.retain(|r| {
        i += 1;
        i <= first || !r.intervals.is_empty()
    });
    let advice = "lines of a turbostat table that do not fit its head (wrapped by a mail client?): \
                  the table is read up to there";
    let misplaced = "lines of a turbostat table whose shares exceed the whole (columns misplaced?): they \
                     are left out";
    losses.add("impossible_line", impossible, Severity::Warning, misplaced, None);
    losses.add("unread_line", unread, Severity::Warning, advice, at);
}
