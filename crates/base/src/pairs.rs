//! Which pairs of bytes stand side by side in a text: most texts are known to lack a word by
//! its first pairs, without a search.

/// A bit for each of 256 kinds of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs([u64; 4]);

/// So many kinds of pairs are told apart.
pub const KINDS: usize = 256;

/// The kind of a pair.
#[inline]
fn kind(pair: &[u8]) -> u8 {
    pair[0].wrapping_mul(31).wrapping_add(pair[1])
}

/// The bit of a pair.
#[inline]
fn bit(pair: &[u8]) -> (usize, u64) {
    let kind = kind(pair);
    (usize::from(kind >> 6), 1 << (kind & 63))
}

/// The kinds of pairs that stand in `word`, one may come twice.
pub fn kinds_of(word: &[u8]) -> impl Iterator<Item = usize> + '_ {
    word.windows(2).map(|pair| usize::from(kind(pair)))
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

    /// The kinds that are among them.
    pub fn kinds(&self) -> impl Iterator<Item = usize> + '_ {
        (0..KINDS).filter(|k| self.0[k >> 6] & (1 << (k & 63)) != 0)
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
        let kinds: Vec<usize> = pairs.kinds().collect();
        assert!(!kinds.is_empty() && kinds_of(text).all(|k| kinds.contains(&k)));
        pairs.add(Pairs::of(b"entry ("));
        assert!(pairs.may_have(b"suspend ex") && pairs.may_have(b"entry"));
    }
}
