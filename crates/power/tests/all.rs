//! One test binary.
// Tests and benches read files and clocks; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
mod fw_devlink;
