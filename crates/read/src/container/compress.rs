//! gzip, xz and zstd, recognised by their first bytes and bounded.

use super::dictionary;
use super::frames::Frames;
use crate::error::ReadError;
use crate::input::Limits;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Below this an input may unpack to any multiple of its size.
const FREE: u64 = 64 << 20;

/// How often an input may be packed in itself (a `.gz` inside a `.xz`).
const LAYERS: usize = 3;

/// What came out of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// The content; `None` if the input was not compressed.
    pub bytes: Option<Vec<u8>>,
    /// Why the content may be incomplete, if it may: a sentence with advice.
    pub damage: Option<Cow<'static, str>>,
}

/// Unpacks `bytes` if they are compressed.
///
/// A stream that is cut off or damaged gives what could be unpacked up to
/// there; only a stream that gives nothing at all is an error.
///
/// # Errors
/// [`ReadError::Unpack`] and [`ReadError::TooLarge`].
pub fn unpack(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Unpacked, ReadError> {
    let mut out = Unpacked::default();
    for _ in 0..LAYERS {
        let data = out.bytes.as_deref().unwrap_or(bytes);
        let next = if data.starts_with(&[0x1f, 0x8b, 8]) {
            drain(path, "gzip", data.len(), flate2::read::MultiGzDecoder::new(data), limits)?
        } else if data.starts_with(b"\xfd7zXZ\0") {
            if dictionary::is_too_large(data) {
                return Err(ReadError::Unpack {
                    path: path.to_owned(),
                    format: "xz",
                    detail: "it asks for more than 64 MB of memory".into(),
                });
            }
            if dictionary::is_index_impossible(data) {
                return Err(ReadError::Unpack {
                    path: path.to_owned(),
                    format: "xz",
                    detail: "it is damaged: its index names more blocks than it has bytes".into(),
                });
            }
            drain(path, "xz", data.len(), lzma_rust2::XzReader::new(data, true), limits)?
        } else if data.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            drain(path, "zstd", data.len(), Frames::new(data), limits)?
        } else {
            break;
        };
        let (bytes, damage) = next;
        out.damage = out.damage.or(damage);
        out.bytes = Some(bytes);
    }
    Ok(out)
}

pub(super) fn drain(
    path: &Path,
    format: &'static str,
    packed: usize,
    mut reader: impl Read,
    limits: &Limits,
) -> Result<(Vec<u8>, Option<Cow<'static, str>>), ReadError> {
    let limit = limits.unpacked.min(FREE.max((packed as u64).saturating_mul(limits.ratio)));
    let mut out = Vec::new();
    let mut block = vec![0; 256 << 10];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok((out, None)),
            Ok(n) => {
                if out.len() as u64 + n as u64 > limit {
                    return Err(ReadError::TooLarge { path: path.to_owned(), limit });
                }
                out.extend_from_slice(&block[..n]);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) if !out.is_empty() => {
                let damage = format!(
                    "the {format} stream breaks off ({e}); the rest is missing, copy the file again"
                );
                return Ok((out, Some(Cow::Owned(damage))));
            }
            Err(e) => {
                return Err(ReadError::Unpack {
                    path: path.to_owned(),
                    format,
                    detail: e.to_string(),
                });
            }
        }
    }
}
