//! One figure (a phase, a total, a device) of two recordings.

use dormouse_base::stats::describe::{mean, median, variance};
use dormouse_base::stats::random::Random;
use dormouse_base::stats::resample::difference_interval;
use dormouse_base::stats::test::{MannWhitney, Welch, cohens_d, holm, mann_whitney, welch};
use libm::{ceil, fabs, sqrt};
use serde::Serialize;

/// Resamples of every bootstrap interval.
const ROUNDS: usize = 2_000;

/// The two-sided level of every verdict.
pub const LEVEL: f64 = 0.05;

/// z for a two-sided 5 % test plus z for 80 % power.
const POWER_Z: f64 = 1.959_963_984_540_054 + 0.841_621_233_572_914_3;

/// What the figures allow to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second is slower, beyond the 5 % level.
    Slower,
    /// The second is faster, beyond the 5 % level.
    Faster,
    /// No difference that these cycles could show.
    NoDifference,
    /// Fewer than two cycles on one side, or nothing varies: no test is
    /// possible, only the two medians are known.
    Untested,
}

impl Verdict {
    /// `slower`, `faster`, `no_difference` or `untested`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::NoDifference => "no_difference",
            Verdict::Untested => "untested",
        }
    }
}

/// Everything that can be said of one figure in two samples. Units are those
/// of the samples (dormouse gives nanoseconds, or plain counts).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// Sizes of the samples.
    pub cycles: [usize; 2],
    /// Their medians.
    pub median: [f64; 2],
    /// Difference of the medians, second minus first.
    pub difference: f64,
    /// The same in percent of the first median; `None` if that is zero.
    pub percent: Option<f64>,
    /// 95 % bootstrap interval of the difference of the medians, second minus
    /// first; `None` with fewer than two values on a side.
    #[serde(rename = "interval_95")]
    pub interval: Option<(f64, f64)>,
    /// Welch's test of the means.
    pub welch: Option<Welch>,
    /// Mann-Whitney's test of the order.
    pub mann_whitney: Option<MannWhitney>,
    /// Cohen's d; NaN if nothing varies.
    #[serde(rename = "cohens_d")]
    pub effect: f64,
    /// Smallest true difference of the means that samples of these sizes and
    /// spreads would show four times in five; `None` if untested.
    pub detectable: Option<f64>,
    /// p after correction for testing many figures at once; the verdict
    /// follows it.
    pub p_corrected: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl Contrast {
    /// Compares two samples; `random` draws the bootstrap.
    pub fn new(a: &[f64], b: &[f64], random: &mut Random) -> Contrast {
        let tested = welch(a, b);
        let enough = a.len() > 1 && b.len() > 1;
        let [was, is] = [median(a), median(b)];
        let mut contrast = Contrast {
            cycles: [a.len(), b.len()],
            median: [was, is],
            difference: is - was,
            percent: (was != 0.0).then(|| 100.0 * (is - was) / was),
            interval: enough
                .then(|| difference_interval(a, b, median, 0.95, ROUNDS, random))
                .flatten(),
            welch: tested,
            mann_whitney: if enough { mann_whitney(a, b) } else { None },
            effect: if enough { cohens_d(a, b) } else { f64::NAN },
            detectable: tested.map(|_| {
                POWER_Z * sqrt(variance(a) / a.len() as f64 + variance(b) / b.len() as f64)
            }),
            p_corrected: tested.map_or(1.0, |w| w.p),
            verdict: Verdict::Untested,
        };
        contrast.judge();
        contrast
    }

    /// The medians alone, with which nothing is claimed.
    fn figures(a: &[f64], b: &[f64]) -> Contrast {
        let [was, is] = [median(a), median(b)];
        Contrast {
            cycles: [a.len(), b.len()],
            median: [was, is],
            difference: is - was,
            percent: (was != 0.0).then(|| 100.0 * (is - was) / was),
            interval: None,
            welch: None,
            mann_whitney: None,
            effect: f64::NAN,
            detectable: None,
            p_corrected: 1.0,
            verdict: Verdict::Untested,
        }
    }

    /// Sets the p-value after a correction and judges again.
    pub(crate) fn correct(&mut self, p: f64) {
        self.p_corrected = p;
        self.judge();
    }

    fn judge(&mut self) {
        self.verdict = match self.welch {
            // Deterministic recordings (the lab's) may not vary at all: two
            // constants that differ are different, and need no test.
            None if self.cycles.contains(&0) || self.cycles.contains(&1) => Verdict::Untested,
            None if self.difference > 0.0 => Verdict::Slower,
            None if self.difference < 0.0 => Verdict::Faster,
            None => Verdict::NoDifference,
            Some(_) if self.p_corrected >= LEVEL => Verdict::NoDifference,
            Some(w) if w.difference > 0.0 => Verdict::Slower,
            Some(_) => Verdict::Faster,
        };
    }
}

/// Figures of two sides, corrected for being many; with fewer than `least` values on a side the
/// medians alone.
pub fn contrasts(samples: &[[Vec<f64>; 2]], least: usize, random: &mut Random) -> Vec<Contrast> {
    let of = |[a, b]: &[Vec<f64>; 2]| match a.len().min(b.len()) < least {
        true => Contrast::figures(a, b),
        false => Contrast::new(a, b, random),
    };
    let mut all: Vec<Contrast> = samples.iter().map(of).collect();
    let mut tested: Vec<&mut Contrast> = all.iter_mut().filter(|c| c.welch.is_some()).collect();
    let p: Vec<f64> = tested.iter().map(|c| c.p_corrected).collect();
    for (c, p) in tested.iter_mut().zip(holm(&p)) {
        c.correct(p);
    }
    all
}

/// How many cycles a side are needed so that a true difference of `fraction`
/// of the mean shows four times in five, given what was seen so far. `None`
/// without two values a side.
pub(crate) fn cycles_needed(a: &[f64], b: &[f64], fraction: f64) -> Option<u64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let wanted = fabs(fraction * mean(a));
    if wanted == 0.0 {
        return None;
    }
    let n = POWER_Z * POWER_Z * (variance(a) + variance(b)) / (wanted * wanted);
    Some((ceil(n) as u64).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(random: &mut Random, n: usize, mean: f64) -> Vec<f64> {
        // Sum of twelve uniforms: near normal, sd 1.
        (0..n).map(|_| mean + (0..12).map(|_| random.unit()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn finds_a_difference_and_its_direction() {
        let mut r = Random::new(3);
        let (a, b) = (noisy(&mut r, 30, 100.0), noisy(&mut r, 30, 103.0));
        let c = Contrast::new(&a, &b, &mut r);
        assert_eq!(c.verdict, Verdict::Slower);
        let (low, high) = c.interval.unwrap();
        assert!(low > 1.0 && high < 5.0);
        assert_eq!(Contrast::new(&b, &a, &mut r).verdict, Verdict::Faster);
    }

    #[test]
    fn constants_need_no_test() {
        let mut r = Random::new(3);
        let c = Contrast::new(&[5.0, 5.0], &[6.0, 6.0], &mut r);
        assert_eq!(c.verdict, Verdict::Slower);
        assert_eq!(Contrast::new(&[5.0], &[6.0], &mut r).verdict, Verdict::Untested);
        let same = Contrast::new(&[5.0, 5.0], &[5.0, 5.0], &mut r);
        assert_eq!(same.verdict, Verdict::NoDifference);
    }

    #[test]
    fn of_few_values_nothing_is_claimed_and_many_are_corrected() {
        let mut r = Random::new(5);
        let few = [vec![1.0, 1.1, 1.2, 1.3], vec![9.0, 9.1, 9.2, 9.3, 9.4]];
        let all = contrasts(std::slice::from_ref(&few), 5, &mut r);
        assert_eq!((all[0].verdict, all[0].welch), (Verdict::Untested, None));
        assert!(all[0].difference > 7.0);
        // What chance shows once in twenty is shown by few of many families.
        let mut alarms = 0;
        for _ in 0..40 {
            let family: Vec<_> =
                (0..8).map(|_| [noisy(&mut r, 9, 50.0), noisy(&mut r, 9, 50.0)]).collect();
            let claims = |c: &Contrast| c.verdict != Verdict::NoDifference;
            alarms += usize::from(contrasts(&family, 5, &mut r).iter().any(claims));
        }
        assert!(alarms <= 6, "{alarms} of 40 families");
    }

    #[test]
    fn false_alarms_are_as_frequent_as_promised() {
        let mut r = Random::new(11);
        let draws = 4_000;
        let mut alarms = 0;
        for _ in 0..draws {
            let (a, b) = (noisy(&mut r, 20, 50.0), noisy(&mut r, 20, 50.0));
            // The verdict without its (slow, unused) bootstrap.
            if welch(&a, &b).is_some_and(|w| w.p < LEVEL) {
                alarms += 1;
            }
        }
        let percent = 100.0 * f64::from(alarms) / f64::from(draws);
        assert!((4.0..=6.0).contains(&percent), "{percent} %");
    }

    #[test]
    fn the_number_of_cycles_grows_with_the_square_of_the_spread() {
        let narrow = cycles_needed(&[99.0, 101.0, 100.0], &[99.0, 101.0, 100.0], 0.02).unwrap();
        let wide = cycles_needed(&[90.0, 110.0, 100.0], &[90.0, 110.0, 100.0], 0.02).unwrap();
        assert!(wide > 50 * narrow, "{narrow} {wide}");
        assert_eq!(cycles_needed(&[1.0], &[1.0, 2.0], 0.02), None);
    }
}
