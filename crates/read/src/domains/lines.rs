//! Lines of a text that may be a mail: quote marks off, blanks in front kept,
//! because tables need them.

use crate::text::unstamped;
use std::borrow::Cow;

/// Longest line that is looked at in full.
const LONGEST: usize = 8 << 10;

/// A line without its quote marks.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// How many marks it had.
    pub quotes: usize,
    /// Blanks before its first word; a tab is as wide as eight.
    pub indent: usize,
    /// Its words, without the blanks around them.
    pub text: Cow<'a, str>,
}

impl Line<'_> {
    /// Whether a person left lines out here.
    pub fn elided(&self) -> bool {
        // Two dashes stand between the places that `grep -A` found.
        matches!(
            &*self.text,
            "..." | "[...]" | "...." | "[....]" | "<snip>" | "[snip]" | "[…]" | "…" | "--"
        )
    }

    /// Whether it is a rule under the head of a table.
    pub fn ruled(&self) -> bool {
        self.text.len() > 20 && self.text.bytes().all(|b| b == b'-')
    }

    /// Its words.
    pub fn words(&self) -> Vec<&str> {
        self.text.split_ascii_whitespace().collect()
    }
}

/// Lines by their place.
pub struct Lines<'a> {
    bytes: &'a [u8],
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Of a text.
    pub fn new(bytes: &'a [u8]) -> Lines<'a> {
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes).collect();
        if ends.last().map_or(0, |e| e + 1) < bytes.len() {
            ends.push(bytes.len());
        }
        Lines { bytes, ends }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The line that holds byte `at`.
    pub fn place(&self, at: usize) -> usize {
        self.ends.partition_point(|&e| e < at)
    }

    /// Line `i`, from 0, as it stands; empty if there is none.
    pub fn raw(&self, i: usize) -> &'a [u8] {
        let Some(&end) = self.ends.get(i) else { return b"" };
        let begin = if i == 0 { 0 } else { self.ends[i - 1] + 1 };
        let line = &self.bytes[begin..end];
        line[..line.len().min(LONGEST)].trim_ascii_end()
    }

    /// Line `i` without its quote marks and the stamp of a console.
    pub fn get(&self, i: usize) -> Line<'a> {
        let (quotes, rest) = unquoted(self.raw(i));
        let rest = unstamped(rest);
        let words = rest.trim_ascii_start();
        let blank = &rest[..rest.len() - words.len()];
        let indent = blank.iter().map(|&b| if b == b'\t' { 8 } else { 1 }).sum();
        Line { quotes, indent, text: String::from_utf8_lossy(words) }
    }
}

/// Marks of mail (`>`), and bars that people put before a log.
pub fn unquoted(mut line: &[u8]) -> (usize, &[u8]) {
    let mut marks = 0;
    while let Some(rest) = line.strip_prefix(b">").or_else(|| line.strip_prefix(b"| ")) {
        marks += 1;
        // One blank belongs to the mark.
        line = rest.strip_prefix(b" ").unwrap_or(rest);
    }
    (marks, line)
}

/// A number, and nothing but.
pub fn number(word: &str) -> Option<u64> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// Pieces of a row: what two blanks or a tab keep apart.
pub fn cells(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let begin = at + rest.find(|c| c != ' ' && c != '\t')?;
        let rest = &text[begin..];
        let end = [rest.find("  "), rest.find('\t')].into_iter().flatten().min();
        at = begin + end.unwrap_or(rest.len());
        Some((begin, &text[begin..at]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_blanks_stay() {
        let text = Lines::new(b"> >     a.mmc   on\n\tb\n| c\nlast");
        let seen: Vec<(usize, usize, String)> = (0..text.len())
            .map(|i| text.get(i))
            .map(|l| (l.quotes, l.indent, l.text.into_owned()))
            .collect();
        assert_eq!(seen[0], (2, 4, "a.mmc   on".into()));
        assert_eq!(seen[1], (0, 8, "b".into()));
        assert_eq!(seen[2], (1, 0, "c".into()));
        assert_eq!(seen[3], (0, 0, "last".into()));
        assert_eq!(text.raw(9), b"");
        assert_eq!((text.place(0), text.place(20), text.place(27)), (0, 1, 3));
        assert_eq!(Lines::new(b"").len(), 0);
    }

    #[test]
    fn cells_are_two_blanks_apart() {
        let row = "my domain   on\t0  SW";
        let all: Vec<&str> = cells(row).map(|(_, c)| c).collect();
        assert_eq!(all, ["my domain", "on", "0", "SW"]);
        assert_eq!(cells("   ").count(), 0);
    }
}
