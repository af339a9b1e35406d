//! How a board is run, and what comes of it.

use super::cost::{Cpus, Profile};
use super::counts::Tally;
use super::kernel::Kernel;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::fmt;

/// How to run a board.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Costs, CPUs and pool.
    pub profile: Profile,
    /// `/sys/power/pm_async`; `None` takes the board's.
    pub pm_async: Option<bool>,
    /// A wakeup event happens at this time after the begin of the cycle.
    pub wakeup_at: Option<Ns>,
}

impl Settings {
    /// No costs, no competition: the ideal schedule.
    pub fn zero_cost() -> Settings {
        Settings { profile: Profile::zero(), pm_async: None, wakeup_at: None }
    }

    /// With so many CPUs, those of the board, and the limit of `kernel`, where the
    /// profile does not say.
    pub fn complete(&mut self, cpus: u32, kernel: Option<&Kernel>) {
        if self.profile.cpus.is_none() {
            self.profile.cpus = Some(Cpus::equal(cpus));
        }
        if let Some(emulator) = &mut self.profile.emulator {
            emulator.complete(kernel);
        }
        if self.profile.max_active.is_none() {
            self.profile.max_active = Some(kernel.map_or(1024, |k| k.max_active(cpus)));
        }
    }
}

/// A simulated cycle.
#[derive(Clone, Debug)]
pub struct Run {
    /// The schedule.
    pub cycle: Cycle,
    /// What the machinery did.
    pub tally: Tally,
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// A parent or link names a device that is not there, or itself.
    BadBoard {
        /// Where, if it is one device.
        device: Option<DeviceId>,
    },
    /// Threads wait for one another, as the kernel's would.
    Deadlock {
        /// In which phase.
        phase: Phase,
        /// Devices that were not done, in list order (the first twenty).
        devices: Vec<DeviceId>,
        /// How many asynchronous devices the kernel runs at once, if more were queued.
        limit: Option<u32>,
    },
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stuck::BadBoard { device: None } => f.write_str("the board has too many devices"),
            Stuck::BadBoard { device: Some(d) } => {
                write!(f, "device number {} has a parent or link that cannot be", d.0)
            }
            Stuck::Deadlock { phase, devices, .. } => write!(
                f,
                "the {} phase would hang: {} or more devices wait for one another",
                phase,
                devices.len()
            ),
        }
    }
}

impl std::error::Error for Stuck {}
