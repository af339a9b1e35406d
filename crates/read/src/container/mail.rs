//! Mails as they come: bodies in quoted-printable or base64 (RFC 2045, 6.7 and
//! 6.8), which tear every line of a log apart.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem;

/// Longest line of quoted-printable.
const LONGEST: usize = 76;

/// So much of an input is looked at to know a mail.
const HEAD: usize = 64 << 10;

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packed {
    Not,
    Quoted,
    Base64,
}

/// A text as it was before somebody kept or sent it: in UTF-8, [`unpacked`], and without bars that
/// quote; `None` if it is that already.
pub(super) fn as_sent(bytes: &[u8]) -> Option<Vec<u8>> {
    let coded = super::coded::plain(bytes);
    let mail = unpacked(coded.as_deref().unwrap_or(bytes)).or(coded);
    super::bars::without(mail.as_deref().unwrap_or(bytes)).or(mail)
}

/// The text of a mail or of several (mbox), with packed bodies unpacked; `None`
/// if nothing is packed. A line of quoted-printable that was copied out of its
/// mail is known by its soft breaks.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let mails = header(head, b"content-transfer-encoding:").is_some();
    if mails {
        return Some(bodies(bytes));
    }
    (is_quoted(whole_lines(head)) && is_quoted(bytes)).then(|| {
        let mut out = Vec::with_capacity(bytes.len());
        for line in lines(bytes) {
            unquote(line, &mut out);
        }
        out
    })
}

/// Without the line that the end of the head cuts.
fn whole_lines(head: &[u8]) -> &[u8] {
    if head.len() < HEAD { head } else { &head[..memchr::memrchr(b'\n', head).unwrap_or(0)] }
}

/// Lines with what ends them.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&b| b == b'\n')
}

/// The value of the first header with this name, which is given in small letters.
fn header<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    lines(text).find_map(|l| value(l, name))
}

fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, tail) = line.split_at_checked(name.len())?;
    head.eq_ignore_ascii_case(name).then(|| tail.trim_ascii())
}

/// All lines, with bodies unpacked. A body begins at the empty line after the
/// headers that say how it is packed, and ends where a part or a mail begins.
fn bodies(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut next = Packed::Not;
    let mut now = Packed::Not;
    let mut block: Vec<u8> = Vec::new();
    for line in lines(bytes) {
        let trimmed = line.trim_ascii_end();
        if let Some(how) = value(trimmed, b"content-transfer-encoding:") {
            next = match () {
                () if how.eq_ignore_ascii_case(b"quoted-printable") => Packed::Quoted,
                () if how.eq_ignore_ascii_case(b"base64") => Packed::Base64,
                () => Packed::Not,
            };
        }
        // A boundary holds no blank; in base64 neither can stand.
        let part = trimmed.starts_with(b"--") && trimmed.len() > 4 && !trimmed.contains(&b' ');
        if now != Packed::Not && (part || line.starts_with(b"From ")) {
            flush(&mut block, &mut out);
            (now, next) = (Packed::Not, Packed::Not);
        }
        match now {
            Packed::Quoted => unquote(line, &mut out),
            Packed::Base64 => block.extend_from_slice(trimmed),
            Packed::Not => {
                out.extend_from_slice(line);
                if trimmed.is_empty() && next != Packed::Not {
                    (now, next) = (next, Packed::Not);
                }
            }
        }
    }
    flush(&mut block, &mut out);
    out
}

/// Appends what a block of base64 holds; if it holds none, the block itself.
fn flush(block: &mut Vec<u8>, out: &mut Vec<u8>) {
    if block.is_empty() {
        return;
    }
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    match GeneralPurpose::new(&STANDARD, lenient).decode(&*block) {
        Ok(plain) => out.extend_from_slice(&plain),
        Err(_) => out.extend_from_slice(block),
    }
    out.push(b'\n');
    block.clear();
}

/// Whether all of a text is quoted-printable: no long line, every `=` is a byte
/// or ends its line, and some do. Logs without any `=` are not.
fn is_quoted(bytes: &[u8]) -> bool {
    if memmem::find(bytes, b"=\n").is_none() && memmem::find(bytes, b"=\r\n").is_none() {
        return false;
    }
    lines(bytes).all(|line| {
        let line = line.trim_ascii_end();
        // Quotes of a reply stand before the packed line, not in it.
        line.len() <= LONGEST + 1
            && memchr::memchr_iter(b'=', line)
                .all(|at| at + 1 == line.len() || byte(line.get(at + 1..at + 3)).is_some())
    })
}

/// `C2` as a byte.
fn byte(digits: Option<&[u8]>) -> Option<u8> {
    let &[a, b] = digits? else { return None };
    let digit = |d: u8| match d {
        b'0'..=b'9' => Some(d - b'0'),
        b'A'..=b'F' => Some(d - b'A' + 10),
        _ => None,
    };
    Some(digit(a)? << 4 | digit(b)?)
}

/// Appends a line of quoted-printable, without its soft break.
fn unquote(line: &[u8], out: &mut Vec<u8>) {
    let end = line.trim_ascii_end();
    let soft = end.ends_with(b"=");
    let mut rest = if soft { &end[..end.len() - 1] } else { line };
    while let Some(at) = memchr::memchr(b'=', rest) {
        out.extend_from_slice(&rest[..at]);
        match byte(rest.get(at + 1..at + 3)) {
            Some(b) => {
                out.push(b);
                rest = &rest[at + 3..];
            }
            None => {
                out.push(b'=');
                rest = &rest[at + 1..];
            }
        }
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(mail: &str) -> String {
        String::from_utf8(unpacked(mail.as_bytes()).expect("it is packed")).expect("text")
    }

    #[test]
    fn quoted_printable_is_joined() {
        let mail = "Subject: x\nContent-Transfer-Encoding: quoted-printable\n\n\
            [    1.0] PM: suspend of devices complete after 1.0=\n69 msecs\n\
            [=C2=A0 2.0] a=3Db\n";
        let wanted =
            "[    1.0] PM: suspend of devices complete after 1.069 msecs\n[\u{a0} 2.0] a=b\n";
        assert!(text(mail).ends_with(wanted));
        // Pasted without its headers.
        let pasted = mail.split_once("\n\n").unwrap().1;
        assert_eq!(text(pasted), wanted);
    }

    #[test]
    fn parts_and_mails_have_packings_of_their_own() {
        let mail = "From a\nContent-Type: multipart/mixed; boundary=\"xyzzy\"\n\n--xyzzy\n\
            Content-Transfer-Encoding: base64\n\nWyAgICAxLjBd\nIFBNCg\n--xyzzy\n\
            Content-Transfer-Encoding: 7bit\n\nroot=3D1\n--xyzzy--\nFrom b\n\nroot=3D2\n";
        let plain = text(mail);
        assert!(plain.contains("[    1.0] PM\n"), "{plain}");
        assert!(plain.contains("root=3D1\n") && plain.contains("root=3D2\n"), "{plain}");
    }

    #[test]
    fn plain_logs_are_left_alone() {
        for log in [
            "[    1.0] Command line: root=/dev/sda1 quiet=\n[    2.0] x\n",
            "[    1.0] PM: suspend entry (deep)\n",
            "ends with =\nand has a=b\n",
            "",
        ] {
            assert_eq!(unpacked(log.as_bytes()), None, "{log}");
        }
    }

    #[test]
    fn damage_is_kept_as_it_is() {
        let mail = "Content-Transfer-Encoding: base64\n\n[    1.0] no base64\n";
        assert!(text(mail).ends_with("[    1.0] no base64\n"));
        let mail = "Content-Transfer-Encoding: quoted-printable\n\na=ZZ =";
        assert!(text(mail).ends_with("\na=ZZ "));
    }
}
