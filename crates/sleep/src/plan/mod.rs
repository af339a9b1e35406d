//! The smallest set of changes that meets a budget.
//!
//! Savings do not add up, because the critical path moves: so every set is
//! judged by simulating the board with exactly that set. [`essential`] says what
//! must stay, [`candidate`] what may be offered at all, `search::smallest` looks
//! for the set, [`obstacle`] says what stands in the way of a budget that cannot
//! be met, and [`handover`] writes the files that make the changes on a machine.

pub mod candidate;
pub mod essential;
mod goal;
pub mod handover;
pub mod obstacle;
pub mod ready;
pub mod recorded;
mod relief;
mod spent;

pub use goal::{Goal, Reached, Slower};

use crate::simulate::bounds::{bounds, chains};
use crate::simulate::change::dependents;
use crate::simulate::policy::KERNELS;
use crate::simulate::{Cpus, Policy, Run, Settings, Stuck, Topology, run};
use candidate::{Candidate, Kind, apply, goes_with, origins};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::search::smallest::{Budget, Found, smallest};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use handover::files;
use relief::Chains;
use std::collections::BTreeMap;

/// One step of the staircase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The change.
    pub candidate: Candidate,
    /// What it would save alone of what is [counted](Reached::counted).
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
    /// No set of fewer candidates meets the goal: proven, also where `exact` is
    /// false. More than there are candidates if none does.
    pub least: usize,
    /// How far any set of the candidates must stay over the goal; zero if the
    /// bound does not exclude meeting it.
    pub gap: Ns,
    /// What was offered to the search.
    pub candidates: Vec<Candidate>,
    /// Simulations of the search.
    pub evaluated: u64,
}

/// Where the budget is out of reach, a step that closes less than this part of
/// what was missing is not worth making.
pub const WORTH_MAKING: i64 = 100;

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
    let trial = Trial::new(board, policy, settings, goal, candidates);
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

/// What `board` does as it is, by the model and with what it leaves out.
///
/// # Errors
///
/// If the board cannot be simulated.
pub fn unchanged(
    board: &Board,
    policy: &Policy,
    settings: &Settings,
    goal: &Goal,
) -> Result<Reached, Stuck> {
    Ok(Trial::new(board, policy, settings, goal, &[]).reach(&[])?.0)
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
    let trial = Trial::new(board, policy, settings, goal, candidates);
    let (before, _) = trial.reach(&[])?;
    // The most helpful first: whatever leaves them out is soon excluded.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_cached_key(|&i| trial.reach(&[i]).map_or(i64::MAX, |(r, _)| r.excess(goal)));
    let mut asked = Asked::new(&trial, order);
    let mut found: Found = smallest(&mut asked, candidates.len(), limit);
    found.chosen = asked.named(&found.chosen);
    if found.met() {
        trial.take_less(&mut found.chosen)?;
    }
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
        least: found.least,
        gap: Ns(found.bound.max(0)),
        candidates: candidates.to_vec(),
        evaluated: found.evaluated,
    })
}

/// A removal of a plan that takes more along than it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesser {
    /// What the plan removes.
    pub removed: DeviceId,
    /// A device that goes with it: to remove this one alone would do, but no file
    /// of [`handover`] removes it.
    pub instead: DeviceId,
    /// What is reached then.
    pub reached: Reached,
}

/// For each removal of a `plan` that meets its goal, the candidate below it that
/// takes least along and meets the goal as well, where the plan keeps to the device
/// above because that is the one that a file can remove.
///
/// # Errors
///
/// If the board cannot be simulated as it is.
pub fn lesser(
    board: &Board,
    policy: &Policy,
    settings: &Settings,
    goal: &Goal,
    plan: &Plan,
) -> Result<Vec<Lesser>, Stuck> {
    let candidates = &plan.candidates;
    let trial = Trial::new(board, policy, settings, goal, candidates);
    let at = |c: &Candidate| candidates.iter().position(|o| o == c);
    let chosen: Vec<usize> = plan.steps.iter().filter_map(|s| at(&s.candidate)).collect();
    let mut out = Vec::new();
    for &removed in chosen.iter().filter(|_| plan.met) {
        if let Some((instead, reached)) = trial.below(&chosen, removed)? {
            let [removed, instead] = [removed, instead].map(|i| candidates[i].device);
            out.push(Lesser { removed, instead, reached });
        }
    }
    Ok(out)
}

struct Trial<'a> {
    board: &'a Board,
    policy: &'a Policy,
    settings: &'a Settings,
    goal: &'a Goal,
    candidates: &'a [Candidate],
    /// What each device of [`Goal::ready`] needs, itself included.
    needs: Vec<Vec<DeviceId>>,
}

impl<'a> Trial<'a> {
    fn new(
        board: &'a Board,
        policy: &'a Policy,
        settings: &'a Settings,
        goal: &'a Goal,
        candidates: &'a [Candidate],
    ) -> Trial<'a> {
        let needs = goal.ready.iter().map(|&(d, _)| ready::needs(board, d)).collect();
        Trial { board, policy, settings, goal, candidates, needs }
    }

    /// Of the candidates below the removal `removed` of `chosen` the one that takes
    /// least along and meets the goal in its place, and what is reached with it.
    fn below(&self, chosen: &[usize], removed: usize) -> Result<Option<(usize, Reached)>, Stuck> {
        if self.candidates[removed].kind != Kind::Remove {
            return Ok(None);
        }
        let all = goes_with(self.board, self.candidates[removed]);
        let mut below: Vec<(usize, usize)> = Vec::new();
        for (i, c) in self.candidates.iter().enumerate() {
            let taken = goes_with(self.board, *c).len();
            if c.kind == Kind::Remove && all.contains(&c.device) && taken < all.len() {
                below.push((taken, i));
            }
        }
        below.sort_unstable();
        for (_, i) in below {
            let mut set: Vec<usize> = chosen.iter().copied().filter(|&c| c != removed).collect();
            set.push(i);
            set.sort_unstable();
            set.dedup();
            let reached = self.reach(&set)?.0;
            if reached.excess(self.goal) <= 0 {
                return Ok(Some((i, reached)));
            }
        }
        Ok(None)
    }

    /// Takes the smaller removal where one does and a file can make it.
    fn take_less(&self, chosen: &mut Vec<usize>) -> Result<(), Stuck> {
        let a_file_does = |i: usize| files(self.board, &[self.candidates[i]]).1.is_empty();
        for removed in chosen.clone() {
            if let Some((less, _)) = self.below(chosen, removed)?
                && a_file_does(less)
            {
                chosen.retain(|&c| c != removed && c != less);
                chosen.push(less);
                chosen.sort_unstable();
            }
        }
        Ok(())
    }

    fn board_with(&self, chosen: &[usize]) -> (Board, Vec<Option<DeviceId>>) {
        let list: Vec<Candidate> = chosen.iter().map(|&i| self.candidates[i]).collect();
        apply(self.board, &list)
    }

    fn reach(&self, chosen: &[usize]) -> Result<(Reached, Ran), Stuck> {
        let (board, place) = self.board_with(chosen);
        let topology = Topology::new(&board)?;
        let ran = run(&topology, self.policy, self.settings)?;
        let reached = self.reached(&ran, &place);
        Ok((reached, Ran { topology, run: ran, place }))
    }

    fn cpus(&self) -> Cpus {
        self.settings.profile.cpus.clone().unwrap_or_else(|| Cpus::equal(self.board.cpus))
    }

    fn pm_async(&self) -> bool {
        let asked = self.settings.pm_async.unwrap_or(self.board.pm_async);
        self.policy.workers && asked
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
        let slower = &self.goal.slower;
        r.suspend += slower.suspend;
        r.resume += slower.resume;
        for (i, needs) in self.needs.iter().enumerate() {
            let end = ready::last(&run.cycle, needs, place);
            let more = slower.ready.get(i).copied().unwrap_or_default();
            r.ready.push(end.map_or(Ns::ZERO, |(end, ..)| end.since(up) + more));
        }
        r
    }

    /// Before when a device of the goal cannot be ready, as the schedule `ran` has
    /// it: no part of what it needs is earlier than the phases before its last one,
    /// which end for all at once, and in that one what its parents and itself take.
    fn ready_floor(&self, ran: &Ran, needs: &[DeviceId]) -> Ns {
        let cycle = &ran.run.cycle;
        let works = |d: DeviceId, phase: Phase| {
            let now = ran.place.get(d.index()).copied().flatten();
            cycle.callbacks.iter().any(|c| Some(c.device) == now && c.phase == phase)
        };
        let b = bounds(&ran.topology, cycle, &self.cpus(), self.pm_async());
        let mut latest = Ns::ZERO;
        for &device in needs {
            let phases = Phase::DEVICE.into_iter();
            let last = phases.filter(|&p| ready::counts(p) && works(device, p)).max();
            let Some(last) = last else { continue };
            let before = b.phases.iter().filter(|p| ready::counts(p.phase) && p.phase < last);
            let mut floor: Ns = before.map(|p| p.path).sum();
            let mut next = Some(device);
            // Parents stand before their children; a description may say otherwise.
            for _ in 0..self.board.devices.len() {
                let Some(d) = next else { break };
                if works(d, last) {
                    floor += self.least(d, last, ran);
                }
                next = self.board.graph.get(d).parent;
            }
            latest = latest.max(floor);
        }
        latest
    }

    /// What a callback takes at least, on the fastest CPU.
    fn least(&self, d: DeviceId, phase: Phase, ran: &Ran) -> Ns {
        let speed = match self.cpus() {
            Cpus::Unlimited => 1_000,
            Cpus::List(list) => list.into_iter().max().unwrap_or(1_000).max(1),
        };
        let now = ran.place.get(d.index()).copied().flatten();
        let work = phase.device_index().zip(now).map(|(i, now)| ran.topology.work[i][now.index()]);
        work.map_or(Ns::ZERO, |w| {
            let compute = i128::from(w.compute.0.max(0)) * 1_000 / i128::from(speed);
            Ns(w.sleep.0.max(0).saturating_add(compute as i64))
        })
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

/// A simulated set of changes.
struct Ran {
    topology: Topology,
    run: Run,
    /// Where each device of the board is in it.
    place: Vec<Option<DeviceId>>,
}

/// The search's view of a trial.
struct Asked<'a, 'b> {
    trial: &'a Trial<'b>,
    /// The candidates in the order in which the search numbers them.
    order: Vec<usize>,
    /// In that order.
    candidates: Vec<Candidate>,
    /// What goes with the removal of each.
    gone: Vec<Vec<bool>>,
    /// Callbacks that run whatever is changed, unless their device is removed:
    /// a bit a phase for each device.
    certain: Vec<u8>,
    /// Chains of sets, asked for again and again.
    chains: BTreeMap<Vec<usize>, Option<Chains>>,
    /// Floors of everything that is still open, by the whole set.
    floors: BTreeMap<Vec<usize>, i64>,
}

/// Most sets that are remembered; a bound on memory.
const REMEMBERED: usize = 20_000;

impl<'a, 'b> Asked<'a, 'b> {
    fn new(trial: &'a Trial<'b>, order: Vec<usize>) -> Asked<'a, 'b> {
        let candidates: Vec<Candidate> = order.iter().map(|&i| trial.candidates[i]).collect();
        let gone = candidates
            .iter()
            .map(|c| match c.kind {
                Kind::Remove | Kind::Domain => dependents(trial.board, &c.removes(trial.board)),
                _ => Vec::new(),
            })
            .collect();
        let all: Vec<usize> = (0..trial.candidates.len()).collect();
        let certain = certain(trial, &all);
        let (chains, floors) = (BTreeMap::new(), BTreeMap::new());
        Asked { trial, order, candidates, gone, certain, chains, floors }
    }

    /// Numbers of the search as those of the trial, ascending.
    fn named(&self, chosen: &[usize]) -> Vec<usize> {
        let mut list: Vec<usize> = chosen.iter().map(|&i| self.order[i]).collect();
        list.sort_unstable();
        list
    }

    fn over(&self, (down, up): (Ns, Ns)) -> i64 {
        let goal = self.trial.goal;
        // Chains say nothing of `ready`: it counts as met.
        let over = |floor: Ns, goal: Option<Ns>| goal.map_or(0, |t| (floor - t).0.max(0));
        let (down, up) = (down + goal.slower.suspend, up + goal.slower.resume);
        over(down, goal.suspend).saturating_add(over(up, goal.resume))
    }

    /// Every kernel takes synchronous devices in the order of its list; a
    /// proposal need not.
    fn in_order(&self) -> bool {
        KERNELS.iter().any(|p| p.name == self.trial.policy.name)
    }

    /// The chains of the schedule with `chosen`; `None` where the rules do not
    /// keep synchronous devices in order.
    fn make_chains(&self, chosen: &[usize]) -> Option<Chains> {
        let trial = self.trial;
        if !self.in_order() {
            return None;
        }
        let (_, ran) = trial.reach(&self.named(chosen)).ok()?;
        let origin = origins(&ran.place, ran.topology.len());
        let counted = |d: DeviceId, phase: Phase| {
            let bit = phase.device_index().map_or(0, |i| 1 << i);
            self.certain[origin[d.index()].index()] & bit != 0
        };
        let cycle = &ran.run.cycle;
        let mut chains = chains(&ran.topology, cycle, &trial.cpus(), trial.pm_async(), counted);
        for link in chains.iter_mut().flat_map(|(_, chain)| chain) {
            link.device = origin[link.device.index()];
        }
        Some(Chains::new(&chains, &self.candidates, &self.gone))
    }

    /// What no part of `all` can beat, because chains only shrink when devices
    /// go, get faster or leave the order.
    fn floor(&mut self, all: Vec<usize>) -> i64 {
        if let Some(&known) = self.floors.get(&all) {
            return known;
        }
        let trial = self.trial;
        let floor = match trial.reach(&self.named(&all)) {
            Ok((_, ran)) => {
                let (t, cycle) = (&ran.topology, &ran.run.cycle);
                let b = bounds(t, cycle, &trial.cpus(), trial.pm_async());
                let way = |d| if self.in_order() { b.order(d) } else { b.path(d) };
                let whole = self.over((way(Direction::Suspend), way(Direction::Resume)));
                let goals = trial.goal.ready.iter().zip(&trial.needs).enumerate();
                goals.fold(whole, |sum, (i, ((_, t), needs))| {
                    let more = trial.goal.slower.ready.get(i).copied().unwrap_or_default();
                    let floor = trial.ready_floor(&ran, needs) + more;
                    sum.saturating_add((floor - *t).0.max(0))
                })
            }
            Err(_) => 0,
        };
        if self.floors.len() < REMEMBERED {
            self.floors.insert(all, floor);
        }
        floor
    }
}

/// Callbacks that run with every change made, or whose device is then removed.
/// Devices may be left suspended once others have gone, so a callback that runs
/// now need not run then.
fn certain(trial: &Trial<'_>, all: &[usize]) -> Vec<u8> {
    let mut out = vec![0u8; trial.board.devices.len()];
    let Ok((_, ran)) = trial.reach(all) else { return out };
    let mut runs = vec![0u8; ran.topology.len()];
    for c in &ran.run.cycle.callbacks {
        runs[c.device.index()] |= c.phase.device_index().map_or(0, |i| 1 << i);
    }
    for (bits, place) in out.iter_mut().zip(&ran.place) {
        *bits = place.map_or(u8::MAX, |d| runs[d.index()]);
    }
    out
}

impl Budget for Asked<'_, '_> {
    fn excess(&mut self, chosen: &[usize]) -> i64 {
        // A set under which the kernel would hang is not an answer.
        let reached = self.trial.reach(&self.named(chosen));
        reached.map_or(i64::MAX - 1, |(r, _)| r.excess(self.trial.goal))
    }

    fn bound(&mut self, chosen: &[usize], open: &[usize], size: usize) -> i64 {
        if !self.chains.contains_key(chosen) {
            let made = self.make_chains(chosen);
            if self.chains.len() >= REMEMBERED {
                self.chains.clear();
            }
            self.chains.insert(chosen.to_vec(), made);
        }
        let known = self.chains.get(chosen).and_then(Option::as_ref);
        let by_chain = known.map_or(0, |c| self.over(c.floor(open, size)));
        if by_chain > 0 {
            return by_chain;
        }
        let mut all: Vec<usize> = chosen.iter().chain(open).copied().collect();
        all.sort_unstable();
        match self.floor(all) {
            0 => i64::MIN,
            floor => floor,
        }
    }
}
