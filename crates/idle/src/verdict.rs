//! A prediction of a change beside what was measured after it.

use alloc::string::String;
use alloc::vec::Vec;

/// How CPUs slept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Part of the time in each state, in ten thousandths.
    pub shares: Vec<i64>,
    /// Median delay of wake-ups, ns.
    pub p50: i64,
    /// Its 99th percentile, ns.
    pub p99: i64,
    /// Energy of a second, in thousandths of one of state 0.
    pub energy: i64,
    /// Sleeps.
    pub sleeps: u64,
}

/// One recording, and what was predicted of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// What woke the CPUs.
    pub work: String,
    /// Setting of the recording that was predicted from, and of this one.
    pub settings: [String; 2],
    /// The recording that was predicted from.
    pub before: Figures,
    /// What was predicted.
    pub predicted: Figures,
    /// What was recorded.
    pub after: Figures,
}

/// Largest difference of a state's share, in ten thousandths.
pub const SHARE: i64 = 200;
/// Largest relative error of a delay or of energy, in hundredths.
pub const RELATIVE: i64 = 5;
/// A difference of a delay that is no error, ns.
pub const DELAY: i64 = 2_000;
/// A predicted change of energy by more than this, in hundredths, has to have
/// the right direction.
pub const CLEAR: i64 = 2;

impl Row {
    /// Nothing was changed: the model of what it was made from.
    pub fn same(&self) -> bool {
        self.settings[0] == self.settings[1]
    }

    /// The largest error of a state's share, in ten thousandths.
    pub fn share_error(&self) -> i64 {
        let (p, a) = (&self.predicted.shares, &self.after.shares);
        let at = |list: &[i64], i: usize| list.get(i).copied().unwrap_or(0);
        let n = p.len().max(a.len());
        (0..n).map(|i| (at(p, i) - at(a, i)).abs()).max().unwrap_or(0)
    }

    /// Are the states right?
    pub fn states_met(&self) -> bool {
        self.share_error() <= SHARE
    }

    /// Are the delays right: the median, and the 99th percentile?
    pub fn delays_met(&self) -> [bool; 2] {
        let near = |p: i64, a: i64| {
            let off = (p - a).abs();
            off <= DELAY || off * 100 <= RELATIVE * a.abs()
        };
        [near(self.predicted.p50, self.after.p50), near(self.predicted.p99, self.after.p99)]
    }

    /// Is the energy right?
    pub fn energy_met(&self) -> bool {
        let off = (self.predicted.energy - self.after.energy).abs();
        off * 100 <= RELATIVE * self.after.energy.abs()
    }

    /// Does everything that is predicted to change clearly change that way?
    pub fn direction_met(&self) -> bool {
        let (b, p, a) = (&self.before, &self.predicted, &self.after);
        if self.same() {
            return true;
        }
        let right = |b: i64, p: i64, a: i64, clear: bool| !clear || (p > b) == (a > b) && a != b;
        let energy = (p.energy - b.energy).abs() * 100 > CLEAR * b.energy;
        let delay = |b: i64, p: i64| (p - b).abs() > DELAY;
        right(b.energy, p.energy, a.energy, energy)
            && right(b.p50, p.p50, a.p50, delay(b.p50, p.p50))
            && right(b.p99, p.p99, a.p99, delay(b.p99, p.p99))
    }

    /// Everything is right.
    pub fn met(&self) -> bool {
        self.states_met()
            && self.delays_met() == [true; 2]
            && self.energy_met()
            && self.direction_met()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(p99: i64, energy: i64, share: i64) -> Figures {
        let shares = alloc::vec![share, 10_000 - share];
        Figures { shares, p50: 1_000, p99, energy, sleeps: 100 }
    }

    fn row(before: Figures, predicted: Figures, after: Figures) -> Row {
        let settings = ["menu".into(), "ladder".into()];
        Row { work: "x".into(), settings, before, predicted, after }
    }

    #[test]
    fn what_is_off_by_more_than_its_bound_is_not_met() {
        let b = figures(100_000, 1_000, 5_000);
        assert!(row(b.clone(), b.clone(), b.clone()).met());
        // Two points, 2 us or a twentieth.
        assert!(row(b.clone(), figures(105_000, 1_050, 5_200), b.clone()).states_met());
        assert!(!row(b.clone(), figures(100_000, 1_000, 5_201), b.clone()).states_met());
        assert!(!row(b.clone(), figures(105_001, 1_000, 0), b.clone()).delays_met()[1]);
        let short = figures(3_000, 1_000, 0);
        assert!(row(b.clone(), figures(5_000, 1_000, 0), short.clone()).delays_met()[1]);
        assert!(!row(b.clone(), figures(5_001, 1_000, 0), short).delays_met()[1]);
        assert!(!row(b.clone(), figures(1, 1_051, 0), b.clone()).energy_met());
    }

    #[test]
    fn a_change_that_is_clear_must_go_the_right_way() {
        let b = figures(100_000, 1_000, 5_000);
        let up = figures(100_000, 1_030, 5_000);
        let down = figures(100_000, 990, 5_000);
        assert!(!row(b.clone(), up.clone(), down.clone()).direction_met());
        assert!(row(b.clone(), up, figures(100_000, 1_001, 5_000)).direction_met());
        // One in a hundred is no claim.
        let claim = figures(100_000, 1_010, 5_000);
        assert!(row(b.clone(), claim, down).direction_met());
        let late = figures(103_000, 1_000, 5_000);
        assert!(!row(b.clone(), late, figures(99_000, 1_000, 5_000)).direction_met());
    }
}
