//! Capture files of `dormouse record` and `dormouse lab`
//! (docs/capture-format.md): [`container`] takes the file apart into the types
//! of [`schema`], [`assemble`] feeds the traces to the tracker that all text
//! formats share, and [`mod@merge`] joins the result with what sysfs said.

mod assemble;
pub mod container;
mod count;
mod domains;
pub mod merge;
pub mod schema;
pub mod table;

pub use assemble::assemble;
pub(crate) use assemble::capture;
pub use container::{Error, is_capture_tar, read};
