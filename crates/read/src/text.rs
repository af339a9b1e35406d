//! Texts of any kind, a mail or a log or a table of debugfs, and what was read of
//! each: what the readers of [`crate::doctor`] and [`crate::domains`] share.

use crate::container::Source;
use crate::months;
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::pairs::Pairs;
use std::borrow::Cow;

/// One text.
#[derive(Clone, Debug, Default)]
pub struct Text<C> {
    /// As the user named it.
    pub name: String,
    /// What it says.
    pub case: C,
    /// What could not be read.
    pub losses: Losses,
}

/// A message keeps this much of its text.
pub(crate) const LONGEST: usize = 400;

impl<C> Text<C> {
    /// With what the container said of its bytes.
    pub(crate) fn of(self, source: &Source<'_>) -> Text<C> {
        let mut text = self;
        if let Some(why) = &source.damage {
            let advice = format!("{}: {why}; copy it again", source.name);
            text.losses.add("damaged_input", 1, Severity::Warning, advice, None);
        }
        text
    }
}

/// The text without a word, if `bytes` are none: a zero byte stands near the begin.
pub(crate) fn none<C: Default>(name: &str, bytes: &[u8]) -> Option<Text<C>> {
    if !bytes[..bytes.len().min(4096)].contains(&0) {
        return None;
    }
    let mut text = Text { name: name.into(), ..Text::default() };
    text.losses.add(
        "not_text",
        1,
        Severity::Warning,
        format!("{name} is no text (recordings are for dormouse show)"),
        None,
    );
    Some(text)
}

/// How long the sequence for a terminal is that begins here: control sequences (`ESC [ 0 ; 31 m`)
/// and the choice of letters (`ESC ( B`; ECMA-48, 5.4).
pub(crate) fn escape(text: &[u8]) -> Option<usize> {
    const ESC: u8 = 0x1b;
    match text {
        [ESC, b'[', rest @ ..] => {
            let end = rest.iter().take(32).position(|b| (0x40..=0x7e).contains(b))?;
            let inner = rest[..end].iter().all(|b| (0x20..=0x3f).contains(b));
            inner.then_some(2 + end + 1)
        }
        [ESC, b'(' | b')', _, ..] => Some(3),
        _ => None,
    }
}

/// The byte of a word that is looked for: most lines have few of it.
#[inline]
fn anchor(word: &[u8]) -> usize {
    let common = |b: &u8| matches!(b, b' ' | b'a' | b'e' | b'i' | b'n' | b'o' | b'r' | b's' | b't');
    word.iter().position(|b| !common(b)).unwrap_or(0)
}

/// Where the first `word` begins in a line. Unlike `memchr::memmem` it makes no tables of
/// the word, which cost more than a line is worth.
#[inline]
pub(crate) fn find(line: &[u8], word: &[u8]) -> Option<usize> {
    let places = (line.len() + 1).checked_sub(word.len())?;
    let at = anchor(word);
    let Some(&byte) = word.get(at) else { return Some(0) };
    memchr::memchr_iter(byte, &line[at..at + places]).find(|&i| line[i..].starts_with(word))
}

/// Where each `word` begins in a line: of those that overlap, the first.
pub(crate) fn places<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + find(line.as_bytes().get(from..)?, word.as_bytes())?;
        from = at + word.len().max(1);
        Some(at)
    })
}

/// As [`find`], in a line whose pairs are known.
#[inline]
pub(crate) fn find_known(line: &[u8], pairs: &Pairs, word: &[u8]) -> Option<usize> {
    if pairs.may_have(word) { find(line, word) } else { None }
}

/// As `String::from_utf8_lossy`, whose first look goes byte by byte: text mostly is text.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Where the last one begins.
#[inline]
pub(crate) fn rfind(line: &[u8], word: &[u8]) -> Option<usize> {
    let places = (line.len() + 1).checked_sub(word.len())?;
    let at = anchor(word);
    let Some(&byte) = word.get(at) else { return Some(line.len()) };
    memchr::memrchr_iter(byte, &line[at..at + places]).find(|&i| line[i..].starts_with(word))
}

/// Whether a line begins with the date of a log of the system: `Apr 28 14:21:35`,
/// `2021-04-28T14:21:35`. It is no rest of the line before it.
pub(crate) fn has_date(line: &[u8]) -> bool {
    let english = months::english(line);
    let line = english.as_deref().unwrap_or(line);
    let digits = |at: std::ops::Range<usize>| {
        line.get(at).is_some_and(|d| d.iter().all(|b| b.is_ascii_digit() || *b == b' '))
    };
    let month = line.get(..3).is_some_and(|m| m.iter().all(u8::is_ascii_alphabetic));
    let syslog = month
        && line.get(3) == Some(&b' ')
        && digits(4..6)
        && line.get(6) == Some(&b' ')
        && months::is_clock(line.get(7..).unwrap_or_default());
    let iso = digits(0..4) && line.get(4) == Some(&b'-') && line.get(7) == Some(&b'-');
    // Android leaves the year out.
    let short = digits(0..2) && line.get(2) == Some(&b'-') && digits(3..5);
    let clock = |at: usize| months::is_clock(line.get(at..).unwrap_or_default());
    syslog || iso && clock(11) || short && clock(6)
}

/// A message without the time of day that a person left of its prefix.
pub(crate) fn without_clock(text: &[u8]) -> &[u8] {
    if !months::is_clock(text) {
        return text;
    }
    let rest = &text[8..];
    let fraction = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let rest = &rest[fraction..];
    if rest.first() == Some(&b' ') { rest.trim_ascii_start() } else { text }
}

/// A line without the time that a program of serial consoles puts before it:
/// `[2024-05-02 10:11:12.123] `, `10:11:12 `. One blank belongs to the stamp. The
/// kernel's own stamps stay: no table has them.
pub(crate) fn unstamped(line: &[u8]) -> &[u8] {
    let open = usize::from(line.first() == Some(&b'['));
    let is_stamp =
        |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'.' | b',' | b'T' | b'Z' | b'+');
    let word = |from: usize| from + line[from..].iter().take_while(|b| is_stamp(b)).count();
    let mut end = word(open);
    // A date, and the time of day behind a blank.
    if end == open + 10 && line.get(end) == Some(&b' ') {
        end = word(end + 1);
    }
    let colons = line[open..end].iter().filter(|b| **b == b':').count();
    let close = open == 0 || line.get(end) == Some(&b']');
    let rest = &line[(end + open).min(line.len())..];
    match (colons >= 2 && close && line.get(open).is_some_and(u8::is_ascii_digit), rest) {
        (true, [b' ', rest @ ..]) => rest,
        (true, []) => rest,
        _ => line,
    }
}

/// A line as its quote marks and what stands behind them.
pub(crate) fn unquoted(line: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let text = line.trim_start_matches(['>', ' ', '\t']);
    Some((&line[..line.len() - text.len()], text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_others_find_them() {
        for line in ["", "a", "ss", "PM: suspend exit", "x: PM: y: PM: z", "tttart", "a b  c "] {
            let words = ["", "t", "ss", "PM: ", ": PM: ", "tart", "  ", "c ", "exit", "exits", "z"];
            for word in words {
                let (l, w) = (line.as_bytes(), word.as_bytes());
                assert_eq!(find(l, w), memchr::memmem::find(l, w), "{line}: {word}");
                let all: Vec<usize> = line.match_indices(word).map(|m| m.0).collect();
                assert_eq!(places(line, word).collect::<Vec<_>>(), all, "{line}: {word}");
                assert_eq!(rfind(l, w), memchr::memmem::rfind(l, w), "{line}: {word}");
            }
        }
    }

    #[test]
    fn stamps_of_consoles_go() {
        let plain = |text: &str| String::from_utf8_lossy(unstamped(text.as_bytes())).into_owned();
        for stamp in ["[2024-05-02 10:11:12.123] ", "10:11:12 ", "2024-05-02T10:11:12+00:00 "] {
            assert_eq!(plain(&format!("{stamp}    1.mmc  on")), "    1.mmc  on", "{stamp}");
        }
        for same in ["[    1.000000] clk", "00:14.0 on", "a:b:c on", "[1] x", "", "[", "12:34:56x"]
        {
            assert_eq!(plain(same), same);
        }
    }

    #[test]
    fn dates_and_times_of_day_are_known() {
        assert!(has_date(b"Apr 28 14:21:35 host systemd-sleep[1]: x"));
        assert!(has_date(b"03-10 09:01:38.803  1234  1250 I Power: x"));
        assert!(has_date(b"Apr  8 14:21:35 host x") && has_date(b"2021-04-28T14:21:35 host x"));
        assert!(!has_date(b"refusing to freeze, wq_busy=0):") && !has_date(b"Apr"));
        assert_eq!(without_clock(b"00:24:13  PM: suspend exit"), b"PM: suspend exit");
        assert_eq!(without_clock(b"00:24:13.250 PM: x"), b"PM: x");
        assert_eq!(without_clock(b"00:14:00.0 is a device"), b"is a device");
        assert_eq!(without_clock(b"00:14:0x PM"), b"00:14:0x PM");
    }
}
