//! Tables inside a capture file: tab-separated text with a header line.
//!
//! Columns are found by name, so a later version may add columns and an older
//! reader still finds its own. A tab, newline, carriage return or backslash
//! inside a value is written as `\t`, `\n`, `\r` or `\\`, therefore every line
//! has exactly as many tabs as the header and any spreadsheet opens the file.

use std::borrow::Cow;

/// Writes `rows` under `header`.
pub fn write<'a, R>(header: &[&str], rows: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator<Item = Cow<'a, str>>,
{
    let mut out = header.join("\t");
    out.push('\n');
    for row in rows {
        for (i, value) in row.into_iter().enumerate() {
            if i > 0 {
                out.push('\t');
            }
            escape(&value, &mut out);
        }
        out.push('\n');
    }
    out
}

fn escape(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

/// A table being read.
pub struct Table<'a> {
    header: Vec<&'a str>,
    lines: std::str::Lines<'a>,
    number: u64,
}

/// One line of a table.
pub struct Row<'a, 'h> {
    header: &'h [&'a str],
    values: Vec<&'a str>,
    /// Line number in the member, from 1 (the header is line 1).
    pub line: u64,
}

impl<'a> Table<'a> {
    /// Reads the header line of `text`; an empty text is a table without
    /// columns and rows.
    pub fn new(text: &'a str) -> Table<'a> {
        let mut lines = text.lines();
        let header = lines.next().map_or_else(Vec::new, |h| h.split('\t').collect());
        Table { header, lines, number: 1 }
    }

    /// The next line that is not empty.
    pub(crate) fn next_row(&mut self) -> Option<Row<'a, '_>> {
        loop {
            let line = self.lines.next()?;
            self.number += 1;
            if !line.is_empty() {
                let values = line.split('\t').collect();
                return Some(Row { header: &self.header, values, line: self.number });
            }
        }
    }
}

impl Row<'_, '_> {
    /// Whether the line has as many values as the header has columns.
    pub fn is_whole(&self) -> bool {
        self.values.len() == self.header.len()
    }

    /// The value of `column`; empty if the table has no such column.
    pub fn text(&self, column: &str) -> String {
        self.header
            .iter()
            .position(|h| *h == column)
            .and_then(|i| self.values.get(i))
            .map_or_else(String::new, |v| unescape(v))
    }

    /// `1` or `0`; anything else is "not known".
    pub fn flag(&self, column: &str) -> Option<bool> {
        match self.text(column).as_str() {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_are_found_by_name_and_missing_ones_are_empty() {
        let text = "b\ta\tnew\n1\tx y\t9\n\n0\tz\t\n";
        let mut t = Table::new(text);
        let r = t.next_row().unwrap();
        assert_eq!((r.text("a").as_str(), r.flag("b"), r.line), ("x y", Some(true), 2));
        assert_eq!(r.text("absent"), "");
        let r = t.next_row().unwrap();
        assert_eq!((r.flag("b"), r.flag("new"), r.line), (Some(false), None, 4));
        assert!(t.next_row().is_none());
    }

    #[test]
    fn a_short_line_is_noticed() {
        let mut t = Table::new("a\tb\n1\n");
        assert!(!t.next_row().unwrap().is_whole());
    }

    proptest! {
        #[test]
        fn every_value_comes_back(values in proptest::collection::vec(".*", 2..5)) {
            let header: Vec<String> = (0..values.len()).map(|i| format!("c{i}")).collect();
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let text = write(&header, [values.iter().map(|v| Cow::Borrowed(v.as_str()))]);
            let mut t = Table::new(&text);
            let row = t.next_row();
            // A line of only empty values still has its tabs, so it is a row.
            let row = row.unwrap();
            prop_assert!(row.is_whole());
            for (h, v) in header.iter().zip(&values) {
                prop_assert_eq!(&row.text(h), v);
            }
        }
    }
}
