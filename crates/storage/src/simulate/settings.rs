//! What a disk is like, and what can be set.

use super::ondemand::Thresholds;
use alloc::vec::Vec;

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
        let t = i128::from(self.transfer) * i128::from(bytes) / 65_536;
        let t = t * i128::from(most) / i128::from(clock.max(1));
        self.base.saturating_add(i64::try_from(t).unwrap_or(i64::MAX))
    }
}

/// The clock and who changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What it can be, Hz, slowest first; never empty.
    pub levels: Vec<u64>,
    /// Time of a change, ns.
    pub change: i64,
    /// New requests wait while it changes, as UFS does
    /// (`ufshcd_clock_scaling_prepare`).
    pub blocks: bool,
    /// Time between two looks of the governor, ns (`polling_interval`).
    pub poll: i64,
    /// Of the governor simple_ondemand.
    pub thresholds: Thresholds,
    /// Never below this, Hz (`min_freq`).
    pub least: u64,
}

/// Where a request of quality of service is made while reads are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qos {
    /// Nowhere.
    Off,
    /// On the device that devfreq listens to: the clock rises at once.
    Host {
        /// Dropped so long after the last request, ns.
        timeout: i64,
    },
    /// On the disk, where devfreq does not listen: it counts at the next look.
    Disk {
        /// As above.
        timeout: i64,
    },
}

/// Runtime suspend of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// Suspended so long after the last request, ns (`autosuspend_delay_ms`).
    pub delay: i64,
    /// Time to resume, ns: the worker, parents and the driver.
    pub resume: i64,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The drive.
    pub law: Law,
    /// The clock.
    pub clock: Clock,
    /// Quality of service.
    pub qos: Qos,
    /// Runtime suspend; `None` if it is forbidden.
    pub sleep: Option<Sleep>,
}

impl Settings {
    /// The disk that kernels of the laboratory were measured with: 60 us, and 96 us
    /// for 64 KiB at the faster of its two clocks. Nobody sets anything, and it
    /// never sleeps.
    pub fn laboratory() -> Settings {
        Settings {
            law: Law { base: 60_000, transfer: 96_000, software: 74_000 },
            clock: Clock {
                levels: alloc::vec![100_000_000, 400_000_000],
                change: 500_000,
                blocks: false,
                poll: 60_000_000,
                thresholds: Thresholds { up: 70, down: 5 },
                least: 0,
            },
            qos: Qos::Off,
            sleep: None,
        }
    }
}

/// Who asks for requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each at its time (ns) with its bytes, whatever became of the others.
    Open(Vec<(i64, u64)>),
    /// One after the other: `count` requests of `bytes`; after each `burst` of
    /// them the next begins `pause` ns after the last one ended.
    Closed {
        /// Requests in all.
        count: u32,
        /// Bytes of each.
        bytes: u64,
        /// Requests without a pause between them.
        burst: u32,
        /// Between bursts, ns.
        pause: i64,
    },
    /// As `Closed`, and each burst begins at its time, every `period` ns.
    Paced {
        /// Requests in all.
        count: u32,
        /// Bytes of each.
        bytes: u64,
        /// Requests without a pause between them.
        burst: u32,
        /// From the begin of a burst to the begin of the next, ns.
        period: i64,
    },
}
