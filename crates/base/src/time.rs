//! Time as integer nanoseconds.

use serde::Serialize;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A moment or a duration in nanoseconds.
///
/// A moment counts from the zero of the clock its source used (boot for most
/// trace clocks, the start of the phase in a simulation). One type serves both,
/// as in the kernel's `ktime_t`; it is signed so that differences of clocks and
/// timestamps running backwards are representable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Ns(pub i64);

impl Ns {
    /// No time at all.
    pub const ZERO: Ns = Ns(0);
    /// Later than every moment of a log.
    pub const MAX: Ns = Ns(i64::MAX);
    /// Later than this is a time of the calendar, not of a kernel's clock.
    pub const CALENDAR: Ns = Ns(100_000_000_000_000_000);

    /// A duration given in microseconds; saturates.
    pub const fn from_us(us: i64) -> Ns {
        Ns(us.saturating_mul(1_000))
    }

    /// Whether it is at least so many percent of `whole`.
    pub fn is_share_of(self, percent: i64, whole: Ns) -> bool {
        i128::from(self.0) * 100 >= i128::from(whole.0) * i128::from(percent)
    }

    /// A duration given in milliseconds; saturates.
    pub const fn from_ms(ms: i64) -> Ns {
        Ns(ms.saturating_mul(1_000_000))
    }

    /// The time from `earlier` to `self`, never below zero.
    pub fn since(self, earlier: Ns) -> Ns {
        Ns(self.0.saturating_sub(earlier.0).max(0))
    }

    /// Half way between two moments or durations, of which `low` is not the later;
    /// towards it where there is half a nanosecond.
    pub fn mean(low: Ns, high: Ns) -> Ns {
        Ns(low.0 + high.0.saturating_sub(low.0) / 2)
    }

    /// Hundredths of a millisecond, rounded half up (away from zero): what a
    /// table prints.
    pub fn hundredths_of_ms(self) -> i64 {
        let n = self.0.unsigned_abs();
        let rounded = (n / 10_000 + u64::from(n % 10_000 >= 5_000)) as i64;
        if self.0 < 0 { -rounded } else { rounded }
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

/// Prints as sentences do: milliseconds with three significant digits, at most
/// two decimals, and seconds from one second on: `0.53 ms`, `4.57 ms`,
/// `63.8 ms`, `113.7 ms`, `1.289 s`. What is not zero and rounds to it prints
/// as `< 0.01 ms`. Every figure in text is rounded half up, here and in
/// [`Ns::hundredths_of_ms`]; integer arithmetic, so the same on every machine.
impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let n = self.0.unsigned_abs();
        let to = |unit: u64| n / unit + u64::from(n % unit >= unit / 2);
        let text = match (to(10_000), to(100_000), to(1_000_000)) {
            _ if n == 0 => std::string::String::from("0 ms"),
            (0, ..) => std::string::String::from("< 0.01 ms"),
            (c @ ..1_000, ..) => std::format!("{sign}{}.{:02} ms", c / 100, c % 100),
            (_, t @ ..10_000, _) => std::format!("{sign}{}.{} ms", t / 10, t % 10),
            (_, _, m) => std::format!("{sign}{}.{:03} s", m / 1_000, m % 1_000),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_half_up_and_keep_three_digits() {
        for (ns, text) in [
            (0, "0 ms"),
            (740, "< 0.01 ms"),
            (5_000, "0.01 ms"),
            (4_564_999, "4.56 ms"),
            (4_565_000, "4.57 ms"),
            (9_994_999, "9.99 ms"),
            (9_995_000, "10.0 ms"),
            (112_495_000, "112.5 ms"),
            (112_449_999, "112.4 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1.000 s"),
            (-1_234_567_891, "-1.235 s"),
        ] {
            assert_eq!(Ns(ns).to_string(), text);
        }
        assert_eq!(Ns(112_495_000).hundredths_of_ms(), 11_250);
        assert_eq!(Ns(-5_000).hundredths_of_ms(), -1);
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Ns::MAX + Ns(1), Ns::MAX);
        assert_eq!(Ns(i64::MIN) - Ns(1), Ns(i64::MIN));
        assert_eq!(Ns(5).since(Ns(9)), Ns::ZERO);
    }
}
