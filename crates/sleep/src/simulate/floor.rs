//! The least that each phase of a machine takes, whichever devices are
//! asynchronous: so a search need not simulate the rest of a cycle that is bound
//! to be too long.

use super::cost::Cpus;
use super::topology::{Edges, TREE, Topology, fact, kind_number};
use super::{Costs, Settings};
use alloc::vec;
use alloc::vec::Vec;
use dormouse_model::device::LinkKind;
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;

/// What is left of a cycle at least, when a phase ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    after: [Ns; 8],
}

impl Floor {
    /// For any async flags of the devices of `topology` and any policy.
    pub fn new(topology: &Topology, settings: &Settings) -> Floor {
        let faster = match &settings.profile.cpus {
            Some(Cpus::List(speeds)) => speeds.iter().any(|&s| s > 1000),
            None | Some(Cpus::Unlimited) => false,
        };
        // An aborted cycle leaves phases out.
        let aborts = topology.work.iter().flatten().any(|w| w.ret < 0);
        let mut floor = Floor::default();
        if faster || aborts || settings.wakeup_at.is_some() {
            return floor;
        }
        let mut left = completes(topology, &settings.profile.costs);
        for (index, phase) in Phase::DEVICE.into_iter().enumerate().rev().skip(1) {
            floor.after[index] = left;
            if phase.may_be_async() {
                left += chain(topology, phase, index);
            }
        }
        floor
    }

    /// What is left after `phase`.
    pub(super) fn after(&self, phase: Phase) -> Ns {
        phase.device_index().map_or(Ns::ZERO, |i| self.after[i])
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

/// The longest chain of callbacks that wait for one another in `phase`.
/// Machinery costs nothing here, and only those dependencies count that every
/// kernel waits for: along the list order, parents and links in use.
fn chain(t: &Topology, phase: Phase, index: usize) -> Ns {
    let direction = phase.direction();
    let mut ends = vec![Ns::ZERO; t.len()];
    let order: Vec<u32> = match direction {
        Direction::Suspend => t.list.iter().rev().copied().collect(),
        Direction::Resume => t.list.clone(),
    };
    let waited = [TREE, kind_number(LinkKind::Stateless), kind_number(LinkKind::Active)];
    let mut longest = Ns::ZERO;
    for d in order {
        let d = d as usize;
        let at_once = may_return_at_once(t, d);
        if at_once && direction == Direction::Resume {
            continue;
        }
        let edges = edges(t, direction).of(d).iter().filter(|e| waited.contains(&e.kind()));
        let ahead = edges.map(|e| e.device()).filter(|&other| match direction {
            Direction::Suspend => other > d,
            Direction::Resume => other < d,
        });
        // A device that is not on the list has no end.
        let begin = ahead.map(|other| ends[other]).max().unwrap_or_default();
        let w = &t.work[index][d];
        let runs = t.has[d] & 1 << index != 0 && !at_once;
        let work = if runs { w.sleep.max(Ns::ZERO) + w.compute.max(Ns::ZERO) } else { Ns::ZERO };
        ends[d] = begin + work;
        longest = longest.max(ends[d]);
    }
    longest
}

fn edges(t: &Topology, direction: Direction) -> &Edges {
    match direction {
        Direction::Suspend => &t.subordinates,
        Direction::Resume => &t.superiors,
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
                    for p in &r.cycle.phases {
                        let left = r.cycle.end - p.end;
                        assert!(left >= floor.after(p.phase), "seed {seed} {} {i}", policy.name);
                    }
                    let resume = r.cycle.phase(Phase::Resume).expect("resume").duration();
                    let least = floor.after(Phase::ResumeEarly) - floor.after(Phase::Resume);
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
