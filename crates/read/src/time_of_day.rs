//! A time of day as logs write it, and how far its zone is ahead of Greenwich.

/// `23:04:26.858`, with a dot or a comma, at the begin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeOfDay {
    /// Since midnight, in ns.
    pub ns: i64,
    /// So many digits has its fraction.
    pub digits: usize,
    /// Its length in the text.
    pub len: usize,
}

impl TimeOfDay {
    /// The time that `text` begins with.
    pub(crate) fn read(text: &[u8]) -> Option<TimeOfDay> {
        let two = |at: usize| -> Option<i64> {
            let pair = text.get(at..at + 2)?;
            let digit = |i: usize| pair[i].is_ascii_digit().then(|| i64::from(pair[i] - b'0'));
            Some(digit(0)? * 10 + digit(1)?)
        };
        let colon = |at: usize| text.get(at) == Some(&b':');
        let (h, min, s) = (two(0)?, two(3)?, two(6)?);
        if !(colon(2) && colon(5)) || h > 23 || min > 59 || s > 60 {
            return None;
        }
        let fraction = match text.get(8) {
            Some(b'.' | b',') => &text[9..],
            _ => &[],
        };
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        let digit = |at: usize| if at < digits { i64::from(fraction[at] - b'0') } else { 0 };
        let part = (0..9).fold(0, |n, at| n * 10 + digit(at));
        let ns = ((h * 60 + min) * 60 + s) * 1_000_000_000 + part;
        Some(TimeOfDay { ns, digits, len: if digits > 0 { 9 + digits } else { 8 } })
    }

    /// The same in ms.
    pub(crate) fn ms(self) -> i64 {
        self.ns / 1_000_000
    }
}

/// `+01:00` or `-0530` behind a time, in seconds.
pub(crate) fn zone(text: &[u8]) -> i64 {
    let (sign, rest) = match text.first() {
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        _ => return 0,
    };
    let two = |at: usize| {
        let pair = rest.get(at..at + 2).filter(|p| p.iter().all(u8::is_ascii_digit));
        pair.map_or(0, |p| i64::from(p[0] - b'0') * 10 + i64::from(p[1] - b'0'))
    };
    sign * (two(0) * 3_600 + two(if rest.get(2) == Some(&b':') { 3 } else { 2 }) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_day_in_every_form() {
        let of = |t: &str| TimeOfDay::read(t.as_bytes()).map(|t| (t.ns, t.digits, t.len));
        assert_eq!(of("00:00:01 x"), Some((1_000_000_000, 0, 8)));
        assert_eq!(of("00:01:00,25]"), Some((60_250_000_000, 2, 11)));
        assert_eq!(of("00:00:00.0000000019"), Some((1, 10, 19)));
        for none in ["24:00:00", "00:60:00", "0:00:00", "00-00-00", "00:00"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(zone(b"+02:00"), 7_200);
        assert_eq!(zone(b"-0530 x"), -19_800);
        assert_eq!((zone(b"Z"), zone(b"+x")), (0, 0));
    }
}
