//! What no schedule can beat, and what schedules of another shape could reach.
//!
//! All bounds count the callbacks that ran in a given cycle, at the speed of
//! the fastest CPU, and dependencies that every generation respects: parents,
//! live links that are not only there for sync_state, and only where they agree
//! with the list order.

use super::cost::Cpus;
use super::topology::{NONE, Topology, fact, kind_number};
use dormouse_base::cycle::Cycle;
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

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
    let walk = Walk::new(topology, cycle, cpus, pm_async, |_, _| true);
    let mut phases = Vec::with_capacity(8);
    for span in &cycle.phases {
        let Some(index) = span.phase.device_index() else { continue };
        let (path, order) = if span.phase.may_be_async() {
            (walk.longest(&[index], false), walk.longest(&[index], true))
        } else {
            let sum = Ns(walk.times[index].iter().sum());
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

/// A device on a longest chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Which.
    pub device: DeviceId,
    /// What its callback takes; zero if it has none and only passes waits on.
    pub time: Ns,
    /// It follows the link before it only because both are synchronous, not
    /// because it depends on it.
    pub by_order: bool,
}

/// The longest chain of each phase of `cycle` with the order of synchronous
/// devices, first link first: [`PhaseBound::order`] taken apart. Only callbacks
/// that `counted` accepts are counted. In prepare and complete every callback is
/// on the chain.
pub fn chains(
    topology: &Topology,
    cycle: &Cycle,
    cpus: &Cpus,
    pm_async: bool,
    counted: impl Fn(DeviceId, Phase) -> bool,
) -> Vec<(Phase, Vec<Link>)> {
    let walk = Walk::new(topology, cycle, cpus, pm_async, counted);
    let mut out = Vec::with_capacity(8);
    for span in &cycle.phases {
        let Some(index) = span.phase.device_index() else { continue };
        let chain = if span.phase.may_be_async() {
            walk.chain(index)
        } else {
            let all = topology.list.iter().map(|&d| (d, walk.times[index][d as usize]));
            all.filter(|(_, t)| *t > 0)
                .map(|(d, t)| Link { device: DeviceId(d), time: Ns(t), by_order: true })
                .collect()
        };
        out.push((span.phase, chain));
    }
    out
}

struct Walk<'a> {
    topology: &'a Topology,
    /// What each callback takes, by phase and device.
    times: Vec<Vec<i64>>,
    /// Which callbacks ran, a bit each.
    ran: Vec<u8>,
    pm_async: bool,
}

/// Where a chain comes from.
#[derive(Clone, Copy)]
struct From {
    device: u32,
    by_order: bool,
}

const NOWHERE: From = From { device: NONE, by_order: false };

impl<'a> Walk<'a> {
    fn new(
        topology: &'a Topology,
        cycle: &Cycle,
        cpus: &Cpus,
        pm_async: bool,
        counted: impl Fn(DeviceId, Phase) -> bool,
    ) -> Walk<'a> {
        let speed = match cpus {
            Cpus::Unlimited => 1000,
            Cpus::List(list) => list.iter().copied().max().unwrap_or(1000).max(1),
        };
        let n = topology.len();
        let mut times = vec![vec![0i64; n]; 8];
        let mut ran = vec![0u8; n];
        for c in cycle.callbacks.iter().filter(|c| counted(c.device, c.phase)) {
            let Some(index) = c.phase.device_index() else { continue };
            let d = c.device.index();
            let work = topology.work[index][d];
            let compute = i128::from(work.compute.0.max(0)) * 1000 / i128::from(speed);
            times[index][d] = (compute as i64).saturating_add(work.sleep.0.max(0));
            ran[d] |= 1 << index;
        }
        Walk { topology, times, ran, pm_async }
    }

    /// Longest chain through consecutive phases of one direction; with
    /// `ordered`, synchronous devices of the (single) phase also follow one
    /// another. prepare goes with superiors first, complete the other way.
    fn longest(&self, indices: &[usize], ordered: bool) -> Ns {
        let mut finish = None;
        for &index in indices {
            finish = Some(self.pass(index, ordered, finish, &mut []));
        }
        Ns(finish.and_then(|f| f.into_iter().max()).unwrap_or(0))
    }

    /// The longest chain through one phase, with order.
    fn chain(&self, index: usize) -> Vec<Link> {
        let mut from = vec![NOWHERE; self.topology.len()];
        let finish = self.pass(index, true, None, &mut from);
        let last = self.topology.list.iter().copied().max_by_key(|&d| finish[d as usize]);
        let mut at = last.unwrap_or(NONE);
        let mut out = Vec::new();
        while at != NONE {
            let From { device, by_order } = from[at as usize];
            let time = Ns(self.times[index][at as usize]);
            out.push(Link { device: DeviceId(at), time, by_order });
            at = device;
        }
        out.reverse();
        out
    }

    /// When each device is finished in a phase, if it starts as soon as it can
    /// after `before`; where it comes from is noted in `from`, unless that is
    /// empty.
    fn pass(
        &self,
        index: usize,
        ordered: bool,
        before: Option<Vec<i64>>,
        from: &mut [From],
    ) -> Vec<i64> {
        let t = self.topology;
        let down = (1..=3).contains(&index) || index == 7;
        let mut finish = vec![0i64; t.len()];
        let (mut main, mut last) = (0, NONE);
        let n = t.list.len();
        for i in 0..n {
            let d = t.list[if down { n - 1 - i } else { i }] as usize;
            let mut start = before.as_ref().map_or(0, |p| p[d]);
            let mut origin = NOWHERE;
            let edges = if down { &t.subordinates } else { &t.superiors };
            for e in edges.of(d) {
                let o = e.device();
                let along = if down { o > d } else { o < d };
                if e.is_in(ALWAYS) && along && finish[o] > start {
                    start = finish[o];
                    origin = From { device: o as u32, by_order: false };
                }
            }
            let runs = self.ran[d] & 1 << index != 0;
            let synchronous = !self.pm_async || t.facts[d] & fact::ASYNC == 0;
            let in_order = ordered && synchronous && runs;
            if in_order && main > start {
                start = main;
                origin = From { device: last, by_order: true };
            }
            finish[d] = start.saturating_add(self.times[index][d]);
            if in_order {
                (main, last) = (finish[d], d as u32);
            }
            if let Some(f) = from.get_mut(d) {
                *f = origin;
            }
        }
        finish
    }
}

/// Tree, stateless and active links.
const ALWAYS: u8 = 1 << super::topology::TREE
    | 1 << kind_number(LinkKind::Stateless)
    | 1 << kind_number(LinkKind::Active);
