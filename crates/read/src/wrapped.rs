//! Events of text traces that a mail program broke over two lines.

use crate::event::Kind;
use crate::ftrace::line::scan;
use crate::storage::loose::unquoted;
use memchr::memmem;

/// No mail is longer; a trace of that size was not wrapped.
const LONGEST: usize = 1 << 20;

/// Whether a line has an event that somebody knows.
fn is_event(line: &[u8]) -> bool {
    scan(line).is_some_and(|raw| Kind::of(raw.event) != Kind::Unknown)
}

/// Whether a line begins with a field, `cpu_id=3`.
fn is_field(text: &[u8]) -> bool {
    let word = text.split(|b| *b == b' ').next().unwrap_or_default();
    memchr::memchr(b'=', word).is_some_and(|at| {
        at > 0 && word[..at].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
    })
}

/// The trace with each of its events on one line; nothing if none is broken. An empty line stands
/// for what moved up, so that lines keep their numbers.
pub(crate) fn whole(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() > LONGEST || memmem::find(bytes, b"cpu_idle:").is_none() {
        return None;
    }
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let (mut at, mut any) = (0, false);
    while at < lines.len() {
        let mut line = lines[at].trim_ascii_end().to_vec();
        let mut moved = 0;
        while let Some(next) = lines.get(at + moved + 1).map(|l| unquoted(l)) {
            let goes_on = if is_event(&line) {
                is_field(next)
            } else {
                line.ends_with(b":")
                    && memchr::memchr(b'[', &line).is_some()
                    && !is_event(next)
                    && is_event(&[&line[..], b" ", next].concat())
            };
            if !goes_on || moved == MOST {
                break;
            }
            line.push(b' ');
            line.extend_from_slice(next);
            moved += 1;
        }
        any |= moved > 0;
        out.extend_from_slice(&line);
        out.extend(std::iter::repeat_n(b'\n', moved + 1));
        at += moved + 1;
    }
    out.pop();
    any.then_some(out)
}

/// Into so many lines more an event is broken at most.
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_a_mail_broke_are_whole_again() {
        let text = b"> <idle>-0 [003] d..2. 55.000000: cpu_idle: state=1\n> cpu_id=3\n\
            > <idle>-0 [003] d..2. 55.000620: cpu_idle:\n> state=4294967295 cpu_id=3\n\
            > <idle>-0 [003] d..2. 55.000900:\n> cpu_idle: state=2 cpu_id=3\nYours";
        let joined = whole(text).expect("a trace");
        let joined: Vec<&[u8]> = joined.split(|b| *b == b'\n').collect();
        assert_eq!(joined.len(), 7, "lines keep their numbers");
        assert!(joined[0].ends_with(b"cpu_idle: state=1 cpu_id=3"));
        assert!(joined[2].ends_with(b"cpu_idle: state=4294967295 cpu_id=3"));
        assert!(joined[4].ends_with(b"55.000900: cpu_idle: state=2 cpu_id=3"));
        assert_eq!(joined[6], b"Yours");
        assert_eq!(whole(b"<idle>-0 [003] d..2. 55.0: cpu_idle: state=1 cpu_id=3\nYours"), None);
    }
}
