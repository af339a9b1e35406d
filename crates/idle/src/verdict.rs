//! A prediction of a change beside what was measured after it.

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

impl Figures {
    /// How far recordings of the same are apart: standard deviations; nothing of
    /// fewer than two.
    pub fn spread(all: &[&Figures]) -> Figures {
        let one = |of: &dyn Fn(&Figures) -> i64| {
            let n = all.len() as i128;
            if n < 2 {
                return 0;
            }
            let mean = all.iter().map(|f| i128::from(of(f))).sum::<i128>() / n;
            let sum: i128 = all.iter().map(|f| (i128::from(of(f)) - mean).pow(2)).sum();
            (sum / (n - 1)).unsigned_abs().isqrt() as i64
        };
        let states = all.iter().map(|f| f.shares.len()).max().unwrap_or(0);
        Figures {
            shares: (0..states).map(|i| one(&|f| share(&f.shares, i))).collect(),
            p50: one(&|f| f.p50),
            p99: one(&|f| f.p99),
            energy: one(&|f| f.energy),
            sleeps: one(&|f| f.sleeps as i64).unsigned_abs(),
        }
    }
}

fn share(list: &[i64], i: usize) -> i64 {
    list.get(i).copied().unwrap_or(0)
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
    /// What the model makes of that recording itself.
    pub own: Figures,
    /// What was predicted.
    pub predicted: Figures,
    /// What was recorded.
    pub after: Figures,
    /// How far recordings of the same work under this setting are apart.
    pub spread: Figures,
}

/// Largest difference of a state's share, in ten thousandths.
pub const SHARE: i64 = 200;
/// Largest relative error of a delay or of energy, in hundredths.
pub const RELATIVE: i64 = 5;
/// A difference of a delay that is no error, ns.
pub const DELAY: i64 = 2_000;
/// A predicted change of energy by more than this, in hundredths, has to have
/// the right direction.
pub(crate) const CLEAR: i64 = 2;

/// What is allowed where recordings are `spread` apart: twice that if it is more than
/// `limit`, because no prediction is nearer than the machine repeats itself.
fn allowed(limit: i64, spread: i64) -> i64 {
    if spread > limit { 2 * spread } else { limit }
}

impl Row {
    /// Nothing was changed: the model of what it was made from.
    pub fn same(&self) -> bool {
        self.settings[0] == self.settings[1]
    }

    fn states(&self) -> usize {
        self.predicted.shares.len().max(self.after.shares.len())
    }

    fn off(&self, i: usize) -> i64 {
        (share(&self.predicted.shares, i) - share(&self.after.shares, i)).abs()
    }

    /// The largest error of a state's share, in ten thousandths.
    pub fn share_error(&self) -> i64 {
        (0..self.states()).map(|i| self.off(i)).max().unwrap_or(0)
    }

    /// Are the states right?
    pub fn states_met(&self) -> bool {
        let spread = |i: usize| share(&self.spread.shares, i);
        (0..self.states()).all(|i| self.off(i) <= allowed(SHARE, spread(i)))
    }

    /// Are the delays right: the median, and the 99th percentile?
    pub fn delays_met(&self) -> [bool; 2] {
        let near = |p: i64, a: i64, spread: i64| {
            (p - a).abs() <= allowed(DELAY.max(a.abs() * RELATIVE / 100), spread)
        };
        let (p, a, s) = (&self.predicted, &self.after, &self.spread);
        [near(p.p50, a.p50, s.p50), near(p.p99, a.p99, s.p99)]
    }

    /// Is the energy right?
    pub fn energy_met(&self) -> bool {
        let (p, a) = (self.predicted.energy, self.after.energy);
        // In hundredths, because energy itself is coarse.
        (p - a).abs() * 100 <= allowed(a.abs() * RELATIVE, self.spread.energy * 100)
    }

    /// Does everything that is predicted to change clearly change that way? A change
    /// is not clear where the model misses the recording that it starts from by more.
    pub fn direction_met(&self) -> bool {
        let (b, p, a) = (&self.before, &self.predicted, &self.after);
        if self.same() {
            return true;
        }
        let right = |of: &dyn Fn(&Figures) -> i64, limit: i64| {
            let (b, p, a, own) = (of(b), of(p), of(a), of(&self.own));
            let least = allowed(limit, of(&self.spread)).max((own - b).abs());
            (p - b).abs() <= least || (p > b) == (a > b) && a != b
        };
        right(&|f| f.energy, self.before.energy * CLEAR / 100)
            && right(&|f| f.p50, DELAY)
            && right(&|f| f.p99, DELAY)
    }

    /// Everything is right.
    pub fn met(&self) -> bool {
        self.states_met()
            && self.delays_met() == [true; 2]
            && self.energy_met()
            && self.direction_met()
    }

    /// It is right because recordings of the same are as far apart.
    pub fn rests_on_spread(&self) -> bool {
        self.met() && !Row { spread: Figures::default(), ..self.clone() }.met()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(p99: i64, energy: i64, share: i64) -> Figures {
        let shares = std::vec![share, 10_000 - share];
        Figures { shares, p50: 1_000, p99, energy, sleeps: 100 }
    }

    fn row(before: Figures, predicted: Figures, after: Figures) -> Row {
        let settings = ["menu".into(), "ladder".into()];
        let (own, spread) = (before.clone(), Figures::default());
        Row { work: "x".into(), settings, before, own, predicted, after, spread }
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

    #[test]
    fn no_prediction_is_nearer_than_the_machine_repeats_itself() {
        let b = figures(100_000, 1_000, 5_000);
        let spread =
            Figures::spread(&[&figures(90_000, 900, 4_700), &figures(110_000, 1_100, 5_300)]);
        assert_eq!((spread.p99, spread.energy, spread.shares[0]), (14_142, 141, 424));
        let row = |predicted: Figures, spread: &Figures| Row {
            spread: spread.clone(),
            ..row(b.clone(), predicted, b.clone())
        };
        // Twice 14,142 ns, twice 4.24 points.
        assert!(row(figures(128_284, 1_000, 5_848), &spread).met());
        assert!(row(figures(128_284, 1_000, 5_848), &spread).rests_on_spread());
        assert!(!row(figures(128_285, 1_000, 5_000), &spread).delays_met()[1]);
        assert!(!row(figures(100_000, 1_000, 5_849), &spread).states_met());
        // Recordings that are nearer than the limit allow nothing more.
        let near =
            Figures::spread(&[&figures(98_000, 1_000, 4_900), &figures(102_000, 1_000, 5_100)]);
        assert!(!row(figures(105_001, 1_000, 5_000), &near).delays_met()[1]);
        assert!(row(figures(105_000, 1_000, 5_000), &near).delays_met()[1]);
        assert_eq!(Figures::spread(&[&b]).p99, 0);
    }

    #[test]
    fn a_change_within_what_the_model_misses_is_no_claim() {
        let b = figures(100_000, 1_000, 5_000);
        let mut r = row(b.clone(), figures(103_000, 1_000, 5_000), figures(99_000, 1_000, 5_000));
        assert!(!r.direction_met());
        r.own.p99 = 104_000;
        assert!(r.direction_met());
    }
}
