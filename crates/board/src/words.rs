//! The words of a board file: splitting a line, quoting a name, durations as
//! exact integers.

use dormouse_base::time::Ns;
use std::borrow::Cow;

/// A name or value as written: bare, or between double quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Atom<'a> {
    /// The text without quotes and escapes.
    pub text: Cow<'a, str>,
    /// Was written between quotes: nothing in it is special.
    pub quoted: bool,
    /// `#2` after a closing quote: the second device of that name.
    pub nth: Option<u32>,
}

/// One word of a line: `key=value` or a value alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// What stands before `=`.
    pub key: Option<&'a str>,
    /// What stands after it, or the whole word.
    pub value: Atom<'a>,
}

/// More words than any line needs; keeps checks of a line cheap.
const MAX_WORDS: usize = 64;

/// Splits a line into words. A `#` at the start of a word begins a comment.
pub(super) fn split(line: &str) -> Result<Vec<Word<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '"');
        let key = match end {
            Some(i) if rest[i..].starts_with('=') && i > 0 => {
                let key = &rest[..i];
                rest = &rest[i + 1..];
                Some(key)
            }
            _ => None,
        };
        let (value, after) = atom(rest)?;
        words.push(Word { key, value });
        if words.len() > MAX_WORDS {
            return Err(format!("more than {MAX_WORDS} words on one line"));
        }
        let trimmed = after.trim_start();
        if trimmed.len() == after.len() && !after.is_empty() {
            return Err(format!("a blank is missing before `{}`", head(after)));
        }
        rest = trimmed;
    }
    Ok(words)
}

/// Takes one value from the front of `text`.
fn atom(text: &str) -> Result<(Atom<'_>, &str), String> {
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(text.len());
        let atom = Atom { text: Cow::Borrowed(&text[..end]), quoted: false, nth: None };
        return Ok((atom, &text[end..]));
    };
    let mut out = String::new();
    let mut chars = inner.char_indices();
    loop {
        match chars.next() {
            None => return Err("a quote is opened and never closed; add `\"`".into()),
            Some((i, '"')) => {
                let (nth, after) = ordinal(&inner[i + 1..])?;
                return Ok((Atom { text: Cow::Owned(out), quoted: true, nth }, after));
            }
            Some((i, '\\')) => match chars.next().map(|(_, c)| c) {
                Some(c @ ('"' | '\\')) => out.push(c),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('u') => {
                    let body = &inner[i + 2..];
                    let parsed = body.strip_prefix('{').and_then(|b| b.split_once('}'));
                    let code = parsed.and_then(|(hex, _)| u32::from_str_radix(hex, 16).ok());
                    let (Some((hex, _)), Some(c)) = (parsed, code.and_then(char::from_u32)) else {
                        return Err("`\\u` needs a character number, such as `\\u{1b}`".into());
                    };
                    out.push(c);
                    for _ in 0..hex.chars().count() + 2 {
                        chars.next();
                    }
                }
                _ => {
                    return Err(
                        "after `\\` in quotes only `\"`, `\\`, n, r, t and u{..} are known".into(),
                    );
                }
            },
            Some((_, c)) => out.push(c),
        }
    }
}

/// `#2` after a closing quote.
fn ordinal(text: &str) -> Result<(Option<u32>, &str), String> {
    let Some(body) = text.strip_prefix('#') else { return Ok((None, text)) };
    let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
    match body[..end].parse() {
        Ok(n) if n > 0 => Ok((Some(n), &body[end..])),
        _ => Err("`#` after a name needs a number from 1, such as `#2`".into()),
    }
}

/// The first word of `text`, for messages.
fn head(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// Writes `text` so that [`split`] reads it back: bare where that is safe.
pub(super) fn quote(text: &str, out: &mut String) {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '#' | '=' | '{' | '}' | '\\');
    if !text.is_empty() && !text.starts_with('@') && text.chars().all(plain) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Also the line separators of Unicode, which editors break lines at.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The units of a duration and their nanoseconds, largest first.
const UNITS: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Reads `12ms`, `0.25us`, `3s` or `0` exactly; what is finer than a
/// nanosecond or too long for [`Ns`] is an error, never rounded.
pub fn parse_duration(text: &str) -> Result<Ns, String> {
    if text == "0" {
        return Ok(Ns::ZERO);
    }
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!(
            "`{text}` is not a duration; write a number and s, ms, us or ns: 12ms"
        ));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || (number.contains('.') && !digits(fraction)) {
        return Err(format!("`{text}` is not a duration; write for example 12ms or 0.5us"));
    }
    let too_long = || format!("`{text}` is longer than 292 years; check the unit");
    let mut ns =
        whole.parse::<u64>().ok().and_then(|w| w.checked_mul(scale)).ok_or_else(too_long)?;
    let mut place = scale;
    for digit in fraction.bytes().map(|b| u64::from(b - b'0')) {
        place = if place.is_multiple_of(10) { place / 10 } else { 0 };
        if place == 0 && digit != 0 {
            return Err(format!("`{text}` is finer than one nanosecond; round it"));
        }
        ns = ns.checked_add(digit * place).ok_or_else(too_long)?;
    }
    i64::try_from(ns).map(Ns).map_err(|_| too_long())
}

/// Writes a duration so that [`parse_duration`] gives the same nanoseconds: the
/// largest unit that it reaches, with as many decimals as it needs.
pub fn print_duration(time: Ns, out: &mut String) {
    let n = time.0.max(0) as u64;
    if n == 0 {
        out.push('0');
        return;
    }
    let &(name, scale) = UNITS.iter().find(|(_, scale)| n >= *scale).unwrap_or(&UNITS[3]);
    out.push_str(&format!("{}", n / scale));
    if !n.is_multiple_of(scale) {
        let width = scale.ilog10() as usize;
        let decimals = format!("{:0width$}", n % scale);
        out.push('.');
        out.push_str(decimals.trim_end_matches('0'));
    }
    out.push_str(name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ns: i64) -> String {
        let mut s = String::new();
        print_duration(Ns(ns), &mut s);
        s
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(parse_duration("12ms"), Ok(Ns(12_000_000)));
        assert_eq!(parse_duration("0.25us"), Ok(Ns(250)));
        assert_eq!(parse_duration("1.000000001s"), Ok(Ns(1_000_000_001)));
        assert_eq!(parse_duration("3.0ns"), Ok(Ns(3)));
        for bad in [
            "",
            "5",
            "ms",
            ".5ms",
            "5.ms",
            "1.5ns",
            "1.50ns0",
            "0.0001us",
            "9999999999999s",
            "-1ms",
            "1e3ms",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        for n in [0, 1, 999, 1_000, 1_001, 12_345_678, 80_000_000, 1_500_000_000, i64::MAX] {
            assert_eq!(parse_duration(&shown(n)), Ok(Ns(n)), "{}", shown(n));
        }
        assert_eq!(shown(12_345_678), "12.345678ms");
        assert_eq!(shown(1_500_000_000), "1.5s");
    }

    #[test]
    fn words_carry_keys_quotes_and_comments() {
        let words =
            split(r##"device "Fixed MDIO bus.0"#2 a=b=c d="x\u{41}\"" # parent=P"##).unwrap();
        assert_eq!(words.len(), 4);
        assert_eq!(words[1].value.text, "Fixed MDIO bus.0");
        assert_eq!(words[1].value.nth, Some(2));
        assert_eq!((words[2].key, &*words[2].value.text), (Some("a"), "b=c"));
        assert_eq!((words[3].key, &*words[3].value.text), (Some("d"), "xA\""));
        assert!(split("a\"b").is_err());
        assert!(split("\"b").is_err());
        assert!(split("\"b\\u{d800}\"").is_err());
    }
}
