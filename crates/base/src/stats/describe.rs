//! Medians, quantiles and spreads of a sample.

/// A sorted copy; NaN sorts last.
pub fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut v = sample.to_vec();
    v.sort_by(f64::total_cmp);
    v
}

/// The arithmetic mean; NaN for an empty sample.
pub fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The unbiased variance (n - 1); NaN below two values.
pub fn variance(sample: &[f64]) -> f64 {
    if sample.len() < 2 {
        return f64::NAN;
    }
    let m = mean(sample);
    sample.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / (sample.len() - 1) as f64
}

/// The quantile `q` in 0..=1 of a *sorted* sample, linear between order
/// statistics (Hyndman and Fan's type 7, the default of R and NumPy); NaN for
/// an empty sample.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let low = libm::floor(at) as usize;
    let high = (low + 1).min(last);
    sorted[low] + (at - low as f64) * (sorted[high] - sorted[low])
}

/// The median of an unsorted sample.
pub fn median(sample: &[f64]) -> f64 {
    quantile(&sorted(sample), 0.5)
}

/// The median of whole numbers, such as times, which are put in order; of two in
/// the middle, what `mean` makes of the lower and the higher. `None` without any.
pub fn middle<T: Copy + Ord>(values: &mut [T], mean: impl Fn(T, T) -> T) -> Option<T> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    let (low, high) = (values[last / 2], values[last.div_ceil(2)]);
    Some(if last % 2 == 0 { low } else { mean(low, high) })
}

/// Median absolute deviation from the median, unscaled: the spread that a few
/// outliers do not move.
pub fn median_absolute_deviation(sample: &[f64]) -> f64 {
    let m = median(sample);
    let deviations: Vec<f64> = sample.iter().map(|x| libm::fabs(x - m)).collect();
    median(&deviations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_type_seven() {
        // numpy.quantile([1, 2, 4, 8], [0.25, 0.5, 0.95]) = 1.75, 3.0, 7.4
        let s = sorted(&[8.0, 1.0, 4.0, 2.0]);
        assert!((quantile(&s, 0.25) - 1.75).abs() < 1e-12);
        assert!((quantile(&s, 0.5) - 3.0).abs() < 1e-12);
        assert!((quantile(&s, 0.95) - 7.4).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn the_middle_of_two_is_their_mean() {
        let mean = |low: i32, high: i32| low + (high - low) / 2;
        assert_eq!(middle(&mut [9, 1, 4], mean), Some(4));
        assert_eq!(middle(&mut [9, 2, 1, 4], mean), Some(3));
        assert_eq!(middle(&mut [], mean), None);
    }

    #[test]
    fn one_outlier_does_not_move_the_spread() {
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 1.0);
    }

    #[test]
    fn variance_is_unbiased() {
        assert!((variance(&[1.0, 2.0, 3.0, 4.0]) - 5.0 / 3.0).abs() < 1e-12);
        assert!(variance(&[1.0]).is_nan());
    }
}
