//! Marks of programs: a line that says that something which a machine is for is there. Whoever
//! writes one and whoever reads it know the same form.
//!
//! ```
//! use dormouse_base::mark::Name;
//!
//! let name = Name::new("scanner").unwrap();
//! assert_eq!(name.line(), "dormouse: mark scanner");
//! assert_eq!(Name::of_line("kernel: dormouse: mark scanner"), Some(name));
//! assert_eq!(Name::of_line("sudo[1]: COMMAND=/bin/logger dormouse: mark scanner"), None);
//! assert!(Name::new("a scanner").is_err());
//! ```

use serde::{Serialize, Serializer};
use std::fmt;

/// So long is a name at most: it stands in columns and in names of tests.
const MOST: usize = 32;

/// What a line begins with, behind who wrote it.
const BEGINS: &str = "dormouse: mark ";

/// What a program calls itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    letters: [u8; MOST],
}

impl Name {
    /// A name that every reader of the line finds again.
    ///
    /// # Errors
    /// If it would not be read back, with the reason.
    pub fn new(text: &str) -> Result<Name, String> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if text.is_empty() || text.len() > MOST {
            return Err(format!("`{text}` is no name: write 1 to {MOST} letters, such as scanner"));
        }
        if let Some(bad) = text.chars().find(|c| !good(*c)) {
            return Err(format!(
                "`{text}` would not be read back: {bad:?} is no letter, digit, - or _ of ASCII"
            ));
        }
        let mut letters = [0; MOST];
        letters[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Name { letters })
    }

    /// The name that a line marks, behind who wrote it (`kernel: `, `root[7]: `, or process,
    /// thread and level of Android).
    pub fn of_line(line: &str) -> Option<Name> {
        let (before, name) = line.split_once(BEGINS)?;
        let before = before.trim();
        let one = before.strip_suffix(':').is_some_and(|b| !b.contains(": ") && !b.contains('='));
        let number = |w: &str| w.bytes().all(|b| b.is_ascii_digit());
        let level = |w: &str| w.len() == 1 && w.bytes().all(|b| b.is_ascii_uppercase());
        let android = before.split_whitespace().all(|w| number(w) || level(w));
        (one || android).then(|| Name::new(name.trim_end()).ok()).flatten()
    }

    /// The line that marks it.
    pub fn line(&self) -> String {
        format!("{BEGINS}{self}")
    }

    /// Its letters.
    pub fn text(&self) -> &str {
        let end = self.letters.iter().position(|b| *b == 0).unwrap_or(MOST);
        std::str::from_utf8(&self.letters[..end]).unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.text())
    }
}

/// What became of a mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Marked {
    /// What was marked.
    pub name: Name,
    /// Files that have its line.
    pub written: Vec<String>,
    /// Files that have not.
    pub refused: Vec<Refused>,
}

/// A file that has no line of a mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Which.
    pub path: String,
    /// Why.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    /// Whatever is taken as a name is read back from each keeper's line, and nothing else is.
    #[test]
    fn every_name_that_is_taken_is_read_back() {
        let letters: Vec<char> = "aZ09-_ .:=\"'\n\u{e9}\u{0}[]".chars().collect();
        let mut r = Random::new(3);
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..4_000 {
            let bound = if r.chance(1, 2) { 6 } else { letters.len() as u64 };
            let length = r.below(36);
            let text: String = (0..length).map(|_| letters[r.below(bound) as usize]).collect();
            let line = format!("{BEGINS}{text}");
            let Ok(name) = Name::new(&text) else {
                let read = Name::of_line(&line);
                assert!(read.is_none_or(|n| n.text() == text.trim_end()), "{text:?}");
                refused += 1;
                continue;
            };
            taken += 1;
            assert_eq!((name.text(), name.line()), (text.as_str(), line));
            for before in ["", "kernel: ", "root[12]: ", "elm dormouse[3]: ", "  476   476 I "] {
                let line = format!("{before}{}", name.line());
                assert_eq!(Name::of_line(&line), Some(name), "{line}");
            }
            for before in ["sudo: root : COMMAND=/bin/logger ", "bash: + logger '", "say "] {
                assert_eq!(Name::of_line(&format!("{before}{}", name.line())), None);
            }
        }
        assert!(taken > 500 && refused > 500, "{taken} {refused}");
    }
}
