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
pub(crate) mod contention;
pub mod cost;
pub mod counts;
mod cycle;
mod emulator;
mod engine;
pub mod fingerprint;
mod floor;
pub mod kernel;
pub mod note;
pub mod outlook;
pub mod piece;
pub mod planned;
pub mod policy;
pub mod predict;
pub mod profile;
mod ratio;
pub mod resample;
mod run;
pub(crate) mod topology;
mod way;

pub use cost::{Costs, Cpus, Profile};
pub use counts::{EarlyReturns, Tally};
pub use emulator::Emulator;
pub use floor::Floor;
pub use kernel::Kernel;
pub use policy::Policy;
pub use run::{Run, Settings, Stuck};
pub use topology::Topology;

use dormouse_base::time::Ns;
use dormouse_board::Board;

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
pub(crate) fn run_within(
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
