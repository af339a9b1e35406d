//! How often something happens, of a number of trials: exact, however rare it is.

use super::distribution::incomplete_beta;

/// The share of trials of which `hits` are so many, by Clopper and Pearson (Biometrika 26,
/// 1934): the true share lies inside with at least `level`. Without trials, all of 0 to 1.
pub fn interval(hits: u64, trials: u64, level: f64) -> (f64, f64) {
    let hits = hits.min(trials);
    let (k, n) = (hits as f64, trials as f64);
    let rest = (1.0 - level) / 2.0;
    // P(X ≥ k) = I_p(k, n - k + 1) and P(X ≤ k) = 1 - I_p(k + 1, n - k).
    let low = match hits {
        0 => 0.0,
        _ => root(|p| incomplete_beta(k, n - k + 1.0, p) - rest),
    };
    let high = match hits == trials {
        true => 1.0,
        false => root(|p| incomplete_beta(k + 1.0, n - k, p) - (1.0 - rest)),
    };
    (low, high)
}

/// The least number of trials that show with `level` that something happens less often than
/// `share`, if it happened `hits` times in all of them: with so many trials of that share, so
/// few hits would have a probability of at most `1 - level`.
pub fn trials_to_show(hits: u64, share: f64, level: f64) -> u64 {
    let shows = |n: u64| {
        let (k, n) = (hits as f64, n as f64);
        n > k && 1.0 - incomplete_beta(k + 1.0, n - k, share) <= 1.0 - level
    };
    let mut high = hits + 1;
    while !shows(high) && high < u64::MAX / 4 {
        high *= 2;
    }
    let mut low = hits;
    while high - low > 1 {
        let mid = low + (high - low) / 2;
        if shows(mid) { high = mid } else { low = mid }
    }
    high
}

/// Where a growing function is 0, between 0 and 1.
fn root(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let mid = 0.5 * (low + high);
        if f(mid) < 0.0 { low = mid } else { high = mid }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Beta, ContinuousCDF};

    #[test]
    fn intervals_are_those_of_the_beta_distribution() {
        for (k, n) in [(0, 1), (0, 20), (1, 20), (3, 1_204), (10, 10), (250, 500), (4_999, 5_000)] {
            let (low, high) = interval(k, n, 0.95);
            let quantile = |a: f64, b: f64, q: f64| Beta::new(a, b).unwrap().inverse_cdf(q);
            let (a, b) = (k as f64, n as f64);
            let want_low = if k == 0 { 0.0 } else { quantile(a, b - a + 1.0, 0.025) };
            let want_high = if k == n { 1.0 } else { quantile(a + 1.0, b - a, 0.975) };
            assert!((low - want_low).abs() < 1e-6, "{k} of {n}: {low} {want_low}");
            assert!((high - want_high).abs() < 1e-6, "{k} of {n}: {high} {want_high}");
        }
        assert_eq!(interval(0, 0, 0.95), (0.0, 1.0));
    }

    /// Sums of the binomial distribution itself, term by term.
    #[test]
    fn so_many_trials_show_it_and_one_less_does_not() {
        let at_most = |k: u64, n: u64, p: f64| -> f64 {
            let mut term = (n as f64 * (-p).ln_1p()).exp();
            let mut sum = term;
            for i in 0..k {
                term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
                sum += term;
            }
            sum
        };
        for (k, share) in [(0, 0.002), (1, 0.002), (3, 0.002), (0, 0.1), (12, 0.01), (40, 0.002)] {
            let n = trials_to_show(k, share, 0.95);
            assert!(at_most(k, n, share) <= 0.05, "{k} {share}: {n}");
            assert!(at_most(k, n - 1, share) > 0.05, "{k} {share}: {n}");
        }
        // The rule of three says 3 * 500.
        assert_eq!(trials_to_show(0, 0.002, 0.95), 1_497);
    }

    /// The level holds: of drawn campaigns, the interval misses the truth in at most 5 %.
    #[test]
    fn drawn_intervals_hold_the_truth() {
        let mut random = crate::stats::random::Random::new(11);
        for share in [0.002, 0.05, 0.5] {
            let mut missed = 0;
            for _ in 0..1_000 {
                let hits = (0..300).filter(|_| random.unit() < share).count() as u64;
                let (low, high) = interval(hits, 300, 0.95);
                missed += u32::from(share < low || share > high);
            }
            assert!(missed <= 70, "{share}: {missed} of 1,000");
        }
    }
}
