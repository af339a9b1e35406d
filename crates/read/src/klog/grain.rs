//! How fine the times of a log are, and what is apart.

use dormouse_base::time::Ns;

/// Printing a line, and ticks of 100 Hz in which `suspend devices took` counts, may make
/// a measurement longer than its stamps.
pub(super) const PRINTING: Ns = Ns::from_ms(2);

/// `complete after` has microseconds.
pub(super) const LAST_DIGIT: Ns = Ns(1_000);

pub(super) const TICK: Ns = Ns::from_ms(15);

/// Where the same device runs the same callback again after a pause of this
/// length, or time jumps back by it, the lines between two cycles are missing.
pub(super) const PAUSE: Ns = Ns(1_000_000_000);
