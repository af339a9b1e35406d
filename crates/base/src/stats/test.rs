//! Tests of "is there a difference", effect sizes, and corrections.

use super::describe::{mean, variance};
use super::distribution::{
    normal_upper, standard_error, student_critical, student_two_sided, welch_df,
};
use libm::{fabs, sqrt};
use serde::Serialize;

/// Result of Welch's t-test of two independent samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Welch {
    /// Difference of the means, second minus first.
    #[serde(skip)]
    pub difference: f64,
    /// The t statistic (of second minus first).
    pub t: f64,
    /// Degrees of freedom (Welch and Satterthwaite).
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// 95 % confidence interval of the difference.
    #[serde(skip)]
    pub interval: (f64, f64),
}

/// Welch's t-test. `None` if a sample has fewer than two values or neither
/// varies (there is nothing to test then).
pub fn welch(a: &[f64], b: &[f64]) -> Option<Welch> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let (va, vb) = (variance(a) / na, variance(b) / nb);
    let se = standard_error(va, vb);
    if se == 0.0 {
        return None;
    }
    let difference = mean(b) - mean(a);
    let df = welch_df(va, na, vb, nb);
    let t = difference / se;
    let half = student_critical(0.05, df) * se;
    Some(Welch {
        difference,
        t,
        df,
        p: student_two_sided(t, df),
        interval: (difference - half, difference + half),
    })
}

/// Result of the Mann-Whitney U test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MannWhitney {
    /// U of the second sample: in how many pairs it is larger, ties half.
    pub u: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// P(second > first) + P(equal) / 2: 0.5 means no difference.
    pub superiority: f64,
    /// `p` is exact (small samples without ties), not the normal approximation.
    pub exact: bool,
}

/// Mann-Whitney U. Exact for samples of at most 20 without ties, else the
/// normal approximation with correction for ties and continuity. `None` for an
/// empty sample.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|&x| (x, false)).chain(b.iter().map(|&x| (x, true))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let n = na + nb;
    let mut rank_sum_b = 0.0;
    let mut ties = 0.0;
    let mut i = 0;
    while i < all.len() {
        let mut j = i + 1;
        while j < all.len() && all[j].0 == all[i].0 {
            j += 1;
        }
        // Ranks i+1 ..= j share their mean.
        let rank = (i + 1 + j) as f64 / 2.0;
        let t = (j - i) as f64;
        ties += t * t * t - t;
        rank_sum_b += rank * all[i..j].iter().filter(|x| x.1).count() as f64;
        i = j;
    }
    let u = rank_sum_b - nb * (nb + 1.0) / 2.0;
    let superiority = u / (na * nb);
    if ties == 0.0 && a.len() <= 20 && b.len() <= 20 {
        return Some(MannWhitney { u, p: exact_p(a.len(), b.len(), u), superiority, exact: true });
    }
    let mu = na * nb / 2.0;
    let sigma = sqrt(na * nb / 12.0 * (n + 1.0 - ties / (n * (n - 1.0))));
    let p = if sigma == 0.0 {
        1.0
    } else {
        (2.0 * normal_upper((fabs(u - mu) - 0.5) / sigma)).clamp(0.0, 1.0)
    };
    Some(MannWhitney { u, p, superiority, exact: false })
}

/// Two-sided exact p of U by counting the arrangements that reach each U.
fn exact_p(na: usize, nb: usize, u: f64) -> f64 {
    // ways[i][u]: arrangements of i values of the first sample among those of
    // the second seen so far; counts stay below 2^53 for 20 and 20.
    let max = na * nb;
    let mut ways = vec![vec![0.0f64; max + 1]; na + 1];
    ways[0][0] = 1.0;
    for i in 1..=na + nb {
        // The largest value is of the first sample (adds nothing to U of the
        // second) or of the second (adds the number of first-sample values).
        let mut next = vec![vec![0.0f64; max + 1]; na + 1];
        for (k, row) in next.iter_mut().enumerate() {
            if k > i || i - k > nb {
                continue;
            }
            for (v, slot) in row.iter_mut().enumerate() {
                let from_a = if k > 0 { ways[k - 1][v] } else { 0.0 };
                let from_b = if v >= k && i > k { ways[k][v - k] } else { 0.0 };
                *slot = from_a + from_b;
            }
        }
        ways = next;
    }
    let counts = &ways[na];
    let total: f64 = counts.iter().sum();
    let extreme = u.max(max as f64 - u);
    let tail: f64 =
        counts.iter().enumerate().filter(|(v, _)| *v as f64 >= extreme).map(|(_, c)| c).sum();
    (2.0 * tail / total).min(1.0)
}

/// Cohen's d with the pooled standard deviation, second minus first; NaN if
/// neither sample varies.
pub fn cohens_d(a: &[f64], b: &[f64]) -> f64 {
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let pooled = ((na - 1.0) * variance(a) + (nb - 1.0) * variance(b)) / (na + nb - 2.0);
    (mean(b) - mean(a)) / sqrt(pooled)
}

/// Holm's step-down correction: adjusted p-values in the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&x, &y| p[x].total_cmp(&p[y]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max(((p.len() - rank) as f64 * p[i]).min(1.0));
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values printed by SciPy 1.x for the same inputs; the
    // differential test in tests/oracle draws further ones.
    const A: [f64; 6] = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9];
    const B: [f64; 6] = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5];

    #[test]
    fn holm_is_monotone_and_capped() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn exact_u_counts_arrangements() {
        // Two and two: six arrangements, U = 4 in one of them.
        let r = mann_whitney(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
        assert!(r.exact);
        assert_eq!(r.u, 4.0);
        assert!((r.p - 2.0 / 6.0).abs() < 1e-12);
        assert_eq!(r.superiority, 1.0);
    }

    #[test]
    fn ties_use_the_approximation() {
        let r = mann_whitney(&A, &B).unwrap();
        assert!(!r.exact);
        let again = mann_whitney(&B, &A).unwrap();
        assert!((r.p - again.p).abs() < 1e-15);
        assert!((r.u + again.u - 36.0).abs() < 1e-12);
    }

    #[test]
    fn welch_needs_something_that_varies() {
        assert!(welch(&[1.0], &[2.0, 3.0]).is_none());
        assert!(welch(&[1.0, 1.0], &[1.0, 1.0]).is_none());
        let w = welch(&A, &B).unwrap();
        assert!(w.interval.0 < w.difference && w.difference < w.interval.1);
        assert!(w.p > 0.05 && w.p < 1.0);
    }
}
