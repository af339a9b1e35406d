//! Why a file is no trace.dat that can be read.

/// Why a file cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceDatError {
    /// The first bytes are not trace-cmd's.
    #[error("not a trace.dat file: it does not begin with trace-cmd's magic number")]
    NotTraceDat,
    /// Another version.
    #[error(
        "trace.dat version {0} is not supported (6 and 7 are): convert it with trace-cmd convert"
    )]
    Version(u32),
    /// The tables at the begin are incomplete.
    #[error(
        "trace.dat ends at byte {at} within its {what}: copy the file again or record it again"
    )]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Size of the file.
        at: u64,
    },
    /// A number no real file has.
    #[error("trace.dat is damaged: its {what} is {value}; copy the file again or record it again")]
    Implausible {
        /// What was being read.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// A part is not where it must be.
    #[error("trace.dat is damaged: its {what} is missing; copy the file again or record it again")]
    Missing {
        /// Which part.
        what: &'static str,
    },
    /// Packed with something else.
    #[error(
        "trace.dat is compressed with {name:?} (zlib and zstd are known): convert it with \
         trace-cmd convert --compression none"
    )]
    Compression {
        /// Name in the file.
        name: String,
    },
    /// Option sections refer to each other in a circle.
    #[error("trace.dat is damaged: its options at byte {at} refer back to themselves")]
    OptionLoop {
        /// Offset in the file.
        at: u64,
    },
    /// Kernels before 2.6.30.
    #[error("trace.dat is from a kernel before 2.6.30, whose ring buffer format is not supported")]
    OldRingBuffer,
}
