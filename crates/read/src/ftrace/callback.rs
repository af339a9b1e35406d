//! The text of the three events that make a cycle.

use crate::event::TraceEvent;
use dormouse_base::phase::PmEvent;

/// `DRIVER DEVICE, parent: PARENT, OPS[EVENT]`. Driver and device may contain
/// blanks; they are split at the last one here and put right at the end, when
/// all names are known.
pub(super) fn start(text: &[u8]) -> Option<TraceEvent<'_>> {
    // From the end, because names may contain anything: `]`, `[EVENT`, `, OPS`.
    let rest = text.trim_ascii_end().strip_suffix(b"]")?;
    let open = rest.iter().rposition(|&b| b == b'[')?;
    let event = PmEvent::from_name(&rest[open + 1..])?;
    let rest = &rest[..open];
    let comma = last(rest, b", ")?;
    let ops = &rest[comma + 2..];
    let rest = &rest[..comma];
    let parent = last(rest, b", parent: ")?;
    let (driver, device) = split(&rest[..parent]);
    let parent = &rest[parent + b", parent: ".len()..];
    Some(TraceEvent::CallbackStart { driver, device, parent, ops, event })
}

/// `DRIVER DEVICE, err=N`.
pub(super) fn end(text: &[u8]) -> Option<TraceEvent<'_>> {
    let text = text.trim_ascii_end();
    let comma = last(text, b", err=")?;
    let error = number(&text[comma + b", err=".len()..])?;
    let (driver, device) = split(&text[..comma]);
    Some(TraceEvent::CallbackEnd { driver, device, error: i32::try_from(error).ok()? })
}

/// `ACTION[VALUE] begin` or `… end`.
pub(super) fn step(text: &[u8]) -> Option<TraceEvent<'_>> {
    let text = text.trim_ascii();
    let way = |text: &'_ [u8]| {
        let begin = text.strip_suffix(b"] begin").map(|rest| (rest.len(), true));
        begin.or_else(|| text.strip_suffix(b"] end").map(|rest| (rest.len(), false)))
    };
    // People write beside an event how long it was; no name of a step has two blanks.
    let alone = || Some(&text[..memchr::memmem::find(text, b"  ")?]);
    let (length, begin) = way(text).or_else(|| way(alone()?))?;
    let rest = &text[..length];
    let open = memchr::memrchr(b'[', rest)?;
    let value = number(&rest[open + 1..])?;
    Some(TraceEvent::SuspendResume { action: &rest[..open], value, begin })
}

/// Where `part`, which begins with a comma, stands last. It is near the end of
/// a line, where looking at each byte is quicker than a general search.
fn last(text: &[u8], part: &[u8]) -> Option<usize> {
    let mut end = text.len();
    loop {
        let at = text[..end].iter().rposition(|&b| b == b',')?;
        if text[at..].starts_with(part) {
            return Some(at);
        }
        end = at;
    }
}

/// Driver and device. `trace-cmd report` pads the text with blanks, and an
/// empty driver leaves one: both are no part of a name.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    match memchr::memrchr(b' ', text) {
        Some(blank) => (&text[..blank], &text[blank + 1..]),
        None => (b"", text),
    }
}

fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut n = 0i64;
    for d in digits {
        if !d.is_ascii_digit() {
            return None;
        }
        n = n * 10 + i64::from(d - b'0');
    }
    Some(if negative { -n } else { n })
}
