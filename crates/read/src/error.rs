//! Why an input could not be read at all.

use std::path::PathBuf;
use std::sync::Arc;

/// What was wrong, where, and what to do. Damage *inside* an input is never an
/// error: it is a [`dormouse_base::loss::Loss`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file or folder could not be opened or read.
    #[error(
        "cannot read {}: {source}; check that the path exists and that you may read it",
        path.display()
    )]
    Io {
        /// Which path; `-` is standard input.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// Compressed data is broken before anything useful came out of it.
    #[error(
        "cannot unpack {} ({format}): {detail}; copy the file again, or unpack it by hand and give the result",
        path.display()
    )]
    Unpack {
        /// Which path; `-` is standard input.
        path: PathBuf,
        /// `gzip`, `xz` or `zstd`.
        format: &'static str,
        /// What the decoder said.
        detail: String,
    },
    /// More data than the limit allows.
    #[error(
        "{} is larger than {limit} bytes when unpacked; if it is genuine, raise the limit or cut out the cycle of interest",
        path.display()
    )]
    TooLarge {
        /// Which path; `-` is standard input.
        path: PathBuf,
        /// The limit that it broke.
        limit: u64,
    },
}
