//! Capture files of `dormouse record` and `dormouse lab`
//! (docs/capture-format.md).

pub mod container;
pub mod merge;
pub mod schema;
pub mod table;

pub use container::{Error, is_capture_tar, read};
