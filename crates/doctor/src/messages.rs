//! The messages of a text, which rules search for hundreds of words.

use crate::message::Message;
use dormouse_base::pairs::Pairs;
use std::collections::BTreeSet;
use std::ops::Deref;

/// So many messages are looked at together: of more, too many pairs are known.
const BLOCK: usize = 16;

/// Messages in order of their text. Those that have a word are found without a look at most
/// of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    list: Vec<Message>,
    /// The pairs of each block of messages.
    blocks: Vec<Pairs>,
}

impl Messages {
    /// Messages that have `word`, with their places.
    pub(crate) fn having<'a>(
        &'a self,
        word: &str,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Message)> {
        self.near(move |pairs| pairs.may_have(word.as_bytes())).filter(move |(_, m)| m.has(word))
    }

    /// Messages that have one of `words`, with their places.
    pub(crate) fn having_any<'a, W: AsRef<str>>(
        &'a self,
        words: &[W],
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Message)> {
        self.near(|pairs| words.iter().any(|w| pairs.may_have(w.as_ref().as_bytes())))
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

    /// Messages of blocks that `may` have what is looked for.
    fn near(
        &self,
        may: impl Fn(&Pairs) -> bool,
    ) -> impl DoubleEndedIterator<Item = (usize, &Message)> {
        let blocks = self.blocks.iter().enumerate().filter(move |(_, pairs)| may(pairs));
        blocks.flat_map(|(block, _)| {
            let first = block * BLOCK;
            let end = self.list.len().min(first + BLOCK);
            (first..end).zip(&self.list[first..end])
        })
    }
}

impl From<Vec<Message>> for Messages {
    fn from(list: Vec<Message>) -> Messages {
        let pairs = |block: &[Message]| {
            block.iter().fold(Pairs::default(), |mut all, m| {
                all.add(m.text.pairs());
                all
            })
        };
        let blocks = list.chunks(BLOCK).map(pairs).collect();
        Messages { list, blocks }
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
