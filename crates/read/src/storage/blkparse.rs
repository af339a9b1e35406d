//! What blkparse prints: a line a record, and a summary below.

use super::block::{disk_of, number, origin, word};
use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::ledger::{Event, Ledger, NO_SECTOR};
use dormouse_storage::recording::Trace;
use dormouse_storage::request::{Disk, Operation, asks_for_a_flush};
use std::collections::{BTreeMap, HashMap};

/// Bytes that are searched for a first line.
const HEAD: usize = 1 << 20;

/// Whether a text holds lines of blkparse.
pub(crate) fn is_blkparse(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    head.split(|b| *b == b'\n').any(|l| line(unquoted(l).0).is_some())
}

/// What stands before the sector.
struct Line<'a> {
    time: i64,
    cpu: u32,
    sequence: u64,
    action: u8,
    letters: &'a [u8],
    disk: Disk,
    rest: &'a [u8],
}

/// Without the marks of a quotation, and how many there were.
fn unquoted(mut text: &[u8]) -> (&[u8], u8) {
    let mut depth = 0_u8;
    while let [mark @ (b'>' | b' ' | b'\t'), rest @ ..] = text {
        depth = depth.saturating_add(u8::from(*mark == b'>'));
        text = rest;
    }
    (text.trim_ascii_end(), depth)
}

/// Disk, CPU, sequence, time and thread; what follows.
fn columns(text: &[u8]) -> Option<(Disk, u32, u64, i64, &[u8])> {
    let (disk, rest) = word(text)?;
    let disk = disk_of(disk)?;
    let (cpu, rest) = word(rest)?;
    let (sequence, rest) = word(rest)?;
    let (time, rest) = word(rest)?;
    let (pid, rest) = word(rest).unwrap_or((b"0", b""));
    number(pid)?;
    Some((disk, u32::try_from(number(cpu)?).ok()?, number(sequence)?, time_of(time)?, rest))
}

/// `259,0    1        7     0.000056992     0  C  RA 2348060440 + 8 [0]`.
fn line(text: &[u8]) -> Option<Line<'_>> {
    let (disk, cpu, sequence, time, rest) = columns(text)?;
    let (action, rest) = word(rest)?;
    let (letters, rest) = word(rest).unwrap_or((b"", b""));
    // Two letters are timers (`UT`) and no requests.
    let action = if let [a] = action { *a } else { 0 };
    Some(Line { time, cpu, sequence, action, letters, disk, rest })
}

/// Seconds that a trace cannot be long: 2^64 ns in seconds, of which blkparse prints
/// the lower 32 bits (`SECONDS`, blktrace.h, and `%5d`, blkparse_fmt.c, 1.3).
const WRAP_32: i128 = 1_266_874_889_709_551_616;
const WRAP_64: i128 = 1 << 64;

/// A time so near below a wrap is below zero, ns: what was recorded before the CPU that
/// began the trace said so.
const BELOW: i128 = 3_600_000_000_000;

/// `0.000056992` in ns; one below zero is wrapped.
fn time_of(text: &[u8]) -> Option<i64> {
    let dot = memchr::memchr(b'.', text)?;
    let nanos = &text[dot + 1..];
    if nanos.len() != 9 {
        return None;
    }
    let time = i128::from(number(&text[..dot])?) * 1_000_000_000 + i128::from(number(nanos)?);
    let wrapped = [WRAP_32, WRAP_64].into_iter().find(|w| (0..BELOW).contains(&(w - time)));
    i64::try_from(wrapped.map_or(time, |w| time - w)).ok().filter(|t| *t < 1 << 62)
}

/// What follows the letters: sector and size, the number behind `/`, an error, and where
/// a bio came from.
struct Rest {
    sector: u64,
    sectors: u32,
    second: u64,
    error: i32,
    from: Option<(Disk, u64)>,
}

/// `2048 + 8 [cat]`; of a command, which has no sector, `512 (12 01 80 …) [smartctl]`, or without
/// its bytes `512 [smartctl]` and at its end `[0]` (blkparse_fmt.c:process_default, 1.3). A flush
/// ends so too, and is none.
fn rest_of(text: &[u8], letters: &[u8]) -> Option<Rest> {
    let is_command = |rest: &[u8]| rest.starts_with(b"[") && !letters.starts_with(b"F");
    let command =
        |rest| Rest { sector: NO_SECTOR, sectors: 0, second: 0, error: error(rest), from: None };
    if is_command(text.trim_ascii_start()) {
        return Some(command(text));
    }
    let (sector, rest) = word(text)?;
    let sector = number(sector)?;
    let (sign, rest) = word(rest)?;
    let read = match sign {
        b"+" | b"/" => {
            let (second, rest) = word(rest)?;
            let second = number(second)?;
            let sectors = if sign == b"+" { u32::try_from(second).ok()? } else { 0 };
            Rest { sector, sectors, second, error: error(rest), from: origin(rest) }
        }
        _ if sign.starts_with(b"(") => command(&rest[memchr::memchr(b')', rest)? + 1..]),
        _ if is_command(sign) => command(b""),
        _ => return None,
    };
    Some(read)
}

/// `[0]` at the end, perhaps after a latency in brackets; 16 bits of a negative number.
fn error(rest: &[u8]) -> i32 {
    let number = || {
        let open = memchr::memchr(b'[', rest)?;
        let end = memchr::memchr(b']', &rest[open..])? + open;
        std::str::from_utf8(&rest[open + 1..end]).ok()?.trim().parse::<i32>().ok()
    };
    let error = number().unwrap_or(0);
    if error > 0x7fff { error.wrapping_sub(0x1_0000) } else { error }
}

/// The program in brackets at the end of a line: `[smartctl]`.
fn program(rest: &[u8]) -> Option<String> {
    let open = memchr::memrchr(b'[', rest)?;
    let name = std::str::from_utf8(rest[open + 1..].strip_suffix(b"]")?).ok()?;
    let named = name.starts_with(|c: char| c.is_alphabetic());
    named.then(|| name.to_owned())
}

/// A line, read.
#[derive(Clone, Copy)]
struct Record {
    event: Event,
    action: u8,
    cpu: u32,
    error: i32,
    second: u64,
    from: Option<(Disk, u64)>,
}

/// One run of blktrace: a text may quote several, each from its own zero.
#[derive(Default)]
struct Run {
    records: Vec<Record>,
    /// The last sequence number and time of each CPU; disks count for themselves.
    last: HashMap<(Disk, u32), (u64, i64)>,
    /// Sequence numbers of all lines, once one did not follow the one before it.
    numbers: Option<HashMap<(Disk, u32, u64), u8>>,
    /// All of them until then, with the depth of their quotation.
    order: Vec<(Disk, u32, u64, u8)>,
    first: Option<i64>,
    latest: i64,
    seen: u64,
    /// Who issued commands, and how often.
    commands_by: BTreeMap<String, u64>,
}

/// Buffers of CPUs are apart by less, ns.
const APART: i64 = 1_000_000_000;

/// What a line is to those before it.
#[derive(PartialEq)]
enum Place {
    Next,
    Twice,
    Other,
}

impl Run {
    /// Where a line belongs. `foreign`: something else stands before it. A number that
    /// its CPU has used is of another run; quoted more deeply it is the same line again.
    fn place(&mut self, l: &Line<'_>, depth: u8, foreign: bool, same: bool) -> Place {
        let last = self.last.get(&(l.disk, l.cpu)).copied();
        // One that begins before the first line of all, behind something else.
        if foreign && last.is_none() && self.first.is_some_and(|t| l.time < t - APART) {
            return Place::Other;
        }
        // A CPU begins to count, and the clock has gone back.
        if foreign && last.is_none() && l.sequence == 1 && l.time < self.latest {
            return Place::Other;
        }
        if last.is_none_or(|(sequence, _)| l.sequence > sequence) {
            return Place::Next;
        }
        if same {
            return Place::Twice;
        }
        let order = &self.order;
        let numbers = self
            .numbers
            .get_or_insert_with(|| order.iter().map(|o| ((o.0, o.1, o.2), o.3)).collect());
        match numbers.get(&(l.disk, l.cpu, l.sequence)) {
            Some(other) if *other != depth => Place::Twice,
            // A time that goes on is of the same run, whatever its number.
            Some(_) if last.is_some_and(|(_, t)| l.time <= t) => Place::Other,
            None if foreign && last.is_some_and(|(_, t)| l.time < t) => Place::Other,
            _ => Place::Next,
        }
    }

    fn note(&mut self, l: &Line<'_>, depth: u8) {
        self.seen += 1;
        self.latest = self.first.map_or(l.time, |_| self.latest.max(l.time));
        self.first = Some(self.first.map_or(l.time, |t| t.min(l.time)));
        let last = self.last.entry((l.disk, l.cpu)).or_insert((0, i64::MIN));
        if l.sequence > last.0 {
            *last = (l.sequence, l.time);
        }
        match &mut self.numbers {
            Some(all) => _ = all.insert((l.disk, l.cpu, l.sequence), depth),
            None => self.order.push((l.disk, l.cpu, l.sequence, depth)),
        }
    }

    fn trace(mut self, name: &str, part: u32) -> Trace {
        // Buffers of several CPUs are printed as they come.
        if !self.records.is_sorted_by_key(|r| r.event.time) {
            self.records.sort_by_key(|r| r.event.time);
        }
        let mut ledger = Ledger::default();
        for r in &self.records {
            match r.action {
                b'Q' => ledger.queue(r.event),
                b'M' | b'F' => ledger.merge(r.event),
                b'G' => ledger.admit(r.event),
                b'I' => ledger.insert(r.event),
                b'D' => ledger.issue(r.event),
                b'R' => ledger.requeue(r.event),
                b'X' => ledger.split(r.event, r.second),
                b'A' => {
                    if let Some((disk, sector)) = r.from {
                        ledger.remap(r.event, disk, sector);
                    }
                }
                _ => ledger.complete(r.event, r.error, r.cpu),
            }
        }
        let (issues, completions, unissued) = (ledger.issues, ledger.completions, ledger.unissued);
        Trace {
            name: name.into(),
            part,
            begin: self.records.first().map(|r| r.event.time),
            until: self.records.last().map_or(0, |r| r.event.time),
            requests: ledger.finish(),
            issues,
            completions,
            unissued,
            events: [("blkparse".to_string(), self.seen)].into(),
            commands_by: self.commands_by,
            ..Trace::default()
        }
    }
}

/// Reads the lines of a text: a trace for each run.
pub(super) fn read(name: &str, bytes: &[u8], losses: &mut Losses) -> Vec<Trace> {
    let mut runs = vec![Run::default()];
    let (mut damaged, mut flushes) = (0_u64, 0_u64);
    let (mut foreign, mut before) = (false, &b""[..]);
    let mut joined = Vec::new();
    let mut lines = bytes.split(|b| *b == b'\n').map(unquoted).peekable();
    while let Some((text, depth)) = lines.next() {
        let same = text == std::mem::replace(&mut before, text);
        let mut read = line(text).map(|l| (rest_of(l.rest, l.letters), l));
        // A mail program broke the line: the rest stands alone in the next.
        let broken = match &read {
            Some((rest, l)) => rest.is_none() && is_wanted(l.action),
            None => columns(text).is_some(),
        };
        if broken && let Some((next, _)) = lines.peek().filter(|(n, _)| columns(n).is_none()) {
            joined.clear();
            joined.extend_from_slice(text);
            joined.push(b' ');
            joined.extend_from_slice(next);
            if let Some((Some(rest), l)) = line(&joined).map(|l| (rest_of(l.rest, l.letters), l)) {
                lines.next();
                read = Some((Some(rest), l));
            }
        }
        let Some((rest, l)) = read else {
            foreign |= !text.is_empty();
            continue;
        };
        let run = runs.last_mut().expect("there is one");
        if !is_wanted(l.action) {
            run.seen += 1;
            continue;
        }
        match run.place(&l, depth, foreign, same) {
            Place::Twice => continue,
            Place::Other => runs.push(Run::default()),
            Place::Next => {}
        }
        foreign = false;
        let run = runs.last_mut().expect("there is one");
        run.note(&l, depth);
        let Some(r) = rest else {
            // What carries no data may have no sector.
            flushes += u64::from(l.letters.starts_with(b"F") && l.action == b'C');
            damaged += u64::from(!l.letters.starts_with(b"F") && !l.letters.starts_with(b"N"));
            continue;
        };
        let command = r.sector == NO_SECTOR;
        if let Some(by) = program(l.rest).filter(|_| command && l.action == b'D')
            && run.commands_by.len() < MOST_PROGRAMS
        {
            *run.commands_by.entry(by).or_default() += 1;
        }
        let operation = if command { Operation::Other } else { Operation::of(l.letters) };
        let flush = !command && asks_for_a_flush(l.letters);
        let event = Event {
            time: l.time,
            disk: l.disk,
            operation,
            sector: r.sector,
            sectors: r.sectors,
            flush,
        };
        let error = if l.action == b'C' { r.error } else { 0 };
        let (action, cpu, second, from) = (l.action, l.cpu, r.second, r.from);
        run.records.push(Record { event, action, cpu, error, second, from });
    }
    let advice = "lines of blkparse that cannot be understood: compare them with the original";
    losses.add("damaged_line", damaged, Severity::Warning, advice, None);
    let advice = "flushes have no sector in the text of blkparse, so they are not among the requests: \
                  give blktrace's own files, or a trace with the events block";
    losses.add("flush_without_sector", flushes, Severity::Warning, advice, None);
    let several = runs.len() > 1;
    let part = |n: usize| if several { n as u32 + 1 } else { 0 };
    runs.into_iter().enumerate().map(|(n, r)| r.trace(name, part(n))).collect()
}

/// So many programs are kept.
const MOST_PROGRAMS: usize = 64;

/// Actions of requests.
fn is_wanted(action: u8) -> bool {
    matches!(action, b'Q' | b'M' | b'F' | b'G' | b'D' | b'C' | b'I' | b'X' | b'A' | b'R')
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
        let [t] = &read("x", text, &mut losses)[..] else { panic!() };
        assert_eq!((t.issues, t.completions, t.unissued, t.part), (1, 2, 1, 0));
        assert_eq!(t.requests[0].latency(), Some(70_000));
        assert_eq!(t.requests[1].error, -5);
        assert_eq!((losses.count("damaged_line"), losses.count("flush_without_sector")), (1, 1));
    }
    fn runs(text: &str) -> Vec<Trace> {
        let mut losses = Losses::default();
        let out = read("x", text.as_bytes(), &mut losses);
        assert_eq!(losses.list, [], "{text}");
        out
    }

    #[test]
    fn times_below_zero_are_unwrapped_and_lines_sorted() {
        for wrapped in ["1266874889.709501616", "18446744073.709501616"] {
            let text = format!(
                "8,3 1 2 0.000150000 0 C R 96 + 8 [0]\n8,3 0 1 {wrapped} 9 Q R 96 + 8 [x]\n"
            );
            let [t] = &runs(&text)[..] else { panic!() };
            assert_eq!(t.requests[0].latency(), Some(200_000), "{wrapped}");
        }
        assert_eq!(time_of(b"1266874889.709551616"), Some(0), "the wrap itself");
    }

    #[test]
    fn runs_are_apart_and_what_is_quoted_again_is_one() {
        let run = "8,3 1 1 0.000000000 9 D W 64 + 8 [x]\n8,3 1 2 0.000300000 0 C W 64 + 8 [0]\n";
        let elsewhere = run.replace("8,3 1 ", "8,3 5 ");
        assert_eq!(runs(&format!("first\n{run}second, another CPU\n{elsewhere}")).len(), 2);
        let two = runs(&format!("first\n{run}second\n{run}"));
        assert_eq!(
            two.iter().map(|t| (t.requests.len(), t.part)).collect::<Vec<_>>(),
            [(1, 1), (1, 2)]
        );
        let quoted: String = run.lines().map(|l| format!("> {l}\n")).collect();
        assert_eq!(runs(&format!("{run}Look at this:\n{quoted}")).len(), 1);
        let doubled: String = run.lines().map(|l| format!("{l}\n{l}\n")).collect();
        assert_eq!(runs(&doubled)[0].requests.len(), 1);
    }

    #[test]
    fn commands_without_their_bytes_have_times_and_who_issued_them() {
        let text = "8,48 1 1 4.100000000 70 D R 512 [elmctl]\n8,48 1 2 4.350000000 0 C R [0]\n\
                    8,48 1 3 4.400000000 9 D N 0 [kworker/1:0H]\n8,48 1 4 4.500000000 0 C N [0]\n";
        let [t] = &runs(text)[..] else { panic!() };
        let all: Vec<_> = t.requests.iter().map(|r| (r.operation, r.latency())).collect();
        let other = Operation::Other;
        assert_eq!(all, [(other, Some(250_000_000)), (other, Some(100_000_000))]);
        assert_eq!(t.commands_by["elmctl"], 1);
    }

    #[test]
    fn broken_lines_and_commands() {
        let text = "> 8,3 1 1 0.000000000 9 D W\n> 64 + 8 [x]\n> 8,3 1 2 0.000300000\n\
                    0 C W 64 + 8 [0]\n8,3 1 3 0.4 9\n8,3 1 4 0.500000000 9 D R 96 (85 08 2e 00) [hdparm]\n\
                    8,3 1 5 0.500400000 0 C R 96 (85 08 2e 00) [0]\n";
        let [t] = &runs(text)[..] else { panic!() };
        let all: Vec<_> = t.requests.iter().map(|r| (r.operation, r.latency())).collect();
        assert_eq!(all, [(Operation::Write, Some(300_000)), (Operation::Other, Some(400_000))]);
    }
}
