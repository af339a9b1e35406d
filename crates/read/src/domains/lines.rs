//! Lines of a text that may be a mail: quote marks off, blanks in front kept,
//! because tables need them.

use crate::klog;
use crate::text::{lossy, unstamped};
use std::borrow::Cow;

/// Longest line that is looked at in full.
const LONGEST: usize = 8 << 10;

/// What interrupts a list is at most as long as a reply that people still read.
const INTERRUPTION: usize = 40;

/// A line without its quote marks.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    /// How many marks it had.
    pub quotes: usize,
    /// Blanks before its first word; a tab is as wide as eight.
    pub indent: usize,
    /// Its words, without the blanks around them.
    pub text: Cow<'a, str>,
}

impl Line<'_> {
    /// Whether a person left lines out here: `...`, `[...]`, `....... (40 more)`, `<snip>`.
    pub(crate) fn elided(&self) -> bool {
        // Two dashes stand between the places that `grep -A` found.
        if &*self.text == "--" {
            return true;
        }
        let bare = self.text.trim_start_matches(['[', '(', '<', '{', '-', ' ']);
        bare.starts_with("..")
            || bare.starts_with('…')
            || ["snip", "cut here", "skipped", "left out", "omitted"].iter().any(|w| {
                bare.len() < self.text.len()
                    && bare.get(..w.len()).is_some_and(|b| b.eq_ignore_ascii_case(w))
            })
    }

    /// Whether it is a fence of Markdown, alone or with the name of a language.
    pub(crate) fn fence(&self) -> bool {
        self.text.starts_with("```") || self.text.starts_with("~~~")
    }

    /// Whether a command stands here: what it printed follows, and what stood before it ends.
    pub(super) fn prompt(&self) -> bool {
        let typed = |rest: &str| {
            rest.strip_prefix(' ').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_lowercase()))
        };
        let root = |c| self.text.strip_prefix(c).is_some_and(typed);
        let host = |mark: &str| {
            self.text
                .split_once(mark)
                .is_some_and(|(who, _)| who.contains('@') && !who.contains(char::is_whitespace))
        };
        // Nothing need be typed yet.
        let waits = self.text.ends_with(['#', '$']) && host(&self.text[self.text.len() - 1..]);
        root('#')
            || root('$')
            || self.text.starts_with("cat /")
            || host("# ")
            || host("$ ")
            || waits
    }

    /// Whether it is a rule under the head of a table.
    pub(crate) fn ruled(&self) -> bool {
        self.text.len() > 20 && self.text.bytes().all(|b| b == b'-')
    }

    /// Its words.
    pub(super) fn words(&self) -> Vec<&str> {
        self.text.split_ascii_whitespace().collect()
    }
}

/// Lines by their place.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Of a text.
    pub(super) fn new(bytes: &'a [u8]) -> Lines<'a> {
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes).collect();
        if ends.last().map_or(0, |e| e + 1) < bytes.len() {
            ends.push(bytes.len());
        }
        Lines { bytes, ends }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The line that holds byte `at`.
    pub(super) fn place(&self, at: usize) -> usize {
        self.ends.partition_point(|&e| e < at)
    }

    /// Line `i`, from 0, as it stands; empty if there is none.
    pub(super) fn raw(&self, i: usize) -> &'a [u8] {
        let Some(&end) = self.ends.get(i) else { return b"" };
        let begin = if i == 0 { 0 } else { self.ends[i - 1] + 1 };
        let line = &self.bytes[begin..end];
        line[..line.len().min(LONGEST)].trim_ascii_end()
    }

    /// Whether line `at`, from 1, may be the rest of the one above it: that was too long for
    /// one more word, or is `torn`.
    pub(super) fn goes_on(&self, at: u64, torn: bool) -> bool {
        let Ok(at) = usize::try_from(at) else { return false };
        let (Some(last), next) = (at.checked_sub(2), self.raw(at - 1)) else { return false };
        let before = last.checked_sub(1).and_then(|i| self.ends.get(i)).map_or(0, |e| e + 1);
        let after =
            self.ends.get(at - 1).map_or(self.bytes.len(), |e| (e + 1).min(self.bytes.len()));
        let (before, after) = (&self.bytes[..before], &self.bytes[after..]);
        let last = self.raw(last);
        torn && klog::is_rest(last, next) || klog::goes_on(before, last, next, after)
    }

    /// Where a table or list goes on that stopped before line `from`: a reply, a fence or a
    /// remark may stand in it. `is_row` knows its rows beyond doubt; a command ends it, as
    /// does a line that `ends` knows.
    pub(super) fn resumes(
        &self,
        from: usize,
        quotes: usize,
        is_row: impl Fn(&Line<'_>, usize) -> bool,
        ends: impl Fn(&Line<'_>) -> bool,
    ) -> Option<usize> {
        for at in from..self.len().min(from + INTERRUPTION) {
            let line = self.get(at);
            if line.quotes == quotes && is_row(&line, at) {
                return Some(at);
            }
            if line.prompt() || ends(&line) {
                return None;
            }
        }
        None
    }

    /// Line `i` without its quote marks and the stamp of a console.
    pub(super) fn get(&self, i: usize) -> Line<'a> {
        let (quotes, rest) = unquoted(self.raw(i));
        let rest = unstamped(rest);
        let words = rest.trim_ascii_start();
        let blank = &rest[..rest.len() - words.len()];
        let indent = blank.iter().map(|&b| if b == b'\t' { 8 } else { 1 }).sum();
        Line { quotes, indent, text: lossy(words) }
    }
}

/// Marks of mail (`>`), and bars that people put before a log.
pub(crate) fn unquoted(mut line: &[u8]) -> (usize, &[u8]) {
    let mut marks = 0;
    while let Some(rest) = line.strip_prefix(b">").or_else(|| line.strip_prefix(b"| ")) {
        marks += 1;
        // One blank belongs to the mark.
        line = rest.strip_prefix(b" ").unwrap_or(rest);
    }
    (marks, line)
}

/// A number, and nothing but.
pub(super) fn number(word: &str) -> Option<u64> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// Pieces of a row: what two blanks or a tab keep apart.
pub(super) fn cells(text: &str) -> impl Iterator<Item = (usize, &str)> {
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
    fn what_is_left_out_and_what_is_typed() {
        let line = |text: &str| Lines::new(text.as_bytes()).get(0).text.into_owned();
        let of = |text: &str| Line { quotes: 0, indent: 0, text: line(text).into() };
        for gap in ["...", "..........", "[...]", "[....]", "[ ... ]", "…", "[…]", "<snip>"] {
            assert!(of(gap).elided(), "{gap}");
        }
        for gap in ["[Snip 20 lines]", "... and so on", "(... more of these)", "--", "--- snip ---"]
        {
            assert!(of(gap).elided(), "{gap}");
        }
        for row in [".hidden on", "snips the rest", "-", "-----------", "10.mmc  on", "<4>x", ""] {
            assert!(!of(row).elided(), "{row}");
        }
        for typed in ["# cat x", "$ ls", "root@board:~# grep . x", "me@pc:/sys$ cat x", "a@b:~#"] {
            assert!(of(typed).prompt(), "{typed}");
        }
        for other in ["#", "# ", "#define", "$PATH is", "10.mmc  on", "see a@b, 5 $ each"] {
            assert!(!of(other).prompt(), "{other}");
        }
    }

    #[test]
    fn cells_are_two_blanks_apart() {
        let row = "my domain   on\t0  SW";
        let all: Vec<&str> = cells(row).map(|(_, c)| c).collect();
        assert_eq!(all, ["my domain", "on", "0", "SW"]);
        assert_eq!(cells("   ").count(), 0);
    }
}
