//! The way out of the guest: a serial line that QEMU writes to a file.
//!
//! A block is one line `dormouse LENGTH NAME`, then LENGTH bytes (deflate),
//! then a line end. [`crate::answer`] reads it.

use super::system::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::Write;

/// An open line.
pub(crate) struct Out {
    line: File,
}

impl Out {
    /// Opens the terminal and lets bytes pass as they are.
    pub(super) fn open(path: &str) -> Result<Out> {
        let say = |e: &dyn std::fmt::Display| format!("{path}: {e}");
        let line = OpenOptions::new().read(true).write(true).open(path).map_err(|e| say(&e))?;
        let mut t = tcgetattr(&line).map_err(|e| say(&e))?;
        t.make_raw();
        tcsetattr(&line, OptionalActions::Now, &t).map_err(|e| say(&e))?;
        Ok(Out { line })
    }

    /// Sends one block. A byte costs the guest thousands of instructions (an
    /// interrupt for every 16), packing it far fewer.
    pub(super) fn send(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut z = ZlibEncoder::new(Vec::new(), Compression::fast());
        let packed = z.write_all(bytes).and_then(|()| z.finish()).map_err(|e| e.to_string())?;
        let mut block = format!("dormouse {} {name}\n", packed.len()).into_bytes();
        block.extend_from_slice(&packed);
        block.push(b'\n');
        self.line.write_all(&block).map_err(|e| format!("results: {e}"))?;
        rustix::termios::tcdrain(&self.line).map_err(|e| format!("results: {e}"))
    }
}
