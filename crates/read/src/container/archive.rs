//! Archives: each member of a tar or zip is an input like a file of a folder.

use super::compress::{drain, unpack};
use super::mail;
use super::source::Source;
use crate::input::Limits;
use dormouse_capture::is_capture_tar;
use std::borrow::Cow;
use std::path::Path;

/// How often archives may stand in one another.
const DEPTH: usize = 3;

/// Hands `source` to `each`, or its members if it is an archive. A capture file is one
/// input: its members belong together.
pub(super) fn expand(source: Source<'_>, limits: &Limits, each: &mut dyn FnMut(Source<'_>)) {
    below(source, 0, limits, each);
}

fn below(source: Source<'_>, depth: usize, limits: &Limits, each: &mut dyn FnMut(Source<'_>)) {
    let bytes = source.bytes;
    if depth < DEPTH && is_tar(bytes) && !is_capture_tar(bytes) {
        tar(source, depth, limits, each);
    } else if depth < DEPTH
        && let Some(entries) = entries(bytes)
    {
        zip(source, &entries, depth, limits, each);
    } else {
        each(source);
    }
}

/// Whether bytes are a tar archive.
fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// What came of one member.
fn member(
    within: &Source<'_>,
    path: &str,
    bytes: &[u8],
    cut: Option<Cow<'static, str>>,
    depth: usize,
    limits: &Limits,
    each: &mut dyn FnMut(Source<'_>),
) {
    let name = format!("{}:{path}", within.name);
    let folder = path.rsplit_once('/').map_or("", |f| f.0);
    let group = format!("{}:{folder}", within.name);
    match unpack(Path::new(&name), bytes, limits) {
        Ok(unpacked) => {
            let bytes = unpacked.bytes.as_deref().unwrap_or(bytes);
            let mail = mail::as_sent(bytes);
            let bytes = mail.as_deref().unwrap_or(bytes);
            let damage = cut.or(unpacked.damage);
            let source = Source { name: &name, group: &group, bytes, damage };
            below(source, depth + 1, limits, each);
        }
        Err(e) => {
            let damage = Some(Cow::Owned(e.to_string()));
            each(Source { name: &name, group: &group, bytes: b"", damage });
        }
    }
}

fn tar(source: Source<'_>, depth: usize, limits: &Limits, each: &mut dyn FnMut(Source<'_>)) {
    let mut archive = tar::Archive::new(source.bytes);
    let mut damage = source.damage.clone();
    for entry in archive.entries().into_iter().flatten() {
        let Ok(entry) = entry else {
            damage = Some("the tar archive ends early; copy it again".into());
            break;
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let at = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
        let size = usize::try_from(entry.size()).unwrap_or(usize::MAX);
        let rest = source.bytes.get(at..).unwrap_or_default();
        let cut =
            (rest.len() < size).then(|| "the archive ends in this member; copy it again".into());
        member(&source, &path, &rest[..rest.len().min(size)], cut, depth, limits, each);
    }
    if damage.is_some() {
        let Source { name, group, .. } = source;
        each(Source { name, group, bytes: b"", damage });
    }
}

/// A member of a zip archive.
struct Entry {
    path: String,
    method: u16,
    encrypted: bool,
    /// Where its own header is, and how long it is packed.
    header: usize,
    packed: usize,
}

/// The members that the central directory of a zip lists, which stands at its end
/// (PKWARE APPNOTE 4.3.12 and 4.3.16); `None` if `bytes` are no zip.
fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    let u16_at = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let u32_at =
        |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    // A remark of at most 65,535 bytes may follow.
    let tail = bytes.len().saturating_sub(22 + 65_535);
    let end = tail + memchr::memmem::rfind(&bytes[tail..], b"PK\x05\x06")?;
    let mut at = u32_at(end + 16)?;
    let mut out = Vec::new();
    while bytes.get(at..at + 4) == Some(b"PK\x01\x02") {
        let lengths = [u16_at(at + 28)?, u16_at(at + 30)?, u16_at(at + 32)?].map(usize::from);
        let path = bytes.get(at + 46..at + 46 + lengths[0])?;
        out.push(Entry {
            path: String::from_utf8_lossy(path).into_owned(),
            method: u16_at(at + 10)?,
            encrypted: u16_at(at + 8)? & 1 == 1,
            header: u32_at(at + 42)?,
            packed: u32_at(at + 20)?,
        });
        at += 46 + lengths.iter().sum::<usize>();
    }
    Some(out)
}

fn zip(
    source: Source<'_>,
    entries: &[Entry],
    depth: usize,
    limits: &Limits,
    each: &mut dyn FnMut(Source<'_>),
) {
    for e in entries.iter().filter(|e| !e.path.ends_with('/')) {
        let (bytes, cut) = match content(source.bytes, e, limits) {
            Ok(found) => found,
            Err(why) => (Cow::Borrowed(&b""[..]), Some(why)),
        };
        member(&source, &e.path, &bytes, cut, depth, limits, each);
    }
    if source.damage.is_some() {
        each(Source { bytes: b"", ..source });
    }
}

/// The content of a member, and why it may be incomplete.
type Content<'a> = (Cow<'a, [u8]>, Option<Cow<'static, str>>);

fn content<'a>(
    bytes: &'a [u8],
    e: &Entry,
    limits: &Limits,
) -> Result<Content<'a>, Cow<'static, str>> {
    if e.encrypted {
        return Err("this member is encrypted; unpack the zip by hand and give the folder".into());
    }
    let lost = || Cow::Borrowed("the zip archive is damaged here; copy it again");
    let length = |at: usize| {
        let two = bytes.get(e.header + at..e.header + at + 2)?;
        Some(usize::from(u16::from_le_bytes(two.try_into().ok()?)))
    };
    // The local header has a name and extra fields of its own (4.3.7).
    let names = length(26).zip(length(28)).ok_or_else(lost)?;
    let begin = e.header + 30 + names.0 + names.1;
    let rest = bytes.get(begin..).ok_or_else(lost)?;
    let packed = &rest[..rest.len().min(e.packed)];
    match e.method {
        0 => Ok((Cow::Borrowed(packed), (packed.len() < e.packed).then(lost))),
        8 => {
            let reader = flate2::read::DeflateDecoder::new(packed);
            let (out, damage) = drain(Path::new(&e.path), "zip", packed.len(), reader, limits)
                .map_err(|e| Cow::Owned(e.to_string()))?;
            Ok((Cow::Owned(out), damage))
        }
        n => Err(format!(
            "this member is packed by method {n}, which is not read; unpack the zip by hand and \
             give the folder"
        )
        .into()),
    }
}
