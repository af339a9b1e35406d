//! The self-check: the recording simulated as it was.
//!
//! A prediction changes something about a machine. If the machine without any
//! change does not come out as it was recorded, the prediction is about another
//! machine. So every device phase is simulated from its own callback times and
//! held against its recorded duration.

use super::late::{Late, late};
use crate::simulate::Settings;
use crate::simulate::outlook::{Scheduler, outlook};
use dormouse_base::complete::Edge;
use dormouse_base::cycle::{Cycle, Mode};
use dormouse_base::device::Device;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;
use dormouse_board::BoardDevice;
use dormouse_board::derive::Derived;
use serde::Serialize;

/// A phase that is shorter is always within the tolerance, and says nothing.
pub const WORTH: Ns = Ns(2_000_000);

/// So many unexplained waits are kept of a phase that is not reproduced.
const WAITS: usize = 3;

/// How well a phase, or a recording, is reproduced. The order is from good to
/// bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is no recording: a board file.
    #[default]
    NotApplicable,
    /// Within 3 % or 1 ms.
    Reproduced,
    /// Within 10 % or 3 ms.
    Partly,
    /// Further apart, or a part of the phase is missing.
    NotReproduced,
}

impl Verdict {
    /// The verdict on a phase that was `recorded` so long and comes out
    /// `simulated` long.
    pub fn on(recorded: Ns, simulated: Ns) -> Verdict {
        let apart = (simulated - recorded).0.saturating_abs();
        let within =
            |ms: i64, percent: i64| apart <= ms * 1_000_000 || apart / percent <= recorded.0 / 100;
        if within(1, 3) {
            Verdict::Reproduced
        } else if within(3, 10) {
            Verdict::Partly
        } else {
            Verdict::NotReproduced
        }
    }

    /// In words, as text shows it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NotApplicable => "not applicable",
            Verdict::Reproduced => "reproduced",
            Verdict::Partly => "partly",
            Verdict::NotReproduced => "not reproduced",
        }
    }
}

/// Why a phase cannot be held against its simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Its begin or its end is not in the recording.
    Bracket,
    /// So many callbacks began whose end is missing.
    Ends(u32),
    /// So many lines are torn, dropped or left out, or ends have no begin: what
    /// they said may be a callback of this phase.
    Lost(u32),
    /// No callback was recorded in it.
    Callbacks,
    /// All of it: what was recorded could not have come without it.
    Phase,
    /// It belongs to a hibernation and is not simulated.
    Event(PmEvent),
}

/// One device phase of one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Number of the cycle among those used.
    pub cycle: usize,
    /// Which phase.
    pub phase: Phase,
    /// Which event it ran for.
    pub event: PmEvent,
    /// As recorded.
    pub recorded: Ns,
    /// As simulated from its own callback times.
    pub simulated: Ns,
    /// What printing cost all its callbacks together, of both times.
    pub printing: Ns,
    /// Callbacks in it.
    pub callbacks: u32,
    /// Whether they agree.
    pub verdict: Verdict,
    /// What is missing of the recording, if something is.
    pub missing: Option<Missing>,
    /// The largest waits that nothing explains, the largest first.
    pub waits: Vec<Late>,
}

impl Check {
    /// Simulated less recorded.
    pub fn difference(&self) -> Ns {
        self.simulated - self.recorded
    }
}

/// The self-check of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fidelity {
    /// By cycle and then by time.
    pub checks: Vec<Check>,
    /// The same of prepare and complete. They are in the totals, but most logs list
    /// no callback of them (`initcall_debug` prints none in `device_prepare()`,
    /// drivers/base/power/main.c, v6.12), so they take no part in a verdict.
    pub walks: Vec<Check>,
    /// Of several cycles: the median of each phase, held against the simulation of the
    /// median of each callback. That is the machine which a prediction changes.
    pub pooled: Vec<Check>,
    /// `pm_async` was off, and the recording does not list the flags: nothing
    /// says which devices are asynchronous.
    pub blind: bool,
}

impl Fidelity {
    /// Of the whole: the worst of its phases that are worth a look.
    pub fn verdict(&self) -> Verdict {
        let phases = Phase::DEVICE.into_iter().filter_map(|p| self.phase(p));
        let worth = phases.filter(|c| c.recorded >= WORTH || c.verdict == Verdict::NotReproduced);
        let worst = worth.map(|c| c.verdict).max();
        match worst {
            Some(v) => v,
            None if self.checks.is_empty() => Verdict::NotApplicable,
            None => Verdict::Reproduced,
        }
    }

    /// The check that nine of ten cycles pass at least as well, or that of their
    /// medians where these come out worse.
    pub fn phase(&self, phase: Phase) -> Option<&Check> {
        let one = nine_of_ten(&self.checks, phase)?;
        let pooled = self.pooled.iter().find(|c| c.phase == phase);
        Some(pooled.filter(|p| p.verdict > one.verdict).unwrap_or(one))
    }

    /// Whether this check of [`Fidelity::phase`] is of the medians.
    pub fn is_pooled(&self, check: &Check) -> bool {
        self.pooled.iter().any(|p| std::ptr::eq(p, check))
    }

    /// The same of prepare and complete.
    pub fn walk(&self, phase: Phase) -> Option<&Check> {
        nine_of_ten(&self.walks, phase)
    }

    /// Whether the start or the end of this phase is not in the recording: it took
    /// at least what is seen of it.
    pub fn is_cut(&self, phase: Phase) -> bool {
        let all = self.checks.iter().chain(&self.walks);
        let mut all = all.filter(|c| c.phase == phase);
        all.any(|c| c.missing == Some(Missing::Bracket))
    }

    /// Whether a change of this phase may be claimed: it is larger than what the
    /// self-check is off, and twice as large where the phase is reproduced only
    /// partly.
    pub fn allows(&self, phase: Phase, change: Ns) -> bool {
        let Some(c) = self.phase(phase).or(self.walk(phase)) else { return true };
        let (change, off) = (change.0.saturating_abs(), c.difference().0.saturating_abs());
        match c.verdict {
            Verdict::NotReproduced => false,
            Verdict::Partly => change >= off.saturating_mul(2),
            _ => change >= off,
        }
    }

    /// What the model is off in all phases of a half together, prepare and complete too.
    pub fn off(&self, direction: Direction) -> Ns {
        let half = Phase::DEVICE.into_iter().filter(|p| p.direction() == direction);
        let checks = half.filter_map(|p| self.phase(p).or(self.walk(p)));
        checks.filter(|c| c.missing.is_none()).map(Check::difference).sum()
    }

    /// Whether `phase` is not reproduced, or not in the recording at all, as if a test
    /// level ended it before: what the model says of it, even that nothing changes, is
    /// no answer.
    pub fn misses(&self, phase: Phase) -> bool {
        let unseen = !self.checks.is_empty() && phase.may_be_async();
        self.phase(phase).map_or(unseen, |c| c.verdict == Verdict::NotReproduced)
    }

    /// Whether anything of this half was recorded; of a board file nothing need be.
    pub fn has(&self, direction: Direction) -> bool {
        self.checks.is_empty() || self.checks.iter().any(|c| c.phase.direction() == direction)
    }

    /// Phases that are not reproduced, in order of the cycle.
    pub fn not_reproduced(&self) -> Vec<&Check> {
        let all = Phase::DEVICE.into_iter().filter_map(|p| self.phase(p));
        all.filter(|c| c.verdict == Verdict::NotReproduced).collect()
    }
}

fn nine_of_ten(checks: &[Check], phase: Phase) -> Option<&Check> {
    let mut list: Vec<&Check> = checks.iter().filter(|c| c.phase == phase).collect();
    list.sort_by_key(|c| (c.verdict, c.difference().0.saturating_abs()));
    let nine = (list.len() * 9).div_ceil(10);
    list.get(nine.checked_sub(1)?).copied()
}

/// Checks `derived` against the `cycles` it was derived from, under the rules
/// of `by`.
pub fn check(cycles: &[&Cycle], derived: &Derived, by: Scheduler, settings: &Settings) -> Fidelity {
    let (mut checks, mut walks) = (Vec::new(), Vec::new());
    for (number, cycle) in cycles.iter().enumerate().take(derived.cycles.len()) {
        let board = derived.as_recorded(number);
        let simulated = outlook(&board, by, settings).ok();
        let line = derived.printing.get(number).copied().unwrap_or_default();
        let mut found: Option<Vec<Late>> = None;
        let mut seen = Vec::new();
        let spans = cycle.phases.iter().enumerate().filter(|(_, s)| s.phase.has_devices());
        for (place, span) in spans {
            let Some(index) = span.phase.device_index() else { continue };
            let missing = missing(cycle, place, seen.contains(&span.phase));
            seen.push(span.phase);
            let (recorded, _) = span.measured();
            let time = simulated.as_ref().map_or(Ns::ZERO, |o| o.phase(span.phase));
            let verdict = match missing {
                Some(missing) if refuses(missing, recorded) => Verdict::NotReproduced,
                Some(_) => Verdict::Reproduced,
                None => Verdict::on(recorded, time),
            };
            let mut waits = Vec::new();
            let list = if span.phase.may_be_async() { &mut checks } else { &mut walks };
            if verdict > Verdict::Reproduced && span.phase.may_be_async() {
                let all = found
                    .get_or_insert_with(|| late(cycle, derived, by.policy, &line, Ns(300_000)));
                waits.extend(all.iter().filter(|l| l.phase == span.phase && l.by > Ns::ZERO));
                waits.sort_by_key(|l: &Late| (std::cmp::Reverse(l.by), l.device));
                waits.truncate(WAITS);
            }
            let callbacks = cycle.callbacks.iter().filter(|c| c.phase == span.phase);
            list.push(Check {
                cycle: number,
                phase: span.phase,
                event: span.event,
                recorded,
                simulated: time,
                printing: derived.printed(number, index),
                callbacks: u32::try_from(callbacks.count()).unwrap_or(u32::MAX),
                verdict,
                missing,
                waits,
            });
        }
        checks.extend(lost(cycle, &seen).map(|phase| Check {
            cycle: number,
            phase,
            event: PmEvent::default(),
            recorded: Ns::ZERO,
            simulated: simulated.as_ref().map_or(Ns::ZERO, |o| o.phase(phase)),
            printing: Ns::ZERO,
            callbacks: 0,
            verdict: Verdict::NotReproduced,
            missing: Some(Missing::Phase),
            waits: Vec::new(),
        }));
    }
    let board = &derived.board;
    let unlisted = |(d, b): (&Device, &BoardDevice)| {
        d.async_flag.is_none() && b.work[1..7].iter().any(Option::is_some)
    };
    let blind = !board.pm_async && board.graph.devices.iter().zip(&board.devices).any(unlisted);
    let pooled = if derived.cycles.len() > 1 { pooled(derived, by, settings) } else { Vec::new() };
    Fidelity { checks, walks, pooled, blind }
}

/// The medians of the phases against the simulated medians of the callbacks.
fn pooled(derived: &Derived, by: Scheduler, settings: &Settings) -> Vec<Check> {
    let Ok(simulated) = outlook(&derived.board, by, settings) else { return Vec::new() };
    let phases = Phase::DEVICE.into_iter().zip(derived.observed);
    let phases = phases.filter(|(p, _)| p.may_be_async());
    let check = |(phase, recorded): (Phase, Option<Ns>)| {
        let (recorded, simulated) = (recorded?, simulated.phase(phase));
        let work = |d: &BoardDevice| phase.device_index().is_some_and(|i| d.work[i].is_some());
        Some(Check {
            cycle: 0,
            phase,
            event: PmEvent::default(),
            recorded,
            simulated,
            printing: Ns::ZERO,
            callbacks: derived.board.devices.iter().filter(|d| work(d)).count() as u32,
            verdict: Verdict::on(recorded, simulated),
            missing: None,
            waits: Vec::new(),
        })
    };
    phases.filter_map(check).collect()
}

/// Device phases that a half of `cycle` must have had, by those that were `seen`: who
/// was suspended so far is resumed from there, also after a failure
/// (`dpm_suspend_end`, drivers/base/power/main.c), and no phase is left out on the way.
/// Of a half that is not there at all nothing is said here.
fn lost<'a>(cycle: &Cycle, seen: &'a [Phase]) -> impl Iterator<Item = Phase> + 'a {
    let depth = |phase: Phase| match phase {
        Phase::Suspend | Phase::Resume => 1,
        Phase::Late | Phase::ResumeEarly => 2,
        _ => 3,
    };
    // A trip that makes or reads an image may end with the machine off.
    let both = cycle.mode != Mode::Disk;
    let has = |direction| seen.iter().any(|p| p.direction() == direction);
    let deepest = move |direction| {
        if both && !has(Direction::Suspend) {
            // Without the way down nobody knows how far it went.
            return 3;
        }
        // Every cycle has prepare and complete, however far it goes.
        let parallel = seen.iter().filter(|p| p.may_be_async());
        let same = parallel.filter(|p| both || p.direction() == direction);
        same.map(|p| depth(*p)).max().unwrap_or(0)
    };
    let all = Phase::DEVICE.into_iter().filter(|p| p.may_be_async());
    all.filter(move |p| {
        !seen.contains(p) && has(p.direction()) && depth(*p) <= deepest(p.direction())
    })
}

/// Whether a phase that lacks this and took so long cannot be reproduced. Where no
/// callback ran in a short one, there is nothing to reproduce but the walk, and
/// nothing to gain.
fn refuses(missing: Missing, recorded: Ns) -> bool {
    missing != Missing::Callbacks || recorded >= WORTH
}

/// Whether the phase with index `place`, the first of its kind in the cycle, lacks
/// what a simulation could be held against.
pub(crate) fn refused(cycle: &Cycle, place: usize) -> bool {
    let (recorded, _) = cycle.phases[place].measured();
    missing(cycle, place, false).is_some_and(|m| refuses(m, recorded))
}

/// What is missing of the phase with index `place` of a recorded cycle; `again`
/// if the cycle had it before. A phase whose begin or end is only shown by what
/// lies beyond has no duration that a simulation could be held against.
fn missing(cycle: &Cycle, place: usize, again: bool) -> Option<Missing> {
    let span = &cycle.phases[place];
    let few = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let known = cycle.completeness(place);
    // The kernel says that it took longer than there are lines of it.
    let late = span.printed.is_some_and(|p| Verdict::on(p, span.duration()) > Verdict::Reproduced)
        && !span.measured().1;
    if again {
        Some(Missing::Event(span.event))
    } else if late || known.begin != Edge::Said || known.end != Edge::Said {
        Some(Missing::Bracket)
    } else if known.unfinished > 0 {
        Some(Missing::Ends(few(known.unfinished)))
    } else if known.unstarted + known.lost > 0 {
        Some(Missing::Lost(few(known.unstarted + known.lost)))
    } else if !cycle.callbacks.iter().any(|c| c.phase == span.phase) {
        Some(Missing::Callbacks)
    } else {
        None
    }
}
