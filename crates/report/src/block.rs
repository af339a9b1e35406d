//! Blocks of data: JSON, compressed with zlib, written as letters. The browser
//! inflates them with its own `DecompressionStream`.

use crate::letters::letters;
use flate2::{Compression, write::ZlibEncoder};
use serde::Serialize;
use std::io::Write;

/// The blocks of a report. Block 0 is the summary, read first.
#[derive(Debug)]
pub(crate) struct Blocks {
    list: Vec<String>,
    /// The text of a block as the page may say it.
    said: Said,
}

/// A text, as the page may say it.
pub type Said = fn(Vec<u8>) -> Vec<u8>;

impl Blocks {
    /// Room for the summary, which is known last.
    pub(crate) fn new(said: Said) -> Blocks {
        Blocks { list: vec![String::new()], said }
    }

    /// Adds a block and returns its number.
    pub(crate) fn add(&mut self, value: &impl Serialize) -> u32 {
        self.list.push(pack(value, self.said));
        (self.list.len() - 1) as u32
    }

    /// Sets block 0.
    pub(crate) fn set_summary(&mut self, value: &impl Serialize) {
        self.list[0] = pack(value, self.said);
    }

    /// The packed blocks in order.
    pub(crate) fn list(&self) -> &[String] {
        &self.list
    }
}

/// `value` as JSON, zlib, letters.
fn pack(value: &impl Serialize, said: Said) -> String {
    let mut z = ZlibEncoder::new(Vec::new(), Compression::best());
    // Neither can fail: the types serialise, and memory takes every byte.
    let json = said(serde_json::to_vec(value).unwrap_or_default());
    let _ = z.write_all(&json);
    letters(&z.finish().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_block_holds_no_markup_and_comes_back() {
        let hostile = "</script><script>alert(1)</script><!--";
        let packed = pack(&hostile, |text| text);
        assert!(!packed.contains('<'));
        let bytes = crate::letters::tests::read(&packed);
        let mut json = String::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);

        let mut blocks = Blocks::new(|text| [&text[..], b"x"].concat());
        blocks.set_summary(&1);
        assert_eq!(
            (blocks.add(&1), blocks.list()),
            (1, &[pack(&1, blocks.said), pack(&1, blocks.said)][..])
        );
        assert_ne!(pack(&1, blocks.said), pack(&1, |text| text), "each block is said");
    }
}
