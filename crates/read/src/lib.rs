//! Readers of every log format, one folder per format.
//!
//! The flow of one call of [`read`]:
//!
//! 1. [`container`]: files, folders and standard input become bytes; gzip, xz
//!    and zstd are unpacked, plain files are mapped.
//! 2. [`detect`]: what the bytes are, by content and never by name.
//! 3. one folder per format ([`ftrace`], [`klog`], …): finds the lines or records
//!    that matter and hands them to a
//! 4. [`track::Tracker`], which assembles cycles, devices and losses, and
//! 5. `merge`, which joins the log and the trace of the same cycle.
//!
//! A new format is one folder with a function
//! `parse(bytes: &[u8], tracker: &mut Tracker)`, one variant of
//! [`detect::Format`], and one arm in `parse_one` below. Parsing never fails on
//! a bad line: it counts a loss with advice.

pub mod capture_file;
pub mod cases;
pub mod container;
mod cut;
pub mod detect;
pub mod doctor;
pub mod domains;
pub mod dtb;
pub mod event;
pub mod ftrace;
pub mod idle;
pub mod klog;
pub mod perfetto;
pub mod pmgraph;
pub mod printed;
pub mod storage;
pub mod text;
pub mod tracedat;
pub mod track;
pub mod udev;

mod ahead;
mod around;
mod babeltrace;
mod error;
mod events;
mod fio;
mod given;
mod grams;
mod input;
mod loops;
mod merge;
mod months;
mod night;
mod noted;
mod part;
mod pass;
mod posted;
mod read;
mod setting;
mod shell;
mod time_of_day;
mod way;
mod wrapped;

pub use error::ReadError;
pub use events::events;
pub use given::{Given, Recordings, Sleep};
pub use input::{Input, Limits, MOST_THREADS, Options};
pub use pass::{Reading, Wanted};
pub use read::{read, read_bytes, read_source, read_through, read_with};
