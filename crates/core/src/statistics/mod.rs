//! Honest statistics, in one place.
//!
//! Everything here is plain arithmetic on `f64` samples given by the caller;
//! the special functions come from `libm`, so native and WebAssembly builds
//! agree bit for bit. Checked against statrs (unit tests) and SciPy
//! (`tests/oracle`).

pub mod describe;
pub mod distribution;
pub mod resample;
pub mod test;
