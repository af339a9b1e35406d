//! The kernel's suspend and resume of devices, simulated for every generation
//! of its scheduling.
//!
//! [`engine`] is the mechanism: threads, workers, mutexes, completions, CPUs.
//! [`policy`] says what a kernel does with a device that is reached, finished
//! or triggered, one file per generation. [`cost`] holds what the machinery
//! costs. A schedule made here is a [`Cycle`] like any observed one.

pub mod bounds;
pub mod calibrate;
mod cause;
pub mod change;
pub mod contention;
pub mod cost;
pub mod counts;
mod cycle;
mod emulator;
mod engine;
pub mod fingerprint;
mod floor;
pub mod infer;
pub mod kernel;
pub mod note;
pub mod planned;
pub mod policy;
pub mod predict;
pub mod profile;
pub mod resample;
pub(crate) mod topology;

pub use cost::{Costs, Cpus, Profile};
pub use counts::{EarlyReturns, Tally};
pub use emulator::Emulator;
pub use floor::Floor;
pub use kernel::Kernel;
pub use policy::Policy;
pub use topology::Topology;

use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::Board;
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

/// Runs a whole cycle of `board`.
///
/// # Errors
/// [`Stuck`] for a board that is no machine, and for a graph on which the
/// kernel would hang.
pub fn simulate(board: &Board, policy: &Policy, settings: &Settings) -> Result<Run, Stuck> {
    run(&Topology::new(board)?, policy, settings)
}

/// Runs a whole cycle of a compiled board.
///
/// # Errors
/// [`Stuck::Deadlock`].
pub fn run(topology: &Topology, policy: &Policy, settings: &Settings) -> Result<Run, Stuck> {
    match cycle::run(topology, policy, settings, None) {
        Ok(run) => Ok(run),
        Err(cycle::NoRun::Stuck(stuck)) => Err(stuck),
        // Nothing lasts longer than this.
        Err(cycle::NoRun::Late) => Err(Stuck::BadBoard { device: None }),
    }
}

/// [`run`] for a search that knows a better schedule: `None` as soon as it is
/// certain that the cycle, device phases and the time between them, takes longer
/// than `limit`. `floor` is of the same topology and settings. The cycle has its
/// phases, but neither callbacks nor threads.
///
/// # Errors
/// [`Stuck::Deadlock`], if it is met before that.
pub fn run_within(
    topology: &Topology,
    policy: &Policy,
    settings: &Settings,
    floor: &Floor,
    limit: Ns,
) -> Result<Option<Run>, Stuck> {
    let floor = floor.with_flags(topology);
    match cycle::run(topology, policy, settings, Some(cycle::Search { floor, limit })) {
        Ok(run) => Ok(Some(run).filter(|r| r.cycle.end <= limit)),
        Err(cycle::NoRun::Late) => Ok(None),
        Err(cycle::NoRun::Stuck(stuck)) => Err(stuck),
    }
}
