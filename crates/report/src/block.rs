//! Blocks of data: JSON, compressed with zlib, written as letters. The browser
//! inflates them with its own `DecompressionStream`.

use crate::letters::letters;
use flate2::{Compression, write::ZlibEncoder};
use serde::Serialize;
use std::io::Write;

/// The blocks of a report. Block 0 is the summary, read first.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    list: Vec<String>,
}

impl Blocks {
    /// Room for the summary, which is known last.
    pub(crate) fn new() -> Blocks {
        Blocks { list: vec![String::new()] }
    }

    /// Adds a block and returns its number.
    pub(crate) fn add(&mut self, value: &impl Serialize) -> u32 {
        self.list.push(pack(value));
        (self.list.len() - 1) as u32
    }

    /// Sets block 0.
    pub(crate) fn set_summary(&mut self, value: &impl Serialize) {
        self.list[0] = pack(value);
    }

    /// The packed blocks in order.
    pub(crate) fn list(&self) -> &[String] {
        &self.list
    }
}

/// `value` as JSON, zlib, letters.
pub fn pack(value: &impl Serialize) -> String {
    let mut z = ZlibEncoder::new(Vec::new(), Compression::best());
    // Neither can fail: the types serialise, and memory takes every byte.
    let json = serde_json::to_vec(value).unwrap_or_default();
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
        let packed = pack(&hostile);
        assert!(!packed.contains('<'));
        let bytes = crate::letters::tests::read(&packed);
        let mut json = String::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }
}
