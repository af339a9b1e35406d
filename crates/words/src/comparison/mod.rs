//! A comparison as text, Markdown, the table of the kernel lists, and JSON.

pub mod account;
pub(crate) mod grid;
pub mod json;
pub mod lists;
pub mod order;
pub mod tables;
pub mod text;
pub mod ways;
