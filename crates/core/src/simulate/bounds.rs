//! What no schedule can beat, and what schedules of another shape could reach.
//!
//! All bounds count the callbacks that ran in a given cycle, at the speed of
//! the fastest CPU, and dependencies that every generation respects: parents,
//! live links that are not only there for sync_state, and only where they agree
//! with the list order.

use super::cost::Cpus;
use super::topology::{Topology, fact, kind_number};
use crate::cycle::Cycle;
use crate::device::LinkKind;
use crate::phase::{Direction, Phase};
use crate::time::Ns;
use alloc::vec;
use alloc::vec::Vec;

/// Bounds of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseBound {
    /// Which phase.
    pub phase: Phase,
    /// Longest chain of dependencies: no schedule can beat it. For prepare and
    /// complete, which are serial by design, the sum.
    pub path: Ns,
    /// The same if synchronous devices also run one after the other in list
    /// order, as every kernel has it.
    pub order: Ns,
}

/// Bounds of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The phases of the cycle.
    pub phases: Vec<PhaseBound>,
    /// Way down and way up if a device could enter the next phase as soon as
    /// the devices it waits for have left that phase. The barrier between late
    /// and noirq (interrupts are switched off for all) stays.
    pub overlapped: (Ns, Ns),
    /// prepare and complete as if every device had a thread.
    pub parallel_ends: (Ns, Ns),
}

impl Bounds {
    /// Sum of `path` over the phases of `direction`.
    pub fn path(&self, direction: Direction) -> Ns {
        self.phases.iter().filter(|p| p.phase.direction() == direction).map(|p| p.path).sum()
    }

    /// Sum of `order` over the phases of `direction`.
    pub fn order(&self, direction: Direction) -> Ns {
        self.phases.iter().filter(|p| p.phase.direction() == direction).map(|p| p.order).sum()
    }

    /// The bound of `phase`.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseBound> {
        self.phases.iter().find(|p| p.phase == phase)
    }
}

/// The bounds of `cycle`, a run of `topology`. With `pm_async` off every device
/// counts as synchronous.
pub fn bounds(topology: &Topology, cycle: &Cycle, cpus: &Cpus, pm_async: bool) -> Bounds {
    let speed = match cpus {
        Cpus::Unlimited => 1000,
        Cpus::List(list) => list.iter().copied().max().unwrap_or(1000).max(1),
    };
    let n = topology.len();
    let mut times = vec![vec![0i64; n]; 8];
    let mut ran = vec![0u8; n];
    for c in &cycle.callbacks {
        let Some(index) = c.phase.device_index() else { continue };
        let d = c.device.index();
        let work = topology.work[index][d];
        let compute = i128::from(work.compute.0.max(0)) * 1000 / i128::from(speed);
        times[index][d] = (compute as i64).saturating_add(work.sleep.0.max(0));
        ran[d] |= 1 << index;
    }
    let walk = Walk { topology, times: &times, ran: &ran, pm_async };
    let mut phases = Vec::with_capacity(8);
    for span in &cycle.phases {
        let Some(index) = span.phase.device_index() else { continue };
        let (path, order) = if span.phase.may_be_async() {
            (walk.longest(&[index], false), walk.longest(&[index], true))
        } else {
            let sum = Ns(times[index].iter().sum());
            (sum, sum)
        };
        phases.push(PhaseBound { phase: span.phase, path, order });
    }
    Bounds {
        phases,
        overlapped: (
            walk.longest(&[1, 2], false) + walk.longest(&[3], false),
            walk.longest(&[4], false) + walk.longest(&[5, 6], false),
        ),
        parallel_ends: (walk.longest(&[0], false), walk.longest(&[7], false)),
    }
}

struct Walk<'a> {
    topology: &'a Topology,
    times: &'a [Vec<i64>],
    ran: &'a [u8],
    pm_async: bool,
}

impl Walk<'_> {
    /// Longest chain through consecutive phases of one direction; with
    /// `ordered`, synchronous devices of the (single) phase also follow one
    /// another. prepare goes with superiors first, complete the other way.
    fn longest(&self, indices: &[usize], ordered: bool) -> Ns {
        let t = self.topology;
        let down = (1..=3).contains(&indices[0]) || indices[0] == 7;
        let mut previous: Option<Vec<i64>> = None;
        let mut last = 0;
        for &index in indices {
            let mut finish = vec![0i64; t.len()];
            let mut main = 0;
            let n = t.list.len();
            for i in 0..n {
                let d = t.list[if down { n - 1 - i } else { i }] as usize;
                let mut start = previous.as_ref().map_or(0, |p| p[d]);
                let edges = if down { &t.subordinates } else { &t.superiors };
                for e in edges.of(d) {
                    let o = e.device();
                    if e.is_in(ALWAYS) && if down { o > d } else { o < d } {
                        start = start.max(finish[o]);
                    }
                }
                let runs = self.ran[d] & 1 << index != 0;
                let synchronous = !self.pm_async || t.facts[d] & fact::ASYNC == 0;
                let in_order = ordered && synchronous && runs;
                if in_order {
                    start = start.max(main);
                }
                finish[d] = start.saturating_add(self.times[index][d]);
                if in_order {
                    main = finish[d];
                }
                last = last.max(finish[d]);
            }
            previous = Some(finish);
        }
        Ns(last)
    }
}

/// Tree, stateless and active links.
const ALWAYS: u8 = 1 << super::topology::TREE
    | 1 << kind_number(LinkKind::Stateless)
    | 1 << kind_number(LinkKind::Active);
