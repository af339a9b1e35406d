//! Readers of every log format, one folder per format.

pub mod cases;
pub mod event;
