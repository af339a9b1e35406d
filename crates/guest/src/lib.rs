//! What runs inside the laboratory's guests, as process 1 ([`init`]), and the [`plan`] of one
//! boot, which `crates/lab` writes. It links no readers: what it sees it sends as it is.

#[cfg(unix)]
pub mod init;
pub mod plan;
