//! Decompression with a budget: a small file cannot make us work for ever.

use crate::container::frames;
use std::io::Read;

/// How the sections and pages of a version 7 file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Not at all.
    None,
    /// RFC 1950.
    Zlib,
    /// RFC 8878, with or without the magic number of a frame.
    Zstd,
}

impl Codec {
    /// From the name in the header of the file.
    pub(super) fn find(name: &[u8]) -> Option<Codec> {
        Some(match name {
            b"none" | b"" => Codec::None,
            b"zlib" => Codec::Zlib,
            b"zstd" => Codec::Zstd,
            _ => return None,
        })
    }
}

/// The most that one section or chunk may become. A kernel's whole symbol
/// table is near 15 MB; trace-cmd makes chunks of a few pages.
pub(crate) const PIECE_LIMIT: u64 = 64 << 20;

/// What may still be unpacked. The ring buffer of an idle machine compresses
/// up to about a hundred times (empty pages), hence the factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Bytes that may still be unpacked from this file.
    total: u64,
    /// Bytes that may be held at once, by all CPUs' chunks together.
    held: u64,
}

impl Budget {
    /// For a file of `len` bytes.
    pub(crate) fn for_file(len: usize) -> Budget {
        let total = (len as u64).saturating_mul(200).saturating_add(PIECE_LIMIT);
        Budget { total, held: 256 << 20 }
    }

    /// Gives back what a chunk held, and asks to hold another one.
    pub(crate) fn swap_chunk(&mut self, old: usize, new: u64) -> bool {
        self.held = self.held.saturating_add(old as u64);
        let fits = new <= self.held && new <= PIECE_LIMIT;
        self.held -= if fits { new } else { 0 };
        fits
    }
}

/// Why something could not be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnpackError {
    /// The compressed bytes are damaged.
    Damaged,
    /// It becomes larger than any real trace.
    TooLarge,
}

/// Unpacks `input` into `out` (which is cleared); `claimed` is the size the
/// file promises. On damage `out` keeps what was readable.
pub(super) fn unpack(
    codec: Codec,
    input: &[u8],
    claimed: u64,
    budget: &mut Budget,
    out: &mut Vec<u8>,
) -> Result<(), UnpackError> {
    out.clear();
    let limit = claimed.min(PIECE_LIMIT).min(budget.total);
    let result = match codec {
        Codec::None => {
            out.extend_from_slice(&input[..input.len().min(limit as usize)]);
            Ok(0)
        }
        Codec::Zlib => flate2::read::ZlibDecoder::new(input).take(limit).read_to_end(out),
        Codec::Zstd => {
            // trace-cmd can leave the magic number out to save four bytes.
            let has_magic = input.starts_with(&frames::MAGIC);
            let magic: &[u8] = if has_magic { &[] } else { &frames::MAGIC };
            if frames::window(input, has_magic).is_some_and(|w| w > PIECE_LIMIT) {
                return Err(UnpackError::TooLarge);
            }
            match ruzstd::decoding::StreamingDecoder::new(magic.chain(input)) {
                Ok(d) => d.take(limit).read_to_end(out),
                Err(_) => return Err(UnpackError::Damaged),
            }
        }
    };
    budget.total = budget.total.saturating_sub(out.len() as u64);
    match result {
        Err(_) => Err(UnpackError::Damaged),
        Ok(_) if claimed > limit => Err(UnpackError::TooLarge),
        Ok(_) if (out.len() as u64) < claimed => Err(UnpackError::Damaged),
        Ok(_) => Ok(()),
    }
}
