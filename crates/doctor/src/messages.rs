//! The messages of a text, which rules search for hundreds of words.

use crate::message::Message;
use dormouse_base::pairs::{KINDS, Pairs, kinds_of};
use std::collections::BTreeSet;
use std::ops::Deref;

/// So many messages are looked at together: of more, too many pairs are known.
const BLOCK: usize = 16;

/// Messages in order of their text. Those that have a word are found without a look at most
/// of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    list: Vec<Message>,
    /// Of each kind of pairs a bit a block of messages that has it: a word is in few blocks
    /// that have all of its pairs.
    blocks: Vec<u64>,
    /// So many words of bits has a kind.
    stride: usize,
}

impl Messages {
    /// Messages that have `word`, with their places.
    pub(crate) fn having<'a>(
        &'a self,
        word: &str,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Message)> {
        self.near([word]).filter(move |(_, m)| m.has(word))
    }

    /// Messages that have one of `words`, with their places.
    pub(crate) fn having_any<'a, W: AsRef<str>>(
        &'a self,
        words: &[W],
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Message)> {
        self.near(words.iter().map(AsRef::as_ref))
            .filter(|(_, m)| words.iter().any(|w| m.has(w.as_ref())))
    }

    /// The messages that have `word`.
    pub(crate) fn all_having<'a>(&'a self, word: &str) -> Vec<&'a Message> {
        self.having(word).map(|(_, m)| m).collect()
    }

    /// The first message that has `word`.
    pub(crate) fn first_having<'a>(&'a self, word: &str) -> Option<&'a Message> {
        self.having(word).next().map(|(_, m)| m)
    }

    /// Messages that stand in one of `lines`.
    pub(crate) fn at_lines(&self, lines: &BTreeSet<u64>) -> impl Iterator<Item = &Message> {
        let last = lines.last().map_or(0, |l| *l as usize + 1);
        let mut is = vec![false; last];
        lines.iter().for_each(|l| is[*l as usize] = true);
        self.list.iter().filter(move |m| is.get(m.line as usize) == Some(&true))
    }

    /// Whether one has `word`.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.first_having(word).is_some()
    }

    /// Messages of blocks that may have one of `words`.
    fn near<'w>(
        &self,
        words: impl IntoIterator<Item = &'w str>,
    ) -> impl DoubleEndedIterator<Item = (usize, &Message)> {
        let mut found = vec![0u64; self.stride];
        for word in words {
            self.mark(word.as_bytes(), &mut found);
        }
        let bits = |(at, set): (usize, u64)| {
            (0..64).filter(move |bit| set & (1 << bit) != 0).map(move |bit| at * 64 + bit)
        };
        let blocks: Vec<usize> = found.into_iter().enumerate().flat_map(bits).collect();
        blocks.into_iter().flat_map(|block| {
            let first = block * BLOCK;
            let end = self.list.len().min(first + BLOCK);
            (first..end).zip(&self.list[first.min(end)..end])
        })
    }

    /// Sets the bits of blocks that have every pair of `word`.
    fn mark(&self, word: &[u8], found: &mut [u64]) {
        let kinds: BTreeSet<usize> = kinds_of(word).collect();
        for (at, out) in found.iter_mut().enumerate() {
            let mut all = u64::MAX;
            for kind in &kinds {
                all &= self.blocks[kind * self.stride + at];
                if all == 0 {
                    break;
                }
            }
            *out |= all;
        }
    }
}

impl From<Vec<Message>> for Messages {
    fn from(list: Vec<Message>) -> Messages {
        let stride = list.len().div_ceil(BLOCK).div_ceil(64);
        let mut blocks = vec![0u64; KINDS * stride];
        for (block, messages) in list.chunks(BLOCK).enumerate() {
            let mut pairs = Pairs::default();
            messages.iter().for_each(|m| pairs.add(m.text.pairs()));
            for kind in pairs.kinds() {
                blocks[kind * stride + block / 64] |= 1 << (block % 64);
            }
        }
        Messages { list, blocks, stride }
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(list: I) -> Messages {
        Messages::from(Vec::from_iter(list))
    }
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.list
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::case::Case;

    #[test]
    fn messages_are_found_as_a_look_at_each_finds_them() {
        let texts: Vec<String> = (0..70).map(|n| format!("usb 1-{n}: reset {}", n % 7)).collect();
        let lines: Vec<(i64, &str)> = texts.iter().map(|t| (0, t.as_str())).collect();
        let messages = Case::of_log(&lines).messages;
        for words in [&["usb"][..], &["1-33"], &["reset 6", "1-69:"], &["absent"], &["", "x"]] {
            let place = |(at, _)| at;
            let found: Vec<usize> = messages.having_any(words).map(place).collect();
            let has = |at: &usize| words.iter().any(|w| messages[*at].has(w));
            let looked: Vec<usize> = (0..messages.len()).filter(has).collect();
            assert_eq!(found, looked, "{words:?}");
            let one: Vec<usize> = messages.having(words[0]).map(place).collect();
            let back: Vec<usize> = messages.having(words[0]).map(place).rev().collect();
            assert_eq!(one, back.into_iter().rev().collect::<Vec<_>>());
            assert_eq!(messages.has(words[0]), !one.is_empty());
        }
    }
}
