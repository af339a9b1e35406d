//! What a machine does under one scheduler.

use super::bounds::{Bounds, bounds};
use super::cost::Cpus;
use super::kernel::Kernel;
use super::{Policy, Run, Settings, Stuck, Topology, run};
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::assumed::Assumed;

/// A policy and the kernel that was asked for, if it was one.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// The rules.
    pub policy: &'static Policy,
    /// The release.
    pub kernel: Option<Kernel>,
}

impl Scheduler {
    /// What a reader should know of these rules for `board`: that they were verified on no
    /// kernel, or ask what the machine does not tell.
    pub fn cautions(&self, board: &Board) -> Vec<Assumed> {
        let mut list = Vec::new();
        if self.kernel.is_some_and(|k| k.is_beyond_knowledge()) {
            list.push(Assumed::BeyondKnowledge);
        }
        let policy = self.policy;
        if !policy.is_verified() {
            list.push(Assumed::Unverified(policy.name, policy.kernels));
        }
        if policy.passes_inert {
            list.extend(super::topology::inert_untold(board));
        }
        list
    }
}

/// What is predicted of one machine under one scheduler.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The rules.
    pub scheduler: Scheduler,
    /// The schedule.
    pub run: Run,
    /// What no schedule can beat.
    pub bounds: Bounds,
    /// `pm_async` was on.
    pub pm_async: bool,
    /// Range of the way down and up over resampled cycles: nine of ten fall
    /// inside. `None` with less than two cycles.
    pub range: Option<[(Ns, Ns); 2]>,
}

impl Outlook {
    /// Time of one phase; zero if it did not run.
    pub fn phase(&self, phase: Phase) -> Ns {
        self.run.cycle.phase(phase).map_or(Ns::ZERO, |p| p.duration())
    }

    /// Time of the device phases of one direction.
    pub fn half(&self, direction: Direction) -> Ns {
        half(&self.run.cycle, direction)
    }
}

fn half(cycle: &Cycle, direction: Direction) -> Ns {
    cycle.phases.iter().filter(|p| p.phase.direction() == direction).map(|p| p.duration()).sum()
}

/// Runs `board` once.
///
/// # Errors
/// [`Stuck`].
pub fn outlook(board: &Board, by: Scheduler, settings: &Settings) -> Result<Outlook, Stuck> {
    let mut settings = settings.clone();
    settings.complete(board.cpus, by.kernel.as_ref());
    let topology = Topology::new(board)?;
    let run = run(&topology, by.policy, &settings)?;
    let pm_async = by.policy.workers && settings.pm_async.unwrap_or(board.pm_async);
    let cpus = settings.profile.cpus.as_ref().unwrap_or(&Cpus::Unlimited);
    let bounds = bounds(&topology, &run.cycle, cpus, pm_async);
    Ok(Outlook { scheduler: by, run, bounds, pm_async, range: None })
}

/// Why `board` has no schedule, with the names of the devices and what to do.
pub fn hang(board: &Board, stuck: &Stuck) -> String {
    match stuck {
        Stuck::Deadlock { devices, limit, .. } => {
            let names: Vec<&str> = devices
                .iter()
                .take(6)
                .filter_map(|d| board.graph.devices.get(d.index()))
                .map(|d| board.names.get(d.name))
                .collect();
            let names = names.join(", ");
            match limit {
                Some(n) => format!(
                    "{stuck}: {names}. All {n} asynchronous devices that the kernel runs at once \
                     wait for others that are queued behind them; let fewer be asynchronous"
                ),
                None => format!(
                    "{stuck}: {names}. A dependency against the device order does this; see \
                     `dormouse check`"
                ),
            }
        }
        _ => stuck.to_string(),
    }
}
