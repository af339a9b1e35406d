//! Events in lines that are not laid out as a trace prints them: without the task, from
//! a kernel log (`tp_printk`), as a comment of function_graph, or annotated by hand. An
//! event is found by its name; what stands before it may tell a time and a CPU.

use crate::event::Kind;

/// An event found by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loose<'a> {
    /// ns; `None` if nothing before the name is a time with a fraction.
    pub time: Option<i64>,
    /// `u32::MAX` if it is not said.
    pub cpu: u32,
    /// By the id of the caller that printk adds (`[ T27]`) or of the task, else 0.
    pub pid: i32,
    pub name: &'a [u8],
    pub text: &'a [u8],
}

/// A line without the marks of a quotation.
pub(crate) fn unquoted(mut line: &[u8]) -> &[u8] {
    while let [b'>' | b' ' | b'\t', rest @ ..] = line {
        line = rest;
    }
    line.trim_ascii_end()
}

/// Whether events of this name are of storage or runtime PM.
fn known(name: &[u8]) -> bool {
    matches!(Kind::of(name), Kind::Block | Kind::Rpm | Kind::Ufs | Kind::Devfreq | Kind::Clk)
        || super::commands::Commands::wants(name)
}

/// The event of a line, if it has one.
pub(crate) fn event(line: &[u8]) -> Option<Loose<'_>> {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    for colon in memchr::memchr_iter(b':', line) {
        if line.get(colon + 1).is_some_and(|b| *b != b' ') {
            continue;
        }
        let begin = line[..colon].iter().rposition(|b| !is_name(b)).map_or(0, |n| n + 1);
        let name = &line[begin..colon];
        // A name in a sentence or a path is none.
        let apart = begin == 0 || matches!(line[begin - 1], b' ' | b'\t' | b':' | b']' | b'*');
        if !apart || !name.contains(&b'_') || !known(name) {
            continue;
        }
        let before = before(&line[..begin]);
        let mut text = line[colon + 1..].trim_ascii();
        text = text.strip_suffix(b"*/").map_or(text, <[u8]>::trim_ascii_end);
        return Some(Loose { time: time(before), cpu: cpu(before), pid: pid(before), name, text });
    }
    None
}

/// What stands before a name, without perf's subsystem and the begin of a comment.
fn before(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b"/*").unwrap_or(text).trim_ascii_end();
    match text {
        [head @ .., b':'] if head.last().is_some_and(u8::is_ascii_alphabetic) => {
            let begin = head.iter().rposition(|b| !b.is_ascii_alphabetic()).map_or(0, |n| n + 1);
            head[..begin].trim_ascii_end()
        }
        _ => text,
    }
}

/// The last number with a fraction of three digits or more that stands alone: `12.100200:`,
/// `[    9.100000]`; or the time of day of a journal: `09:31:07.204118`, which begins anew at
/// midnight.
pub(crate) fn time(text: &[u8]) -> Option<i64> {
    let digits = |b: &[u8]| b.iter().take_while(|d| d.is_ascii_digit()).count();
    memchr::memrchr_iter(b'.', text).find_map(|dot| {
        let part = digits(&text[dot + 1..]);
        let whole = text[..dot].iter().rev().take_while(|d| d.is_ascii_digit()).count();
        let (begin, end) = (dot - whole, dot + 1 + part);
        let alone = begin == 0 || matches!(text[begin - 1], b' ' | b'\t' | b'[' | b'(');
        let ends = matches!(text.get(end), None | Some(b' ' | b':' | b']' | b'|' | b'\t'));
        let of_day = of_day(&text[..begin]).filter(|_| whole == 2);
        let ends = ends || of_day.is_some() && matches!(text.get(end), Some(b'+' | b'-' | b'Z'));
        if !alone && of_day.is_none()
            || !ends
            || whole == 0
            || whole > 9
            || !(3..=9).contains(&part)
        {
            return None;
        }
        let number = |b: &[u8]| b.iter().fold(0_i64, |n, d| n * 10 + i64::from(d - b'0'));
        let scale = 10_i64.pow(9 - part as u32);
        let seconds = of_day.unwrap_or(0) + number(&text[begin..dot]);
        Some(seconds * 1_000_000_000 + number(&text[dot + 1..end]) * scale)
    })
}

/// Seconds of the day before `SS`, where `HH:MM:` stands.
fn of_day(before: &[u8]) -> Option<i64> {
    let [.., a, b, b':', c, d, b':'] = before else { return None };
    let pair = |a: &u8, b: &u8| {
        (a.is_ascii_digit() && b.is_ascii_digit())
            .then(|| i64::from(a - b'0') * 10 + i64::from(b - b'0'))
    };
    Some(pair(a, b)? * 3_600 + pair(c, d)? * 60)
}

/// `[003]` of a trace, `2)` of function_graph.
fn cpu(text: &[u8]) -> u32 {
    let number = |b: &[u8]| -> Option<u32> {
        (b.len() <= 4 && b.iter().all(u8::is_ascii_digit))
            .then(|| std::str::from_utf8(b).ok()?.parse().ok())?
    };
    let words = || text.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
    let column = words().find_map(|w| number(w.strip_prefix(b"[")?.strip_suffix(b"]")?));
    column.or_else(|| words().find_map(|w| number(w.strip_suffix(b")")?))).unwrap_or(u32::MAX)
}

/// `[ T27]`.
fn pid(text: &[u8]) -> i32 {
    let found = memchr::memchr_iter(b'T', text).find_map(|at| {
        let opens = text[..at].trim_ascii_end().ends_with(b"[");
        let rest = &text[at + 1..];
        let end = memchr::memchr(b']', rest).filter(|_| opens)?;
        std::str::from_utf8(&rest[..end]).ok()?.trim().parse().ok()
    });
    found.or_else(|| of_task(text)).unwrap_or(0)
}

/// `kworker/u16:0-7` of a trace without the column of the CPU.
fn of_task(text: &[u8]) -> Option<i32> {
    let first = text.trim_ascii_start().split(u8::is_ascii_whitespace).next()?;
    let dash = memchr::memrchr(b'-', first)?;
    let named = first[..dash].iter().any(u8::is_ascii_alphabetic);
    std::str::from_utf8(&first[dash + 1..]).ok().filter(|_| named)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_by_their_names() {
        type Case = (&'static str, Option<i64>, u32, i32, &'static str, &'static str);
        let cases: [Case; 9] = [
            (
                "May 14 09:31:07.204118 elm kernel: rpm_resume: a.b flags-4",
                Some(34_267_204_118_000),
                u32::MAX,
                0,
                "rpm_resume",
                "a.b flags-4",
            ),
            (
                "    kworker/u16:2-142   0.880024: rpm_resume: 0:0:0:0 flags-4",
                Some(880_024_000),
                u32::MAX,
                142,
                "rpm_resume",
                "0:0:0:0 flags-4",
            ),
            (
                "[003] d..1.   154.700000: block_rq_issue: 8,0 R",
                Some(154_700_000_000),
                3,
                0,
                "block_rq_issue",
                "8,0 R",
            ),
            (
                "[   27.100000][ T31] rpm_resume: a.b flags-4",
                Some(27_100_000_000),
                u32::MAX,
                31,
                "rpm_resume",
                "a.b flags-4",
            ),
            (
                "Jun  1 10:11:12 box kernel: [   27.123] rpm_idle: x flags-1",
                Some(27_123_000_000),
                u32::MAX,
                0,
                "rpm_idle",
                "x flags-1",
            ),
            (
                " 4)               |  /* rpm_suspend: b.usb flags-9 cnt-0 */",
                None,
                4,
                0,
                "rpm_suspend",
                "b.usb flags-9 cnt-0",
            ),
            (
                "  88.000123 |   4)  |  /* block_rq_issue: 8,0 R */",
                Some(88_000_123_000),
                4,
                0,
                "block_rq_issue",
                "8,0 R",
            ),
            (
                "88.000001: block:block_rq_insert: 8,0 W",
                Some(88_000_001_000),
                u32::MAX,
                0,
                "block_rq_insert",
                "8,0 W",
            ),
            ("rpm_resume: c flags-4", None, u32::MAX, 0, "rpm_resume", "c flags-4"),
        ];
        for (line, time, cpu, pid, name, text) in cases {
            let found = event(unquoted(line.as_bytes())).expect(line);
            let (name, text) = (name.as_bytes(), text.as_bytes());
            assert_eq!(found, Loose { time, cpu, pid, name, text }, "{line}");
        }
        for line in
            ["calls pm_rpm_resume: never", "block_rq_issue is", "a/rpm_idle:x", "", "5.10.3: x"]
        {
            assert_eq!(event(line.as_bytes()), None, "{line}");
        }
    }
}
