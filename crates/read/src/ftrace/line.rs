//! The columns of one line.

use dormouse_model::time::Ns;

/// What the time column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds with a fraction.
    Seconds,
    /// A bare counter (`x86-tsc`, `counter`).
    Ticks,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Thread name.
    pub comm: &'a [u8],
    /// Thread id.
    pub pid: i32,
    /// CPU.
    pub cpu: u32,
    /// Time.
    pub time: Ns,
    /// What `time` counts.
    pub unit: Unit,
}

/// A line of which only the event is known: most lines are of no interest, and
/// their other columns are never looked at.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    task: &'a [u8],
    cpu: u32,
    time: &'a [u8],
    /// Event name.
    pub event: &'a [u8],
    /// What follows the event name.
    pub text: &'a [u8],
}

/// Finds the columns; `None` if the line has not the shape of an event.
pub fn scan(line: &[u8]) -> Option<Raw<'_>> {
    let mut line = line.strip_suffix(b"\r").unwrap_or(line);
    // A reply quotes a trace with `> `.
    while let Some(quoted) = line.strip_prefix(b">") {
        line = quoted.trim_ascii_start();
    }
    let (open, close, cpu) = cpu_column(line)?;
    let mut at = close + 1;
    // At most three words may stand between CPU and time (flags, latency
    // columns); the time is the first that is a number with a colon.
    for _ in 0..4 {
        while *line.get(at)? == b' ' {
            at += 1;
        }
        let begin = at;
        while *line.get(at)? != b' ' {
            at += 1;
        }
        if line[at - 1] != b':' || !line[begin].is_ascii_digit() {
            continue;
        }
        let time = &line[begin..at - 1];
        while *line.get(at)? == b' ' {
            at += 1;
        }
        let name = at;
        loop {
            match *line.get(at)? {
                b':' => break,
                b' ' => return None,
                _ => at += 1,
            }
        }
        if at == name {
            return None;
        }
        let text = &line[at + 1..];
        // `trace` writes one blank, which is no part of the text; a driver
        // may be empty, so a second one is. `trace-cmd` pads to a column.
        let text = text.strip_prefix(b" ").unwrap_or(text);
        return Some(Raw { task: &line[..open], cpu, time, event: &line[name..at], text });
    }
    None
}

impl<'a> Raw<'a> {
    /// All columns.
    pub fn line(&self) -> Option<Line<'a>> {
        let (comm, pid) = task(self.task)?;
        let (time, unit) = time(self.time)?;
        Some(Line { comm, pid, cpu: self.cpu, time, unit })
    }
}

/// `[003]`: where it begins and ends, and the number.
fn cpu_column(line: &[u8]) -> Option<(usize, usize, u32)> {
    let mut from = 0;
    // A thread name may contain brackets, so the first that fits counts.
    loop {
        let open = from + memchr::memchr(b'[', &line[from..])?;
        let mut at = open + 1;
        let mut cpu = 0u32;
        while let Some(d) = line.get(at).filter(|b| b.is_ascii_digit()) {
            cpu = cpu.saturating_mul(10).saturating_add(u32::from(d - b'0'));
            at += 1;
        }
        let blank = open > 0 && line[open - 1] == b' ';
        if blank && at > open + 2 && line.get(at) == Some(&b']') && line.get(at + 1) == Some(&b' ')
        {
            return Some((open, at, cpu));
        }
        from = open + 1;
        if from > 256 {
            return None;
        }
    }
}

/// `COMM-PID`, with or without a `(TGID)` column behind it.
fn task(column: &[u8]) -> Option<(&[u8], i32)> {
    let mut column = column.trim_ascii();
    if column.last() == Some(&b')') {
        let open = memchr::memrchr(b'(', column)?;
        column = column[..open].trim_ascii_end();
    }
    let dash = memchr::memrchr(b'-', column)?;
    let pid = number(&column[dash + 1..])?;
    Some((&column[..dash], i32::try_from(pid).ok()?))
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0i64, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
}

/// `123.456789` or `123456`.
fn time(word: &[u8]) -> Option<(Ns, Unit)> {
    let Some(dot) = memchr::memchr(b'.', word) else {
        return Some((Ns(number(word)?), Unit::Ticks));
    };
    let seconds = number(&word[..dot])?;
    let fraction = &word[dot + 1..];
    if fraction.len() > 9 {
        return None;
    }
    let mut ns = number(fraction)?;
    for _ in fraction.len()..9 {
        ns *= 10;
    }
    Some((Ns(seconds.saturating_mul(1_000_000_000).saturating_add(ns)), Unit::Seconds))
}

/// How many events a loss line tells of: `CPU:2 [LOST 15 EVENTS]`, or
/// trace-cmd's `CPU:2 [15 EVENTS DROPPED]` and `CPU:2 [EVENTS DROPPED]`.
pub fn lost(line: &[u8]) -> Option<Option<u64>> {
    let line = line.trim_ascii();
    if !line.starts_with(b"CPU:") {
        return None;
    }
    let open = memchr::memchr(b'[', line)?;
    let inside = line[open + 1..].strip_suffix(b"]")?;
    let count = |word: &[u8]| number(word).and_then(|n| u64::try_from(n).ok());
    if let Some(rest) = inside.strip_prefix(b"LOST ") {
        return Some(count(rest.strip_suffix(b" EVENTS")?));
    }
    let rest = inside.strip_suffix(b"EVENTS DROPPED")?;
    Some(count(rest.trim_ascii()))
}
