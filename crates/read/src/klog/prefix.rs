//! What stands before the message of a kernel log line.
//!
//! Quote marks of mail, then the dress of whoever kept the log (syslog,
//! RFC 3339, journal, a script's logger, `dmesg --decode`), then the kernel's
//! own: `<6>`, `[   12.345678]`, `[T123]` or `[  C0]`, and what vendors add.
//! A dress that is not known comes off too if the kernel's own time stamp
//! stands behind it.

use super::stamp::{
    Moment, android, date, decimal, is_calendar, is_date, is_relative, moment, number, rfc3339,
    seconds, since, some_year, syslog, time_of_day, unix,
};
use super::vendor;
use crate::text;
use dormouse_base::pairs::Pairs;
use dormouse_base::time::Ns;

/// One line without its prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time, if the line carries one that is finer than a second.
    pub time: Option<Ns>,
    /// Thread that printed it, if the line says so.
    pub pid: Option<i32>,
    /// Its name, if the line says so.
    pub comm: &'a [u8],
    /// CPU, if the line says so.
    pub cpu: Option<u32>,
    /// The time that whoever kept the log wrote, in his own words, where the line
    /// has no `time`: a script's stamp, syslog's, `dmesg -T`'s.
    pub said: &'a [u8],
    /// The line, where whoever kept the log wrote a time beside the kernel's: see [`kept`].
    pub beside: &'a [u8],
    /// The time since the line before, where the line carries only that.
    pub since: Option<Ns>,
    /// What whoever kept the log wrote where the name of the machine stands.
    pub host: &'a [u8],
    /// The message.
    pub text: &'a [u8],
    /// What pairs of bytes stand in it.
    pub pairs: Pairs,
    /// Some prefix was found, so this line is no continuation of another.
    pub fresh: bool,
}

/// A dress longer than this is none.
const MAX_DRESS: usize = 120;

/// A line as `dmesg` prints it, `[   12.345678] TEXT`: most lines of most logs. Nothing is left
/// to take off or to write anew of it, and no other record begins in it. What [`strip`] and
/// [`super::dress`] would say of it is the same, and costs five times as much.
pub(super) fn of_dmesg(line: &[u8]) -> Option<Record<'_>> {
    let line = line.trim_ascii_end();
    let inside = line.strip_prefix(b"[")?;
    let blanks = inside.iter().take_while(|b| **b == b' ').count();
    let digits = inside[blanks..].iter().take_while(|b| b.is_ascii_digit()).count();
    let dot = blanks + digits;
    if !(1..=9).contains(&digits) || dot > 15 || inside.get(dot) != Some(&b'.') {
        return None;
    }
    let text = inside.get(dot + 7..)?.strip_prefix(b"] ")?;
    let whole = decimal(&inside[blanks..dot])?;
    let us = decimal(&inside[dot + 1..dot + 7])?;
    // Marks of mails, terminals and trackers hide what stands behind them.
    let hidden = matches!(line.last(), Some(b'*' | b'_' | b'`' | b'~'));
    let noise = || memchr::memchr3(0xc2, 0x1b, b'<', text).or_else(|| memchr::memchr(b'[', text));
    if hidden || noise().is_some() || vendor::may_begin(text) {
        return None;
    }
    let time = Some(Ns(whole * 1_000_000_000 + us * 1_000));
    let mut r = Record { time, fresh: true, ..Record::default() };
    let text = monotonic(text.trim_ascii_start(), &mut r);
    Some(r.saying(text))
}

/// Takes the prefix off.
pub(super) fn strip(line: &[u8]) -> Record<'_> {
    let mut r = Record::default();
    let line = quotes(line.trim_ascii_end());
    if let Some(text) = device_file(line, &mut r) {
        return r.saying(text);
    }
    let mut rest = priority(line, &mut r);
    if rest.first() != Some(&b'[') {
        rest = keeper(rest, &mut r);
    }
    if !r.fresh {
        rest = by_hand(rest, &mut r);
    }
    // The kernel's own time is finer than that of whoever kept the log.
    let kept = r.time.take();
    rest = brackets(priority(rest, &mut r), &mut r);
    if r.time.is_none()
        && let Some((at, _)) = next_stamp(&line[..line.len().min(MAX_DRESS)], 0)
        && at > 0
    {
        rest = brackets(&line[at..], &mut r);
    }
    if r.time.is_some() && matches!(line.first(), Some(b) if b.is_ascii_alphanumeric()) {
        r.beside = line;
    }
    r.time = r.time.or(kept);
    if r.time.is_some() {
        r.said = b"";
    }
    let text = monotonic(rest.trim_ascii_start(), &mut r);
    r.saying(text)
}

impl<'a> Record<'a> {
    /// What `who` says is so; what stands behind that.
    fn is_by(&mut self, who: vendor::Who<'a>) -> &'a [u8] {
        (self.cpu, self.pid) = (who.cpu.or(self.cpu), who.pid.or(self.pid));
        self.comm = if who.comm.is_empty() { self.comm } else { who.comm };
        who.rest
    }

    /// With its message.
    pub(super) fn saying(self, text: &'a [u8]) -> Record<'a> {
        Record { text, pairs: Pairs::of(text), ..self }
    }

    /// Where the first `word` of the message begins.
    #[inline]
    pub(super) fn find(&self, word: &[u8]) -> Option<usize> {
        text::find_known(self.text, &self.pairs, word)
    }

    /// Whether the message has `word`.
    #[inline]
    pub(super) fn has(&self, word: &[u8]) -> bool {
        self.find(word).is_some()
    }
}

/// `<6>`.
fn priority<'a>(line: &'a [u8], r: &mut Record<'a>) -> &'a [u8] {
    if line.first() == Some(&b'<')
        && let Some(end) = memchr::memchr(b'>', &line[..line.len().min(6)])
        && end > 1
        && line[1..end].iter().all(u8::is_ascii_digit)
    {
        r.fresh = true;
        return &line[end + 1..];
    }
    line
}

/// `22:41:07  PM: …`, `11:02:07 kernel | PM: …`: the time of day alone, as people and
/// programs of serial consoles write it.
fn by_hand<'a>(line: &'a [u8], r: &mut Record<'a>) -> &'a [u8] {
    // `Sep  1 10:11:12  PM: …`: two blanks where the name of the machine was.
    if let Some(said) = syslog(line).filter(|s| line[s.len()..].starts_with(b"  ")) {
        (r.fresh, r.said) = (true, said);
        return line[said.len()..].trim_ascii_start();
    }
    let rest = text::without_clock(line);
    let stamp = line[..line.len() - rest.len()].trim_ascii_end();
    if rest.is_empty() || !(8..=18).contains(&stamp.len()) {
        return by_program(line, r).unwrap_or(line);
    }
    (r.fresh, r.said) = (true, &stamp[..8]);
    // Some day in 2000, so that nobody takes it for a time of the kernel.
    r.time = some_year(1, 1, stamp);
    behind_columns(rest)
}

/// `2026-04-04 04:04:04.000 | kernel | PM: …`, `1767225600.000: PM: …`, `(12.345678) PM: …`: a
/// stamp that a program wrote, and perhaps columns between it and the message.
fn by_program<'a>(line: &'a [u8], r: &mut Record<'a>) -> Option<&'a [u8]> {
    let moment = match line.strip_prefix(b"(") {
        Some(inside) => {
            let end = memchr::memchr(b')', inside)?;
            let time = Some(seconds(&inside[..end], 6)?);
            Moment { time, said: b"", len: end + 2 }
        }
        None => moment(line)?,
    };
    let text = behind_columns(&line[moment.len..]);
    // Rows of tables have numbers there.
    if !text.first()?.is_ascii_alphabetic() && !text.starts_with(b"[") && !text.starts_with(b"<") {
        return None;
    }
    (r.fresh, r.time, r.said) = (true, moment.time, moment.said);
    Some(text)
}

/// Who printed a message and how grave it is, as programs that keep logs write it.
const COLUMNS: [&[u8]; 11] = [
    b"kernel", b"kern", b"KERNEL", b"INFO", b"NOTICE", b"DEBUG", b"WARNING", b"WARN", b"ERROR",
    b"ERR", b"<INFO>",
];

/// What stands behind columns that say who printed a message and how grave it is, and behind the
/// marks that part them.
fn behind_columns(mut text: &[u8]) -> &[u8] {
    let ends = |b: &u8| matches!(b, b' ' | b'\t' | b'|' | b',' | b';' | b':' | b'"');
    loop {
        text = text.trim_ascii_start();
        let column = COLUMNS.iter().find_map(|c| text.strip_prefix(*c));
        text = match (text, column.filter(|rest| rest.first().is_some_and(ends))) {
            (_, Some(rest)) | ([b'|' | b':' | b',' | b';' | b'"', rest @ ..], None) => rest,
            ([b'-', rest @ ..], None) if rest.first() == Some(&b' ') => rest,
            ([b'-' | b'=', b'>', rest @ ..], None) => rest,
            _ => return text,
        };
    }
}

/// All brackets that are part of the prefix.
fn brackets<'a>(mut line: &'a [u8], r: &mut Record<'a>) -> &'a [u8] {
    loop {
        let vendors = || vendor::behind_time(line, r.cpu.is_some()).filter(|_| r.time.is_some());
        if let Some(who) = vendors() {
            line = r.is_by(who);
        } else if let Some(after) = bracket(line, r) {
            line = after;
        } else {
            break;
        }
        r.fresh = true;
    }
    line
}

/// Whether a time of one or two decimals is the kernel's, which somebody rounded, `[  100.0] PM:
/// …`: numbers of sections and releases stand in brackets too, and no message behind them.
fn is_rounded(inside: &[u8], rest: &[u8]) -> bool {
    const NEAR: usize = 60;
    let Some(said) = rest.strip_prefix(b" ").map(<[u8]>::trim_ascii_start) else { return false };
    let dot = inside.len() - inside.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let number = dot >= 2
        && inside[dot - 1] == b'.'
        && (1..=2).contains(&(inside.len() - dot))
        && inside[..dot - 1].iter().all(|b| b.is_ascii_digit() || *b == b' ');
    let near = &said[..said.len().min(NEAR)];
    // What the core says without a colon.
    let core = || {
        let words: [&[u8]; 5] = [
            b"Freezing ",
            b"Suspending console",
            b"Restarting tasks",
            b"OOM killer ",
            b"suspend e",
        ];
        words.iter().any(|w| near.starts_with(w))
    };
    number
        && said.first().is_some_and(u8::is_ascii_alphabetic)
        && (text::find(near, b": ").is_some() || core())
}

/// `6,1234,12345678,-,caller=T123;message`, a record of `/dev/kmsg`: priority,
/// number, microseconds, flags, and perhaps who printed it
/// (Documentation/ABI/testing/dev-kmsg).
fn device_file<'a>(line: &'a [u8], r: &mut Record<'a>) -> Option<&'a [u8]> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let end = memchr::memchr(b';', &line[..line.len().min(MAX_DRESS)])?;
    let mut fields = line[..end].split(|&b| b == b',');
    let (_, _) = (decimal(fields.next()?)?, decimal(fields.next()?)?);
    let time = decimal(fields.next()?)?.checked_mul(1_000)?;
    fields.next()?;
    r.pid = fields.find_map(|f| number(f.strip_prefix(b"caller=T")?));
    r.time = Some(Ns(time));
    r.fresh = true;
    Some(line[end + 1..].trim_ascii_start())
}

/// Whether it can be the name of a machine: where nobody wrote one, a time or a number stands in
/// its place.
pub(super) fn is_host(word: &[u8]) -> bool {
    word.iter().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(b))
        && word.iter().any(u8::is_ascii_alphabetic)
}

/// Where the kernel's own time stamp `[   12.345678]` begins at or after
/// `from`, and what it says. Six digits, as `print_time` of
/// kernel/printk/printk.c has them.
pub(crate) fn next_stamp(line: &[u8], from: usize) -> Option<(usize, Ns)> {
    let rest = line.get(from..)?;
    memchr::memchr_iter(b'[', rest).find_map(|at| {
        let inside = &rest[at + 1..];
        if !matches!(inside.first(), Some(b' ' | b'0'..=b'9')) {
            return None;
        }
        let end = memchr::memchr(b']', &inside[..inside.len().min(24)])?;
        let inside = vendor::without_unit(inside[..end].trim_ascii(), b"");
        let exact = inside.len() > 7 && inside[inside.len() - 7] == b'.';
        Some((from + at, seconds(inside, 6).filter(|_| exact)?))
    })
}

/// `journalctl -o short-monotonic` puts `HOST kernel: ` behind the time.
fn monotonic<'a>(text: &'a [u8], r: &mut Record<'a>) -> &'a [u8] {
    let head = &text[..text.len().min(80)];
    // A host has no blank.
    let host = memchr::memchr(b' ', head).filter(|at| head[*at..].starts_with(b" kernel: "));
    match host {
        Some(at) if r.time.is_some() => {
            r.host = &head[..at];
            text[at + b" kernel: ".len()..].trim_ascii_start()
        }
        // A person left the host out.
        _ => text.strip_prefix(b"kernel: ").filter(|_| r.time.is_some()).unwrap_or(text),
    }
}

/// `> > ` of replies.
pub(crate) fn quotes(mut line: &[u8]) -> &[u8] {
    loop {
        let trimmed = line.trim_ascii_start();
        match trimmed.strip_prefix(b">") {
            Some(rest) => line = rest,
            None => return trimmed,
        }
    }
}

/// The part of syslog, journal or a script.
fn keeper<'a>(line: &'a [u8], r: &mut Record<'a>) -> &'a [u8] {
    let head = &line[..line.len().min(MAX_DRESS)];
    if let Some((time, host, text)) = protocol(line) {
        r.fresh = true;
        r.host = host;
        r.time = rfc3339(time);
        r.said = date(time).unwrap_or(b"");
        return text;
    }
    if let Some(at) = text::find(head, b"kernel: ") {
        r.fresh = true;
        let known = rfc3339(line).or_else(|| time_of_day(line)).or_else(|| unix(line));
        r.time = known.or_else(|| android(line)).or_else(|| moment(line)?.time);
        let before = head[..at].trim_ascii_end();
        r.host = memchr::memrchr(b' ', before).map_or(b"", |blank| &before[blank + 1..]);
        // `journalctl -o short-full` begins with the day of the week.
        let full = || date(&line[memchr::memchr(b' ', head)? + 1..]);
        r.said = syslog(line).or_else(|| date(line)).or_else(full).unwrap_or(b"");
        return line[at + b"kernel: ".len()..].trim_ascii_start();
    }
    if let Some(after) = decoded(line) {
        r.fresh = true;
        return after;
    }
    // `dmesg --time-format iso` writes no program's name, and a comma.
    if let Some(time) = rfc3339(line) {
        let blank = memchr::memchr(b' ', line).unwrap_or(line.len());
        r.fresh = true;
        r.time = Some(time);
        return line[blank..].trim_ascii_start();
    }
    // `2024-09-20 20:39:41,992 DEBUG:<tab>…`: the time is that of the script
    // which copied the log, not the kernel's.
    if line.len() > 24
        && line[..4].iter().all(u8::is_ascii_digit)
        && line[4] == b'-'
        && let Some(tab) = memchr::memchr(b'\t', head).filter(|tab| *tab > 10)
    {
        r.fresh = true;
        r.said = date(line).unwrap_or(b"");
        return line[tab + 1..].trim_ascii_start();
    }
    line
}

/// `1 2024-09-20T20:39:41.992Z HOST kernel - - - …` of RFC 5424, behind the priority: the
/// time, the host, and the message, which may begin with a mark of its encoding.
fn protocol(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let time = line.strip_prefix(b"1 ").filter(|t| date(t).is_some())?;
    let mut words = time.splitn(7, |&b| b == b' ');
    let host = words.nth(1)?;
    if words.next()? != b"kernel" {
        return None;
    }
    let text = words.nth(3).filter(|_| words.next().is_none())?;
    Some((time, host, text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)))
}

/// `kern  :info  : ` of `dmesg --decode`: facility and level, each filled up to
/// six columns (sys-utils/dmesg.c of util-linux).
fn decoded(line: &[u8]) -> Option<&[u8]> {
    const LEVELS: [&[u8]; 8] =
        [b"emerg", b"alert", b"crit", b"err", b"warn", b"notice", b"info", b"debug"];
    let first = memchr::memchr(b':', &line[..line.len().min(12)])?;
    let rest = &line[first + 1..];
    let second = memchr::memchr(b':', &rest[..rest.len().min(8)])?;
    let facility = line[..first].trim_ascii_end();
    let known = !facility.is_empty() && facility.iter().all(u8::is_ascii_alphanumeric);
    (known && LEVELS.contains(&rest[..second].trim_ascii_end()))
        .then(|| rest[second + 1..].trim_ascii_start())
}

/// One bracket, if it is part of the prefix.
fn bracket<'a>(line: &'a [u8], r: &mut Record<'a>) -> Option<&'a [u8]> {
    let adjoins = line.first() == Some(&b'[');
    let line = line.trim_ascii_start();
    let begins_late = || (!r.fresh && is_cut(line)).then_some(line);
    let inside = line.strip_prefix(b"[").or_else(begins_late)?;
    let end = memchr::memchr(b']', &inside[..inside.len().min(64)])?;
    let (inside, rest) = (inside[..end].trim_ascii(), &inside[end + 1..]);
    // `dmesg --show-delta` and `journalctl -o short-delta` add the time since
    // the line before: `[   12.345678 <    0.000012>]`, `[Thu Jan  1 00:00:12 2026 <    0.000012>]`.
    let mut parts = inside.splitn(2, |&b| b == b'<');
    let said = parts.next().unwrap_or(inside).trim_ascii_end();
    let delta = parts.next().and_then(|d| since(d.strip_suffix(b">")?.trim_ascii()));
    let bare = vendor::without_unit(said, rest);
    let least = match bare.len() < said.len() || is_rounded(inside, rest) {
        true => 1,
        false => 3,
    };
    let (stamp, cpu) = with_cpu(bare);
    if let Some(time) = seconds(stamp, least) {
        if r.pid.is_some() {
            return None;
        }
        r.time = Some(time);
        r.cpu = cpu.or(r.cpu);
    } else if let Some(n) = inside.strip_prefix(b"T").and_then(number) {
        r.pid = Some(n);
    } else if let Some(n) = number(inside).filter(|_| adjoins && r.time.is_some()) {
        // `[   12.345678][ 2] [  T403]`: the CPU, by vendors of ARM machines.
        r.cpu = u32::try_from(n).ok();
    } else if inside.strip_prefix(b"C").and_then(number).is_some() {
        // Printed by an interrupt on this CPU: no thread to name.
    } else if let Some(who) = vendor::thread(inside).filter(|_| r.time.is_some()) {
        r.is_by(who);
    } else if let Some(fields) = inside.strip_prefix(b"pid:") {
        let mut fields = fields.split(|&b| b == b',');
        r.pid = Some(number(fields.next()?)?);
        r.cpu = fields
            .next()
            .and_then(|f| number(f.strip_prefix(b"cpu")?))
            .and_then(|n| u32::try_from(n).ok());
        r.comm = fields.next().unwrap_or(b"");
    } else if r.fresh && COLUMNS.contains(&inside) {
        // `2026-04-04T04:04:04.000 [kernel] PM: …`.
    } else if is_calendar(said) {
        (r.said, r.since) = (said, delta);
    } else if said.is_empty() && delta.is_some() {
        // `dmesg --time-format delta`.
        r.since = delta;
    } else if is_relative(inside) {
        r.since = inside.strip_prefix(b"+").and_then(since).or(Some(Ns::ZERO));
    } else if let Some(m) = moment(inside).filter(|m| m.len == inside.len() && r.time.is_none()) {
        (r.time, r.said) = (m.time, m.said);
        let text = behind_columns(rest);
        return Some(if text.starts_with(b"[") { rest } else { text });
    } else if !is_date(inside) {
        return None;
    }
    Some(rest)
}

/// `12.345678] ` or `+0.000012] `: the kernel's stamp in a copy that begins one letter late.
fn is_cut(line: &[u8]) -> bool {
    let head = &line[..line.len().min(24)];
    let Some(end) = memchr::memchr(b']', head).filter(|&end| end >= 8) else { return false };
    let stamp = line[..end].strip_prefix(b"+").unwrap_or(&line[..end]);
    let dot = stamp.len().saturating_sub(7);
    let fits = |(i, b): (usize, &u8)| {
        if i == dot { matches!(b, b'.' | b',') } else { b.is_ascii_digit() }
    };
    dot > 0 && stamp.iter().enumerate().all(fits)
}

/// `5653.044803,0` of Qualcomm's kernels and `5653.044803@0` of Amlogic's: time and CPU.
fn with_cpu(stamp: &[u8]) -> (&[u8], Option<u32>) {
    let Some(at) = memchr::memchr2(b',', b'@', stamp) else { return (stamp, None) };
    match number(&stamp[at + 1..]).and_then(|n| u32::try_from(n).ok()) {
        Some(cpu) => (&stamp[..at], Some(cpu)),
        None => (stamp, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamp::order_of;
    use super::*;

    fn text(line: &str) -> (Option<i64>, Option<i32>, String) {
        let r = strip(line.as_bytes());
        (r.time.map(|t| t.0), r.pid, String::from_utf8_lossy(r.text).into_owned())
    }

    #[test]
    fn who_kept_the_log_said_when() {
        let said = |line: &'static str| strip(line.as_bytes()).said;
        assert_eq!(said("2024-09-20 20:39:41,992 DEBUG:\tPM: x"), b"2024-09-20 20:39:41");
        assert_eq!(said("Sep  1 10:11:12 box kernel: PM: x"), b"Sep  1 10:11:12");
        assert_eq!(said("Fri 2024-09-20 20:39:41 CET box kernel: PM: x"), b"2024-09-20 20:39:41");
        assert_eq!(said("[Thu Jan  1 00:00:12 2026] PM: x"), b"Thu Jan  1 00:00:12 2026");
        // The kernel's own stamp is the finer one.
        assert_eq!(said("Sep  1 10:11:12 box kernel: [   12.345678] PM: x"), b"");
        let ordered = [
            "2024-09-19 23:59:59",
            "2024-09-20 00:00:00",
            "Fri Sep 20 00:00:01 2024",
            "2024-10-01 00:00:00",
        ];
        assert!(ordered.map(|t| order_of(t.as_bytes())).is_sorted());
        assert!(order_of(b"Sep  1 10:11:12") < order_of(b"Sep 12 09:11:12"));
        assert_eq!(order_of(b"yesterday"), None);
    }

    #[test]
    fn what_dmesg_prints_is_read_as_any_line() {
        let some = |line: &str| {
            let plain = super::super::dress::plain(line.as_bytes());
            assert!(plain.is_none() && next_stamp(line.as_bytes(), 1).is_none(), "{line}");
            assert_eq!(of_dmesg(line.as_bytes()), Some(strip(line.as_bytes())), "{line}");
        };
        for text in ["PM: x", " x \r", "box kernel: PM: x", "kernel: x", "- PM: x", "(0)x", "a: b:"]
        {
            for stamp in ["   12.345678", "12.345678", "    0.000000", "123456789.000001"] {
                some(&format!("[{stamp}] {text}"));
            }
        }
        for other in [
            "[   12.345678]",
            "[   12.345678]x",
            "[ 12.345] x",
            "[1234567890.000001] x",
            "12.345678] x",
            "[   12.345678] [T1] x",
            "[   12.345678] **x**",
            "[   12.345678] a\u{a0}b",
            "[ .345678] x",
            "[   12.345678][   T1] x",
            "[   12.3456 8] x",
            " [   12.345678] x",
            "[   12,345678] x",
        ] {
            assert_eq!(of_dmesg(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn stamps_and_columns_of_programs_come_off() {
        let ms = |line: &str| {
            let (time, _, text) = text(line);
            assert_eq!(text, "PM: x", "{line}");
            time.map(|t| t / 1_000_000)
        };
        let stamped = Some(86_401_500);
        for line in [
            "1970-01-02 00:00:01.500 | kernel | PM: x",
            "1970-01-02 00:00:01,500 - kernel - INFO - PM: x",
            "1970-01-02\t00:00:01.500\tkernel\tPM: x",
            "1970-01-02,00:00:01.500,kernel,PM: x",
            "[1970-01-02 00:00:01.500000] PM: x",
            "02.01.1970 00:00:01.500 kernel: PM: x",
            "01/02/1970 12:00:01.5 AM kernel: PM: x",
        ] {
            assert_eq!(ms(line), stamped, "{line}");
        }
        for line in ["[1970/01/02 00:00:01] kernel: PM: x", "[00:00:01] PM: x", "00:00:01\tPM: x"] {
            assert_eq!(ms(line), None, "{line}");
            assert!(strip(line.as_bytes()).fresh, "{line}");
        }
        assert_eq!(ms("[00:00:01.500000] PM: x"), ms("00:00:01.500000 PM: x"));
        for line in [
            "1970-01-02T00:00:01.5Z [kernel] PM: x",
            "1970-01-02T00:00:01.5Z [kern] [INFO] PM: x",
            "[1970-01-02 00:00:01.500000] [kernel] PM: x",
        ] {
            assert_eq!(ms(line), stamped, "{line}");
        }
        assert_eq!(text("[kernel] PM: x").2, "[kernel] PM: x", "no stamp stands before it");
        assert_eq!(ms("1767225600.250: PM: x"), Some(1_767_225_600_250));
        assert_eq!(ms("1767225600.250000 PM: x"), Some(1_767_225_600_250));
        assert_eq!(ms("[1767225600.250000] PM: x"), Some(1_767_225_600_250));
        assert_eq!(ms("12.345678: PM: x"), Some(12_345));
        assert_eq!(ms("(12.345678) PM: x"), Some(12_345));
        assert_eq!(ms("T+12.345s PM: x"), Some(12_345));
        // The kernel's own stamp is the finer one.
        assert_eq!(ms("[00:00:01.50] [   12.345678] PM: x"), Some(12_345));
        for row in ["1767225600.250 0.5 PM: x", "12.345678 PM: x", "12.345678: 5", "(1.5) PM: x"] {
            assert!(!strip(row.as_bytes()).fresh, "{row}");
        }
    }

    #[test]
    fn every_dress_comes_off() {
        let t = Some(12_345_678_000);
        let m = || String::from("PM: x");
        assert_eq!(text("[   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("<6>[   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("[   12.345678][T123] PM: x"), (t, Some(123), m()));
        assert_eq!(text("[   12.345678][  C0] PM: x"), (t, None, m()));
        assert_eq!(text("[   12.345678][ 11] [   T39] PM: x"), (t, Some(39), m()));
        assert_eq!(text("[   12.345678] [11] x").2, "[11] x", "a message may begin so");
        assert_eq!(text("[   12.345678] [pid:9,cpu7,sh]PM: x"), (t, Some(9), m()));
        assert_eq!(
            text("[   12.345678] [2025:05:01 09:09:14][pid:9,cpu7,sh]PM: x"),
            (t, Some(9), m())
        );
        assert_eq!(text("> > [   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("Sep  1 10:11:12 box kernel: [   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("Sep  1 10:11:12 box kernel: PM: x"), (None, None, m()));
        assert_eq!(
            text("2024-02-06T04:26:01.376714Z INFO kernel: [   12.345678] PM: x"),
            (t, None, m())
        );
        assert_eq!(text("2024-09-20 20:39:41,992 DEBUG:\tPM: x"), (None, None, m()));
        assert_eq!(text("PM: x"), (None, None, m()));
        assert_eq!(text("kern  :info  : [   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("kern  :info  : [   12.345678][T12] PM: x"), (t, Some(12), m()));
        assert_eq!(text("kern  :notice: PM: x"), (None, None, m()));
        assert_eq!(text("local0:err   : PM: x"), (None, None, m()));
        assert_eq!(text("^C[   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("01-02 03:04:05.678  0  0 I  : [   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("[   12.345678 <    0.000012>] PM: x"), (t, None, m()));
        assert_eq!(text("[Thu Jan  1 00:00:12 2026] PM: x"), (None, None, m()));
        assert_eq!(text("[Thu Jan  1 00:00:12 2026 <    0.000012>] PM: x"), (None, None, m()));
        assert_eq!(text("[<    0.000012>] PM: x"), (None, None, m()));
        assert_eq!(strip(b"[<    1.000012>] PM: x").since, Some(Ns(1_000_012_000)));
        assert_eq!(text("[Jan 1 00:00] PM: x"), (None, None, m()));
        assert_eq!(text("[Mar10 09:01] PM: x"), (None, None, m()));
        assert_eq!(text("[Mo M\u{e4}r 10 09:01:38 2025] PM: x"), (None, None, m()));
        assert_eq!(text("<6>Mar 10 09:01:38 fw13 kernel: PM: x"), (None, None, m()));
        assert_eq!(
            text("<6>1 1970-01-02T00:00:01.5+01:00 fw13 kernel - - - \u{feff}PM: x"),
            (Some(82_801_500_000_000), None, m())
        );
        assert_eq!(text("1970-01-02T00:00:01.5Z 00O [   12.345678] PM: x"), (t, None, m()));
        let android = Some(967_803_072_500_000_000);
        assert_eq!(text("09-01 10:11:12.5     0     0 kernel: PM: x"), (android, None, m()));
        assert_eq!(text("2025-09-01 10:11:12.5     0     0 kernel: PM: x"), (android, None, m()));
        let epoch = Some(1_741_597_298_803_000_000);
        assert_eq!(text("1741597298.803     0     0 kernel: PM: x"), (epoch, None, m()));
        assert_eq!(text("[  +0.000012] PM: x"), (None, None, m()));
        assert_eq!(text("[  +0,000012] PM: x"), (None, None, m()));
        assert_eq!(text("  +0,000012] PM: x"), (None, None, m()));
        assert_eq!(text("   12.345678] PM: x"), (t, None, m()));
        assert_eq!(text("12.3] PM: x").2, "12.3] PM: x", "no stamp of the kernel's");
        assert_eq!(text("[   12.345678] <1>.(1)[2047:kworker/u4:3]PM: x"), (t, Some(2047), m()));
        assert_eq!(text("[   12.345678]  (0)[1:init]PM: x"), (t, Some(1), m()));
        assert_eq!(text("[   12.345678] (3)[]PM: x"), (t, None, m()));
        assert_eq!(text("Sep  1 10:11:12  PM: x"), (None, None, m()));
        assert_eq!(text("6,812,12345678,-;PM: x"), (t, None, m()));
        assert_eq!(text("6,812,12345678,-,caller=T12;PM: x"), (t, Some(12), m()));
        assert_eq!(
            text("1970-01-02T00:00:01,500000+00:00 PM: x"),
            (Some(86_401_500_000_000), None, m())
        );
        assert_eq!(
            text("86401.500000 box kernel: PM: x"),
            (None, None, m()),
            "no time of this century"
        );
        assert_eq!(
            text("1756721472.500000 box kernel: PM: x"),
            (Some(1_756_721_472_500_000_000), None, m())
        );
        assert_eq!(text("Thu 2026-01-01 00:00:12 UTC box kernel: PM: x"), (None, None, m()));
        assert_eq!(
            text("usb 1-1: took [12] of [3.5]"),
            (None, None, "usb 1-1: took [12] of [3.5]".into())
        );
        assert_eq!(text("[   12.345678] box kernel: PM: x"), (t, None, m()));
        assert_eq!(text("[   12.345678] kernel: PM: x"), (t, None, m()));
        assert_eq!(
            text("Sep 01 10:11:12.5 box kernel: PM: x"),
            (Some(967_803_072_500_000_000), None, m())
        );
        assert_eq!(
            text("1970-01-02T00:00:01.5+00:00 box kernel: PM: x"),
            (Some(86_401_500_000_000), None, m())
        );
    }
}
