//! Tables of figures as people type them: a line of names, then rows of a name and figures, in
//! columns that blanks or bars part.

use crate::message::Message;

/// A figure as it is written, and its number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub text: String,
    /// In the smallest unit of its kind.
    pub value: f64,
    /// What its unit measures; empty of a bare number.
    pub kind: String,
}

/// What a unit measures, and how many of the smallest one it is.
fn measure(unit: &str) -> (String, f64) {
    let (kind, by) = match unit {
        "ns" => ("time", 1.0),
        "us" | "µs" | "usec" | "usecs" => ("time", 1e3),
        "ms" | "msec" | "msecs" => ("time", 1e6),
        "s" | "sec" | "secs" => ("time", 1e9),
        "min" => ("time", 60e9),
        "uW" => ("watt", 1.0),
        "mW" => ("watt", 1e3),
        "W" => ("watt", 1e6),
        other => (other, 1.0),
    };
    (kind.into(), by)
}

/// What one row says: its name, and a figure a column where it has one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub name: String,
    pub figures: Vec<Option<Figure>>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    /// Where its lines stand among the messages: the head, then the rows.
    pub lines: Vec<usize>,
}

/// So many columns a table has at most.
const COLUMNS: usize = 8;

/// So many lines lie between two lines of a table at most.
const NEAR: u64 = 2;

/// What stands behind a figure, parted from it by a blank.
const UNITS: [&str; 10] = ["ms", "us", "µs", "s", "W", "mW", "%", "usec", "msec", "mA"];

/// The words of a row, without the marks of a table; figures with their units are one word.
pub(super) fn words(line: &str) -> Vec<String> {
    let plain = line.replace(['|', '*', '`', '"'], " ");
    let mut out: Vec<String> = Vec::new();
    let mut spread = false;
    for word in plain.split_whitespace() {
        let unit = UNITS.contains(&word) || word == "J";
        // How far values lie apart, and the change in percent, belong to the figure before them.
        let aside = word.starts_with('(') && word.ends_with(')');
        let sign = matches!(word, "±" | "+/-" | "+-");
        match out.last_mut() {
            Some(last) if value(last).is_some() && (unit || aside || sign || spread) => {
                *last = format!("{last} {word}");
            }
            _ => out.push(word.into()),
        }
        spread = sign;
    }
    out
}

/// The number that a cell begins with, if the rest of it is a unit, or says how sure it is.
pub(super) fn value(cell: &str) -> Option<f64> {
    parsed(cell).map(|p| p.0)
}

/// That number, and its unit.
fn parsed(cell: &str) -> Option<(f64, &str)> {
    let (sign, plain) = match cell.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, cell.strip_prefix(['+', '~']).unwrap_or(cell)),
    };
    let end =
        plain.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(plain.len());
    let number: f64 = plain[..end].replace(',', "").parse().ok()?;
    let rest = plain[end..].trim();
    let rest = rest.split(['±', '(']).next().unwrap_or_default();
    let unit = rest.split("+/-").next().unwrap_or_default().trim().trim_end_matches("+-").trim();
    let letters = unit.chars().all(|c| c.is_alphabetic() || c == '%' || c == '/');
    (unit.chars().count() <= 6 && letters).then_some((sign * number, unit))
}

pub(super) fn figure(cell: &str) -> Option<Figure> {
    let text = cell.trim_end_matches(',');
    let (number, unit) = parsed(cell)?;
    let (kind, by) = measure(unit);
    let text = text.split(" (").next().unwrap_or(text).into();
    Some(Figure { text, value: number * by, kind })
}

/// The cells of a line that bars part; nothing of other lines.
fn barred(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    if line.matches('|').count() < 2 {
        return None;
    }
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    let plain = |c: &str| c.trim().trim_matches(['*', '`', '"']).trim().to_owned();
    Some(line.split('|').map(plain).collect())
}

/// The cells of a line that two blanks or more part.
fn parted(line: &str) -> Vec<String> {
    let plain = line.replace(['*', '`', '"', '\t'], "  ");
    plain.split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
}

/// A line that parts others: it has no word.
fn is_rule(line: &str) -> bool {
    !line.chars().any(char::is_alphanumeric)
}

/// A head between bars, with what goes on in the line below: of that the first cell is empty, and
/// no other has a figure.
fn in_two_lines(head: &str, next: &str) -> Option<Vec<String>> {
    let (head, more) = (barred(head)?, barred(next)?);
    let words = |c: &String| value(c).is_none() && c.chars().any(char::is_alphabetic);
    let goes_on = more.len() == head.len()
        && more[0].is_empty()
        && more.iter().any(words)
        && more.iter().all(|c| c.is_empty() || words(c));
    let both = |(a, b): (&String, &String)| format!("{a} {b}").trim().to_owned();
    goes_on.then(|| head.iter().zip(&more).map(both).collect())
}

/// How the columns of a head may be named, the likeliest first.
fn heads(line: &str, joined: Option<Vec<String>>) -> Vec<Vec<String>> {
    let cells = match joined.or_else(|| barred(line)) {
        Some(cells) => vec![cells],
        None => vec![parted(line), words(line)],
    };
    let both = |c: Vec<String>| [c.get(1..).unwrap_or_default().to_vec(), c];
    let fits = |c: &Vec<String>| {
        let named =
            |c: &String| value(c).is_none() && c.chars().any(|c| c.is_alphanumeric() || c == '%');
        (1..=COLUMNS).contains(&c.len()) && c.iter().all(named)
    };
    cells.into_iter().flat_map(both).filter(fits).collect()
}

/// A row of so many figures. `exact`: what stands before them is no figure.
fn row(line: &str, n: usize, exact: bool) -> Option<Row> {
    let (name, cells) = match barred(line) {
        Some(cells) => {
            let (name, rest) = cells.split_first()?;
            (name.clone(), rest.to_vec())
        }
        None => {
            let all = words(line);
            let run = all.iter().rev().take_while(|c| value(c).is_some()).count();
            if run < n || exact && run > n {
                return None;
            }
            let (name, cells) = all.split_at(all.len() - n);
            (name.join(" "), cells.to_vec())
        }
    };
    let figures: Vec<Option<Figure>> = cells.iter().map(|c| figure(c)).collect();
    let letters = name.chars().any(char::is_alphabetic);
    (letters && figures.len() == n && figures.iter().any(Option::is_some))
        .then_some(Row { name, figures })
}

/// The table whose head is the message at `at`.
pub(super) fn grid(said: &[&Message], at: usize) -> Option<Grid> {
    let head = said[at];
    if is_rule(&head.text) {
        return None;
    }
    // A name of a row may end with a number, where two figures or more follow it.
    let next = said.get(at + 1).filter(|n| n.line == head.line + 1);
    let joined = next.and_then(|n| in_two_lines(&head.text, &n.text));
    let more = usize::from(joined.is_some());
    let tries = heads(&head.text, joined);
    let exact = tries.iter().map(|c| (c, true));
    let loose = tries.iter().filter(|c| c.len() > 1).map(|c| (c, false));
    let read = |(columns, exact): (&Vec<String>, bool)| {
        let (mut rows, mut lines) = (Vec::new(), (at..=at + more).collect::<Vec<_>>());
        let mut last = said[at + more].line;
        for (i, next) in said.iter().enumerate().skip(at + more + 1) {
            if next.line <= last || next.line - last > NEAR {
                break;
            }
            match row(&next.text, columns.len(), exact) {
                Some(found) => {
                    rows.push(found);
                    lines.push(i);
                }
                None if is_rule(&next.text) => {}
                None => break,
            }
            last = next.line;
        }
        (!rows.is_empty()).then(|| Grid { columns: columns.clone(), rows, lines })
    };
    // Of several ways to read a head the one that fits most rows, of those the likeliest.
    let read = exact.chain(loose).filter_map(read);
    read.reduce(|best, other| if other.rows.len() > best.rows.len() { other } else { best })
}

impl Grid {
    /// The table with its rows as columns; nothing of one that lacks a figure.
    pub(super) fn turned(&self) -> Option<Grid> {
        let columns: Vec<String> = self.rows.iter().map(|r| r.name.clone()).collect();
        let figure = |of: usize, row: &Row| row.figures.get(of).cloned();
        let row = |(i, name): (usize, &String)| {
            let figures: Option<Vec<_>> = self.rows.iter().map(|r| figure(i, r)).collect();
            Some(Row { name: name.clone(), figures: figures? })
        };
        let rows: Option<Vec<Row>> = self.columns.iter().enumerate().map(row).collect();
        Some(Grid { columns, rows: rows?, lines: self.lines.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    fn read(text: &str) -> Option<Grid> {
        let case = Case::of_prose(text);
        let said: Vec<&Message> = case.messages.iter().collect();
        (0..said.len()).find_map(|i| grid(&said, i))
    }

    fn told(text: &str) -> String {
        let grid = read(text).expect("a table");
        let row = |r: &Row| {
            let figures: Vec<&str> =
                r.figures.iter().map(|f| f.as_ref().map_or("-", |f| f.text.as_str())).collect();
            format!("{}: {}", r.name, figures.join(" "))
        };
        let rows: Vec<String> = grid.rows.iter().map(row).collect();
        format!("{}; {}", grid.columns.join("/"), rows.join("; "))
    }

    #[test]
    fn tables_of_bars_and_of_blanks_are_taken_apart() {
        let bars = "+------+-----------+\n| Step | No elm | With elm | Diff |\n+---+\n| oak |  2.4 | 1.8 ms | -25 % |\n| ash | 3 | n/a | |\n+---+\n";
        assert_eq!(told(bars), "No elm/With elm/Diff; oak: 2.4 1.8 ms -25 %; ash: 3 - -");
        let blanks = "tree      elm (v6.1)   elm + oak\n---------\nleaf  %   3.1         4.2\nroot 3    31 ± 2 ms   42 ms (+3%)\n";
        assert_eq!(told(blanks), "elm (v6.1)/elm + oak; leaf %: 3.1 4.2; root 3: 31 ± 2 ms 42 ms");
        assert_eq!(told("      oak   ash\nelm  1.5 W  2.5 W\n"), "oak/ash; elm: 1.5 W 2.5 W");
    }

    #[test]
    fn a_head_may_go_on_in_the_line_below() {
        let text = "+---+\n| Step | Old elm | New elm   |\n|      |         | + oak off |\n+---+\n| ash | 3 ms | 2 ms |\n+---+\n";
        assert_eq!(told(text), "Old elm/New elm + oak off; ash: 3 ms 2 ms");
        let grid = read(text).expect("a table");
        assert_eq!(grid.lines.len(), 3);
        let figures = text.replace("|      |         | + oak off |", "|      | 4 ms | 5 ms |");
        assert!(read(&figures).is_none_or(|g| g.columns.iter().all(|c| !c.contains("ms"))));
    }

    #[test]
    fn words_and_lists_are_no_table() {
        for text in [
            "It took 3 s.\nThen it was over.\n",
            "oak  ash\n\n\nelm 3 4\n",
            " drivers/oak/main.c | 16 ++++++++++++----\n 1 file changed, 12 insertions(+)\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
