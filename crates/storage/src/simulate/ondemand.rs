//! devfreq's governor simple_ondemand (`devfreq_simple_ondemand_func`,
//! drivers/devfreq/governor_simpleondemand.c of 6.12 and 7.2).

/// "As fast as it goes" (`DEVFREQ_MAX_FREQ`).
pub const MOST: u64 = u64::MAX;

/// Thresholds in percent: defaults are the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Busier than this: as fast as it goes.
    pub up: u64,
    /// So much below `up` the clock may fall.
    pub down: u64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { up: 90, down: 5 }
    }
}

/// Thresholds that drivers have: the kernel's own, those of UFS, those of MediaTek's UFS
/// (drivers/ufs, 6.12).
pub const DRIVERS: [Thresholds; 3] = [
    Thresholds { up: 90, down: 5 },
    Thresholds { up: 70, down: 5 },
    Thresholds { up: 50, down: 20 },
];

/// What the driver reports of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Length, in any unit.
    pub total: u64,
    /// Busy part of it, in the same unit.
    pub busy: u64,
    /// Clock, Hz.
    pub current: u64,
}

/// The clock that the governor asks for, Hz; `None` if it refuses the
/// thresholds.
pub fn wanted(t: Thresholds, s: Status) -> Option<u64> {
    if t.up > 100 || t.up < t.down {
        return None;
    }
    if s.total == 0 {
        return Some(MOST);
    }
    let (mut total, mut busy) = (s.total, s.busy);
    // Room for the products below in the kernel's 32 bits and 64 here.
    if total >= 1 << 24 || busy >= 1 << 24 {
        total >>= 7;
        busy >>= 7;
    }
    if busy * 100 > total * t.up || s.current == 0 {
        return Some(MOST);
    }
    if busy * 100 > total * (t.up - t.down) {
        return Some(s.current);
    }
    let share = u128::from(busy) * u128::from(s.current) / u128::from(total.max(1));
    let clock = share * 100 / u128::from(t.up - t.down / 2).max(1);
    Some(u64::try_from(clock).unwrap_or(MOST))
}
