//! The text of a message, which rules ask for hundreds of words.

use dormouse_base::pairs::Pairs;
use std::ops::Deref;

/// A text that knows which pairs of bytes stand side by side in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    text: String,
    pairs: Pairs,
    /// Bytes of the marks of the core at its front.
    marks: u8,
}

impl Words {
    /// Whether the text has `word`.
    #[inline]
    pub fn contains(&self, word: &str) -> bool {
        self.may_have(word.as_bytes()) && self.text.contains(word)
    }

    /// What stands before and behind the first `word`.
    #[inline]
    pub fn split_once(&self, word: &str) -> Option<(&str, &str)> {
        if self.contains(word) { self.text.split_once(word) } else { None }
    }

    /// Where the first `word` begins.
    #[inline]
    pub fn find(&self, word: &str) -> Option<usize> {
        if self.contains(word) { self.text.find(word) } else { None }
    }

    /// Whether the text begins with `word`.
    #[inline]
    pub fn starts_with(&self, word: &str) -> bool {
        let first = |text: &str| text.as_bytes().first().copied();
        word.is_empty() || first(&self.text) == first(word) && self.text.starts_with(word)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text behind `PM: ` or `PM: hibernation: `.
    #[inline]
    pub(crate) fn unmarked(&self) -> &[u8] {
        &self.text.as_bytes()[usize::from(self.marks)..]
    }

    /// Whether all pairs of `word` are in the text.
    #[inline]
    pub(crate) fn may_have(&self, word: &[u8]) -> bool {
        self.pairs.may_have(word)
    }

    /// Its pairs.
    pub(crate) fn pairs(&self) -> Pairs {
        self.pairs
    }

    /// A text of which at least its pairs are known.
    pub fn known(text: String, pairs: Pairs) -> Words {
        // Android says the first one twice.
        let bare = text.strip_prefix("PM: ").unwrap_or(&text);
        let bare = bare.strip_prefix("PM: ").unwrap_or(bare);
        let bare = bare.strip_prefix("hibernation: ").unwrap_or(bare);
        let marks = (text.len() - bare.len()) as u8;
        Words { text, pairs, marks }
    }
}

impl From<String> for Words {
    fn from(text: String) -> Words {
        let pairs = Pairs::of(text.as_bytes());
        Words::known(text, pairs)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Words {
        Words::from(text.to_string())
    }
}

impl Deref for Words {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_in_any_text() {
        let texts = ["", "a", "PM: suspend exit", "äöü äöü", "usb 1-4: reset", "aaaaab"];
        for text in texts {
            let words = Words::from(text);
            for (from, _) in text.char_indices().chain([(text.len(), ' ')]) {
                for (to, _) in
                    text.char_indices().chain([(text.len(), ' ')]).filter(|t| t.0 >= from)
                {
                    let word = &text[from..to];
                    assert_eq!(words.split_once(word), text.split_once(word), "{text}: {word}");
                    assert_eq!(words.find(word), text.find(word), "{text}: {word}");
                    assert!(words.contains(word), "{text}: {word}");
                    assert_eq!(words.starts_with(word), text.starts_with(word), "{text}: {word}");
                }
            }
            for word in ["suspend  exit", "ab", "xq", "exit ", "1-5", "ü ö"] {
                assert_eq!(words.contains(word), text.contains(word), "{text}: {word}");
                assert_eq!(words.starts_with(word), text.starts_with(word), "{text}: {word}");
            }
        }
    }
}
