//! The exit code of a check that was not met.

/// The code of `dormouse compare --fail-if-slower`: what was asked was not met.
pub(crate) const MISSED: u8 = 4;
