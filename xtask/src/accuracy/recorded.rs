//! A recording of the laboratory beside the board file it was made from.

use anyhow::{Context, Result};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_board::derive::{Derived, derive};
use dormouse_read::{Input, Options};
use dormouse_sleep::simulate::kernel::Kernel;
use dormouse_sleep::simulate::planned::{Plan, apply, guest};
use dormouse_sleep::simulate::predict::Scheduler;
use dormouse_sleep::simulate::{Profile, Settings};

/// The recording in a file.
pub(crate) fn capture(file: &str) -> Result<Capture> {
    let reading = dormouse_read::read(&[Input::from_arg(file)], &Options::default())?;
    reading.captures.into_iter().next().context("the recording is empty")
}

/// What a prediction begins from.
pub(crate) struct Machine {
    /// The devices, with the work that is to be predicted from.
    pub derived: Derived,
    /// The kernel that was recorded.
    pub by: Scheduler,
    /// Its costs.
    pub settings: Settings,
}

/// The machine that slept in `cycle` with `idle` workers left from before: its
/// board does what was `planned`. The guest's own devices do what a recording of
/// the guest `alone` says; what is not there, what this one says.
pub(crate) fn machine(
    capture: &Capture,
    cycle: &Cycle,
    planned: &Plan,
    alone: &Plan,
    costs: &Profile,
    idle: u32,
) -> Result<Machine> {
    let kernel = Kernel::parse(capture.names.get(cycle.kernel)).context("no kernel")?;
    let by = Scheduler { policy: kernel.policy(), kernel: Some(kernel) };
    let one = Capture { cycles: vec![cycle.clone()], ..capture.clone() };
    let mut derived = derive(&one).map_err(anyhow::Error::msg)?;
    let own = guest(&derived.board, planned);
    // A device of the board may be called as one of the guest's.
    let alone: Plan =
        alone.iter().filter(|(k, _)| own.contains_key(*k)).map(|(k, w)| (k.clone(), *w)).collect();
    apply(&mut derived.board, &[planned, &alone, &own]);
    let profile = Profile { idle_workers: idle, ..costs.clone() };
    Ok(Machine { derived, by, settings: Settings { profile, pm_async: None, wakeup_at: None } })
}
