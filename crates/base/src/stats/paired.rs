//! Pairs whose order a coin decided, and the randomisation test over that coin.
//!
//! Where a fair coin decides which of the two of a pair is measured first, the
//! sign of each difference is as fair as the coin if the treatment does
//! nothing, whatever else changes meanwhile: drift, bursts, outliers, noise
//! that depends on what was before. So Wilcoxon's signed-rank test needs no
//! model of the noise; its p is exact.

use super::distribution::normal_upper;
use libm::{fabs, sqrt};

/// Up to so many pairs the distribution is counted; beyond, it is taken as
/// normal.
const COUNTED: usize = 200;

/// Wilcoxon's signed-rank test of differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Differences other than zero; zeros say nothing of the direction.
    pub pairs: usize,
    /// Sum of the ranks of the positive differences.
    pub positive: f64,
    /// One-sided p of "smaller than zero".
    pub p_below: f64,
    /// One-sided p of "larger than zero".
    pub p_above: f64,
    /// Estimate of the difference: the median of the means of every two
    /// differences (Hodges and Lehmann). NaN without differences.
    pub estimate: f64,
}

/// The test of `differences`. Ties share their mean rank.
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let mut sizes: Vec<(f64, bool)> =
        differences.iter().filter(|d| **d != 0.0).map(|&d| (fabs(d), d > 0.0)).collect();
    sizes.sort_by(|x, y| x.0.total_cmp(&y.0));
    // Twice the rank, so that shared ranks are whole numbers.
    let mut ranks: Vec<usize> = Vec::with_capacity(sizes.len());
    while ranks.len() < sizes.len() {
        let i = ranks.len();
        let same = sizes[i..].iter().take_while(|s| s.0 == sizes[i].0).count();
        // Ranks i+1 ..= i+same share their mean.
        ranks.resize(i + same, 2 * i + same + 1);
    }
    let positive: usize = ranks.iter().zip(&sizes).filter(|(_, s)| s.1).map(|(r, _)| r).sum();
    let negative = ranks.iter().sum::<usize>() - positive;
    SignedRank {
        pairs: ranks.len(),
        positive: positive as f64 / 2.0,
        p_below: at_most(&ranks, positive),
        p_above: at_most(&ranks, negative),
        estimate: estimate(differences),
    }
}

/// Chance that fair signs give the positive `ranks` a sum of at most `sum`.
fn at_most(ranks: &[usize], sum: usize) -> f64 {
    if ranks.len() <= COUNTED {
        return distribution(ranks).iter().take(sum + 1).sum::<f64>().min(1.0);
    }
    // Each rank counts with chance one half; half a rank (one, as ranks are
    // doubled) corrects for continuity.
    let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
    let variance = ranks.iter().map(|&r| (r as f64) * (r as f64)).sum::<f64>() / 4.0;
    normal_upper((mean - sum as f64 - 1.0) / sqrt(variance))
}

/// Chance of each sum of the positive `ranks` under fair signs.
fn distribution(ranks: &[usize]) -> Vec<f64> {
    let mut chance = vec![0.0; ranks.iter().sum::<usize>() + 1];
    chance[0] = 1.0;
    let mut most = 0;
    for &r in ranks {
        most += r;
        for sum in (0..=most).rev() {
            let with = if sum >= r { chance[sum - r] } else { 0.0 };
            chance[sum] = (chance[sum] + with) / 2.0;
        }
    }
    chance
}

/// Means of every two differences, a difference with itself too, sorted.
fn walsh(differences: &[f64]) -> Vec<f64> {
    let mut means: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(i, a)| differences[i..].iter().map(move |b| a.midpoint(*b)))
        .collect();
    means.sort_by(f64::total_cmp);
    means
}

fn estimate(differences: &[f64]) -> f64 {
    super::describe::median(&walsh(differences))
}

/// The interval that holds the difference with chance `1 - level` or more, if
/// it is the same in every pair; `None` if there are too few pairs for it.
pub fn interval(differences: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = differences.len();
    let ranks: Vec<usize> = (1..=n).map(|r| 2 * r).collect();
    let means = walsh(differences);
    // So many means may be left out at either end.
    let out = if n <= COUNTED {
        let mut tail = 0.0;
        let chance = distribution(&ranks);
        chance
            .iter()
            .step_by(2)
            .take_while(|c| {
                tail += **c;
                tail <= level / 2.0
            })
            .count()
    } else {
        let tail = |out: &usize| at_most(&ranks, 2 * *out) <= level / 2.0;
        let all: Vec<usize> = (0..means.len() / 2).collect();
        all.partition_point(tail)
    };
    let k = out.checked_sub(1)?;
    Some((*means.get(k)?, *means.get(means.len().checked_sub(k + 1)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All signs, one by one: another way to the same number.
    fn by_hand(differences: &[f64]) -> (f64, f64) {
        let r = signed_rank(differences);
        let d: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        let (mut below, mut above) = (0u32, 0u32);
        for signs in 0..1u32 << d.len() {
            let flipped: Vec<f64> =
                (0..d.len()).map(|i| if signs >> i & 1 == 1 { d[i] } else { -d[i] }).collect();
            let sum = signed_rank(&flipped).positive;
            below += u32::from(sum <= r.positive);
            above += u32::from(sum >= r.positive);
        }
        let all = f64::from(1u32 << d.len());
        (f64::from(below) / all, f64::from(above) / all)
    }

    #[test]
    fn p_is_the_share_of_all_signs() {
        for d in [
            &[-1.0, -2.0, 3.0, -4.0, -5.5, -0.25][..],
            // Ties and a zero.
            &[1.0, -1.0, 2.0, 2.0, 0.0, -2.0, 5.0, 1.0],
            &[-3.0; 7],
            &[],
        ] {
            let r = signed_rank(d);
            assert_eq!((r.p_below, r.p_above), by_hand(d), "{d:?}");
        }
        assert_eq!(signed_rank(&[-3.0; 8]).p_below, 1.0 / 256.0);
    }

    #[test]
    fn many_pairs_are_near_to_what_is_counted() {
        let mut random = crate::stats::random::Random::new(5);
        let d: Vec<f64> = (0..200).map(|_| random.unit() - 0.52).collect();
        let counted = signed_rank(&d);
        let more: Vec<f64> = d.iter().copied().chain([1e-9]).collect();
        let normal = signed_rank(&more);
        assert!((counted.p_below - normal.p_below).abs() < 0.005, "{counted:?} {normal:?}");
        let (low, high) = interval(&d, 0.05).unwrap();
        let (low2, high2) = interval(&more, 0.05).unwrap();
        assert!((low - low2).abs() < 0.01 && (high - high2).abs() < 0.01);
    }

    #[test]
    fn the_interval_is_where_the_test_turns() {
        let d = [-4.1, -3.0, -5.2, -2.2, -3.7, -4.4, -1.9, -6.0, -3.3, -2.8];
        let (low, high) = interval(&d, 0.01).unwrap();
        let p = |at: f64| {
            let moved: Vec<f64> = d.iter().map(|x| x - at).collect();
            let r = signed_rank(&moved);
            (r.p_below.min(r.p_above) * 2.0).min(1.0)
        };
        assert!(p(low - 0.01) <= 0.01 && p(low + 0.01) > 0.01, "{low}");
        assert!(p(high + 0.01) <= 0.01 && p(high - 0.01) > 0.01, "{high}");
        // Seven pairs cannot reach 1 % on both sides.
        assert_eq!(interval(&d[..7], 0.01), None);
        assert!(interval(&d[..8], 0.01).is_some());
    }
}
