//! Honest statistics, in one place.
//!
//! Everything here is plain arithmetic on `f64` samples given by the caller;
//! the special functions come from `libm`, so native and WebAssembly builds
//! agree bit for bit. Checked against statrs (unit tests) and SciPy
//! (`tests/statistics_oracle.rs`). Random numbers and the searches that ask a
//! caller what a choice costs are here too; nothing knows of devices.

pub mod binomial;
pub mod change;
pub mod describe;
pub mod distribution;
pub mod paired;
pub mod random;
pub mod resample;
pub mod search;
pub mod test;
