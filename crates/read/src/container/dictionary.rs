//! How much memory an xz file asks for before it unpacks a byte.
//!
//! The header of an xz block names the size of the dictionary, up to 4 GB, and
//! the decoder takes all of it at once: a file of 100 bytes could take the
//! machine's memory. `xz -9` needs 64 MB, and nothing asks for more by itself.

/// Bytes before the first block.
const STREAM_HEADER: usize = 12;

/// The property byte of 64 MB: sizes are `(2 | b & 1) << (b / 2 + 11)`.
const LARGEST: u8 = 28;

/// Whether a block of this xz file asks for a dictionary above 64 MB.
///
/// Blocks begin at multiples of four bytes with a header that ends with its own
/// CRC-32, so a header is recognised wherever it stands, in a cut file too.
pub(crate) fn is_too_large(file: &[u8]) -> bool {
    (0..file.len()).step_by(4).any(|at| block_dictionary(&file[at..]).is_some_and(|d| d > LARGEST))
}

/// Whether this xz file begins with its index, where the blocks should be, and the index
/// counts more of them than the file has bytes: the decoder makes room for all.
pub(crate) fn is_index_impossible(file: &[u8]) -> bool {
    let mut at = STREAM_HEADER + 1;
    file.get(STREAM_HEADER) == Some(&0)
        && number(file, &mut at).is_none_or(|blocks| blocks > file.len() as u64)
}

/// The dictionary property of the block header at the begin of `data`, if a
/// valid one is there.
///
/// A header is: its length, flags (two bits: number of filters less one; 0x40
/// and 0x80: sizes follow), the filters, zeros, CRC-32. A filter is a number,
/// the length of its properties, and those; LZMA2 is 0x21 and comes last.
fn block_dictionary(data: &[u8]) -> Option<u8> {
    let (&length, &flags) = (data.first()?, data.get(1)?);
    if length == 0 || flags & 0x3c != 0 {
        return None;
    }
    let mut at = 2;
    for bit in [0x40, 0x80] {
        if flags & bit != 0 {
            number(data, &mut at)?;
        }
    }
    for _ in 0..flags & 3 {
        // Other filters change bytes before LZMA2 sees them.
        number(data, &mut at)?;
        at = at.checked_add(usize::try_from(number(data, &mut at)?).ok()?)?;
    }
    if (number(data, &mut at)?, number(data, &mut at)?) != (0x21, 1) {
        return None;
    }
    let property = *data.get(at)?;
    let (body, sum) = data.get(..usize::from(length) * 4 + 4)?.split_last_chunk::<4>()?;
    if at >= body.len() {
        return None;
    }
    let mut crc = flate2::Crc::new();
    crc.update(body);
    (crc.sum() == u32::from_le_bytes(*sum)).then_some(property)
}

/// Seven bits a byte, least significant first.
fn number(data: &[u8], at: &mut usize) -> Option<u64> {
    let mut n = 0;
    for i in 0..9 {
        let b = *data.get(*at)?;
        *at += 1;
        n |= u64::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stream header and a block header with the dictionary property `b`.
    fn file(b: u8, before: &[u8]) -> Vec<u8> {
        let mut f = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec();
        f.extend_from_slice(before);
        let header = [2, 0, 0x21, 1, b, 0, 0, 0];
        f.extend_from_slice(&header);
        let mut crc = flate2::Crc::new();
        crc.update(&header);
        f.extend_from_slice(&crc.sum().to_le_bytes());
        f
    }

    #[test]
    fn an_index_counts_no_more_blocks_than_there_are_bytes() {
        let begin = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46";
        let with = |index: &[u8]| is_index_impossible(&[begin, index].concat());
        assert!(with(b"\0\xff\xff\xff\xff\x51"));
        assert!(with(b"\0\xff"), "cut inside");
        assert!(!with(b"\0\0\0\0\x1c\xdf\x44\x21"), "an empty file");
        assert!(!is_index_impossible(begin));
        assert!(!is_index_impossible(&file(28, b"")));
    }

    #[test]
    fn only_more_than_xz_9_is_too_large() {
        assert!(!is_too_large(&file(28, b"")));
        assert!(is_too_large(&file(29, b"")));
        assert!(is_too_large(&file(40, &[0; 400])), "a later block");
        let mut damaged = file(40, b"");
        *damaged.last_mut().unwrap() ^= 1;
        assert!(!is_too_large(&damaged), "no block header: its checksum is wrong");
        assert!(!is_too_large(b"\x21\x01\xff"));
    }
}
