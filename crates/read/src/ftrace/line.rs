//! The columns of one line.

use crate::event::Kind;
use dormouse_base::time::Ns;

/// What the time column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds with a fraction.
    Seconds,
    /// A bare counter (`x86-tsc`, `counter`).
    Ticks,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    task: &'a [u8],
    cpu: u32,
    time: &'a [u8],
    /// Event name.
    pub event: &'a [u8],
    /// What follows the event name.
    pub text: &'a [u8],
}

/// Bytes at the begin of a line that are compared with the line before.
pub(crate) const HEAD: usize = 64;

/// Where the columns of the line before stood. The next line has them at the
/// same places nearly always; then comparing replaces searching. A line that
/// differs is searched, so both ways find the same columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The least byte that may stand at each place of the head, and how many
    /// more may: brackets, the colon behind the time and the blanks between
    /// columns are one byte, the CPU and the first of the time digits, inside a
    /// column is no blank, and nowhere the end of the line.
    least: [u8; HEAD],
    more: [u8; HEAD],
    /// What a byte must not be either: a bracket before that of the CPU, a colon
    /// before that of the time or before the name.
    early: [u8; HEAD],
    open: usize,
    close: usize,
    time: (usize, usize),
    /// Where the event name begins; 0 if no line was seen.
    pub name: usize,
}

/// No control byte, and none that ends a line.
const ANY: (u8, u8) = (b' ', 0xff - b' ');
/// No blank either.
const WORD: (u8, u8) = (b'!', 0xff - b'!');
const DIGIT: (u8, u8) = (b'0', 9);

impl Default for Columns {
    fn default() -> Columns {
        Columns {
            least: [ANY.0; HEAD],
            more: [ANY.1; HEAD],
            early: [b'\n'; HEAD],
            open: 0,
            close: 0,
            time: (0, 0),
            name: 0,
        }
    }
}

impl Columns {
    /// Whether the line at the begin of `rest` is laid out like the one before,
    /// as far as its head shows. The head holds no end of line then.
    #[inline(always)]
    pub(crate) fn same(&self, rest: &[u8]) -> bool {
        let Some(head) = rest.first_chunk::<HEAD>() else { return false };
        // Simple enough for the compiler to look at 16 bytes at once.
        let mut differs = 0;
        for (i, &b) in head.iter().enumerate() {
            differs |= b.wrapping_sub(self.least[i]).saturating_sub(self.more[i]);
            differs |= if b == self.early[i] { 0xff } else { 0 };
        }
        // Comments and quotes of replies are told by their first byte.
        differs == 0 && self.name != 0 && !matches!(head[0], b'#' | b'>')
    }

    /// Where the event name of a line with the same head ends; `None` if it must
    /// be searched: perf writes the subsystem, and the name behind it.
    #[inline(always)]
    pub(crate) fn name_end(&self, line: &[u8]) -> Option<usize> {
        let end = colon(line, self.name)?;
        (!line.get(end + 1).is_some_and(|&b| is_name(b))).then_some(end)
    }

    /// The columns of a line with the same head, whose name ends at `end`.
    #[inline(always)]
    pub(crate) fn cut<'a>(&self, line: &'a [u8], end: usize) -> Raw<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut cpu = 0u32;
        for &d in &line[self.open + 1..self.close] {
            cpu = cpu.saturating_mul(10).saturating_add(u32::from(d - b'0'));
        }
        let text = line.get(end + 1..).unwrap_or(b"");
        Raw {
            task: &line[..self.open],
            cpu,
            time: &line[self.time.0..self.time.1],
            event: &line[self.name..end],
            text: text.strip_prefix(b" ").unwrap_or(text),
        }
    }

    /// [`scan`], and remembers where the columns stand.
    pub(crate) fn search<'a>(&mut self, line: &'a [u8]) -> Option<Raw<'a>> {
        let found = scan(line);
        if let (Some(raw), true) = (&found, line.len() >= HEAD) {
            self.learn(line, raw);
        }
        found
    }

    /// Remembers where the columns of `line` stand, if all are in its head.
    fn learn(&mut self, line: &[u8], raw: &Raw<'_>) {
        *self = Columns::default();
        let place = |part: &[u8]| part.as_ptr() as usize - line.as_ptr() as usize;
        let name = place(raw.event);
        let (begin, end) = (place(raw.time), place(raw.time) + raw.time.len());
        let open = place(raw.task) + raw.task.len();
        // A line that begins with `>` has its columns where they may not be, and
        // before perf's names stands the subsystem.
        if name >= HEAD
            || open == 0
            || place(raw.task) != 0
            || line[0] == b'>'
            || line[name - 1] != b' '
        {
            return;
        }
        let Some(close) = line[open..name].iter().position(|&b| b == b']') else { return };
        let close = open + close;
        // The latency format has no brackets, so one behind the time is none of a CPU.
        if line[open] != b'[' || close >= begin {
            return;
        }
        // Such words are rare, and then every line is searched.
        if line[close..begin].contains(&b':') {
            return;
        }
        let mut may = |i: usize, (least, more)| (self.least[i], self.more[i]) = (least, more);
        for i in [open - 1, open, close, end].into_iter().chain(close + 1..name) {
            let column = i > close && i != end && line[i] != b' ';
            may(i, if column { WORD } else { (line[i], 0) });
        }
        (open + 1..close).chain([begin]).for_each(|i| may(i, DIGIT));
        may(name, WORD);
        self.early[..open].fill(b'[');
        self.early[close..begin].fill(b':');
        self.early[name] = b':';
        (self.open, self.close, self.time, self.name) = (open, close, (begin, end), name);
    }
}

/// The first colon from `at` on; `None` if a blank or the end comes first.
#[inline(always)]
fn colon(line: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
    while let Some(chunk) = line.get(at..).and_then(|l| l.first_chunk::<8>()) {
        let x = u64::from_le_bytes(*chunk);
        // The lowest bit set is exact, those above it need not be.
        let found = zero(x ^ (ONES * u64::from(b':'))) | zero(x ^ (ONES * u64::from(b' ')));
        if found != 0 {
            at += found.trailing_zeros() as usize / 8;
            return (line[at] == b':').then_some(at);
        }
        at += 8;
    }
    let found = line.get(at..)?.iter().position(|&b| b == b':' || b == b' ')?;
    (line[at + found] == b':').then_some(at + found)
}

/// Finds the columns; `None` if the line has not the shape of an event.
pub(crate) fn scan(line: &[u8]) -> Option<Raw<'_>> {
    let mut line = line.strip_suffix(b"\r").unwrap_or(line);
    // A reply quotes a trace with `> `.
    while let Some(quoted) = line.strip_prefix(b">") {
        line = quoted.trim_ascii_start();
    }
    let columns = cpu_column(line).map(|(open, close, cpu)| (open, close + 1, cpu));
    let Some((open, mut at, cpu)) = columns.or_else(|| latency_columns(line)) else {
        return printed(line).or_else(|| of_fields(line));
    };
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
        let mut end = at - 1;
        let apart = line[at..].starts_with(b" : ");
        if let Some(length) = microseconds(&line[begin..at]).filter(|_| apart || line[end] == b':')
        {
            end = begin + length;
            // A blank in place of a mark parts the colon from the time.
            at += if apart { 2 } else { 0 };
        } else if line[at - 1] != b':' || !line[begin].is_ascii_digit() {
            continue;
        }
        let time = &line[begin..end];
        while *line.get(at)? == b' ' {
            at += 1;
        }
        let mut name = at;
        at += name_end(&line[at..])?;
        // perf writes the subsystem before the name: `power:cpu_idle:`.
        if line.get(at + 1).is_some_and(|&b| is_name(b))
            && let Some(length) = name_end(&line[at + 1..])
            && line[at + 1..at + 1 + length].iter().all(|&b| is_name(b))
            && line.get(at + length + 2).is_none_or(|&b| b == b' ')
        {
            (name, at) = (at + 1, at + 1 + length);
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

/// An event in the kernel's log, where `tp_printk` puts it: `[   27.100000] NAME: TEXT`,
/// with the caller `[   T27]` or `[    C3]` behind the stamp (`output_printk`,
/// kernel/trace/trace.c; `print_caller`, kernel/printk/printk.c, 6.12). The log has
/// other lines of that form, so the name has to be an event's.
fn printed(line: &[u8]) -> Option<Raw<'_>> {
    let open = memchr::memchr(b'[', line)?;
    // A journal has its own columns in front, and no stamp of the kernel behind them.
    let close = open + memchr::memchr(b']', &line[open..])?;
    let time = line[open + 1..close].trim_ascii();
    let is_stamp = time.contains(&b'.') && time.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let mut rest = line.get(close + 1..).filter(|_| is_stamp)?;
    let (mut task, mut cpu) = (&line[..0], u32::MAX);
    if let Some(caller) = rest.strip_prefix(b"[") {
        let end = memchr::memchr(b']', caller)?;
        let word = caller[..end].trim_ascii();
        match word.first()? {
            b'T' => task = &word[1..],
            b'C' => cpu = u32::try_from(number(&word[1..])?).ok()?,
            _ => return None,
        }
        rest = &caller[end + 1..];
    }
    let rest = rest.trim_ascii_start();
    let end = name_end(rest)?;
    let event = &rest[..end];
    if !event.iter().all(|&b| is_name(b)) || Kind::of(event) == Kind::Unknown {
        return None;
    }
    let text = rest.get(end + 1..).unwrap_or(b"").trim_ascii_start();
    Some(Raw { task, cpu, time, event, text })
}

/// An event of `perf script -F time,event,trace`: `8123.100000:  power:cpu_idle: state=2`, with
/// neither the task nor the CPU that it ran on.
fn of_fields(line: &[u8]) -> Option<Raw<'_>> {
    let line = line.trim_ascii_start();
    let end = memchr::memchr(b':', line)?;
    let time = &line[..end];
    let is_stamp = time.contains(&b'.') && time.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let rest = line[end + 1..].strip_prefix(b" ").filter(|_| is_stamp)?.trim_ascii_start();
    let subsystem = name_end(rest)?;
    let named = &rest[subsystem + 1..];
    let name = name_end(named)?;
    let event = &named[..name];
    if !rest[..subsystem].iter().chain(event).all(|&b| is_name(b))
        || Kind::of(event) == Kind::Unknown
    {
        return None;
    }
    let text = named.get(name + 1..).unwrap_or(b"").trim_ascii_start();
    Some(Raw { task: &line[..0], cpu: u32::MAX, time, event, text })
}

/// A byte of an event's name.
fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Where the first colon stands; `None` if a blank or the end comes first.
fn name_end(text: &[u8]) -> Option<usize> {
    let at = text.iter().position(|&b| b == b':' || b == b' ')?;
    (text[at] == b':').then_some(at)
}

/// Length of the time in `55us`, `55us+:`, `55us!:`: behind it may stand a mark
/// for how long the step before took (`trace_print_lat_context`,
/// kernel/trace/trace_output.c, 6.12).
fn microseconds(word: &[u8]) -> Option<usize> {
    let digits = word.iter().position(|b| !b.is_ascii_digit()).filter(|&n| n > 0)?;
    let mark = word[digits..].strip_prefix(b"us")?;
    let mark = mark.strip_suffix(b":").unwrap_or(mark);
    (mark.len() <= 1).then_some(digits + 2)
}

/// CPU and flags in one word, `3d..1`, behind `COMM-PID`: the latency format.
/// Where the task ends, where the word ends, and the CPU.
fn latency_columns(line: &[u8]) -> Option<(usize, usize, u32)> {
    let (mut at, mut task) = (0, None);
    // A name may contain blanks, and a kernel log writes its time in front.
    for _ in 0..12 {
        at += line.get(at..)?.iter().position(|&b| b != b' ')?;
        let begin = at;
        at += line[at..].iter().position(|&b| b == b' ')?;
        let word = &line[begin..at];
        let digits = word.iter().position(|b| !b.is_ascii_digit()).unwrap_or(0);
        let flags = &word[digits..];
        if let Some(end) = task
            && digits > 0
            && (4..=7).contains(&flags.len())
            && b".dDbBX".contains(&flags[0])
            && flags.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'#' | b'*'))
        {
            return Some((end, at, u32::try_from(number(&word[..digits])?).ok()?));
        }
        let dash = word.iter().rposition(|&b| b == b'-');
        task = dash.and_then(|d| number(&word[d + 1..])).map(|_| at);
    }
    None
}

/// The task column of the line before: that of the next is mostly the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Task<'a> {
    column: &'a [u8],
    comm: &'a [u8],
    pid: i32,
}

impl<'a> Raw<'a> {
    /// Whether it stands in the kernel's log, without the columns of a trace.
    pub(crate) fn is_printed(&self) -> bool {
        self.cpu == u32::MAX || self.task.is_empty()
    }

    /// All columns; `before` is what this said of the line before.
    #[inline(always)]
    pub(crate) fn line(&self, before: &mut Task<'a>) -> Option<Line<'a>> {
        if before.column != self.task {
            let (comm, pid) = task(self.task)?;
            *before = Task { column: self.task, comm, pid };
        }
        let (time, unit) = time(self.time)?;
        Some(Line { comm: before.comm, pid: before.pid, cpu: self.cpu, time, unit })
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
        // Somebody may have cut off what stands before it.
        let blank = open == 0 || line[open - 1] == b' ';
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

/// The id of a task that the text does not tell; 0 is the idle task's.
const UNKNOWN: i32 = -1;

/// `COMM-PID`, with or without a `(TGID)` column behind it; perf's `COMM PID` and
/// `COMM PID/TID`.
fn task(column: &[u8]) -> Option<(&[u8], i32)> {
    let mut column = column.trim_ascii();
    // Somebody cut the column off.
    if column.is_empty() {
        return Some((column, UNKNOWN));
    }
    if column.last() == Some(&b')') {
        let open = memchr::memrchr(b'(', column)?;
        column = column[..open].trim_ascii_end();
    }
    let dash = column.iter().rposition(|&b| b == b'-');
    let found = dash.and_then(|d| Some((d, number(&column[d + 1..])?)));
    let (end, pid) = match found {
        Some(found) => found,
        None => {
            // The caller of a line of the kernel's log, a number alone.
            if let Some(pid) = number(column) {
                return Some((b"", i32::try_from(pid).ok()?));
            }
            let blank = column.iter().rposition(|&b| b == b' ')?;
            let word = &column[blank + 1..];
            let tid = word.iter().position(|&b| b == b'/').map_or(word, |s| &word[s + 1..]);
            (blank, number(tid)?)
        }
    };
    Some((column[..end].trim_ascii_end(), i32::try_from(pid).ok()?))
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    // 18 digits fit, so nothing overflows.
    let mut n = 0u64;
    for d in digits {
        let d = d.wrapping_sub(b'0');
        if d > 9 {
            return None;
        }
        n = n.wrapping_mul(10).wrapping_add(u64::from(d));
    }
    i64::try_from(n).ok()
}

/// The number of six digits, which is what follows the dot nearly always: all at
/// once, pairs first, then pairs of pairs.
#[inline(always)]
fn six_digits(d: &[u8; 6]) -> Option<i64> {
    let word = u64::from_le_bytes([b'0', b'0', d[0], d[1], d[2], d[3], d[4], d[5]]);
    let values = word.wrapping_sub(0x3030_3030_3030_3030);
    // A byte that is no digit is below `0`, or above `9` and 6 more have bit 7.
    if (values | values.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = (values.wrapping_mul(10) + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff) as i64)
}

/// Powers of ten: what a digit of a fraction of a second is worth.
const POWERS: [i64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// `123.456789`, `123456`, or `55us`.
fn time(word: &[u8]) -> Option<(Ns, Unit)> {
    if let Some(us) = word.strip_suffix(b"us") {
        return Some((Ns(number(us)?.saturating_mul(1_000)), Unit::Seconds));
    }
    if let Some((seconds, [b'.', fraction @ ..])) = word.split_last_chunk::<7>()
        && let (Some(seconds), Some(micros)) = (number(seconds), six_digits(fraction))
    {
        let ns = Ns(seconds.saturating_mul(1_000_000_000).saturating_add(micros * 1_000));
        return Some((ns, Unit::Seconds));
    }
    let Some(dot) = word.iter().position(|&b| b == b'.') else {
        return Some((Ns(number(word)?), Unit::Ticks));
    };
    let seconds = number(&word[..dot])?;
    let fraction = &word[dot + 1..];
    if fraction.len() > 9 {
        return None;
    }
    let ns = number(fraction)?.wrapping_mul(POWERS[9 - fraction.len()]);
    Some((Ns(seconds.saturating_mul(1_000_000_000).saturating_add(ns)), Unit::Seconds))
}

/// CPU, and how many events a loss line tells of: `CPU:2 [LOST 15 EVENTS]`, or
/// trace-cmd's `CPU:2 [15 EVENTS DROPPED]` and `CPU:2 [EVENTS DROPPED]`.
pub(crate) fn lost(line: &[u8]) -> Option<(u32, Option<u64>)> {
    let line = line.trim_ascii();
    let open = memchr::memchr(b'[', line)?;
    let cpu = number(line.strip_prefix(b"CPU:")?.get(..open - 4)?.trim_ascii());
    let cpu = cpu.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX);
    Some((cpu, lost_count(line, open)?))
}

fn lost_count(line: &[u8], open: usize) -> Option<Option<u64>> {
    let inside = line[open + 1..].strip_suffix(b"]")?;
    let count = |word: &[u8]| number(word).and_then(|n| u64::try_from(n).ok());
    if let Some(rest) = inside.strip_prefix(b"LOST ") {
        return Some(count(rest.strip_suffix(b" EVENTS")?));
    }
    let rest = inside.strip_suffix(b"EVENTS DROPPED")?;
    Some(count(rest.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `trace` and `trace-cmd report` write them, and near misses.
    const LINES: [&str; 10] = [
        "  <idle>-0       0d..1   155us]: cpu_idle: state=4294967295 cpu_id=0    the latency format, with a bracket for a mark",
        "      sleepgraph-1977  [002] ....    25.425076: device_pm_callback_start: sound pcmC0D7p, parent: card0, type [suspend]",
        "           <...>-160   [001] d...    25.425079: schedule_timeout_ret: (wait_for_completion+0xba/0x140) arg1=0x7f",
        "           <...>-160   [001] d..5.   25.425079: schedule_timeout_ret: (wait_for_completion+0xba/0x140) arg1=0x7f",
        "  kworker/u8:3-1234  (-----) [003] d.h2   125.425079: suspend_resume: dpm_suspend[2] begin and more of the text",
        "     kworker/0:1-12    [000]  1234.567890123: suspend_resume:       dpm_suspend[2] begin, with a time of nine digits",
        "     [x] thread-12     [000]  1234.567890: cpu_idle:             state=1 cpu_id=0                                 ",
        "     kworker/0:1-12    [000] 12:  34.567890: cpu_idle: state=1 cpu_id=0  a word before the time that is like one",
        "> > sleepgraph-1977  [002] ....    25.425076: device_pm_callback_end: sound pcmC0D7p, err=0                       ",
        "just a text that is long enough to be looked at, with a [000] 12.5: in it and more words than there may be: there",
    ];

    #[test]
    fn comparing_with_the_line_before_finds_what_searching_finds() {
        let mut compared = 0;
        for first in LINES {
            for second in LINES {
                // Each byte of the second line becomes each byte that means
                // something somewhere.
                for at in 0..second.len() {
                    for &b in b" [].:0-d>#\r\t\n" {
                        let mut line = second.as_bytes().to_vec();
                        line[at] = b;
                        let mut c = Columns::default();
                        c.search(first.as_bytes());
                        let same = c.same(&line);
                        assert!(!same || at >= HEAD || b != b'\n', "{first}\n{line:?}");
                        if !same || b == b'\n' {
                            continue;
                        }
                        compared += 1;
                        let end = c.name_end(&line);
                        let cut = end.map(|end| c.cut(&line, end));
                        assert!(cut.is_none() || cut == scan(&line), "{first}\n{line:?}");
                    }
                }
            }
        }
        assert!(compared > 1000, "lines are hardly ever compared: the test shows nothing");
    }
}
