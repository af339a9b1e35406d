//! The smallest set of changes that meets a budget.
//!
//! Savings do not add up, because the critical path moves: so every set is
//! judged by simulating the board with exactly that set. [`essential`] says what
//! must stay, [`candidate`] what may be offered at all, `search::smallest` looks
//! for the set, [`obstacle`] says what stands in the way of a budget that cannot
//! be met, and [`handover`] writes the files that make the changes on a machine.

pub mod candidate;
pub mod essential;
pub mod handover;
pub mod obstacle;

use super::search::smallest::{Budget, Found, smallest};
use crate::board::Board;
use crate::device::DeviceId;
use crate::phase::{Direction, Phase};
use crate::simulate::bounds::bounds;
use crate::simulate::{Policy, Run, Settings, Stuck, Topology, run};
use crate::time::Ns;
use alloc::vec::Vec;
use candidate::{Candidate, apply};

/// What must be met. At least one should be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// All device phases on the way down.
    pub suspend: Option<Ns>,
    /// All device phases on the way up.
    pub resume: Option<Ns>,
    /// Devices that must be ready (their last resume callback done) this long
    /// after the begin of the way up.
    pub ready: Vec<(DeviceId, Ns)>,
}

/// What one board does, as far as goals are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// All device phases on the way down.
    pub suspend: Ns,
    /// All device phases on the way up.
    pub resume: Ns,
    /// When each device of [`Goal::ready`] was ready; zero if it was removed
    /// or has no callback on the way up.
    pub ready: Vec<Ns>,
}

impl Goal {
    /// The directions that have a budget.
    pub fn directions(&self) -> Vec<Direction> {
        let mut list = Vec::new();
        if self.suspend.is_some() {
            list.push(Direction::Suspend);
        }
        if self.resume.is_some() || !self.ready.is_empty() {
            list.push(Direction::Resume);
        }
        list
    }
}

impl Reached {
    /// Time of the directions that have a budget.
    pub fn counted(&self, goal: &Goal) -> Ns {
        goal.directions()
            .into_iter()
            .map(|d| match d {
                Direction::Suspend => self.suspend,
                Direction::Resume => self.resume,
            })
            .sum()
    }

    /// How far this is over the goal, every part counted; minus the slack if
    /// all parts are met.
    fn excess(&self, goal: &Goal) -> i64 {
        let mut over = 0i64;
        let mut slack = i64::MAX;
        let mut part = |is: Ns, want: Ns| {
            let d = (is - want).0;
            over = over.saturating_add(d.max(0));
            slack = slack.min((-d).max(0));
        };
        if let Some(t) = goal.suspend {
            part(self.suspend, t);
        }
        if let Some(t) = goal.resume {
            part(self.resume, t);
        }
        for ((_, t), &is) in goal.ready.iter().zip(&self.ready) {
            part(is, *t);
        }
        if over > 0 { over } else { -slack }
    }
}

/// One step of the staircase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The change.
    pub candidate: Candidate,
    /// What it would save alone of the directions that have a budget.
    pub alone: Ns,
    /// What it saves after the steps above it.
    pub now: Ns,
    /// What is reached with it and the steps above it.
    pub reached: Reached,
}

/// The plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Without any change.
    pub before: Reached,
    /// With all steps.
    pub after: Reached,
    /// Whether the goal is met.
    pub met: bool,
    /// The changes, those that help most first.
    pub steps: Vec<Step>,
    /// No smaller set of the candidates meets the goal: every one was looked
    /// at or excluded by a bound.
    pub exact: bool,
    /// How far any set of the candidates must stay over the goal; zero if the
    /// bound does not exclude meeting it.
    pub gap: Ns,
    /// What was offered to the search.
    pub candidates: Vec<Candidate>,
    /// Simulations of the search.
    pub evaluated: u64,
}

/// Up to this many candidates every set is judged.
pub const EXHAUSTIVE: usize = 12;

/// Where the budget is out of reach, a step that closes less than this part of
/// what was missing is not worth making.
const WORTH_MAKING: i64 = 100;

/// Of `candidates`, the `most` that help the goal most when made alone; among
/// equals (two chains side by side, where neither helps alone) the order given
/// decides.
///
/// # Errors
///
/// If the board cannot be simulated as it is.
pub fn shortlist(
    board: &Board,
    policy: &Policy,
    settings: &Settings,
    goal: &Goal,
    candidates: &[Candidate],
    most: usize,
) -> Result<Vec<Candidate>, Stuck> {
    let trial = Trial { board, policy, settings, goal, candidates };
    trial.reach(&[])?;
    let mut list: Vec<(i64, usize)> = (0..candidates.len())
        .map(|i| (trial.reach(&[i]).map_or(i64::MAX, |(r, _)| r.excess(goal)), i))
        .collect();
    list.sort_unstable();
    list.truncate(most);
    let mut out: Vec<Candidate> = list.into_iter().map(|(_, i)| candidates[i]).collect();
    out.sort();
    Ok(out)
}

/// Finds the smallest set of `candidates` that meets `goal`; the simulator may
/// be asked `limit` times before it goes on best-first.
///
/// # Errors
///
/// If the board cannot be simulated as it is.
pub fn plan(
    board: &Board,
    policy: &Policy,
    settings: &Settings,
    goal: &Goal,
    candidates: &[Candidate],
    limit: u64,
) -> Result<Plan, Stuck> {
    let trial = Trial { board, policy, settings, goal, candidates };
    let (before, _) = trial.reach(&[])?;
    let limit = if candidates.len() <= EXHAUSTIVE { u64::MAX } else { limit };
    let found: Found = smallest(&mut Asked(&trial), candidates.len(), limit);
    let mut steps = trial.staircase(&found.chosen, &before)?;
    if !found.met() {
        let missing = before.excess(goal);
        while let Some(last) = steps.last() {
            let above = steps.len().checked_sub(2).map_or(&before, |i| &steps[i].reached);
            let closed = above.excess(goal) - last.reached.excess(goal);
            if closed * WORTH_MAKING >= missing {
                break;
            }
            steps.pop();
        }
    }
    let after = steps.last().map_or_else(|| before.clone(), |s| s.reached.clone());
    Ok(Plan {
        met: found.met(),
        before,
        after,
        steps,
        exact: found.exact,
        gap: Ns(found.bound.max(0)),
        candidates: candidates.to_vec(),
        evaluated: found.evaluated,
    })
}

struct Trial<'a> {
    board: &'a Board,
    policy: &'a Policy,
    settings: &'a Settings,
    goal: &'a Goal,
    candidates: &'a [Candidate],
}

impl Trial<'_> {
    fn board_with(&self, chosen: &[usize]) -> (Board, Vec<Option<DeviceId>>) {
        let list: Vec<Candidate> = chosen.iter().map(|&i| self.candidates[i]).collect();
        apply(self.board, &list)
    }

    fn reach(&self, chosen: &[usize]) -> Result<(Reached, (Ns, Ns)), Stuck> {
        let (board, place) = self.board_with(chosen);
        let topology = Topology::new(&board)?;
        let ran = run(&topology, self.policy, self.settings)?;
        let cpus = self.settings.profile.cpus.clone();
        let cpus = cpus.unwrap_or_else(|| crate::simulate::Cpus::equal(board.cpus));
        let b = bounds(&topology, &ran.cycle, &cpus, board.pm_async);
        let floor = (b.path(Direction::Suspend), b.path(Direction::Resume));
        Ok((self.reached(&ran, &place), floor))
    }

    fn reached(&self, run: &Run, place: &[Option<DeviceId>]) -> Reached {
        let mut r = Reached::default();
        let mut up = None;
        for p in run.cycle.phases.iter().filter(|p| p.phase.has_devices()) {
            if p.phase < Phase::Asleep {
                r.suspend += p.duration();
            } else {
                r.resume += p.duration();
                up = up.or(Some(p.start));
            }
        }
        let up = up.unwrap_or_default();
        for (device, _) in &self.goal.ready {
            let now = place.get(device.index()).copied().flatten();
            let end = run
                .cycle
                .callbacks
                .iter()
                .filter(|c| Some(c.device) == now)
                .filter(|c| c.phase.direction() == Direction::Resume && c.phase != Phase::Complete)
                .map(|c| c.end)
                .max();
            r.ready.push(end.map_or(Ns::ZERO, |e| e.since(up)));
        }
        r
    }

    fn staircase(&self, chosen: &[usize], before: &Reached) -> Result<Vec<Step>, Stuck> {
        let sum = |r: &Reached| r.counted(self.goal);
        let mut left: Vec<(usize, Ns)> = Vec::new();
        for &i in chosen {
            left.push((i, sum(before) - sum(&self.reach(&[i])?.0)));
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut done: Vec<usize> = Vec::new();
        let mut last = before.clone();
        while !left.is_empty() {
            let mut best: Option<(usize, Reached)> = None;
            for (at, &(i, _)) in left.iter().enumerate() {
                let mut with = done.clone();
                with.insert(with.partition_point(|&c| c < i), i);
                let r = self.reach(&with)?.0;
                let key = |r: &Reached| (r.excess(self.goal), sum(r));
                if best.as_ref().is_none_or(|(_, b)| key(&r) < key(b)) {
                    best = Some((at, r));
                }
            }
            let Some((at, reached)) = best else { break };
            let (i, alone) = left.remove(at);
            done.insert(done.partition_point(|&c| c < i), i);
            steps.push(Step {
                candidate: self.candidates[i],
                alone,
                now: sum(&last) - sum(&reached),
                reached: reached.clone(),
            });
            last = reached;
        }
        Ok(steps)
    }
}

/// The search's view of a trial.
struct Asked<'a, 'b>(&'a Trial<'b>);

impl Budget for Asked<'_, '_> {
    fn excess(&mut self, chosen: &[usize]) -> i64 {
        // A set under which the kernel would hang is not an answer.
        self.0.reach(chosen).map_or(i64::MAX - 1, |(r, _)| r.excess(self.0.goal))
    }

    fn bound(&mut self, chosen: &[usize], open: &[usize]) -> i64 {
        let mut all: Vec<usize> = chosen.iter().chain(open).copied().collect();
        all.sort_unstable();
        let Ok((_, (down, up))) = self.0.reach(&all) else { return i64::MIN };
        // Critical paths only shrink when devices go or get faster, and
        // async flags do not change them, so this holds for every part of
        // `open`. Nothing is known of `ready`: it counts as met.
        let over = |floor: Ns, goal: Option<Ns>| goal.map_or(0, |t| (floor - t).0.max(0));
        let sum = over(down, self.0.goal.suspend) + over(up, self.0.goal.resume);
        if sum > 0 { sum } else { i64::MIN }
    }
}
