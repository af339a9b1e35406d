//! Whether a recording is steady: cycles that warm up, and drift.

use dormouse_base::stats::describe::{median, median_absolute_deviation};
use dormouse_base::stats::distribution::normal_upper;
use libm::{fabs, sqrt};

/// What is not steady about the cycles of one recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Steadiness {
    /// How many cycles at the beginning are outside what the rest does: cold
    /// worker pools, late work after boot.
    pub warm_up: usize,
    /// Mann and Kendall's tau of the cycles after the warm-up, if the trend is
    /// beyond the 1 % level; positive is getting slower.
    pub drift: Option<f64>,
}

/// Judges cycles in the order in which they were recorded.
pub(crate) fn steadiness(sample: &[f64]) -> Steadiness {
    let warm_up = warm_up(sample);
    Steadiness { warm_up, drift: drift(&sample[warm_up..]) }
}

/// Cycles at the beginning that lie more than five median absolute deviations
/// (and 1 %) away from the median of the second half. At most a quarter of the
/// cycles, and none of fewer than six, because then there is no "rest".
fn warm_up(sample: &[f64]) -> usize {
    if sample.len() < 6 {
        return 0;
    }
    let rest = &sample[sample.len() / 2..];
    let centre = median(rest);
    let limit = (5.0 * median_absolute_deviation(rest)).max(0.01 * fabs(centre));
    sample.iter().take(sample.len() / 4).take_while(|&&x| fabs(x - centre) > limit).count()
}

/// Mann-Kendall trend test with correction for ties and continuity; needs ten
/// cycles for its normal approximation.
fn drift(sample: &[f64]) -> Option<f64> {
    let n = sample.len();
    if n < 10 {
        return None;
    }
    let mut s = 0i64;
    let mut tied_pairs = 0i64;
    for (i, a) in sample.iter().enumerate() {
        for b in &sample[i + 1..] {
            s += i64::from(b > a) - i64::from(b < a);
            tied_pairs += i64::from(a == b);
        }
    }
    let pairs = (n * (n - 1) / 2) as f64;
    if tied_pairs as f64 == pairs {
        return None;
    }
    let mut sorted = dormouse_base::stats::describe::sorted(sample);
    let mut ties = 0.0;
    while let Some(&x) = sorted.last() {
        let t = sorted.iter().rev().take_while(|&&y| y == x).count();
        sorted.truncate(sorted.len() - t);
        let t = t as f64;
        ties += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let nf = n as f64;
    let variance = (nf * (nf - 1.0) * (2.0 * nf + 5.0) - ties) / 18.0;
    let z = (s.unsigned_abs() as f64 - 1.0).max(0.0) / sqrt(variance);
    (2.0 * normal_upper(z) < 0.01).then_some(s as f64 / pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_first_cycle_is_warm_up() {
        let mut s: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 3)).collect();
        s[0] = 140.0;
        assert_eq!(steadiness(&s), Steadiness { warm_up: 1, drift: None });
    }

    #[test]
    fn a_trend_is_said_with_its_direction() {
        let up: Vec<f64> = (0..20).map(|i| 100.0 + 0.2 * f64::from(i) + f64::from(i % 2)).collect();
        assert!(steadiness(&up).drift.unwrap() > 0.5);
        let down: Vec<f64> = up.iter().rev().copied().collect();
        assert!(steadiness(&down).drift.unwrap() < -0.5);
    }

    #[test]
    fn steady_or_short_recordings_are_left_alone() {
        assert_eq!(steadiness(&[1.0, 9.0]), Steadiness::default());
        assert_eq!(steadiness(&[7.0; 30]), Steadiness::default());
    }
}
