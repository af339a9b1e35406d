//! Text that a program wrote in another code than UTF-8, or for a terminal: UTF-16 (the `>` of
//! PowerShell), a mark of byte order at its front, colours.

use crate::detect::{Format, detect};
use crate::text;
use std::borrow::Cow;

/// So much of an input is looked at to know its code.
const HEAD: usize = 4096;

/// Begins an escape sequence.
const ESC: u8 = 0x1b;

/// The text in UTF-8 and without what only a terminal reads; `None` if it is that already.
pub(super) fn plain(bytes: &[u8]) -> Option<Vec<u8>> {
    let plain = match utf8(bytes) {
        Cow::Borrowed(same) if same.len() == bytes.len() => None,
        other => Some(other.into_owned()),
    };
    let text = plain.as_deref().unwrap_or(bytes);
    if memchr::memchr(ESC, text).is_some() && is_text(text) {
        Some(without_colours(text))
    } else {
        plain
    }
}

/// Few words among many colours look like bytes of a program.
fn is_text(bytes: &[u8]) -> bool {
    match detect(bytes) {
        Format::Unknown => !bytes[..bytes.len().min(HEAD)].contains(&0),
        format => !format.is_binary(),
    }
}

fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let decoded = |rest: &[u8], unit: fn([u8; 2]) -> u16| -> Cow<'_, [u8]> {
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text: String =
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        Cow::Owned(text.into_bytes())
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        [0xff, 0xfe, rest @ ..] if is_wide(rest, 1) => decoded(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] if is_wide(rest, 0) => decoded(rest, u16::from_be_bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// Whether most units have nothing in their upper half, as text of logs has.
fn is_wide(bytes: &[u8], upper: usize) -> bool {
    let pairs = bytes[..bytes.len().min(HEAD)].chunks_exact(2);
    let (all, small) = (pairs.len(), pairs.filter(|p| p[upper] == 0 && p[1 - upper] != 0).count());
    all > 0 && small * 10 >= all * 9
}

fn without_colours(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(ESC, rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        // What is none of the known sequences stays.
        let len = text::escape(rest).unwrap_or_else(|| {
            out.push(ESC);
            1
        });
        rest = &rest[len..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "[    1.000000] PM: suspend entry (deep)\nzwei ü\n";

    #[test]
    fn every_code_gives_the_same_text() {
        assert_eq!(plain(LOG.as_bytes()), None);
        let marked = [&b"\xef\xbb\xbf"[..], LOG.as_bytes()].concat();
        assert_eq!(plain(&marked).as_deref(), Some(LOG.as_bytes()));
        let little: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (mark, text) in [(b"\xff\xfe", little), (b"\xfe\xff", big)] {
            let coded = [&mark[..], &text].concat();
            assert_eq!(plain(&coded).as_deref(), Some(LOG.as_bytes()));
            // Half a letter at the end is lost, and nothing else.
            assert_eq!(
                plain(&coded[..coded.len() - 1]).as_deref(),
                Some(LOG.trim_end().as_bytes())
            );
        }
        // Bytes that begin so by chance.
        assert_eq!(plain(b"\xff\xfe\x01\x02\x03\x04"), None);
    }

    #[test]
    fn colours_go_and_other_bytes_stay() {
        let text = "\x1b[0mCore\tCPU\x1b[0m\n\x1b[1;31m-\x1b[m\t3,30\x1b(B\n";
        assert_eq!(plain(text.as_bytes()).as_deref(), Some(&b"Core\tCPU\n-\t3,30\n"[..]));
        assert_eq!(plain(b"a \x1b b\n").as_deref(), Some(&b"a \x1b b\n"[..]));
        assert_eq!(plain(b"cut \x1b[0;3").as_deref(), Some(&b"cut \x1b[0;3"[..]));
        let binary = b"\x17\x08\x44tracing6\0\x1b[0m";
        assert_eq!(plain(binary), None);
    }
}
