//! How far two times may be apart and still count as one.

use crate::time::Ns;

/// So many percent of what is right, or so much time, whichever allows more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Percent of what is right.
    pub percent: i64,
    /// What clocks, and medians of few samples, are apart by themselves.
    pub floor: Ns,
}

impl Tolerance {
    /// Whether `off` is within what may be, of `right`.
    pub fn allows(self, off: Ns, right: Ns) -> bool {
        let off = i128::from(off.0).abs();
        off <= i128::from(self.floor.0)
            || off * 100 <= i128::from(right.0) * i128::from(self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_or_floor_whichever_allows_more() {
        let t = Tolerance { percent: 5, floor: Ns(100) };
        assert!(t.allows(Ns(-100), Ns(1)) && t.allows(Ns(500), Ns(10_000)));
        assert!(!t.allows(Ns(101), Ns(2_000)) && !t.allows(Ns(501), Ns(10_000)));
        assert!(!t.allows(Ns(i64::MIN + 1), Ns(i64::MAX)));
    }
}
