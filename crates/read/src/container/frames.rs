//! Zstandard files of more than one frame, as `cat a.zst b.zst` and parallel
//! compressors make them.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{Error, ErrorKind, Read, Result};

/// First bytes of every frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The largest window that zstd itself accepts without being asked (`--long=27`).
pub(crate) const LARGEST_WINDOW: u64 = 128 << 20;

/// How many bytes a decoder of the frame at the begin of `data` must keep. It
/// gives nothing out before it has that many, so a frame of 60 bytes that asks
/// for terabytes would fill the memory, whatever limit is put behind it.
///
/// `None` if the header is cut. The header is: magic number (perhaps left out,
/// see `magic`), descriptor, window (unless one segment), dictionary number,
/// size of the content.
pub(crate) fn window(data: &[u8], magic: bool) -> Option<u64> {
    let at = if magic { 4 } else { 0 };
    let descriptor = *data.get(at)?;
    if descriptor & 0x20 == 0 {
        let w = *data.get(at + 1)?;
        let base = 1u64 << (10 + (w >> 3));
        return Some(base + base / 8 * u64::from(w & 7));
    }
    // One segment: the window is the content.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = 1usize << (descriptor >> 6);
    let size = data.get(at + 1 + dictionary..)?.get(..bytes)?;
    let n = size.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    Some(if bytes == 2 { n + 256 } else { n })
}

/// Reads the content of all frames, one behind the other.
pub(crate) struct Frames<'a> {
    state: State<'a>,
}

enum State<'a> {
    Between(&'a [u8]),
    Within(Box<StreamingDecoder<&'a [u8], FrameDecoder>>),
}

impl<'a> Frames<'a> {
    /// The frames in `data`.
    pub(crate) fn new(data: &'a [u8]) -> Frames<'a> {
        Frames { state: State::Between(data) }
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match &mut self.state {
                State::Between(rest) => {
                    let here = *rest;
                    if here.is_empty() || buffer.is_empty() {
                        return Ok(0);
                    }
                    if here.starts_with(&MAGIC) && window(here, true) > Some(LARGEST_WINDOW) {
                        let detail = "it asks for more than 128 MB of memory";
                        return Err(Error::new(ErrorKind::InvalidData, detail));
                    }
                    match StreamingDecoder::new(here) {
                        Ok(d) => self.state = State::Within(Box::new(d)),
                        // A frame for others to read: eight bytes and its length.
                        Err(FrameDecoderError::ReadFrameHeaderError(
                            ReadFrameHeaderError::SkipFrame { length, .. },
                        )) => {
                            let after = here.get(8..).and_then(|d| d.get(length as usize..));
                            self.state = State::Between(after.unwrap_or_default());
                        }
                        Err(e) => return Err(Error::new(ErrorKind::InvalidData, e.to_string())),
                    }
                }
                State::Within(decoder) => {
                    let n = decoder.read(buffer)?;
                    if n > 0 {
                        return Ok(n);
                    }
                    let rest = *decoder.get_ref();
                    self.state = State::Between(rest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn frames_follow_each_other_and_foreign_ones_are_skipped() {
        let mut data = compress_to_vec(&b"one "[..], CompressionLevel::Fastest);
        data.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        data.extend(compress_to_vec(&b"two"[..], CompressionLevel::Fastest));
        let mut out = String::new();
        Frames::new(&data).read_to_string(&mut out).unwrap();
        assert_eq!(out, "one two");
        assert!(window(&data, true).unwrap() <= LARGEST_WINDOW);
        // Damage behind the first frame is an error, after what could be read.
        data.truncate(data.len() - 4);
        let mut out = Vec::new();
        assert!(Frames::new(&data).read_to_end(&mut out).is_err());
        assert!(out.starts_with(b"one "));
    }

    #[test]
    fn a_frame_that_asks_for_terabytes_is_refused() {
        // Window 0xf9 is 2 TB; then blocks of one repeated byte.
        let mut bomb = MAGIC.to_vec();
        bomb.extend_from_slice(&[0, 0xf9]);
        for _ in 0..100_000 {
            bomb.extend_from_slice(&[0x02, 0x00, 0x10, b'a']);
        }
        assert_eq!(window(&bomb, true), Some((1 << 41) + (1 << 38)));
        let e = Frames::new(&bomb).read_to_end(&mut Vec::new()).unwrap_err();
        assert!(e.to_string().contains("128 MB"));
        // One segment of 300 bytes: sizes of two bytes start at 256.
        assert_eq!(window(&[0x28, 0xb5, 0x2f, 0xfd, 0x60, 44, 0], true), Some(300));
        assert_eq!(window(&[0x60, 44, 0], false), Some(300));
    }
}
