//! Lines of a log that a reply quotes below it: the same moment once more.

use super::prefix::{Record, quotes};
use crate::text;
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

    /// Whether `record` stood there before, quoted less deep: the same words with the same time,
    /// or with the same words of whoever kept the log for one. Two logs that begin alike stand
    /// equally deep.
    pub(super) fn quotes(&mut self, record: &Record<'_>) -> bool {
        let timed = record.time.is_some() || !record.said.is_empty();
        if !timed || record.text.is_empty() {
            return false;
        }
        let one = self.state.hash_one((record.time, record.host, record.said, record.text));
        *self.seen.entry(one).or_insert(self.depth) < self.depth
    }
}

/// Lines of whatever program with a date in front that a reply quotes below them: the same words,
/// deeper.
pub(crate) fn again(bytes: &[u8]) -> Vec<u64> {
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    let mut out = Vec::new();
    for (line, at) in bytes.split(|b| *b == b'\n').zip(1u64..) {
        let text = quotes(line).trim_ascii_end();
        if !text::has_date(text) {
            continue;
        }
        let depth = line[..line.len() - quotes(line).len()].iter().filter(|b| **b == b'>').count();
        if *seen.entry(text).or_insert(depth) < depth {
            out.push(at);
        }
    }
    out
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

    #[test]
    fn lines_of_programs_that_are_quoted_again_are_found() {
        let line = "Feb 03 12:00:00 elm oakd[7]: goes to sleep";
        let text = format!("{line}\n{line}\n> {line}\n> > {line}\n> once\n> once more\n");
        assert_eq!(again(text.as_bytes()), [3, 4]);
        assert!(again(format!("> {line}\n{line}\n").as_bytes()).is_empty(), "the other way round");
    }

    #[test]
    fn whole_seconds_of_a_keeper_are_a_moment_too() {
        let mut replies = Replies::default();
        let mut of = |line: &[u8], host: &'static [u8], said: &'static [u8]| {
            let record = Record { host, said, ..Record::default().saying(b"PM: x") };
            replies.line(line);
            replies.quotes(&record)
        };
        let noon = b"Feb 03 12:00:00";
        assert!(!of(b"PM: x", b"elm", noon));
        assert!(!of(b"PM: x", b"elm", noon), "a kernel says the same twice in a second");
        assert!(of(b"> PM: x", b"elm", noon) && of(b"> PM: x", b"elm", noon));
        assert!(!of(b"> PM: x", b"oak", noon), "another machine");
        assert!(!of(b"> PM: x", b"elm", b"Feb 03 12:00:01") && !of(b"> PM: x", b"", b""));
    }
}
