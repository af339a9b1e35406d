//! Tables in which a person sets figures before a change beside those after it, as mails with
//! patches have them: in two columns, in two rows, or in two lines that are alike but for their
//! figures.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;

/// The rule that tells of such a table.
pub(crate) const COLUMNS: &str = "before-and-after";

/// Words for what was before, and for what came after.
const BEFORE: [&str; 11] = [
    "before",
    "base",
    "baseline",
    "vanilla",
    "stock",
    "unpatched",
    "without",
    "old",
    "mainline",
    "original",
    "orig",
];
const AFTER: [&str; 6] = ["after", "patched", "with", "new", "fixed", "patch"];

/// So many figures are told.
const MOST: usize = 6;

/// A row has so many letters at most.
const LONGEST: usize = 100;

/// Of what such a table must speak, in its head or in the names of its rows: of sleep, idle
/// states, or power.
const SUBJECTS: [&str; 26] = [
    "suspend",
    "resume",
    "sleep",
    "wake",
    "freez",
    "thaw",
    "idle",
    "power",
    "watt",
    "pkg",
    "latency",
    "residency",
    "above",
    "below",
    "energy",
    "noirq",
    "hibern",
    "s2idle",
    "s0ix",
    "drain",
    "c-state",
    "c10",
    "c6",
    "c1",
    "joule",
    "sync",
];

/// What stands before a sleep and after it is no change.
const PLACES: [&str; 5] = ["suspend", "resume", "sleep", "boot", "reboot"];

/// A figure as it is written, and its number.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    text: String,
    value: f64,
}

/// What one row compares.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    name: String,
    was: Figure,
    is: Figure,
}

/// The words of a row, without the marks of a table; figures with their units are one word.
fn cells(line: &str) -> Vec<String> {
    let plain = line.replace(['|', '*', '`', '"'], " ");
    let mut out: Vec<String> = Vec::new();
    for word in plain.split_whitespace() {
        let unit = matches!(
            word,
            "ms" | "us" | "µs" | "s" | "W" | "mW" | "%" | "usec" | "msec" | "mA" | "J"
        );
        match out.last_mut() {
            Some(last) if unit && value(last).is_some() => *last = format!("{last} {word}"),
            _ => out.push(word.into()),
        }
    }
    out
}

/// The number that a cell begins with, if the rest of it is a unit.
fn value(cell: &str) -> Option<f64> {
    let end =
        cell.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(cell.len());
    let number: f64 = cell[..end].replace(',', "").parse().ok()?;
    let unit = cell[end..].trim();
    (unit.len() <= 6 && unit.chars().all(|c| c.is_alphabetic() || c == '%' || c == '/'))
        .then_some(number)
}

fn figure(cell: &str) -> Option<Figure> {
    value(cell).map(|value| Figure { text: cell.trim_end_matches(',').into(), value })
}

fn is(word: &str, list: &[&str]) -> bool {
    list.iter().any(|w| word.trim_end_matches(':').eq_ignore_ascii_case(w))
}

/// The columns of a head that name before and after, counted from the end, if it has both and
/// no figure.
fn head(cells: &[String]) -> Option<(usize, usize)> {
    let from_end = |list: &[&str]| cells.iter().rev().position(|c| is(c, list));
    let few = cells.len() <= 6 && cells.iter().all(|c| value(c).is_none());
    let place =
        cells.windows(2).any(|w| (is(&w[0], &BEFORE) || is(&w[0], &AFTER)) && is(&w[1], &PLACES));
    (few && !place).then_some(())?;
    Some((from_end(&BEFORE)?, from_end(&AFTER)?))
}

/// A row below such a head: a name, then figures.
fn row(cells: &[String], (was, is): (usize, usize)) -> Option<Pair> {
    let n = cells.len();
    let of = |from_end: usize| figure(cells.get(n.checked_sub(from_end + 1)?)?);
    let figures = cells.iter().position(|c| value(c).is_some())?;
    let name = cells[..figures].join(" ");
    let letters = name.chars().any(char::is_alphabetic);
    Some(Pair { name, was: of(was)?, is: of(is)? }).filter(|_| letters)
}

/// Two rows below a head of names, the first of before and the second of after.
fn two_rows(head: &[String], a: &[String], b: &[String]) -> Vec<Pair> {
    let labels =
        a.first().is_some_and(|w| is(w, &BEFORE)) && b.first().is_some_and(|w| is(w, &AFTER));
    let n = head.len();
    if !labels || n < 1 || a.len() != b.len() || a.len() < n + 1 {
        return Vec::new();
    }
    let from = a.len() - n;
    let pair = |i: usize| {
        let (was, is) = (figure(&a[from + i])?, figure(&b[from + i])?);
        let name = head[i].clone();
        name.chars().any(char::is_alphabetic).then_some(Pair { name, was, is })
    };
    (0..n).map(pair).collect::<Option<_>>().unwrap_or_default()
}

/// Two lines that say the same but for one figure, behind labels: `v6.1: "… 0.364 seconds"`.
fn two_lines(a: &str, b: &str) -> Option<Pair> {
    let labelled = |line: &str| {
        let (label, rest) = line.trim().split_once(':')?;
        let short = !label.is_empty() && label.len() <= 24 && !rest.trim().is_empty();
        short.then(|| (label.trim().to_owned(), rest.trim().to_owned()))
    };
    let ((first, a), (second, b)) = (labelled(a)?, labelled(b)?);
    let version = |l: &str| l.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let kinds = (is(&first, &BEFORE) || version(&first)) && is(&second, &AFTER);
    let words =
        |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let (a, b) = (words(&a), words(&b));
    if !kinds || a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let number = |w: &str| figure(w.trim_matches(['(', ')', '"', ',', ';']));
    let mut differ = a.iter().zip(&b).filter(|(x, y)| x != y);
    let (was, is) = differ.next()?;
    if differ.next().is_some() {
        return None;
    }
    let name = a.iter().filter(|w| number(w).is_none() && w.chars().any(char::is_alphabetic));
    let name: Vec<&str> = name.map(|w| w.trim_matches(['"', '(', ')', ','])).collect();
    Some(Pair { name: name.join(" "), was: number(was)?, is: number(is)? })
}

/// Whether a line has a word for what came after a change.
fn names_after(line: &str) -> bool {
    let mark = |c: char| c.is_whitespace() || matches!(c, '|' | '*' | '`' | '"');
    line.split(mark).any(|w| is(w, &AFTER))
}

/// The first table of a text: its rows, and the lines that show it.
fn table<'a>(said: &[&'a Message]) -> Option<(Vec<Pair>, Vec<&'a Message>)> {
    let near = |a: &Message, b: &Message| b.line > a.line && b.line - a.line <= 2;
    // Each of its forms has a word for what came after, in one of its first three lines.
    let named: Vec<bool> = said.iter().map(|m| names_after(&m.text)).collect();
    for (i, m) in said.iter().enumerate() {
        if !named[i..].iter().take(3).any(|n| *n) {
            continue;
        }
        let own = cells(&m.text);
        if let Some(columns) = head(&own) {
            let mut last = *m;
            let mut rows = Vec::new();
            for next in &said[i + 1..] {
                let rule = !next.text.chars().any(char::is_alphanumeric);
                let found = row(&cells(&next.text), columns).filter(|_| near(last, next));
                match found {
                    Some(pair) => rows.push((pair, *next)),
                    None if rule && near(last, next) => {}
                    None => break,
                }
                last = *next;
            }
            if !rows.is_empty() {
                let shown = std::iter::once(*m).chain(rows.iter().map(|r| r.1)).collect();
                return Some((rows.into_iter().map(|r| r.0).collect(), shown));
            }
        }
        if let [a, b, ..] = said[i + 1..]
            && near(m, a)
            && near(a, b)
            && own.iter().all(|c| value(c).is_none())
        {
            let rows = two_rows(&own, &cells(&a.text), &cells(&b.text));
            if !rows.is_empty() {
                return Some((rows, vec![*m, a, b]));
            }
        }
        if let Some(b) = said.get(i + 1).filter(|b| near(m, b))
            && let Some(pair) = two_lines(&m.text, &b.text)
        {
            return Some((vec![pair], vec![*m, b]));
        }
    }
    None
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let said: Vec<&Message> = case
        .messages
        .iter()
        .filter(|m| !m.trust.is_of_a_kernel() || m.time.is_none())
        .filter(|m| m.text.len() <= LONGEST)
        .collect();
    // The writer's own words come before those that he quotes.
    let (quoted, own): (Vec<&Message>, Vec<&Message>) =
        said.iter().copied().partition(|m| case.quoted.binary_search(&m.line).is_ok());
    let Some((rows, shown)) = table(&own).or_else(|| table(&quoted)) else { return };
    let speaks = |text: &str| {
        let lower = text.to_ascii_lowercase();
        SUBJECTS.iter().any(|s| lower.contains(s))
    };
    let caption = shown.first().and_then(|head| caption(case, head)).filter(|m| speaks(&m.text));
    let spoken = rows.iter().any(|r| speaks(&r.name)) || speaks(&shown[0].text);
    if !spoken && caption.is_none() {
        return;
    }
    // What the rows are of stands above them.
    let of = caption
        .filter(|_| !spoken)
        .map_or(String::new(), |m| format!(" (\"{}\")", m.text.trim().trim_end_matches(':')));
    let words: Vec<String> = rows.iter().take(MOST).map(told).collect();
    let more = match rows.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!("; {n} more"),
    };
    out.push(
        Finding::new((COLUMNS, Area::Phase, Level::Note), Confidence::Guess)
            .says(format!(
                "The writer sets figures before a change beside those after it{of}: {}{more}. How often each was measured decides what that proves.",
                words.join("; ")
            ))
            .look("Record several sleeps of both kernels, then dormouse compare A B.")
            .shown_by(lines(caption.into_iter().chain(shown)).into_iter().map(|e| Evidence { doubtful: true, ..e })),
    );
}

/// The line with a colon right above a table.
fn caption<'a>(case: &'a Case, head: &Message) -> Option<&'a Message> {
    let at = case.messages.partition_point(|m| m.line < head.line);
    let above = case.messages[..at].last()?;
    let near = head.line - above.line <= 2 && above.text.len() <= LONGEST;
    (near && above.text.trim_end().ends_with(':')).then_some(above)
}

/// `suspend 312.4 ms -> 300.8 ms (-4 %)`.
fn told(p: &Pair) -> String {
    let by =
        (p.was.value > 0.0).then(|| ((p.is.value - p.was.value) * 100.0 / p.was.value).round());
    // A share against a share is told by both.
    let by = by.filter(|_| !p.was.text.ends_with('%'));
    let by = by.map_or(String::new(), |by| format!(" ({}{by} %)", if by > 0.0 { "+" } else { "" }));
    format!("{} {} -> {}{by}", p.name, p.was.text, p.is.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        let mut out = Vec::new();
        judge(&Case::of_prose(text), &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn two_columns_two_rows_and_two_lines_are_read() {
        let columns =
            "        before   after\n PkgWatt   4.21   3.87\n C10 residency  71.4%  78.9%\n";
        let told = said(columns).expect("a table");
        assert!(
            told.contains("PkgWatt 4.21 -> 3.87 (-8 %); C10 residency 71.4% -> 78.9%."),
            "{told}"
        );
        let rows =
            "      suspend  resume\n before  312.4 ms  1012.3 ms\n after   300.8 ms  402.1 ms\n";
        let told = said(rows).expect("a table");
        assert!(
            told.contains("suspend 312.4 ms -> 300.8 ms (-4 %); resume 1012.3 ms -> 402.1 ms"),
            "{told}"
        );
        let two = "  v6.1:    \"Freezing user space (elapsed 0.364 seconds)\" median\n  patched: \"Freezing user space (elapsed 0.012 seconds)\" median\n";
        let told = said(two).expect("two lines");
        assert!(told.contains("0.364 -> 0.012 (-97 %)"), "{told}");
    }

    #[test]
    fn a_caption_says_what_a_table_is_of() {
        let told = said(
            "Mean of 10 cycles, resume of devices:\n\n       before   after\n  mean  2.413 s  0.389 s\n",
        );
        let told = told.expect("a table");
        assert!(
            told.contains(
                "(\"Mean of 10 cycles, resume of devices\"): mean 2.413 s -> 0.389 s (-84 %)"
            ),
            "{told}"
        );
        assert_eq!(
            said("Mean of 10 cycles:\n\n       before   after\n  mean  2.413 s  0.389 s\n"),
            None
        );
    }

    #[test]
    fn what_compares_nothing_is_no_table() {
        for text in [
            "before and after the sleep\nit was 4 W\n",
            "old new\n\n\nPkgWatt 4 3\n",
            "suspend resume\nfirst 12 ms 13 ms\nsecond 14 ms 15 ms\n",
            "with: 3 of them\nwithout: 4 of those\n",
            "usb 1-1: new high-speed device\nPM: suspend exit\n",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
