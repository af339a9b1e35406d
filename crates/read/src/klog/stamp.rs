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
    fn microseconds_beyond_all_times_are_none() {
        assert_eq!(kept(b"1767348122500000"), Some(Ns(1_767_348_122_500_000_000)));
        assert_eq!(kept(b"9999999999999999"), None);
    }
}
