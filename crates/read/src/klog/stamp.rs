//! When a line was written, as kernels and those who keep their logs write it.

use crate::months::ENGLISH;
use crate::time_of_day::{TimeOfDay, zone};
use dormouse_base::time::Ns;

/// `2024-09-20 20:39:41` at the begin of `line`, also with `T` between.
pub(super) fn date(line: &[u8]) -> Option<&[u8]> {
    let form = b"dddd-dd-dd dd:dd:dd";
    let fits = |(f, b): (&u8, &u8)| match f {
        b'd' => b.is_ascii_digit(),
        b' ' => matches!(b, b' ' | b'T'),
        b'-' => matches!(b, b'-' | b'.' | b'/'),
        f => f == b,
    };
    let text = line.get(..form.len())?;
    form.iter().zip(text).all(fits).then_some(text)
}

/// `Sep  1 10:11:12` of syslog.
pub(super) fn syslog(line: &[u8]) -> Option<&[u8]> {
    let text = line.get(..15)?;
    (month(text).is_some() && text[9] == b':' && text[12] == b':').then_some(text)
}

/// From 1.
fn month(text: &[u8]) -> Option<i64> {
    let at = ENGLISH.iter().position(|m| text.starts_with(m.as_bytes()))?;
    i64::try_from(at + 1).ok()
}

/// When a line was kept that has the kernel's time too: by `journalctl -o short-precise`, syslog,
/// Android, or in microseconds since 1970. Years are left out where one of them has none.
pub(super) fn kept(line: &[u8]) -> Option<Ns> {
    if line.len() == 16 && line.iter().all(u8::is_ascii_digit) {
        let seconds = decimal(&line[..10])?.checked_mul(1_000_000_000)?;
        return Some(Ns(seconds.checked_add(decimal(&line[10..])? * 1_000)?));
    }
    let exact = rfc3339(line).or_else(|| time_of_day(line)).or_else(|| unix(line));
    exact.or_else(|| android(line)).or_else(|| {
        let (_, second) = order_of(syslog(line)?)?;
        let day = line.get(4..6).map(<[u8]>::trim_ascii).and_then(decimal)?;
        let days = civil_days(2000, month(line)?, day);
        Some(Ns((days * 86_400 + second.rem_euclid(86_400)).checked_mul(1_000_000_000)?))
    })
}

/// What `said` of a record means, to tell which of two is the earlier: whether it
/// names the year, and seconds of months of 31 days.
pub fn order_of(said: &[u8]) -> Option<(bool, i64)> {
    if said.is_empty() {
        return None;
    }
    let field =
        |from: usize, to: usize| said.get(from..to).map(<[u8]>::trim_ascii).and_then(decimal);
    let clock = |at: usize| Some(TimeOfDay::read(said.get(at..)?)?.ns / 1_000_000_000);
    let day = |y: i64, m: i64, d: i64| ((y * 12 + m) * 31 + d) * 86_400;
    if said.get(2) == Some(&b':') {
        return Some((false, clock(0)?));
    }
    if is_calendar(said) {
        // English names have fixed places.
        (said.len() == 24).then_some(())?;
        return Some((true, day(field(20, 24)?, month(&said[4..])?, field(8, 10)?) + clock(11)?));
    }
    if let Some(m) = month(said) {
        return Some((false, day(0, m, field(4, 6)?) + clock(7)?));
    }
    Some((true, day(field(0, 4)?, field(5, 7)?, field(8, 10)?) + clock(11)?))
}

/// `1756721472.123456 box kernel: …` of `journalctl -o short-unix`.
pub(super) fn unix(line: &[u8]) -> Option<Ns> {
    let word = &line[..memchr::memchr(b' ', line)?];
    let dot = memchr::memchr(b'.', word)?;
    let (whole, fraction) = (decimal(&word[..dot])?, &word[dot + 1..]);
    if fraction.len() != 6 || !(8..=10).contains(&dot) {
        return None;
    }
    Some(Ns(whole * 1_000_000_000 + scaled(fraction)?))
}

/// A stamp that a program put ahead of a line: a logger of a serial console, `ts`, a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment<'a> {
    /// Since 1970, or since the kernel began; nothing if it is of whole seconds.
    pub(super) time: Option<Ns>,
    /// Its own words, if [`order_of`] knows them.
    pub(super) said: &'a [u8],
    /// So long is it.
    pub(super) len: usize,
}

/// The stamp of a program with which `text` begins.
pub(super) fn moment(text: &[u8]) -> Option<Moment<'_>> {
    dated(text).or_else(|| turned(text)).or_else(|| clock(text)).or_else(|| counted(text))
}

/// `2026-04-04 04:04:04.000`, `2026/04/04,04:04:04`.
fn dated(text: &[u8]) -> Option<Moment<'_>> {
    let parted = matches!(text.get(10)?, b' ' | b'T' | b'\t' | b',');
    let mark = |b: &u8| matches!(b, b'-' | b'/' | b'.');
    if !parted || !mark(&text[4]) || !mark(&text[7]) {
        return None;
    }
    let (y, m, d) = (decimal(&text[..4])?, decimal(&text[5..7])?, decimal(&text[8..10])?);
    let time = TimeOfDay::read(&text[11..])?;
    let behind = &text[11 + time.len..];
    let zoned = match behind {
        [b'Z', ..] => 1,
        [b'+' | b'-', b'0'..=b'9', ..] => {
            1 + behind[1..].iter().take_while(|b| b.is_ascii_digit() || **b == b':').count()
        }
        _ => 0,
    };
    let ahead = if zoned > 1 { zone(behind) } else { 0 };
    let exact = day_and_time(y, m, d, time).filter(|_| time.digits > 0);
    let said = date(text).unwrap_or_default();
    Some(Moment {
        time: exact.map(|t| t - Ns::from_ms(ahead * 1_000)),
        said,
        len: 11 + time.len + zoned,
    })
}

/// `27.02.2026 10:00:00.123`, `02/27/2026 10:00:00.1 AM`: the month comes first between strokes,
/// but where no year has so many.
fn turned(text: &[u8]) -> Option<Moment<'_>> {
    let mark = *text.get(2).filter(|b| matches!(b, b'.' | b'/' | b'-'))?;
    if text.get(5) != Some(&mark) || !matches!(text.get(10)?, b' ' | b'T' | b'\t' | b',') {
        return None;
    }
    let (a, b, y) = (decimal(&text[..2])?, decimal(&text[3..5])?, decimal(&text[6..10])?);
    let (m, d) = if mark == b'/' && a <= 12 { (a, b) } else { (b, a) };
    let time = TimeOfDay::read(&text[11..])?;
    let rest = &text[11 + time.len..];
    let (noon, half) = (12 * 3_600_000_000_000, rest.get(..4));
    let (after, words) = match half {
        Some(b" AM ") => (if time.ns >= noon { -noon } else { 0 }, 3),
        Some(b" PM ") => (if time.ns < noon { noon } else { 0 }, 3),
        _ => (0, 0),
    };
    let exact = day_and_time(y, m, d, time).filter(|_| time.digits > 0);
    Some(Moment { time: exact.map(|t| t + Ns(after)), said: b"", len: 11 + time.len + words })
}

/// `04:04:04.000000`: of some day in 2000, as [`some_year`] has it.
fn clock(text: &[u8]) -> Option<Moment<'_>> {
    let time = TimeOfDay::read(text)?;
    let exact = day_and_time(2000, 1, 1, time).filter(|_| time.digits > 0);
    Some(Moment { time: exact, said: &text[..8], len: time.len })
}

/// `1767225600.000` since 1970, `T+12.345s`; `12.345678` if a colon or a comma stands behind it.
fn counted(text: &[u8]) -> Option<Moment<'_>> {
    let from = if text.starts_with(b"T+") { 2 } else { 0 };
    let is = |b: &&u8| b.is_ascii_digit() || **b == b'.';
    let len = text[from..].iter().take_while(is).count();
    let number = &text[from..from + len];
    let dot = memchr::memchr(b'.', number)?;
    let behind = text.get(from + len);
    let known = match from {
        0 if dot == 10 => true,
        0 => number.len() == dot + 7 && matches!(behind, Some(b':' | b',')),
        _ => behind == Some(&b's'),
    };
    let (whole, fraction) = (decimal(&number[..dot])?, &number[dot + 1..]);
    let part = scaled(fraction).filter(|_| known && fraction.len() <= 9)?;
    let time = whole.checked_mul(1_000_000_000)?.checked_add(part)?;
    Some(Moment { time: Some(Ns(time)), said: b"", len: len + from + usize::from(from > 0) })
}

/// Since 1970.
fn day_and_time(y: i64, m: i64, d: i64, time: TimeOfDay) -> Option<Ns> {
    let known = (1..=12).contains(&m) && (1..=31).contains(&d);
    let days = civil_days(y, m, d).checked_mul(86_400_000_000_000).filter(|_| known)?;
    Some(Ns(days.checked_add(time.ns)?))
}

/// `12.345678`, with at least so many digits behind the dot.
pub(super) fn seconds(text: &[u8], least: usize) -> Option<Ns> {
    let dot = memchr::memchr(b'.', text)?;
    let (whole, fraction) = (&text[..dot], &text[dot + 1..]);
    if whole.is_empty() || whole.len() > 9 || !(least..=9).contains(&fraction.len()) {
        return None;
    }
    Some(Ns(decimal(whole)?.checked_mul(1_000_000_000)?.checked_add(scaled(fraction)?)?))
}

/// `2025:05:01 09:09:14` and its like.
pub(super) fn is_date(text: &[u8]) -> bool {
    text.len() >= 10
        && text[..4].iter().all(u8::is_ascii_digit)
        && matches!(text[4], b':' | b'-' | b'/')
        && text.iter().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'-' | b'/' | b' ' | b'.'))
}

/// `Thu Jan  1 00:00:12 2026` of `dmesg -T`: whole seconds, so no time. Other languages
/// have other names of days and months.
pub(super) fn is_calendar(text: &[u8]) -> bool {
    let form = b" dd:dd:dd dddd";
    let fits = |(f, b): (&u8, &u8)| if *f == b'd' { b.is_ascii_digit() } else { f == b };
    let end = text.len().checked_sub(form.len()).map(|at| &text[at..]);
    text.len() >= 20 && end.is_some_and(|end| form.iter().zip(end).all(fits))
}

/// `Jan 1 00:00` and `  +0.000012` of `dmesg --reltime`, in some languages with a comma: no
/// time to count from.
pub(super) fn is_relative(text: &[u8]) -> bool {
    let is_number = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b',');
    let rest = text.strip_prefix(b"+").map(|t| t.iter().all(is_number));
    let minute = || {
        (10..=12).contains(&text.len())
            && text[..3].iter().all(u8::is_ascii_alphabetic)
            && matches!(text[3], b' ' | b'0'..=b'9')
            && text[text.len() - 3] == b':'
    };
    rest.unwrap_or_else(minute)
}

/// `0.000012` or `0,000012`.
pub(super) fn since(text: &[u8]) -> Option<Ns> {
    let dot = memchr::memchr2(b'.', b',', text)?;
    let whole = decimal(&text[..dot])?.checked_mul(1_000_000_000)?;
    Some(Ns(whole.checked_add(scaled(&text[dot + 1..])?)?))
}

/// `2024-02-06T04:26:01.376714Z`, as time since 1970; only with a fraction.
pub(super) fn rfc3339(line: &[u8]) -> Option<Ns> {
    let field = |from: usize, to: usize| line.get(from..to).and_then(decimal);
    if line.get(10) != Some(&b'T') || !matches!(line.get(19), Some(b'.' | b',')) {
        return None;
    }
    let (y, m, d) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let time = TimeOfDay::read(line.get(11..)?).filter(|t| t.digits > 0)?;
    let seconds = civil_days(y, m, d) * 86_400 - zone(&line[11 + time.len..]);
    Some(Ns(seconds.checked_mul(1_000_000_000)?.checked_add(time.ns)?))
}

/// Days since 1970 of a day of the proleptic Gregorian calendar, whose years begin in March
/// here.
pub(crate) fn civil_days(y: i64, m: i64, d: i64) -> i64 {
    let (y, m) = if m > 2 { (y, m - 3) } else { (y - 1, m + 9) };
    y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + d - 1 - 719_468
}

/// `Sep 01 10:11:12.123456` of `journalctl -o short-precise`, in [`some_year`]; only with
/// a fraction.
pub(super) fn time_of_day(line: &[u8]) -> Option<Ns> {
    let month = month(line)?;
    let day = line.get(4..6).map(<[u8]>::trim_ascii).and_then(decimal)?;
    some_year(month, day, line.get(7..)?)
}

/// `03-10 09:01:38.803` of Android, or with the year before, or seconds since 1970.
pub(super) fn android(line: &[u8]) -> Option<Ns> {
    let field = |from: usize, to: usize| line.get(from..to).and_then(decimal);
    if date(line).is_some() {
        return some_year(field(5, 7)?, field(8, 10)?, line.get(11..)?);
    }
    if line.get(2) == Some(&b'-') {
        return some_year(field(0, 2)?, field(3, 5)?, line.get(6..)?);
    }
    let word = &line[..memchr::memchr(b' ', line)?];
    let dot = memchr::memchr(b'.', word).filter(|dot| (8..=10).contains(dot))?;
    let fraction = scaled(&word[dot + 1..]).filter(|_| word.len() - dot <= 10)?;
    Some(Ns(decimal(&word[..dot])?.checked_mul(1_000_000_000)?.checked_add(fraction)?))
}

/// A time without its year: that of 2000, so that nobody takes it for a time of the kernel.
/// `clock` is `10:11:12.5`.
pub(super) fn some_year(month: i64, day: i64, clock: &[u8]) -> Option<Ns> {
    let dot = clock.get(8) == Some(&b'.');
    let time = TimeOfDay::read(clock).filter(|t| dot && t.digits > 0)?;
    Some(Ns(civil_days(2000, month, day) * 86_400_000_000_000 + time.ns))
}

/// A fraction of up to nine digits, in billionths.
fn scaled(fraction: &[u8]) -> Option<i64> {
    let mut n = decimal(fraction)?;
    for _ in fraction.len()..9 {
        n *= 10;
    }
    Some(n)
}

pub(super) fn decimal(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    digits.iter().try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

pub(super) fn number(digits: &[u8]) -> Option<i32> {
    decimal(digits.trim_ascii()).and_then(|n| i32::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_stamp_a_line_in_their_own_ways() {
        let of = |t: &'static str| {
            moment(t.as_bytes()).map(|m| (m.time.map(|t| t.0 / 1_000_000), m.said.len(), m.len))
        };
        const DAY: i64 = 86_400_000;
        for (text, ms, said, len) in [
            ("1970-01-02 00:00:01.5 | x", Some(DAY + 1_500), 19, 21),
            ("1970-01-02T00:00:01,500Z x", Some(DAY + 1_500), 19, 24),
            ("1970-01-02 01:00:01.500+01:00 x", Some(DAY + 1_500), 19, 29),
            ("1970/01/02 00:00:01 - x", None, 19, 19),
            ("1970-01-02,00:00:01.500,x", Some(DAY + 1_500), 0, 23),
            ("02.01.1970 00:00:01.500 x", Some(DAY + 1_500), 0, 23),
            ("01/02/1970 01:00:01.5 PM x", Some(DAY + 46_801_500), 0, 24),
            ("01/02/1970 12:00:01.5 AM x", Some(DAY + 1_500), 0, 24),
            ("01/02/1970 01:00:01.5 PM: x", Some(DAY + 3_601_500), 0, 21),
            ("31/01/1970 00:00:01.5 x", Some(30 * DAY + 1_500), 0, 21),
            ("00:00:01 x", None, 8, 8),
            ("1767225600.25 x", Some(1_767_225_600_250), 0, 13),
            ("12.345678: x", Some(12_345), 0, 9),
            ("T+12.5s x", Some(12_500), 0, 7),
        ] {
            assert_eq!(of(text), Some((ms, said, len)), "{text}");
        }
        for none in ["12.345678 x", "1970-13-02", "99.01 x", "T+5 x", "1767225600", "24:00:00", ""]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn microseconds_beyond_all_times_are_none() {
        assert_eq!(kept(b"1767348122500000"), Some(Ns(1_767_348_122_500_000_000)));
        assert_eq!(kept(b"9999999999999999"), None);
    }
}
