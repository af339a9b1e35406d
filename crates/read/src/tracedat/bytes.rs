//! Numbers of either byte order, read with bounds.

/// Byte order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The unsigned number in `bytes`, which has 1, 2, 4 or 8 of them.
    pub(super) fn number(self, bytes: &[u8]) -> Option<u64> {
        Some(match (bytes.len(), self) {
            (1, _) => u64::from(bytes[0]),
            (2, Endian::Little) => u64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
            (2, Endian::Big) => u64::from(u16::from_be_bytes(bytes.try_into().ok()?)),
            (4, Endian::Little) => u64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
            (4, Endian::Big) => u64::from(u32::from_be_bytes(bytes.try_into().ok()?)),
            (8, Endian::Little) => u64::from_le_bytes(bytes.try_into().ok()?),
            (8, Endian::Big) => u64::from_be_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// A 32-bit number at `at`.
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        self.number(bytes.get(at..at.checked_add(4)?)?).map(|n| n as u32)
    }
}

/// A place in bytes that moves forward.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// All bytes.
    pub data: &'a [u8],
    /// The next one.
    pub at: usize,
    /// Order of numbers.
    pub endian: Endian,
}

impl<'a> Cursor<'a> {
    /// The next `n` bytes.
    pub(super) fn take(&mut self, n: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(n).ok()?)?;
        let s = self.data.get(self.at..end)?;
        self.at = end;
        Some(s)
    }

    /// The next `n` bytes, or as many as there are; the flag says which.
    pub(crate) fn take_up_to(&mut self, n: u64) -> (&'a [u8], bool) {
        match self.take(n) {
            Some(s) => (s, true),
            None => {
                let s = self.data.get(self.at..).unwrap_or_default();
                self.at = self.data.len();
                (s, false)
            }
        }
    }

    /// A 16-bit number.
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.endian.number(self.take(2)?).map(|n| n as u16)
    }

    /// A 32-bit number.
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.endian.number(self.take(4)?).map(|n| n as u32)
    }

    /// A 64-bit number.
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.endian.number(self.take(8)?)
    }

    /// A string that ends with NUL, without it.
    pub(crate) fn c_str(&mut self) -> Option<&'a [u8]> {
        let rest = self.data.get(self.at..)?;
        let n = memchr::memchr(0, rest)?;
        self.at += n + 1;
        Some(&rest[..n])
    }
}

/// `bytes` up to the first NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}
