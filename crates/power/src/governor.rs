//! Governors of power domains as arithmetic: whether a device may be suspended at
//! run time, whether its domain goes off, and how deep.
//!
//! | here | function of the kernel | file | version |
//! |---|---|---|---|
//! | [`Device::suspend_ok`] | `default_suspend_ok()`, `dev_update_qos_constraint()` | drivers/pmdomain/governor.c | 6.1 to 7.3 |
//! | [`Domain::power_down_ok`] | `_default_power_down_ok()`, `__default_power_down_ok()` | governor.c | 6.1 to 7.3 |
//! | [`Domain::power_down_ok`], residency | `update_domain_next_wakeup()`, `next_wakeup_allows_state()` | governor.c | 6.1 to 7.3 |
//! | [`reflect`] | `genpd_reflect_residency()` | drivers/pmdomain/core.c | 7.3, not 6.12 |
//!
//! (drivers/base/power/domain_governor.c in 6.1.) Integers, nanoseconds. What a
//! kernel remembers between decisions is in [`Device`] and [`Domain`]; what others
//! say at the moment of a decision is an argument.

/// `PM_QOS_RESUME_LATENCY_NO_CONSTRAINT_NS`: any latency will do.
pub const NO_CONSTRAINT: i64 = i32::MAX as i64 * 1_000;

/// `KTIME_MAX`: no wakeup is known.
pub const NEVER: i64 = i64::MAX;

/// What a kernel keeps of a device in a domain (`struct gpd_timing_data`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The longest suspend ever measured.
    pub suspend_latency: i64,
    /// The longest resume ever measured.
    pub resume_latency: i64,
    /// What is left of its constraint for its domain; 0 forbids suspending.
    pub effective: i64,
    /// Something changed since the last decision.
    pub changed: bool,
    /// The last decision.
    pub cached: bool,
    /// When it expects to be needed, or [`NEVER`].
    pub next_wakeup: i64,
}

impl Default for Device {
    /// As `genpd_alloc_dev_data()` makes it.
    fn default() -> Device {
        Device {
            suspend_latency: 0,
            resume_latency: 0,
            effective: NO_CONSTRAINT,
            changed: true,
            cached: false,
            next_wakeup: NEVER,
        }
    }
}

/// Why a device may be suspended at run time, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspend {
    /// Nothing changed since the last decision, which holds.
    Cached(bool),
    /// Its own constraint or that of a child is 0.
    Forbidden,
    /// Nobody constrains it.
    Unconstrained,
    /// So much of the constraint is left for its domain.
    Left(i64),
    /// Suspending and resuming it takes so much longer than the constraint allows,
    /// or exactly as long (0).
    TooSlow(i64),
}

impl Suspend {
    /// Whether the device may be suspended.
    pub fn ok(self) -> bool {
        matches!(self, Suspend::Cached(true) | Suspend::Unconstrained | Suspend::Left(_))
    }
}

impl Device {
    /// `constraint` is the device's own, in nanoseconds; `children` gives that of
    /// each child: what is left of it if the child is in a domain, else its own.
    pub fn suspend_ok(
        &mut self,
        constraint: i64,
        children: impl IntoIterator<Item = i64>,
    ) -> Suspend {
        if !self.changed {
            return Suspend::Cached(self.cached);
        }
        self.changed = false;
        self.cached = false;
        self.effective = 0;
        if constraint == 0 {
            return Suspend::Forbidden;
        }
        let least = children.into_iter().fold(constraint, i64::min);
        if least == 0 {
            return Suspend::Forbidden;
        }
        if least == NO_CONSTRAINT {
            self.effective = NO_CONSTRAINT;
            self.cached = true;
            return Suspend::Unconstrained;
        }
        let left = least - (self.suspend_latency + self.resume_latency);
        if left <= 0 {
            return Suspend::TooSlow(-left);
        }
        self.effective = left;
        self.cached = true;
        Suspend::Left(left)
    }
}

/// One way to be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `power_off_latency_ns`.
    pub off: i64,
    /// `power_on_latency_ns`.
    pub on: i64,
    /// `residency_ns`.
    pub residency: i64,
}

/// What a kernel keeps of a domain (`struct genpd_governor_data`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its states, shallow first.
    pub states: Vec<State>,
    /// `GENPD_FLAG_MIN_RESIDENCY`.
    pub min_residency: bool,
    /// Something changed since the last decision.
    pub changed: bool,
    /// How long it may be off, as its parents see it; negative for any time.
    pub max_off: i64,
    /// The last decision, and the state of it as the kernel stored it.
    pub cached: (bool, usize),
    /// When it or something inside expects to be needed, or [`NEVER`].
    pub next_wakeup: i64,
    /// `state_idx`: the state that it goes to, or is in.
    pub index: usize,
}

impl Domain {
    /// As `pm_genpd_init()` makes it.
    pub fn new(states: Vec<State>) -> Domain {
        Domain {
            states,
            min_residency: false,
            changed: true,
            max_off: -1,
            cached: (false, 0),
            next_wakeup: NEVER,
            index: 0,
        }
    }
}

/// What a domain inside says: how long it may be off, negative for any time (also
/// without a governor), and when it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its `max_off_time_ns`.
    pub max_off: i64,
    /// Its `next_wakeup`, or [`NEVER`].
    pub next_wakeup: i64,
}

/// What forbids a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The child at this place may be off for so long only.
    Child(usize, i64),
    /// So much is left of the constraint of the device at this place.
    Device(usize, i64),
}

/// Why a domain goes off, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerDown {
    /// Whether it goes off.
    pub ok: bool,
    /// The state that it goes to; it is set even where it stays on.
    pub state: usize,
    /// Nothing changed since the last decision, which holds.
    pub cached: bool,
    /// Its parents must decide anew.
    pub marks_parents: bool,
    /// Somebody is expected too early for deeper states than this, or for any.
    pub wakeup: Option<Option<usize>>,
    /// States that were too slow, deepest first, and what they were too slow for.
    pub refused: Vec<(usize, Limit)>,
}

impl Domain {
    /// Decides at `now`. `children` and `devices` are in the kernel's order, which
    /// decides only which limit is named.
    pub fn power_down_ok(&mut self, children: &[Child], devices: &[Device], now: i64) -> PowerDown {
        let mut out = PowerDown {
            ok: false,
            state: 0,
            cached: false,
            marks_parents: false,
            wakeup: None,
            refused: Vec::new(),
        };
        let mut state = self.states.len().saturating_sub(1);
        if self.min_residency {
            let known = children
                .iter()
                .map(|c| c.next_wakeup)
                .chain(devices.iter().map(|d| d.next_wakeup))
                .filter(|&w| w != NEVER && w >= now);
            self.next_wakeup = known.min().unwrap_or(NEVER);
            if self.next_wakeup != NEVER {
                let idle = self.next_wakeup - now;
                let fits = |s: &State| idle >= s.off + s.residency;
                let deepest = self.states.iter().rposition(fits);
                out.wakeup = Some(deepest);
                let Some(deepest) = deepest else {
                    self.cached = (false, 0);
                    self.index = 0;
                    return out;
                };
                state = deepest;
                self.changed = true;
            }
        }
        if !self.changed {
            (out.ok, out.state) = self.cached;
            out.cached = true;
            self.index = out.state;
            return out;
        }
        out.marks_parents = true;
        self.max_off = -1;
        self.changed = false;
        out.ok = true;
        while let Err(limit) = self.fits(state, children, devices) {
            out.refused.push((state, limit));
            if state == 0 {
                out.ok = false;
                break;
            }
            state -= 1;
        }
        out.state = state;
        self.index = state;
        // The kernel keeps the state in a bool (`cached_power_down_state_idx`, 6.12,
        // 7.3): any but the shallowest comes back as 1.
        self.cached = (out.ok, state.min(1));
        out
    }

    /// Whether everybody waits long enough for `state`; sets `max_off` if so.
    fn fits(&mut self, state: usize, children: &[Child], devices: &[Device]) -> Result<(), Limit> {
        let State { off, on, .. } = self.states.get(state).copied().unwrap_or_default();
        let mut least: Option<i64> = None;
        for (i, c) in children.iter().enumerate().filter(|(_, c)| c.max_off >= 0) {
            if c.max_off <= off + on {
                return Err(Limit::Child(i, c.max_off));
            }
            least = Some(least.map_or(c.max_off, |l| l.min(c.max_off)));
        }
        for (i, d) in devices.iter().enumerate().filter(|(_, d)| d.effective != NO_CONSTRAINT) {
            if d.effective <= off + on {
                return Err(Limit::Device(i, d.effective));
            }
            least = Some(least.map_or(d.effective, |l| l.min(d.effective)));
        }
        if let Some(least) = least {
            self.max_off = least - on;
        }
        Ok(())
    }
}

/// What a sleep of `slept` in state `index` of a domain of CPUs counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflected {
    /// The state was right.
    Right,
    /// Too short for it.
    Above,
    /// Long enough for the next deeper one.
    Below,
}

/// Of the columns Above and Below of `idle_states` (7.3).
pub fn reflect(states: &[State], index: usize, slept: i64) -> Reflected {
    let enough = |s: &State| slept >= s.off + s.residency;
    match states.get(index).is_some_and(enough) {
        false => Reflected::Above,
        true if states.get(index + 1).is_some_and(enough) => Reflected::Below,
        true => Reflected::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;
    const MS: i64 = 1_000_000;

    fn state(off: i64, on: i64) -> State {
        State { off, on, residency: 0 }
    }

    /// A device with a constraint of `us`, as a decision leaves it.
    fn device(us: i64, suspend: i64, resume: i64) -> Device {
        let mut d =
            Device { suspend_latency: suspend, resume_latency: resume, ..Device::default() };
        assert!(d.suspend_ok(us * US, []).ok());
        d
    }

    /// Three settings of two kernels whose decisions were recorded in a guest.
    #[test]
    fn recorded_decisions_of_two_domains() {
        let decide = |d: Device| {
            let mut gpu = Domain::new(vec![state(MS, 2 * MS), state(5 * MS, 8 * MS)]);
            let mut top = Domain::new(vec![state(2_017_000, 4_016_000)]);
            let first = gpu.power_down_ok(&[], &[d], 0);
            let inside = Child { max_off: gpu.max_off, next_wakeup: NEVER };
            let second = first.ok.then(|| top.power_down_ok(&[inside], &[], 0).ok);
            (first.ok.then_some(first.state), second)
        };
        // 6.12 had measured longer latencies of the device than 7.3 in this setting.
        assert_eq!(decide(device(13_900, 703_088, 416_448)), (Some(0), Some(true)));
        assert_eq!(decide(device(13_900, 390 * US, 410 * US)), (Some(1), Some(false)));
        assert_eq!(decide(device(20_000, 703_088, 416_448)), (Some(1), Some(true)));
        assert_eq!(decide(device(3_000, 703_088, 416_448)), (None, None));
    }

    #[test]
    fn a_device_is_asked_only_when_something_changed() {
        let mut d = Device { suspend_latency: 300, resume_latency: 200, ..Device::default() };
        assert_eq!(d.suspend_ok(NO_CONSTRAINT, []), Suspend::Unconstrained);
        assert_eq!(d.suspend_ok(0, []), Suspend::Cached(true));
        d.changed = true;
        assert_eq!(d.suspend_ok(NO_CONSTRAINT, [501, NO_CONSTRAINT]), Suspend::Left(1));
        d.changed = true;
        assert_eq!(d.suspend_ok(500, []), Suspend::TooSlow(0));
        assert_eq!((d.effective, d.cached), (0, false));
        d.changed = true;
        assert_eq!(d.suspend_ok(500, [0]), Suspend::Forbidden);
        assert_eq!(d.suspend_ok(NO_CONSTRAINT, []), Suspend::Cached(false));
    }

    /// A deep state comes back from the cache as state 1.
    #[test]
    fn a_cached_state_is_a_bool() {
        let mut d = Domain::new(vec![state(1, 1), state(2, 2), state(3, 3)]);
        assert_eq!(d.power_down_ok(&[], &[], 0).state, 2);
        let again = d.power_down_ok(&[], &[], 0);
        assert_eq!((again.ok, again.state, again.cached), (true, 1, true));
        assert_eq!(d.index, 1);
    }

    #[test]
    fn an_expected_wakeup_forbids_deep_states_and_is_never_cached() {
        let long = |off, residency| State { off, on: 0, residency };
        let mut d = Domain { min_residency: true, ..Domain::new(vec![long(1, 9), long(5, 95)]) };
        let device = |next_wakeup| Device { next_wakeup, ..Device::default() };
        assert_eq!(d.power_down_ok(&[], &[device(200)], 100).state, 1);
        let early = d.power_down_ok(&[], &[device(199)], 100);
        assert_eq!((early.ok, early.state, early.wakeup), (true, 0, Some(Some(0))));
        let none = d.power_down_ok(&[], &[device(109)], 100);
        assert_eq!((none.ok, none.wakeup, none.marks_parents), (false, Some(None), false));
        // One that is past is no wakeup; what was cached then holds.
        assert!(d.power_down_ok(&[], &[device(99)], 100).cached);
    }

    #[test]
    fn a_sleep_is_right_above_or_below() {
        use Reflected::{Above, Below, Right};
        let long = |off, on, residency| State { off, on, residency };
        let states = [long(1, 1, 10), long(5, 5, 100)];
        let kept = [10, 11, 104, 105].map(|slept| reflect(&states, 0, slept));
        assert_eq!(kept, [Above, Right, Right, Below]);
        assert_eq!([104, 105].map(|slept| reflect(&states, 1, slept)), [Above, Right]);
    }
}
