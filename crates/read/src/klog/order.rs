//! Which way a log stands: `journalctl --reverse` and some log viewers write the newest
//! line first.

use super::dress;
use super::prefix::{self, Record};
use super::stamp;
use super::wrap::MAX_LINE;
use crate::text;
use dormouse_base::time::Ns;

/// So many lines are looked at, and so many steps of their times.
const LINES: usize = 20_000;
const STEPS: u32 = 256;
/// Fewer steps back are another log in the same text.
const FEW: u32 = 2;

/// When a line was said; only times of one kind can be compared.
#[derive(PartialEq, Eq)]
enum When {
    Exact(Ns),
    Second(i64),
}

/// What the core prints once a sleep, in this order.
pub(crate) const MARKS: [&str; 7] = [
    "suspend entry",
    "Filesystems sync: ",
    "Freezing user space processes",
    "Freezing remaining freezable tasks",
    "Suspending console(s)",
    "Restarting tasks",
    "suspend exit",
];

/// The time of an entry of a journal, in whole.
fn of_journal(line: &[u8]) -> Option<Ns> {
    let key = b"_MONOTONIC_TIMESTAMP";
    let rest = &line[text::find(line, key)? + key.len()..];
    let from = rest.iter().take(8).position(u8::is_ascii_digit)?;
    let digits = rest[from..].iter().take(15).take_while(|b| b.is_ascii_digit());
    let us = digits.fold(0i64, |n, b| n * 10 + i64::from(b - b'0'));
    Some(Ns(us * 1_000))
}

fn when(line: &[u8], record: &Record<'_>) -> Option<When> {
    let exact = record.time.or_else(|| of_journal(line)).map(When::Exact);
    exact.or_else(|| stamp::order_of(record.said).map(|s| When::Second(s.1)))
}

/// Whether most steps from line to line go back in time; where no line has a time, most
/// steps from one mark of a sleep to the next.
pub(super) fn newest_first(bytes: &[u8]) -> bool {
    let (mut on, mut back) = (0u32, 0u32);
    let (mut marks_on, mut marks_back) = (0u32, 0u32);
    let mut last: Option<When> = None;
    let mut last_mark: Option<usize> = None;
    for line in bytes.split(|&b| b == b'\n').take(LINES) {
        let line = &line[..line.len().min(MAX_LINE)];
        let plain = dress::plain(line);
        let record = prefix::strip(plain.as_deref().unwrap_or(line));
        let mark = MARKS.iter().position(|m| record.has(m.as_bytes()));
        if let Some(mark) = mark {
            marks_on += u32::from(last_mark.is_some_and(|l| l < mark));
            marks_back += u32::from(last_mark.is_some_and(|l| l > mark));
            last_mark = Some(mark);
        }
        let Some(now) = when(line, &record) else { continue };
        let step = match (&last, &now) {
            (Some(When::Exact(a)), When::Exact(b)) => b.cmp(a),
            (Some(When::Second(a)), When::Second(b)) => b.cmp(a),
            _ => std::cmp::Ordering::Equal,
        };
        on += u32::from(step.is_gt());
        back += u32::from(step.is_lt());
        last = Some(now);
        if on + back >= STEPS {
            break;
        }
    }
    let most = |back: u32, on: u32| back > FEW && back > 2 * on;
    if on + back > FEW { most(back, on) } else { most(marks_back, marks_on) }
}

/// Whether a line has the stamp of a log.
pub(crate) fn is_stamped(line: &[u8]) -> bool {
    prefix::strip(&line[..line.len().min(MAX_LINE)]).fresh
}

/// Hands on the lines from the last to the first, with their numbers from 1. What has no
/// stamp goes on from the line above it, and comes with that one.
pub(super) fn backwards<'a>(bytes: &'a [u8], take: &mut dyn FnMut(&'a [u8], u64)) {
    let mut blocks: Vec<(usize, u64)> = Vec::new();
    let (mut begin, mut at) = (0, 0u64);
    for line in bytes.split(|&b| b == b'\n') {
        at += 1;
        let alone = line.starts_with(b"--")
            || matches!(line.first(), Some(b'{'))
            || line.starts_with(b"__CURSOR=")
            || is_stamped(line)
            || crate::text::has_date(line);
        if alone || blocks.is_empty() || blocks.last().is_some_and(|b| is_bare(bytes, b.0)) {
            blocks.push((begin, at));
        }
        begin += line.len() + 1;
    }
    let mut end = bytes.len();
    for &(begin, first) in blocks.iter().rev() {
        let text = bytes.get(begin..end).unwrap_or_default();
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        take(text, first);
        end = begin;
    }
}

/// A text that stands the newest line first, the other way round, and which line of it each is.
pub(crate) fn turned(bytes: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let (mut out, mut numbers) = (Vec::with_capacity(bytes.len() + 1), Vec::new());
    backwards(bytes, &mut |block, first| {
        out.extend_from_slice(block);
        out.push(b'\n');
        numbers.extend((first..).take(block.split(|b| *b == b'\n').count()));
    });
    (out, numbers)
}

/// Whether the line that begins at `begin` has neither stamp nor brace: a log without
/// stamps stands line by line.
fn is_bare(bytes: &[u8], begin: usize) -> bool {
    let rest = bytes.get(begin..).unwrap_or_default();
    let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    let entry = matches!(line.first(), Some(b'{')) || line.starts_with(b"__CURSOR=");
    !entry && !is_stamped(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backward(text: &str) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        backwards(text.as_bytes(), &mut |block, first| {
            let lines = block.split(|&b| b == b'\n').map(String::from_utf8_lossy);
            out.extend(lines.map(String::from).zip(first..));
        });
        out
    }

    #[test]
    fn the_way_of_a_log_is_seen() {
        let stamped = |times: &[u32]| -> Vec<u8> {
            times.iter().map(|t| format!("[   {t:02}.000000] usb: x\n")).collect::<String>().into()
        };
        assert!(newest_first(&stamped(&[9, 8, 7, 7, 6])));
        assert!(!newest_first(&stamped(&[6, 7, 7, 8, 9])));
        // Three boots, the newest first, each from its begin.
        assert!(!newest_first(&stamped(&[50, 60, 70, 5, 6, 7, 1, 2, 3])));
        assert!(newest_first(&stamped(&[7, 6, 5, 70, 60, 50, 9, 8])), "boots of a reversed log");
        let whole = "Sep  1 10:11:14 h kernel: a\nSep  1 10:11:13 h kernel: b\n\
            Sep  1 10:11:12 h kernel: c\nSep  1 10:11:11 h kernel: d\n";
        assert!(newest_first(whole.as_bytes()));
        let bare = "PM: suspend exit\nRestarting tasks ... done.\nFilesystems sync: 0.1 seconds\n\
            PM: suspend entry (deep)\n";
        assert!(newest_first(bare.as_bytes()));
        let pair = "PM: suspend entry (deep)\nPM: suspend exit\n".repeat(9);
        assert!(!newest_first(pair.as_bytes()), "as many steps back as on");
    }

    #[test]
    fn what_belongs_together_stays_so() {
        let text = "[    2.000000] b\nrest of b\n-- Boot 12 --\n[    1.000000] a";
        let lines: Vec<u64> = backward(text).iter().map(|l| l.1).collect();
        assert_eq!(lines, [4, 3, 1, 2]);
        let json = "{\n\t\"A\" : 2\n}\n{\n\t\"A\" : 1\n}\n";
        let text: Vec<String> = backward(json).into_iter().map(|l| l.0).collect();
        assert_eq!(text.concat(), "{\t\"A\" : 1}{\t\"A\" : 2}");
        let bare: Vec<u64> = backward("c\nb\na").iter().map(|l| l.1).collect();
        assert_eq!(bare, [3, 2, 1]);
    }
}
