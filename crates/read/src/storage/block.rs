//! The text of `block_*` events (include/trace/events/block.h, 3.10 to 7.3).
//!
//! The forms differ in what stands between the letters of the operation and the
//! sector (bytes, a command in brackets), and in a priority after the sectors:
//! `8,0 RA 16384 () 6500840 + 32 be,0,6 [name]`.

use dormouse_storage::ledger::{Event, NO_SECTOR};
use dormouse_storage::request::{Disk, Operation, asks_for_a_flush};

/// A block event's text, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// Disk, operation and place; the time is the caller's.
    pub event: Event,
    /// Number in the brackets at the end: an error.
    pub error: i32,
    /// Sector after `/`, where a bio was split.
    pub split: Option<u64>,
    /// Of a remap: the disk and the sector that it comes from.
    pub from: Option<(Disk, u64)>,
}

/// Reads the text of an event at `time`; `None` if it is not understood.
pub(super) fn read(time: i64, text: &[u8]) -> Option<Text> {
    plain(time, text).or_else(|| any(time, text))
}

/// The form that nearly every line has, in one pass: no command in the brackets, blanks
/// where the kernel puts them. `None` of any other, which [`any`] reads.
fn plain(time: i64, text: &[u8]) -> Option<Text> {
    let (major, rest) = digits(text)?;
    let (minor, rest) = digits(rest.strip_prefix(b",")?)?;
    let disk = Disk { major: u32::try_from(major).ok()?, minor: u32::try_from(minor).ok()? };
    let rest = rest.strip_prefix(b" ")?;
    let letters = &rest[..rest.iter().position(|b| !b.is_ascii_uppercase())?];
    let mut rest = rest[letters.len()..].strip_prefix(b" ").filter(|_| !letters.is_empty())?;
    if let Some((_, behind)) = digits(rest).filter(|(_, behind)| behind.starts_with(b" ()")) {
        rest = &behind[1..];
    }
    let (sector, rest) = digits(rest.strip_prefix(b"() ").unwrap_or(rest))?;
    let (sectors, after) = digits(rest.strip_prefix(b" + ")?)?;
    if !matches!(after, [] | [b' ', ..]) {
        return None;
    }
    let after = after.trim_ascii_end();
    let flush = asks_for_a_flush(letters);
    let (operation, sectors) = (Operation::of(letters), u32::try_from(sectors).ok()?);
    Some(Text {
        event: Event { time, disk, operation, sector, sectors, flush },
        error: error(after),
        split: None,
        from: origin(after),
    })
}

/// The digits that a text begins with, few enough for the number, and what follows.
fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut n, mut length) = (0_u64, 0);
    while let Some(digit) = text.get(length).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        n = n.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    // A number of 20 digits may be too large.
    matches!(length, 1..20).then(|| (n, &text[length..]))
}

/// The number in the brackets at the end, or 0: a task's name may stand there, and a
/// remark of somebody behind them.
fn error(after: &[u8]) -> i32 {
    let inside = match after {
        [inside @ .., b']'] => inside,
        _ => match after.iter().rposition(|b| *b == b']') {
            Some(end) => &after[..end],
            None => return 0,
        },
    };
    let Some(at) = inside.iter().rposition(|b| *b == b'[') else { return 0 };
    let inside = inside[at + 1..].trim_ascii();
    if inside == b"0" {
        return 0;
    }
    std::str::from_utf8(inside).ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A text of any form.
fn any(time: i64, text: &[u8]) -> Option<Text> {
    let text = text.trim_ascii();
    let (disk, rest) = word(text)?;
    let disk = disk_of(disk)?;
    let (letters, rest) = word(rest)?;
    if letters.is_empty() || !letters.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    // The command in brackets may hold anything. One with bytes is passed through to the
    // device and is no read or write, whatever its letters say.
    let (command, rest) = match memchr::memchr(b')', rest) {
        Some(close) if !arrow(&rest[..close]) => match memchr::memchr(b'(', &rest[..close]) {
            Some(open) => (!rest[open + 1..close].trim_ascii().is_empty(), &rest[close + 1..]),
            None => (false, rest),
        },
        _ => (false, rest),
    };
    let alone = |&at: &usize| at > 0 && rest[at - 1] == b' ' && rest.get(at + 1) == Some(&b' ');
    let sign = memchr::memchr2_iter(b'+', b'/', rest).find(alone)? - 1;
    let sector = number(rest[..sign].trim_ascii().rsplit(|b| *b == b' ').next()?)?;
    let after = &rest[sign + 3..];
    let (second, after) = word(after).unwrap_or((after, b""));
    let second = number(second)?;
    let splits = rest[sign + 1] == b'/';
    let sectors = if splits { 0 } else { u32::try_from(second).ok()? };
    let event = if command {
        let (sector, operation) = (NO_SECTOR, Operation::Other);
        Event { time, disk, operation, sector, sectors: 0, flush: false }
    } else {
        let operation = Operation::of(letters);
        Event { time, disk, operation, sector, sectors, flush: asks_for_a_flush(letters) }
    };
    Some(Text { event, error: error(after), split: splits.then_some(second), from: origin(after) })
}

/// `<- (8,1) 252`.
pub(crate) fn origin(text: &[u8]) -> Option<(Disk, u64)> {
    let rest = text.trim_ascii_start().strip_prefix(b"<- (")?;
    let close = memchr::memchr(b')', rest)?;
    let (sector, _) = word(&rest[close + 1..])?;
    Some((disk_of(&rest[..close])?, number(sector)?))
}

/// Whether the bracket belongs to `<- (8,1) 50`, where the bio came from.
fn arrow(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"<-").is_some()
}

/// `8,0`.
pub(super) fn disk_of(text: &[u8]) -> Option<Disk> {
    let comma = memchr::memchr(b',', text)?;
    let part = |b: &[u8]| u32::try_from(number(b)?).ok();
    Some(Disk { major: part(&text[..comma])?, minor: part(&text[comma + 1..])? })
}

/// The first word, and what follows it.
pub(super) fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], &text[end..]))
}

/// A decimal number and nothing else.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0_u64, |n, b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_several_kernels() {
        type Case = (&'static str, u64, u32, i32, Option<u64>);
        let cases: [Case; 8] = [
            ("8,0 R 73728 () 5345064 + 144 [surfaceflinger]", 5_345_064, 144, 0, None),
            ("8,0 RA 16384 () 6500840 + 32 be,0,6 [binder:815_3]", 6_500_840, 32, 0, None),
            ("8,0 RA () 6500840 + 32 be,0,6 [0]", 6_500_840, 32, 0, None),
            ("8,0 WS () 0 + 0 [-5]", 0, 0, -5, None),
            ("8,0 FF () 18446744073709551615 + 0 [0]", u64::MAX, 0, 0, None),
            ("8,0 FWS 0 + 0 [rep]", 0, 0, 0, None),
            ("259,0 N 36 (12 01 00 00 24 00 ..) 0 + 0 [a + b]", u64::MAX, 0, 0, None),
            ("8,0 R 100 / 116 [x]", 100, 0, 0, Some(116)),
        ];
        for (text, sector, sectors, error, split) in cases {
            let t = read(7, text.as_bytes()).expect(text);
            assert_eq!(
                (t.event.sector, t.event.sectors, t.error, t.split),
                (sector, sectors, error, split),
                "{text}"
            );
        }
        // The short way says what the long one does, and leaves what it does not know.
        let mut short = 0;
        for (text, ..) in cases {
            let found = plain(7, text.as_bytes());
            assert!(found.is_none() || found == any(7, text.as_bytes()), "{text}");
            short += usize::from(found.is_some());
        }
        assert_eq!(short, 5, "all but a sector of 20 digits, a command and a split");
        let t = read(0, b"8,0 R 300 + 8 <- (8,1) 252").unwrap();
        assert_eq!((t.event.disk, t.event.sector), (Disk { major: 8, minor: 0 }, 300));
        assert_eq!(t.from, Some((Disk { major: 8, minor: 1 }, 252)));
        for text in ["", "8 R 1 + 2", "8,0", "8,0 R", "8,0 R x + 1 [y]", "8,0 r 1 + 2 [y]"] {
            assert_eq!(read(0, text.as_bytes()), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_short_way_says_what_the_long_one_does(
            text in "[0-9]{1,2},[0-9]{1,2} [A-Z]{0,3}( [0-9]{1,3})?( \\([a 0-9]{0,3}\\))? {1,2}[0-9]{1,20} [+/] [0-9]{1,11}( be,0,4)?( <- \\(8,1\\) 7)?( \\[[-+a0-9 ]{0,3}\\]?)?[ \\n]?"
        ) {
            let found = plain(1, text.as_bytes());
            proptest::prop_assert!(found.is_none() || found == any(1, text.as_bytes()));
        }
    }
}
