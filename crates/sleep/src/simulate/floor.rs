//! The least that each phase of a machine takes, whichever devices are
//! asynchronous: so a search need not simulate the rest of a cycle that is bound
//! to be too long.

use super::cost::Cpus;
use super::topology::{Edges, TREE, Topology, fact, kind_number};
use super::{Costs, Settings};
use dormouse_base::device::LinkKind;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// What is left of a cycle at least, wherever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Of each phase that may be asynchronous, by its number; none if the cycle
    /// may be shorter than its callbacks.
    phases: [PhaseFloor; 8],
    /// What the last phase takes.
    completes: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PhaseFloor {
    /// The longest chain of callbacks that begins with that of each device.
    chains: Vec<Ns>,
    /// The longest of all.
    longest: Ns,
    /// What each device does for certain, whichever thread runs it.
    work: Vec<Ns>,
}

impl Floor {
    /// For any async flags of the devices of `topology` and any policy.
    pub fn new(topology: &Topology, settings: &Settings) -> Floor {
        let faster = match &settings.profile.cpus {
            Some(Cpus::List(speeds)) => speeds.iter().any(|&s| s > 1000),
            None | Some(Cpus::Unlimited) => false,
        };
        // An aborted cycle leaves phases out, and so does one that powers off.
        let aborts = topology.work.iter().flatten().any(|w| w.ret < 0);
        let ends_early = aborts || settings.wakeup_at.is_some() || topology.trip.up.is_none();
        let mut floor = Floor::default();
        if faster || ends_early {
            return floor;
        }
        floor.completes = completes(topology, &settings.profile.costs);
        for (index, phase) in Phase::DEVICE.into_iter().enumerate() {
            if phase.may_be_async() {
                floor.phases[index] = PhaseFloor::new(topology, phase, index);
            }
        }
        floor
    }

    /// With the async flags that `topology` has now.
    pub(super) fn with_flags(&self, topology: &Topology) -> FlagsFloor<'_> {
        let mut serial = [Ns::ZERO; 8];
        let mut after = [Ns::ZERO; 8];
        let mut left = self.completes;
        for (index, phase) in self.phases.iter().enumerate().rev() {
            serial[index] = phase.serial(topology);
            if index < 7 {
                after[index] = left;
                left += phase.longest.max(serial[index]);
            }
        }
        FlagsFloor { floor: self, serial, after }
    }
}

/// [`Floor`] for known async flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlagsFloor<'a> {
    floor: &'a Floor,
    serial: [Ns; 8],
    after: [Ns; 8],
}

impl<'a> FlagsFloor<'a> {
    /// What is left after `phase`.
    pub(super) fn after(&self, phase: Phase) -> Ns {
        phase.device_index().map_or(Ns::ZERO, |i| self.after[i])
    }

    /// What is left of `phase` itself.
    pub(super) fn left(&self, phase: Phase) -> Left<'a> {
        phase.device_index().map_or(Left::default(), |i| Left {
            chains: &self.floor.phases[i].chains,
            serial: self.serial[i],
        })
    }
}

/// The last phase, which is one device after the other.
fn completes(t: &Topology, costs: &Costs) -> Ns {
    let mut sum = Ns::ZERO;
    for &d in &t.list {
        let d = d as usize;
        let runs = t.has[d] & 1 << 7 != 0 && t.facts[d] & fact::SYSCORE == 0;
        let work = if runs { t.work[7][d] } else { dormouse_board::Work::default() };
        sum += costs.finish + work.compute.max(Ns::ZERO) + work.sleep.max(Ns::ZERO);
    }
    sum
}

/// What is left at least of a phase that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left<'a> {
    /// When the callback of a device begins, for each; empty if nobody asks.
    chains: &'a [Ns],
    /// In the main thread: the synchronous devices that it has not come to.
    serial: Ns,
}

impl Left<'_> {
    /// The callback of `d`, which takes `work`, begins, perhaps in the main thread.
    /// Returns what is left.
    #[inline]
    pub(super) fn begins(&mut self, d: u32, work: Ns, in_main: bool) -> Ns {
        let Some(&chain) = self.chains.get(d as usize) else { return Ns::ZERO };
        if !in_main {
            return chain;
        }
        let serial = self.serial;
        self.serial = serial - work;
        chain.max(serial)
    }
}

impl PhaseFloor {
    /// Machinery costs nothing here, and only those dependencies count that every
    /// kernel waits for: along the list order, parents and links in use.
    fn new(t: &Topology, phase: Phase, index: usize) -> PhaseFloor {
        let direction = phase.direction();
        let mut floor = PhaseFloor {
            chains: vec![Ns::ZERO; t.len()],
            longest: Ns::ZERO,
            work: vec![Ns::ZERO; t.len()],
        };
        // Those that wait come before what they wait for.
        let order: Vec<u32> = match direction {
            Direction::Suspend => t.list.clone(),
            Direction::Resume => t.list.iter().rev().copied().collect(),
        };
        let waited = [TREE, kind_number(LinkKind::Stateless), kind_number(LinkKind::Active)];
        for d in order {
            let d = d as usize;
            let at_once = may_return_at_once(t, d);
            if at_once && direction == Direction::Resume {
                continue;
            }
            let edges = dependents(t, direction).of(d).iter();
            let behind = edges.filter(|e| waited.contains(&e.kind())).map(|e| e.device());
            let behind = behind.filter(|&other| match direction {
                Direction::Suspend => other < d,
                Direction::Resume => other > d,
            });
            // A device that is not on the list has no chain.
            let rest = behind.map(|other| floor.chains[other]).max().unwrap_or_default();
            let w = &t.work[index][d];
            if t.has[d] & 1 << index != 0 && !at_once {
                floor.work[d] = w.sleep.max(Ns::ZERO) + w.compute.max(Ns::ZERO);
            }
            floor.chains[d] = rest + floor.work[d];
            floor.longest = floor.longest.max(floor.chains[d]);
        }
        floor
    }

    /// What all devices take that are synchronous now.
    fn serial(&self, t: &Topology) -> Ns {
        let mut sum = Ns::ZERO;
        for (&work, facts) in self.work.iter().zip(&t.facts) {
            if facts & fact::ASYNC == 0 {
                sum += work;
            }
        }
        sum
    }
}

/// What waits for a device in this direction.
fn dependents(t: &Topology, direction: Direction) -> &Edges {
    match direction {
        Direction::Suspend => &t.superiors,
        Direction::Resume => &t.subordinates,
    }
}

/// Syscore devices, and those that may be left alone (direct-complete).
fn may_return_at_once(t: &Topology, d: usize) -> bool {
    let facts = t.facts[d];
    let asks = t.work[0][d].ret > 0 || facts & fact::NO_CALLBACKS != 0;
    facts & fact::SYSCORE != 0 || asks && facts & fact::NO_DIRECT == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::policy::ALL;
    use crate::simulate::{Profile, run, run_within};
    use dormouse_board::generate::{Options, generate};

    #[test]
    fn no_cycle_is_shorter_than_its_floor() {
        let mut tight = 0;
        for seed in 0..60 {
            let board = generate(&Options {
                seed,
                devices: 20 + (seed as u32 % 5) * 30,
                async_share: 30 + (seed as u32 % 3) * 30,
                computing: (seed as u32 % 2) * 40,
                direct_complete: 10,
                dormant: 10,
                ..Options::default()
            });
            let topology = Topology::new(&board).expect("a board");
            let free = Profile { cpus: Some(Cpus::Unlimited), ..Profile::zero() };
            for (i, mut profile) in [free, Profile::x86(), Profile::phone()].into_iter().enumerate()
            {
                profile.cpus.get_or_insert(Cpus::equal(4));
                let settings = Settings { profile, pm_async: None, wakeup_at: None };
                let floor = Floor::new(&topology, &settings);
                for policy in ALL {
                    let Ok(r) = run(&topology, policy, &settings) else { continue };
                    let known = floor.with_flags(&topology);
                    for p in &r.cycle.phases {
                        let left = r.cycle.end - p.end;
                        assert!(left >= known.after(p.phase), "seed {seed} {} {i}", policy.name);
                    }
                    let resume = r.cycle.phase(Phase::Resume).expect("resume").duration();
                    let least = known.after(Phase::ResumeEarly) - known.after(Phase::Resume);
                    tight += u32::from(resume == least);
                    let within = |limit| {
                        let r = run_within(&topology, policy, &settings, &floor, limit);
                        r.expect("a schedule").is_some()
                    };
                    assert!(within(r.cycle.end) && !within(r.cycle.end - Ns(1)));
                }
            }
        }
        assert!(tight > 20, "the floor is reached by {tight} schedules");
    }
}
