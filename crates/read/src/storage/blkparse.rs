//! What blkparse prints: a line a record, and a summary below.

use super::block::{disk_of, number, origin, word};
use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::ledger::{Event, Ledger};
use dormouse_storage::recording::Trace;
use dormouse_storage::request::{Operation, asks_for_a_flush};

/// Bytes that are searched for a first line.
const HEAD: usize = 1 << 20;

/// Whether a text holds lines of blkparse.
pub fn is_blkparse(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    head.split(|b| *b == b'\n').any(|l| line(l).is_some())
}

struct Line<'a> {
    time: i64,
    cpu: u32,
    action: &'a [u8],
    letters: &'a [u8],
    disk: dormouse_storage::request::Disk,
    rest: &'a [u8],
}

/// `259,0    1        7     0.000056992     0  C  RA 2348060440 + 8 [0]`.
fn line(text: &[u8]) -> Option<Line<'_>> {
    let mut text = text;
    while let [b'>' | b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    let (disk, rest) = word(text)?;
    let disk = disk_of(disk)?;
    let (cpu, rest) = word(rest)?;
    let (sequence, rest) = word(rest)?;
    let (time, rest) = word(rest)?;
    let (pid, rest) = word(rest)?;
    let (action, rest) = word(rest)?;
    let (letters, rest) = word(rest).unwrap_or((b"", b""));
    number(sequence)?;
    number(pid)?;
    let dot = memchr::memchr(b'.', time)?;
    let nanos = &time[dot + 1..];
    if nanos.len() != 9 {
        return None;
    }
    let time = number(&time[..dot])?.checked_mul(1_000_000_000)?.checked_add(number(nanos)?)?;
    Some(Line {
        time: i64::try_from(time).ok()?,
        cpu: u32::try_from(number(cpu)?).ok()?,
        action,
        letters,
        disk,
        rest,
    })
}

/// Reads the lines of a text.
pub fn read(name: &str, bytes: &[u8], losses: &mut Losses) -> Trace {
    let mut ledger = Ledger::default();
    let (mut seen, mut damaged, mut flushes) = (0_u64, 0_u64, 0_u64);
    for text in bytes.split(|b| *b == b'\n') {
        let Some(l) = line(text.trim_ascii_end()) else { continue };
        seen += 1;
        if !matches!(l.action, b"Q" | b"M" | b"F" | b"G" | b"D" | b"C" | b"I" | b"X" | b"A") {
            continue;
        }
        let read = (|| {
            let (sector, rest) = word(l.rest)?;
            let (sign, rest) = word(rest)?;
            let (second, rest) = word(rest)?;
            let (sector, second) = (number(sector)?, number(second)?);
            let sectors = if sign == b"+" { u32::try_from(second).ok()? } else { 0 };
            let operation = Operation::of(l.letters);
            let flush = asks_for_a_flush(l.letters);
            let event = Event { time: l.time, disk: l.disk, operation, sector, sectors, flush };
            // `[0]` after the sectors, perhaps after a latency in brackets.
            let open = memchr::memchr(b'[', rest);
            let error = open.and_then(|at| {
                let end = memchr::memchr(b']', &rest[at..])? + at;
                std::str::from_utf8(&rest[at + 1..end]).ok()?.trim().parse::<i32>().ok()
            });
            // 16 bits of a negative number.
            let error = error.map_or(0, |e| if e > 0x7fff { e - 0x1_0000 } else { e });
            Some((event, second, if l.action == b"C" { error } else { 0 }, origin(rest)))
        })();
        let Some((event, second, error, from)) = read else {
            // What carries no data may have no sector.
            flushes += u64::from(l.letters.starts_with(b"F") && l.action == b"C");
            damaged += u64::from(!l.letters.starts_with(b"F") && !l.letters.starts_with(b"N"));
            continue;
        };
        match l.action {
            b"Q" => ledger.queue(event),
            b"M" | b"F" => ledger.merge(event),
            b"G" => ledger.admit(event),
            b"I" => ledger.insert(event),
            b"D" => ledger.issue(event),
            b"X" => ledger.split(event, second),
            b"A" => {
                if let Some((disk, sector)) = from {
                    ledger.remap(event, disk, sector);
                }
            }
            _ => ledger.complete(event, error, l.cpu),
        }
    }
    let advice = "lines of blkparse that cannot be understood: compare them with the original";
    losses.add("damaged_line", damaged, Severity::Warning, advice, None);
    let advice = "flushes have no sector in the text of blkparse, so they are not among the requests: \
                  give blktrace's own files, or a trace with the events block";
    losses.add("flush_without_sector", flushes, Severity::Warning, advice, None);
    let (issues, completions, unissued) = (ledger.issues, ledger.completions, ledger.unissued);
    Trace {
        name: name.into(),
        requests: ledger.finish(),
        issues,
        completions,
        unissued,
        events: [("blkparse".to_string(), seen)].into(),
        ..Trace::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_people_post_them() {
        let text = b"\
> 259,1   23       42     0.130790560 13843  Q  WS 2048 + 256 [dd]
> 259,1   23       42     0.130790570 13843  D  WS 2048 + 256 [dd]
> 259,1   23       42     0.130860560 13843  C  WS 2048 + 256 (   69234) [0]
251,0    3       10     0.871077227  1115  C  WS 0 + 765 [65531]  ... I/O error
259,0    1        4     0.000001100 21279  P   N [(null)]
259,0    1        4     0.000001100 21279  Q   R broken [x]
259,0    1        6     0.100001500  1234  D FWS [fio]
259,0    1        7     0.105001500     0  C FWS 0 [0]
Reads Queued:         963,     3852KiB
";
        assert!(is_blkparse(text) && !is_blkparse(b"8,0 is a disk\n"));
        let mut losses = Losses::default();
        let t = read("x", text, &mut losses);
        assert_eq!((t.issues, t.completions, t.unissued), (1, 2, 1));
        assert_eq!(t.requests[0].latency(), Some(70_000));
        assert_eq!(t.requests[1].error, -5);
        assert_eq!((losses.count("damaged_line"), losses.count("flush_without_sector")), (1, 1));
    }
}
