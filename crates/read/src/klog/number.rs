//! Numbers and times as messages print them.

use dormouse_base::time::Ns;

/// `0.055 seconds`.
pub(super) fn seconds(text: &[u8]) -> Option<Ns> {
    decimal(text, 1_000_000_000)
}

/// `22.979 msecs`.
pub(super) fn msecs(text: &[u8]) -> Option<Ns> {
    decimal(text, 1_000_000)
}

/// A decimal number with a fraction, in nanoseconds if one is `unit`.
fn decimal(text: &[u8], unit: i64) -> Option<Ns> {
    let end = text.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap_or(text.len());
    let word = &text[..end];
    let dot = memchr::memchr(b'.', word).unwrap_or(word.len());
    let whole = number(&word[..dot])?.checked_mul(unit)?;
    let mut fraction = 0;
    let mut scale = unit;
    for d in word.get(dot + 1..).unwrap_or(b"").iter().take(9) {
        if !d.is_ascii_digit() {
            return None;
        }
        scale /= 10;
        fraction += i64::from(d - b'0') * scale;
    }
    whole.checked_add(fraction).map(Ns)
}

/// The number at the begin of `text`.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix(b"-") {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > 15 {
        return None;
    }
    Some(sign * rest[..digits].iter().fold(0i64, |n, b| n * 10 + i64::from(b - b'0')))
}
