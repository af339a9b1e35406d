//! Zstandard files of more than one frame, as `cat a.zst b.zst` and parallel
//! compressors make them.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{Error, ErrorKind, Read, Result};

/// Reads the content of all frames, one behind the other.
pub struct Frames<'a> {
    state: State<'a>,
}

enum State<'a> {
    Between(&'a [u8]),
    Within(Box<StreamingDecoder<&'a [u8], FrameDecoder>>),
}

impl<'a> Frames<'a> {
    /// The frames in `data`.
    pub fn new(data: &'a [u8]) -> Frames<'a> {
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
        // Damage behind the first frame is an error, after what could be read.
        data.truncate(data.len() - 4);
        let mut out = Vec::new();
        assert!(Frames::new(&data).read_to_end(&mut out).is_err());
        assert!(out.starts_with(b"one "));
    }
}
