//! Byte order and word size.

use super::bytes::Endian;

/// Byte order and word size of the machine that was traced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Byte order.
    pub endian: Endian,
    /// Bytes of a `long`.
    pub long: usize,
}
