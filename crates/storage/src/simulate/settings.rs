//! What a disk is like, and what can be set.

use super::ondemand::Thresholds;

/// How long the drive needs for a request at its fastest clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// Whatever the clock, ns.
    pub base: i64,
    /// For 64 KiB at the fastest clock, ns; in proportion for other sizes, and
    /// longer by the ratio of the clocks.
    pub transfer: i64,
    /// What the kernel adds to each request, ns.
    pub software: i64,
}

impl Law {
    /// Time of service at `clock` where the fastest is `most`, ns.
    pub fn service(&self, bytes: u64, clock: u64, most: u64) -> i64 {
        let t = u128::from(self.transfer.max(0).unsigned_abs()) * u128::from(bytes) / 65_536;
        let t = t * u128::from(most) / u128::from(clock.max(1));
        self.base.saturating_add(i64::try_from(t).unwrap_or(i64::MAX))
    }
}

/// Falling asleep and waking, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nap {
    /// From the decision until it sleeps; who comes meanwhile waits for the end
    /// of it and then for `wake`.
    pub enter: i64,
    /// From the first request until it serves again.
    pub wake: i64,
}

/// What the storage is like; nobody sets this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// What a request takes.
    pub law: Law,
    /// What the clock can be, Hz, slowest first; never empty.
    pub levels: Vec<u64>,
    /// The clock at the begin, an index of `levels`.
    pub start: usize,
    /// Time of a change of the clock, ns.
    pub change: i64,
    /// A change begins when what is under way has ended, and new requests wait
    /// for its end, as UFS does (`ufshcd_clock_scaling_prepare`).
    pub waits: bool,
    /// Clock gating.
    pub gate: Nap,
    /// Runtime suspend and resume: the worker, parents and the driver.
    pub suspend: Nap,
}

/// Who chooses the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// By the share of time that requests are under way.
    SimpleOndemand(Thresholds),
    /// Always the fastest that is allowed.
    Performance,
    /// Always the slowest that is allowed.
    Powersave,
}

/// When a decision that finds nobody at work stops the looks until the next request
/// (`ufshcd_devfreq_target` with `ufshcd_clk_scaling_suspend_work`,
/// drivers/ufs/core/ufshcd.c, 6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStop {
    /// Looks go on.
    Never,
    /// Unless it wants the fastest clock.
    UnlessRaised,
    /// Whatever it decided, as on Qualcomm's hosts.
    Always,
}

/// What can be set of devfreq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devfreq {
    /// Who decides.
    pub governor: Governor,
    /// Time between two looks, ns (`polling_interval`); 0: none.
    pub poll: i64,
    /// Time between two ticks of the kernel, ns: looks come at ticks; 0: at any time.
    pub tick: i64,
    /// An idle CPU is not woken for a look: it happens when the next request
    /// comes (`timer`: deferrable).
    pub deferrable: bool,
    /// What an idle look does to the looks after it.
    pub idle_stop: IdleStop,
    /// Never below this, Hz (`min_freq`).
    pub least: u64,
    /// Never above this, Hz (`max_freq`).
    pub most: u64,
}

impl Devfreq {
    /// When the look after one at `at` comes. A timer is counted in ticks, and one more
    /// so that it is never early (`calc_index`, kernel/time/timer.c, 6.12).
    pub(crate) fn after_poll(&self, at: i64) -> i64 {
        if self.tick <= 0 {
            return at.saturating_add(self.poll);
        }
        let ticks = at / self.tick + self.poll.saturating_add(self.tick - 1) / self.tick + 1;
        ticks.saturating_mul(self.tick)
    }
}

/// Where a request of quality of service is made while requests are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qos {
    /// Nowhere.
    Off,
    /// On the device that devfreq listens to: the clock rises at once.
    Host {
        /// Dropped so long after the last request came, ns.
        timeout: i64,
    },
    /// On the disk, where devfreq does not listen: it counts at the next look.
    Disk {
        /// As above.
        timeout: i64,
    },
}

impl Qos {
    /// When it is dropped after the last request, ns.
    pub fn timeout(self) -> Option<i64> {
        match self {
            Qos::Off => None,
            Qos::Host { timeout } | Qos::Disk { timeout } => Some(timeout),
        }
    }
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The clock.
    pub devfreq: Devfreq,
    /// Quality of service.
    pub qos: Qos,
    /// The clock is gated so long after the last request, ns (`clkgate_delay_ms`);
    /// `None`: never.
    pub gate: Option<i64>,
    /// Suspended so long after the last request, ns (`autosuspend_delay_ms`);
    /// `None`: never.
    pub autosuspend: Option<i64>,
    /// The timer of autosuspend may be late by so many percent of the delay: the
    /// kernel gives it 25 (`rpm_suspend`, drivers/base/power/runtime.c, 6.12), and
    /// an idle CPU uses them.
    pub slack: u8,
}

/// The disk that kernels of the laboratory were measured with: 60 us, and 96 us
/// for 64 KiB at the faster of its two clocks. Nobody sets anything, and it
/// never sleeps.
pub fn laboratory() -> (Drive, Settings) {
    let drive = Drive {
        law: Law { base: 60_000, transfer: 96_000, software: 74_000 },
        levels: std::vec![100_000_000, 400_000_000],
        start: 0,
        change: 500_000,
        waits: false,
        gate: Nap { enter: 0, wake: 0 },
        suspend: Nap { enter: 0, wake: 3_000_000 },
    };
    let settings = Settings {
        devfreq: Devfreq {
            governor: Governor::SimpleOndemand(Thresholds { up: 70, down: 5 }),
            poll: 60_000_000,
            tick: 0,
            deferrable: false,
            idle_stop: IdleStop::Never,
            least: 0,
            most: u64::MAX,
        },
        qos: Qos::Off,
        gate: None,
        autosuspend: None,
        slack: 0,
    };
    (drive, settings)
}
