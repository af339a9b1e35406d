//! Shares of a whole, in integers.

use dormouse_base::time::Ns;

/// `part` of `whole` in tenths of a percent, rounded.
pub fn per_mille(part: Ns, whole: Ns) -> u32 {
    if whole.0 <= 0 {
        return 0;
    }
    let p = i128::from(part.0.max(0)) * 1000 + i128::from(whole.0) / 2;
    u32::try_from(p / i128::from(whole.0)).unwrap_or(u32::MAX)
}

/// Whether [`per_mille`] is below `limit`, without a division.
pub(super) fn is_below(part: Ns, whole: Ns, limit: u32) -> bool {
    let p = i128::from(part.0.max(0)) * 1000 + i128::from(whole.0) / 2;
    whole.0 > 0 && p < i128::from(limit) * i128::from(whole.0)
}
