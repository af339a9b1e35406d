//! Unpacks what a guest sent over its serial line (`guest/out.rs`).

use crate::{Error, Result};
use flate2::read::{GzDecoder, ZlibDecoder};
use std::collections::BTreeMap;
use std::io::Read;

/// No block of a guest is larger when unpacked.
const LIMIT: u64 = 4 << 30;

/// Blocks by name.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The blocks.
    pub blocks: BTreeMap<String, Vec<u8>>,
}

impl Answer {
    /// Reads everything the guest sent. Text before a block is skipped.
    pub fn parse(mut bytes: &[u8]) -> Result<Answer> {
        let mut a = Answer::default();
        while let Some(end) = bytes.iter().position(|&b| b == b'\n') {
            let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
            bytes = &bytes[end + 1..];
            let mut words = line.splitn(3, ' ');
            let (Some("dormouse"), Some(length), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let length: usize = length
                .parse()
                .map_err(|_| Error::other(format!("guest sent a block of length {length}")))?;
            let Some(packed) = bytes.get(..length) else {
                return Err(Error::other(format!(
                    "guest sent {} of {length} bytes of \"{name}\"",
                    bytes.len()
                )));
            };
            let mut content = Vec::new();
            // A guest of Debian's has gzip; ours packs by itself.
            let mut unpacked: Box<dyn Read> = if packed.starts_with(&[0x1f, 0x8b]) {
                Box::new(GzDecoder::new(packed).take(LIMIT))
            } else {
                Box::new(ZlibDecoder::new(packed).take(LIMIT))
            };
            unpacked
                .read_to_end(&mut content)
                .map_err(|e| Error::other(format!("guest's \"{name}\": {e}")))?;
            a.blocks.insert(name.to_owned(), content);
            bytes = &bytes[length..];
        }
        Ok(a)
    }

    /// The block called `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.blocks.get(name).map(Vec::as_slice)
    }

    /// A block as text; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(self.get(name).unwrap_or_default()).into_owned()
    }

    /// Whether the guest came to its end.
    pub fn complete(&self) -> bool {
        self.blocks.contains_key("end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn block(name: &str, content: &[u8]) -> Vec<u8> {
        let mut z = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        z.write_all(content).unwrap();
        let packed = z.finish().unwrap();
        let mut b = format!("dormouse {} {name}\n", packed.len()).into_bytes();
        b.extend(packed);
        b.push(b'\n');
        b
    }

    #[test]
    fn blocks_are_found_after_noise_and_a_cut_one_is_an_error() {
        let mut bytes = b"noise of a boot loader\n".to_vec();
        bytes.extend(block("trace a b", b"hello"));
        bytes.extend(block("end", b""));
        let a = Answer::parse(&bytes).unwrap();
        assert_eq!(a.text("trace a b"), "hello");
        assert!(a.complete());
        let cut = Answer::parse(&bytes[..50]).unwrap_err().to_string();
        assert!(cut.contains("of"), "{cut}");
    }
}
