//! What capture files of `dormouse record` and `dormouse lab` mean (docs/capture-format.md;
//! `crates/capture` takes them apart): [`assemble`] feeds the traces to the tracker that all
//! text formats share, and [`mod@merge`] joins the result with what sysfs said.

mod assemble;
mod count;
mod domains;
pub mod merge;

pub use assemble::assemble;
pub(crate) use assemble::capture;
