//! When each callback of a recorded phase could have begun at the earliest, by
//! the kernel's rules and the ends that were recorded.
//!
//! This is no simulation: every end is taken from the recording, so a wait that
//! nothing explains shows at the one device that waited, not at all that came
//! after it. The rules are those of `dpm_wait_for_subordinate`,
//! `dpm_wait_for_superior` and the walks of drivers/base/power/main.c, as the
//! policies of [`crate::simulate::policy`] have them.

use crate::simulate::Topology;
use crate::simulate::policy::{FirstPass, Policy};
use crate::simulate::topology::{Edge, Edges, fact, kind_number};
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::device::LinkKind;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;
use dormouse_board::threads::main_threads;

/// No device.
pub(super) const NONE: u32 = u32::MAX;

/// The callback of a device in one recorded phase, relative to the phase.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// From the begin of the phase.
    pub start: Ns,
    /// Also.
    pub end: Ns,
    /// It ran on the main thread.
    pub main: bool,
    /// Its end was seen.
    pub complete: bool,
}

/// A phase of a recorded cycle by devices of the board.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Which phase.
    pub phase: Phase,
    /// As recorded.
    pub duration: Ns,
    /// By device; the first begin and the last end where there are several.
    pub seen: Vec<Option<Seen>>,
}

impl Recorded {
    /// Phase `span` of `cycle`.
    pub fn of(cycle: &Cycle, span: &PhaseSpan, derived: &Derived) -> Recorded {
        let mains = main_threads(cycle);
        let mut seen: Vec<Option<Seen>> = vec![None; derived.board.devices.len()];
        let inside = |t: Ns| t >= span.start - EDGE && t <= span.end + EDGE;
        for c in cycle.callbacks.iter().filter(|c| c.phase == span.phase && inside(c.start)) {
            let Some(&d) = derived.place.get(c.device.index()) else { continue };
            let main = mains.get(usize::from(c.thread.0)) == Some(&true);
            let (start, end) = (c.start - span.start, c.end - span.start);
            let slot = &mut seen[d as usize];
            match slot {
                Some(s) => s.end = s.end.max(end),
                None => *slot = Some(Seen { start, end, main, complete: c.complete }),
            }
        }
        Recorded { phase: span.phase, duration: span.duration(), seen }
    }
}

/// A phase that is bracketed by printed times may begin a line late.
const EDGE: Ns = Ns(2_000_000);

/// A synchronous device without callback that the main thread came by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub device: u32,
    /// When the last thing it waits for was done.
    pub until: Ns,
    /// When the main thread arrived.
    pub arrived: Ns,
    /// The next callback on the main thread, in the order of the walk.
    pub next: u32,
    /// What was done last of what it waits for.
    pub last: u32,
}

/// When callbacks could have begun.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// By device; `None` without a callback in the phase.
    pub begin: Vec<Option<Ns>>,
    /// What held it until then: a device, or [`NONE`] for the begin.
    pub held_by: Vec<u32>,
    /// Silent synchronous devices in order of the walk.
    pub passed: Vec<Passed>,
}

/// Works out when the callbacks of `r` could have begun.
pub(super) fn expected(
    t: &Topology,
    active: &[bool],
    policy: &Policy,
    pm_async: bool,
    r: &Recorded,
) -> Expected {
    let n = t.len();
    let direction = r.phase.direction();
    let suspend = direction == Direction::Suspend;
    let edges: &Edges = if suspend { &t.subordinates } else { &t.superiors };
    let mask = wait_mask(policy);
    let first_pass = policy.walk(direction).first_pass;
    let mut out = Expected { begin: vec![None; n], held_by: vec![NONE; n], passed: Vec::new() };
    let mut done: Vec<Ns> = vec![Ns::ZERO; n];
    let mut main = Ns::ZERO;
    let mut main_by = NONE;
    let mut open: Vec<usize> = Vec::new();
    let order: Vec<u32> =
        if suspend { t.list.iter().rev().copied().collect() } else { t.list.clone() };
    for &d in &order {
        let i = d as usize;
        if t.facts[i] & (fact::SYSCORE | fact::NO_PM) != 0 && r.seen[i].is_none() {
            continue;
        }
        let waits = suspend || active[i] || r.seen[i].is_some();
        let (mut ready, mut by, mut first) = (Ns::ZERO, NONE, None::<Ns>);
        let (mut any, mut link) = (false, false);
        for e in edges.of(i) {
            any = true;
            link |= e.kind() != crate::simulate::topology::TREE;
            if !e.is_in(mask) || !waits {
                continue;
            }
            let other = done[e.device()];
            first = Some(first.map_or(other, |f| f.min(other)));
            if other > ready {
                (ready, by) = (other, e.device() as u32);
            }
        }
        let asynchronous = t.facts[i] & fact::ASYNC != 0 && pm_async;
        let queued = match first_pass {
            FirstPass::Nothing => main,
            FirstPass::QueueAll => Ns::ZERO,
            _ if !any && !link => Ns::ZERO,
            _ => first.map_or(main, |f| f.min(main)),
        };
        match r.seen[i] {
            Some(s) => {
                let (from, from_by) = if s.main { (main, main_by) } else { (queued, main_by) };
                let (begin, held) = if ready >= from { (ready, by) } else { (from, from_by) };
                out.begin[i] = Some(begin);
                out.held_by[i] = held;
                done[i] = s.end;
                if s.main {
                    for at in open.drain(..) {
                        let p: &mut Passed = &mut out.passed[at];
                        p.next = d;
                    }
                    (main, main_by) = (s.end, d);
                }
            }
            None if asynchronous => done[i] = ready.max(queued),
            None => {
                if ready > main {
                    open.push(out.passed.len());
                    let (until, arrived) = (ready, main);
                    out.passed.push(Passed { device: d, until, arrived, next: NONE, last: by });
                    (main, main_by) = (ready, by);
                }
                done[i] = main;
            }
        }
    }
    out
}

/// Which kinds of edges are waited for.
fn wait_mask(policy: &Policy) -> u8 {
    let mut mask = 1u8;
    for kind in [LinkKind::Stateless, LinkKind::Active, LinkKind::Dormant, LinkKind::SyncStateOnly]
    {
        if policy.waits_for(kind) {
            mask |= 1 << kind_number(kind);
        }
    }
    mask
}

/// Which devices do not go direct-complete: they, or something below them,
/// have a callback. On resume the others wait for nobody.
pub(super) fn active(t: &Topology) -> Vec<bool> {
    let mut active = vec![false; t.len()];
    for &d in t.list.iter().rev() {
        let i = d as usize;
        active[i] |= t.facts[i] & fact::NO_CALLBACKS == 0;
        if active[i] {
            let above = |e: &Edge| e.device();
            for a in t.superiors.of(i).iter().map(above) {
                active[a] = true;
            }
        }
    }
    active
}
