//! The bootstrap: confidence intervals without assuming a distribution.

use super::describe::{quantile, sorted};
use crate::stats::random::Random;

/// Percentile bootstrap interval of `statistic(b) - statistic(a)`.
///
/// `level` is the coverage such as 0.95, `rounds` the number of resamples, and
/// `random` makes the result repeatable. `None` if a sample is empty.
pub fn difference_interval(
    a: &[f64],
    b: &[f64],
    statistic: fn(&[f64]) -> f64,
    level: f64,
    rounds: usize,
    random: &mut Random,
) -> Option<(f64, f64)> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut draw_a = Vec::with_capacity(a.len());
    let mut draw_b = Vec::with_capacity(b.len());
    let mut differences = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        redraw(a, &mut draw_a, random);
        redraw(b, &mut draw_b, random);
        differences.push(statistic(&draw_b) - statistic(&draw_a));
    }
    let s = sorted(&differences);
    let tail = (1.0 - level) / 2.0;
    Some((quantile(&s, tail), quantile(&s, 1.0 - tail)))
}

fn redraw(from: &[f64], into: &mut Vec<f64>, random: &mut Random) {
    into.clear();
    into.extend((0..from.len()).map(|_| from[random.below(from.len() as u64) as usize]));
}

#[cfg(test)]
mod tests {
    use super::super::describe::median;
    use super::*;

    #[test]
    fn a_clear_difference_excludes_zero_and_repeats() {
        let a: Vec<f64> = (0..30).map(f64::from).collect();
        let b: Vec<f64> = (0..30).map(|x| f64::from(x) + 40.0).collect();
        let one = difference_interval(&a, &b, median, 0.95, 2000, &mut Random::new(1)).unwrap();
        let two = difference_interval(&a, &b, median, 0.95, 2000, &mut Random::new(1)).unwrap();
        assert_eq!(one, two);
        assert!(one.0 > 20.0 && one.1 < 60.0, "{one:?}");
        assert!(difference_interval(&[], &b, median, 0.95, 10, &mut Random::new(1)).is_none());
    }
}
