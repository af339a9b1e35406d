//! Which pairs of bytes stand side by side in a text: most texts are known to lack a word by
//! its first pairs, without a search.

/// A bit for each of 256 kinds of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs([u64; 4]);

/// The bit of a pair, of 256.
#[inline]
fn bit(pair: &[u8]) -> (usize, u64) {
    let kind = pair[0].wrapping_mul(31).wrapping_add(pair[1]);
    (usize::from(kind >> 6), 1 << (kind & 63))
}

impl Pairs {
    /// Those of `text`.
    #[inline]
    pub fn of(text: &[u8]) -> Pairs {
        let mut pairs = Pairs::default();
        for pair in text.windows(2) {
            let (place, bit) = bit(pair);
            pairs.0[place] |= bit;
        }
        pairs
    }

    /// Whether all pairs of `word` are among them: without, no text of these pairs has it.
    #[inline]
    pub fn may_have(&self, word: &[u8]) -> bool {
        word.windows(2).all(|pair| {
            let (place, bit) = bit(pair);
            self.0[place] & bit != 0
        })
    }

    /// With those of another text.
    #[inline]
    pub fn add(&mut self, other: Pairs) {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            *mine |= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_text_is_missed() {
        let text = b"PM: suspend exit";
        let mut pairs = Pairs::of(text);
        for from in 0..text.len() {
            assert!((from..=text.len()).all(|to| pairs.may_have(&text[from..to])));
        }
        assert!(!pairs.may_have(b"suspend entry"));
        pairs.add(Pairs::of(b"entry ("));
        assert!(pairs.may_have(b"suspend ex") && pairs.may_have(b"entry"));
    }
}
