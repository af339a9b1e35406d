//! Time as integer nanoseconds.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A moment or a duration in nanoseconds.
///
/// A moment counts from the zero of the clock its source used (boot for most
/// trace clocks, the start of the phase in a simulation). One type serves both,
/// as in the kernel's `ktime_t`; it is signed so that differences of clocks and
/// timestamps running backwards are representable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ns(pub i64);

impl Ns {
    /// No time at all.
    pub const ZERO: Ns = Ns(0);
    /// Later than every moment of a log.
    pub const MAX: Ns = Ns(i64::MAX);

    /// A duration given in microseconds; saturates.
    pub const fn from_us(us: i64) -> Ns {
        Ns(us.saturating_mul(1_000))
    }

    /// A duration given in milliseconds; saturates.
    pub const fn from_ms(ms: i64) -> Ns {
        Ns(ms.saturating_mul(1_000_000))
    }

    /// The time from `earlier` to `self`, never below zero.
    pub fn since(self, earlier: Ns) -> Ns {
        Ns(self.0.saturating_sub(earlier.0).max(0))
    }

    /// Milliseconds as a float, for display and statistics only: no decision
    /// of the simulator passes through it.
    pub fn as_ms_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Ns {
    type Output = Ns;
    fn add(self, o: Ns) -> Ns {
        Ns(self.0.saturating_add(o.0))
    }
}

impl Sub for Ns {
    type Output = Ns;
    fn sub(self, o: Ns) -> Ns {
        Ns(self.0.saturating_sub(o.0))
    }
}

impl Neg for Ns {
    type Output = Ns;
    fn neg(self) -> Ns {
        Ns(self.0.saturating_neg())
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, o: Ns) {
        *self = *self + o;
    }
}

impl SubAssign for Ns {
    fn sub_assign(&mut self, o: Ns) {
        *self = *self - o;
    }
}

impl Sum for Ns {
    fn sum<I: Iterator<Item = Ns>>(it: I) -> Ns {
        it.fold(Ns::ZERO, |a, b| a + b)
    }
}

/// Prints with the unit a reader would choose: `740 ns`, `12.3 us`, `4.56 ms`,
/// `1.234 s`. Uses integer arithmetic, so the same on every machine.
impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let n = self.0.unsigned_abs();
        let text = match n {
            0..1_000 => alloc::format!("{sign}{n} ns"),
            1_000..1_000_000 => alloc::format!("{sign}{}.{} us", n / 1_000, n / 100 % 10),
            1_000_000..1_000_000_000 => {
                alloc::format!("{sign}{}.{:02} ms", n / 1_000_000, n / 10_000 % 100)
            }
            _ => {
                alloc::format!("{sign}{}.{:03} s", n / 1_000_000_000, n / 1_000_000 % 1_000)
            }
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn display_chooses_the_unit() {
        assert_eq!(Ns(740).to_string(), "740 ns");
        assert_eq!(Ns(12_345).to_string(), "12.3 us");
        assert_eq!(Ns(4_567_891).to_string(), "4.56 ms");
        assert_eq!(Ns(-1_234_567_891).to_string(), "-1.234 s");
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Ns::MAX + Ns(1), Ns::MAX);
        assert_eq!(Ns(i64::MIN) - Ns(1), Ns(i64::MIN));
        assert_eq!(Ns(5).since(Ns(9)), Ns::ZERO);
    }
}
