//! Whether a text has a word, for readers that ask a whole text for a hundred of them: one look
//! at it answers most.

use memchr::memmem;
use std::cell::OnceCell;

/// So many bytes are a gram.
const GRAM: usize = 4;

/// So many kinds of grams are told apart: a long log has a tenth of them.
const BITS: u32 = 18;

/// A shorter text is searched as quickly.
const SHORT: usize = 16 << 10;

/// A text that is asked for words.
pub(crate) struct Asked<'a> {
    bytes: &'a [u8],
    /// Which kinds of grams begin at even places.
    even: OnceCell<Box<[bool]>>,
}

/// The kind of a gram.
#[inline]
fn kind(gram: &[u8; GRAM]) -> usize {
    (u32::from_le_bytes(*gram).wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
}

impl<'a> Asked<'a> {
    /// Nothing is looked at yet.
    pub(crate) fn of(bytes: &'a [u8]) -> Asked<'a> {
        Asked { bytes, even: OnceCell::new() }
    }

    /// The text.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the text has `word`.
    pub(crate) fn has(&self, word: &[u8]) -> bool {
        self.may_have(word) && memmem::find(self.bytes, word).is_some()
    }

    /// Whether it has one of `words`.
    pub(crate) fn has_any<W: AsRef<[u8]>>(&self, words: &[W]) -> bool {
        words.iter().any(|w| self.has(w.as_ref()))
    }

    /// Where `word` stands, in order.
    pub(crate) fn places(&self, word: &'a [u8]) -> impl Iterator<Item = usize> + use<'a> {
        let text = if self.may_have(word) { self.bytes } else { b"" };
        memmem::find_iter(text, word)
    }

    /// Without, the word is nowhere: wherever it stood, each second of its grams would begin at
    /// an even place.
    fn may_have(&self, word: &[u8]) -> bool {
        if self.bytes.len() < SHORT || word.len() <= GRAM {
            return true;
        }
        let even = self.even.get_or_init(|| {
            let mut even = vec![false; 1 << BITS].into_boxed_slice();
            for pair in self.bytes.windows(GRAM).step_by(2) {
                if let Ok(gram) = pair.try_into() {
                    even[kind(gram)] = true;
                }
            }
            even
        });
        let stands = |from: usize| {
            let grams = word[from..].windows(GRAM).step_by(2);
            grams.into_iter().all(|g| g.try_into().is_ok_and(|gram| even[kind(gram)]))
        };
        stands(0) || stands(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        let text: String = (0..4_000).map(|n| format!("[{n:>7}] usb {n}: reset\n")).collect();
        assert!(text.len() > SHORT);
        let asked = Asked::of(text.as_bytes());
        for word in ["usb 1234: reset", "usb 1235: reset", "[   3999]", "1: r", "x", "", "absent"] {
            let word = word.as_bytes();
            let places: Vec<usize> = memmem::find_iter(text.as_bytes(), word).collect();
            assert_eq!(asked.places(word).collect::<Vec<_>>(), places);
            assert_eq!(asked.has(word), !places.is_empty());
        }
        for from in text.len() - 40..text.len() {
            assert!((from..=text.len()).all(|to| asked.has(&text.as_bytes()[from..to])));
        }
        assert!(asked.has_any(&["nowhere", "reset"]) && !asked.has_any(&["nowhere", "resets"]));
    }
}
