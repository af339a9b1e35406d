//! Tables of turbostat that people draw with bars, a row a measurement, whose first column
//! says which: each row becomes a table of its own below its label.

use super::between::plain;
use super::column::{Kind, PLACES, cells as numbers, head, kind, thousandths};
use std::borrow::Cow;

/// Cells of a line with bars, without the marks of Markdown.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = plain(line).trim().strip_prefix('|')?.strip_suffix('|')?;
    let mark = |c: char| c.is_whitespace() || matches!(c, '`' | '*' | '_');
    // `Busy%` ends with no mark, and no name of turbostat begins with one.
    Some(inner.split('|').map(|c| c.trim_matches(mark)).collect())
}

/// The columns behind the label, if a line is the head of such a table.
fn columns(line: &str) -> Option<Vec<&str>> {
    let names = cells(line)?;
    let (first, rest) = names.split_first()?;
    let joined = rest.join(" ");
    let known = |text: &str| head(text).is_some_and(|h| h.len() == rest.len());
    // A column of turbostat's own is no label.
    let own = |h: Vec<&str>| h.first().is_some_and(|n| kind(n) != Kind::Unknown);
    let is_label =
        first.is_empty() || !PLACES.contains(first) && !head(&names.join(" ")).is_some_and(own);
    (is_label && known(&joined) && rest.iter().all(|n| !n.contains(' '))).then(|| rest.to_vec())
}

/// A label as words that can stand above a table.
fn label(cell: &str) -> String {
    let words = cell.replace([':', '=', '/', '\t'], " ");
    format!("{}:", words.trim())
}

/// The text with each row of such tables below a label and a head of its own.
pub(super) fn apart(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|l| columns(l).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(found) = columns(line) {
            names = found;
        } else if let Some(row) = cells(line) {
            let of_table = !names.is_empty() && row.len() == names.len() + 1;
            let value = |c: &&str| thousandths(c).is_some() || numbers(c).is_some();
            match of_table && !row[0].is_empty() && row[1..].iter().all(value) {
                true => {
                    let marks = &line[..line.len() - plain(line).len()];
                    for l in [label(row[0]), names.join(" "), row[1..].join(" ")] {
                        out += &format!("{marks}{l}\n");
                    }
                    continue;
                }
                false if !names.is_empty() => {}
                false => out += line,
            }
        } else {
            names.clear();
            out += line;
        }
        out.push('\n');
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_label_above_and_other_tables_stay() {
        let text = "x\n| run | Busy% | Pk%pc10 | PkgWatt |\n|---|--:|--:|--:|\n\
            | lid open: `a` | 2.50 | 0.00 | 4.10 |\n| lid shut | 0.30 | 66.10 | 0.52 |\nend\n";
        let want = "x\n\n\nlid open  `a:\nBusy% Pk%pc10 PkgWatt\n2.50 0.00 4.10\n\
            lid shut:\nBusy% Pk%pc10 PkgWatt\n0.30 66.10 0.52\nend\n";
        assert_eq!(apart(text), want);
        for other in [
            "| CPU | Busy% | Pk%pc10 | PkgWatt |\n|---|---|---|---|\n| 0 | 1.00 | 2.00 | 3.00 |\n",
            "| Busy% | Pk%pc10 | PkgWatt |\n|---|---|---|\n| 1.00 | 2.00 | 3.00 |\n",
            "| who | what | when | why |\n|---|---|---|---|\n| a | 1 | 2 | 3 |\n",
        ] {
            assert_eq!(apart(other), other);
        }
    }
}
