//! Distribution functions that the tests need: normal and Student's t.

use libm::{erfc, exp, fabs, lgamma, log, log1p, sqrt};

/// P(Z > z) for a standard normal Z.
pub fn normal_upper(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// P(|T| > |t|) for Student's t with `df` degrees of freedom (real, positive).
pub(crate) fn student_two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
}

/// The t with P(|T| > t) = `p`, by bisection.
pub(crate) fn student_critical(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, df) > p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let mid = 0.5 * (low + high);
        if student_two_sided(mid, df) > p {
            low = mid;
        } else {
            high = mid;
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function I_x(a, b), by the continued
/// fraction (Abramowitz and Stegun 26.5.8) evaluated with Lentz's method.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    // The fraction converges fast only below the mean; use the symmetry above.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if fabs(v) < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..1000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if fabs(step - 1.0) < 1e-16 {
            break;
        }
    }
    h
}

/// The degrees of freedom of Welch and Satterthwaite for two samples given as
/// variance divided by size, and size.
pub(crate) fn welch_df(va: f64, na: f64, vb: f64, nb: f64) -> f64 {
    (va + vb) * (va + vb) / (va * va / (na - 1.0) + vb * vb / (nb - 1.0))
}

/// Standard error of a difference of means from the same inputs.
pub(crate) fn standard_error(va: f64, vb: f64) -> f64 {
    sqrt(va + vb)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
    use statrs::function::beta::beta_reg;

    #[test]
    fn agrees_with_statrs() {
        let normal = Normal::new(0.0, 1.0).unwrap();
        for i in -40..=40 {
            let z = f64::from(i) / 8.0;
            assert!((normal_upper(z) - (1.0 - normal.cdf(z))).abs() < 1e-10, "{z}");
        }
        for df in [1.0, 2.5, 7.0, 38.0, 400.0] {
            let t = StudentsT::new(0.0, 1.0, df).unwrap();
            for i in 0..50 {
                let x = f64::from(i) / 8.0;
                let want = 2.0 * (1.0 - t.cdf(x));
                assert!((student_two_sided(x, df) - want).abs() < 1e-9, "{df} {x}");
            }
            let crit = student_critical(0.05, df);
            assert!((student_two_sided(crit, df) - 0.05).abs() < 1e-12);
        }
        for (a, b, x) in [(0.5, 0.5, 0.3), (20.0, 3.0, 0.9), (2.0, 50.0, 0.01)] {
            assert!((incomplete_beta(a, b, x) - beta_reg(a, b, x)).abs() < 1e-10);
        }
    }
}
