//! The phases of a cycle in their order, and what happens after an error.

use super::cost::Cpus;
use super::engine::cpu::{CpuModel, Icount, Smp, Unlimited};
use super::engine::{Ended, Engine, Failure, MAIN, state};
use super::floor::FlagsFloor;
use super::{Policy, Run, Settings, Stuck, Topology};
use dormouse_base::cycle::{Cycle, Mode, Outcome, PhaseSpan, Thread};
use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_base::trip::Trip;

/// How far down the cycle got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Prepare,
    Suspend,
    Late,
    Noirq,
    Asleep,
}

/// Why there is no whole cycle.
pub(super) enum NoRun {
    Stuck(Stuck),
    /// It takes longer than the limit.
    Late,
}

/// What a search knows of the cycle it asks for.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    /// Of the same topology, flags and settings.
    pub(super) floor: FlagsFloor<'a>,
    /// Longer cycles do not matter.
    pub(super) limit: Ns,
}

impl Search<'_> {
    /// Lets `e` know how late `phase` may end at most, and what is left of it.
    fn begin<'a, C: CpuModel>(search: Option<Search<'a>>, e: &mut Engine<'a, C>, phase: Phase) {
        if let Some(s) = search {
            e.limit = s.limit - s.floor.after(phase);
            e.left = s.floor.left(phase);
        }
    }
}

/// Runs a cycle on the CPUs of the profile. For a `search` it gives up as soon
/// as it takes longer than that allows, and records no callbacks.
pub(super) fn run(
    topology: &Topology,
    policy: &Policy,
    settings: &Settings,
    search: Option<Search<'_>>,
) -> Result<Run, NoRun> {
    let limited = matches!(&settings.profile.cpus, Some(Cpus::List(l)) if !l.is_empty());
    if !limited {
        run_on::<Unlimited>(topology, policy, settings, search)
    } else if settings.profile.emulator.is_some() {
        run_on::<Icount>(topology, policy, settings, search)
    } else {
        run_on::<Smp>(topology, policy, settings, search)
    }
}

fn run_on<'a, C: CpuModel>(
    topology: &'a Topology,
    policy: &'a Policy,
    settings: &'a Settings,
    search: Option<Search<'a>>,
) -> Result<Run, NoRun> {
    if search.is_some_and(|s| s.limit < s.floor.after(Phase::Prepare)) {
        return Err(NoRun::Late);
    }
    let mut e = Engine::<C>::new(topology, policy, settings, search.is_none());
    let mut cycle = Cycle {
        mode: Mode::Simulated,
        outcome: Outcome::Slept,
        phases: std::vec::Vec::with_capacity(9),
        ..Cycle::default()
    };

    let trip = topology.trip;
    e.dpm_prepare();
    span(&mut cycle, trip, Phase::Prepare, Ns::ZERO, e.now);
    let mut depth = Depth::Prepare;
    let mut failure = e.error;
    for (phase, reached) in
        [(Phase::Suspend, Depth::Suspend), (Phase::Late, Depth::Late), (Phase::Noirq, Depth::Noirq)]
    {
        if failure.is_some() {
            break;
        }
        depth = reached;
        Search::begin(search, &mut e, phase);
        middle(&mut e, &mut cycle, phase)?;
        failure = e.error;
    }
    if failure.is_none() {
        depth = Depth::Asleep;
        // The noirq phase does not look for wakeup events; the last look is
        // taken before the machine stops.
        if settings.wakeup_at.is_some_and(|w| w <= e.now) {
            failure = Some(Failure::Wakeup);
        } else {
            cycle.asleep = Some((e.now, e.now));
        }
    }
    cycle.outcome = match failure {
        None => Outcome::Slept,
        Some(Failure::Wakeup) => Outcome::AbortedByWakeup,
        Some(Failure::Device { device, errno }) => {
            Outcome::AbortedByDevice { device: Some(DeviceId(device)), errno }
        }
    };

    // Powered off, or another kernel's image takes over.
    if trip.up.is_none() && failure.is_none() {
        return Ok(finish(e, cycle));
    }
    // A failed phase is undone from its own mirror on.
    if depth >= Depth::Noirq {
        Search::begin(search, &mut e, Phase::ResumeNoirq);
        middle(&mut e, &mut cycle, Phase::ResumeNoirq)?;
    }
    if depth >= Depth::Late {
        let late_failed = depth == Depth::Late;
        Search::begin(search, &mut e, Phase::ResumeEarly);
        middle(&mut e, &mut cycle, Phase::ResumeEarly)?;
        if late_failed {
            // dpm_resume_early() runs inside the bracket of the failed phase.
            let end = e.now;
            if let Some(late) = cycle.phases.iter_mut().find(|p| p.phase == Phase::Late) {
                late.end = end;
            }
        }
    }
    Search::begin(search, &mut e, Phase::Resume);
    middle(&mut e, &mut cycle, Phase::Resume)?;
    let start = e.now;
    e.dpm_complete();
    span(&mut cycle, trip, Phase::Complete, start, e.now);
    Ok(finish(e, cycle))
}

/// Everything that is known at the end.
fn finish<C: CpuModel>(mut e: Engine<'_, C>, mut cycle: Cycle) -> Run {
    cycle.end = e.now;
    cycle.counts = e.tally.counts();
    if e.records {
        cycle.threads = (0..e.threads().min(usize::from(u16::MAX) + 1))
            .map(|i| Thread { pid: 0, name: Sym::EMPTY, is_main: Some(i == MAIN as usize) })
            .collect();
        cycle.callbacks = std::mem::take(&mut e.callbacks);
        cycle.switches = std::mem::take(&mut e.switches);
    }
    Run { cycle, tally: e.tally }
}

fn middle<C: CpuModel>(
    e: &mut Engine<'_, C>,
    cycle: &mut Cycle,
    phase: Phase,
) -> Result<(), NoRun> {
    match e.run_phase(phase) {
        Ok(start) => {
            span(cycle, e.topology.trip, phase, start, e.now);
            Ok(())
        }
        Err(Ended::Deadlock) => {
            let limit = e.queued_above();
            Err(NoRun::Stuck(Stuck::Deadlock { phase, devices: e.not_done(20), limit }))
        }
        Err(Ended::Late) => Err(NoRun::Late),
    }
}

fn span(cycle: &mut Cycle, trip: Trip, phase: Phase, start: Ns, end: Ns) {
    let event = trip.event(phase.direction());
    cycle.phases.push(PhaseSpan {
        phase,
        event,
        start,
        end,
        cpu: 0,
        complete: true,
        printed: None,
    });
}

impl<C: CpuModel> Engine<'_, C> {
    /// Devices of the current phase that are not done, at most `limit`.
    fn not_done(&self, limit: usize) -> std::vec::Vec<DeviceId> {
        self.pending()
            .filter(|&(_, flags)| flags & state::DONE == 0)
            .map(|(d, _)| DeviceId(d))
            .take(limit)
            .collect()
    }
}
