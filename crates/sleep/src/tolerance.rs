//! How near is near enough: every threshold by which a figure of system sleep is claimed or
//! counted as right, with its reason.

use dormouse_base::time::Ns;
pub use dormouse_base::tolerance::Tolerance;

/// A half that the model misses by more is not predicted from. Recorded machines that are
/// reproduced are within 3 %; at 10 % the error is of the size of what changes save.
pub(crate) const TRUSTED: Tolerance = Tolerance { percent: 10, floor: Ns(1_000_000) };

/// A phase that is predicted so near is right; the floor is what two cycles of one machine
/// differ by themselves.
pub const RIGHT: Tolerance = Tolerance { percent: 3, floor: Ns(1_000_000) };
