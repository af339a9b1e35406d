//! Capture files of `dormouse record` and `dormouse lab` (docs/capture-format.md): [`schema`]
//! has the types that the recorder writes and the readers read, [`table`] the tables inside,
//! and [`container`] takes a file apart into them. What a capture file means is said where it
//! is read, in `crates/read`.

pub mod container;
pub mod schema;
pub mod table;

pub use container::{Error, is_capture_tar, read};
