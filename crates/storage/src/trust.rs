//! When a model is near enough to what was recorded to answer for it, and a difference
//! large enough to be one.

/// Mean latencies that agree so well are reproduced: parts of a hundred, and ns. Boots of
/// one load in one kernel differ by as much themselves, and a short latency by what an
/// interrupt costs.
const REPRODUCED: (i64, i64) = (3, 20_000);

/// Whether a model has what was recorded, by mean latencies, ns.
pub fn reproduced(model: i64, recorded: i64) -> bool {
    let off = i128::from(model).abs_diff(i128::from(recorded));
    let percent = i128::from(recorded).unsigned_abs() * REPRODUCED.0.unsigned_abs() as u128;
    off * 100 <= percent || off <= u128::from(REPRODUCED.1.unsigned_abs())
}

/// Delays of one setting are apart by at most this, ns: the work item waits for a tick of
/// the timer, which is 10 ms at most (HZ=100).
const TICK: i64 = 10_000_000;

/// Whether rests from `least` to `most` ns, after which a storage fell asleep, can be of
/// one delay.
pub fn is_one_delay(least: i64, most: i64) -> bool {
    most.saturating_sub(least) <= TICK || most <= least.saturating_mul(2)
}

/// A saving of less than one part of so many is none: the model's own error is larger.
const WORTH: i128 = 100;

/// Whether `then` costs so much less than `now` that a setting should be changed.
pub fn is_worth(now: i128, then: i128) -> bool {
    now.saturating_sub(then).saturating_mul(WORTH) > now
}

/// Requests from which a guest's own part of a latency is fitted: so many that their
/// median is the kernel's and not of a few that something else delayed.
pub const FITTED_FROM: u32 = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_enough_and_large_enough() {
        assert!(reproduced(1_030_000, 1_000_000) && !reproduced(1_031_000, 1_000_000));
        assert!(reproduced(70_000, 50_000) && !reproduced(71_000, 50_000));
        assert!(is_one_delay(1, 10_000_001) && is_one_delay(50_000_000, 100_000_000));
        assert!(!is_one_delay(20_000_000, 50_000_000));
        assert!(is_worth(1_000, 989) && !is_worth(1_000, 990) && !is_worth(1_000, 1_100));
    }
}
