//! What service takes at which clock, from requests that were served at several.

use crate::simulate::settings::Law;
use std::collections::BTreeMap;

/// Requests that a clock must have served to be known.
pub const ENOUGH: u64 = 20;

/// A request that nobody else was in the way of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Bytes.
    pub bytes: u64,
    /// Clock while it was served, Hz.
    pub hz: u64,
    /// What it took, ns.
    pub time: i64,
}

/// Why a recording does not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Fewer than two clocks served enough requests: each clock with its requests.
    Clocks(BTreeMap<u64, u64>),
    /// A faster clock did not serve faster.
    NotFaster,
}

/// The law that is nearest to the samples: a base, and a time for each byte that
/// shrinks as the clock rises.
///
/// # Errors
/// If they do not say it.
pub fn law(samples: &[Sample], most: u64) -> Result<Law, Unknown> {
    let mut clocks: BTreeMap<u64, u64> = BTreeMap::new();
    for s in samples {
        *clocks.entry(s.hz).or_default() += 1;
    }
    if clocks.values().filter(|n| **n >= ENOUGH).count() < 2 {
        return Err(Unknown::Clocks(clocks));
    }
    // Least squares of time over bytes at the fastest clock.
    let mut sums = [0_i128; 5];
    for s in samples {
        let x = i128::from(s.bytes) * i128::from(most) / i128::from(s.hz.max(1));
        let y = i128::from(s.time);
        for (sum, part) in sums.iter_mut().zip([1, x, y, x * x, x * y]) {
            *sum = sum.saturating_add(part);
        }
    }
    let [n, x, y, xx, xy] = sums;
    let over = n.saturating_mul(xx).saturating_sub(x.saturating_mul(x));
    let slope = n.saturating_mul(xy).saturating_sub(x.saturating_mul(y));
    if over <= 0 || slope <= 0 {
        return Err(Unknown::NotFaster);
    }
    let transfer = slope.saturating_mul(65_536) / over;
    let base = (y - transfer.saturating_mul(x) / 65_536) / n;
    let (Ok(transfer), Ok(base)) = (i64::try_from(transfer), i64::try_from(base)) else {
        return Err(Unknown::NotFaster);
    };
    Ok(Law { base: base.max(0), transfer, software: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_of_two_clocks_is_found_and_one_clock_says_nothing() {
        let own = Law { base: 60_000, transfer: 96_000, software: 0 };
        let at = |hz: u64, bytes: u64| Sample { bytes, hz, time: own.service(bytes, hz, 400) };
        let two: Vec<Sample> =
            (1..=40).flat_map(|n| [at(100, n * 4_096), at(400, n * 4_096)]).collect();
        let found = law(&two, 400).unwrap();
        assert!((found.base - own.base).abs() <= 2 && (found.transfer - own.transfer).abs() <= 2);
        let one: Vec<Sample> = two.iter().copied().filter(|s| s.hz == 400).collect();
        assert_eq!(law(&one, 400), Err(Unknown::Clocks([(400, 40)].into_iter().collect())));
        let same: Vec<Sample> = two.iter().map(|s| Sample { time: 500_000, ..*s }).collect();
        assert_eq!(law(&same, 400), Err(Unknown::NotFaster));
    }
}
