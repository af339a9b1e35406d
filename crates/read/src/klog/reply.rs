//! Lines of a log that a reply quotes below it: the same moment once more.

use super::prefix::Record;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Which records came, and how deep each was quoted.
#[derive(Default)]
pub(super) struct Replies {
    state: RandomState,
    seen: HashMap<u64, usize>,
    depth: usize,
}

impl Replies {
    /// The records that follow stand in `line`.
    pub(super) fn line(&mut self, line: &[u8]) {
        let marks = line.iter().take_while(|b| matches!(b, b'>' | b' '));
        self.depth = marks.filter(|b| **b == b'>').count();
    }

    /// Whether `record` stood there before, quoted less deep. Two logs that begin alike stand
    /// equally deep.
    pub(super) fn quotes(&mut self, record: &Record<'_>) -> bool {
        let Some(time) = record.time.filter(|_| !record.text.is_empty()) else { return false };
        let one = self.state.hash_one((time, record.text));
        *self.seen.entry(one).or_insert(self.depth) < self.depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::time::Ns;

    #[test]
    fn what_a_reply_quotes_is_the_same_moment() {
        let mut replies = Replies::default();
        let record =
            |ms| Record { time: Some(Ns::from_ms(ms)), ..Record::default().saying(b"PM: x") };
        let mut of = |line: &[u8], ms| {
            replies.line(line);
            replies.quotes(&record(ms))
        };
        assert!(!of(b"[ 1.0] PM: x", 1));
        assert!(of(b"> [ 1.0] PM: x", 1) && of(b"> > [ 1.0] PM: x", 1));
        assert!(!of(b"> [ 2.0] PM: x", 2), "nobody said it before");
        assert!(!of(b"> [ 2.0] PM: x", 2), "another log that begins alike");
    }
}
