//! Traces in mails: lines that were broken, quoted, or lost their columns. An
//! event is found by its name and time stamp; its text goes on over line ends
//! until a bracket closes it.

use crate::event::{EventSink, Kind, Stamp, TraceEvent};
use dormouse_base::time::Ns;

/// Longest text of an event, in lines.
const MOST_LINES: usize = 3;

/// Hands on the events of the block layer and of runtime PM.
pub fn read(bytes: &[u8], sink: &mut dyn EventSink) {
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').map(plain).collect();
    for (i, line) in lines.iter().enumerate() {
        let Some((time, name, begin)) = head(line) else { continue };
        let mut text = line[begin..].trim_ascii().to_vec();
        for next in lines[i + 1..].iter().take(MOST_LINES) {
            // A text of the block layer ends with a bracket.
            if text.ends_with(b"]") || head(next).is_some() || Kind::of(name) != Kind::Block {
                break;
            }
            text.push(b' ');
            text.extend(next.trim_ascii());
        }
        let stamp = Stamp { time: Ns(time), pid: 0, comm: b"", cpu: u32::MAX, at: i as u64 + 1 };
        sink.event(stamp, TraceEvent::Other { name, text: &text });
    }
}

/// Without the marks of a quotation.
fn plain(mut line: &[u8]) -> &[u8] {
    while let [b'>' | b' ' | b'\t', rest @ ..] = line {
        line = rest;
    }
    line.trim_ascii_end()
}

/// Time, name and where the text begins: `… 119.255974: block_rq_issue: …`.
fn head(line: &[u8]) -> Option<(i64, &[u8], usize)> {
    let words = [&b"block_"[..], b"rpm_"];
    let at = words.iter().filter_map(|w| memchr::memmem::find(line, w)).min()?;
    let name = &line[at..];
    let end = name.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'_')?;
    if name[end] != b':' {
        return None;
    }
    let before = line[..at].trim_ascii_end().strip_suffix(b":")?;
    let stamp = before.rsplit(|b| b.is_ascii_whitespace()).next()?;
    let dot = memchr::memchr(b'.', stamp)?;
    let digits = |b: &[u8]| !b.is_empty() && b.iter().all(u8::is_ascii_digit);
    let (whole, part) = (&stamp[..dot], &stamp[dot + 1..]);
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let number = |b: &[u8]| std::str::from_utf8(b).ok()?.parse::<i64>().ok();
    let scale = 10_i64.pow(9 - part.len() as u32);
    let time = number(whole)?.checked_mul(1_000_000_000)?.checked_add(number(part)? * scale)?;
    Some((time, &name[..end], at + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<(i64, String)>);

    impl EventSink for Seen {
        fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
            let TraceEvent::Other { text, .. } = event else { return };
            self.0.push((stamp.time.0, String::from_utf8_lossy(text).into_owned()));
        }
    }

    #[test]
    fn broken_and_quoted_lines() {
        let text = b"\
>     kworker/u16:9-325     [000] ...2.   230.478731: block_rq_issue: 8,0
> N 0 () 0 + 0 [kworker/u16:9]
test-2991    0.....   119.255974: block_rq_issue:       8,0 R 1310720 ()
505083904 + 2560 0x0,0,0 [test]
every pair of block_rq_issue and block_rq_complete: 0.07s.
";
        let mut seen = Seen::default();
        read(text, &mut seen);
        let want = [
            (230_478_731_000, "8,0 N 0 () 0 + 0 [kworker/u16:9]"),
            (119_255_974_000, "8,0 R 1310720 () 505083904 + 2560 0x0,0,0 [test]"),
        ];
        assert_eq!(seen.0, want.map(|(t, s)| (t, s.to_string())));
    }
}
