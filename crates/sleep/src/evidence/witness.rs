//! What a recording shows that the board made of it does not hold: when its
//! callbacks ran, which flags nobody proved, which parents are only named.
//!
//! Other machines that explain the recording ([`super::doubt`]) are made of this and
//! of the board alone, so a report can keep it and ask them again.

use super::expected::Recorded;
use super::{Flag, FlagProof, Tick, tick};
use crate::simulate::outlook::Scheduler;
use dormouse_base::cycle::Cycle;
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;

/// More cycles add little.
const CYCLES_AT_MOST: usize = 6;

/// What the recording shows beside the board.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The rules it was read with.
    pub scheduler: Scheduler,
    /// It lists links, flags and silent devices: only costs and chance are open.
    pub listed: bool,
    /// Devices, by number on the board, whose flag is a default or not known.
    pub unproven: Vec<u32>,
    /// Devices whose parent is only named, those of one parent together.
    pub orphans: Vec<Vec<u32>>,
    /// How long after the begin of resume noirq a CPU may still wait for its first
    /// tick; `None` if none does.
    pub latest: Option<Ns>,
    /// The tick of that kernel.
    pub tick: Tick,
    /// Recorded phases of some cycles; where all is listed only resume noirq.
    pub phases: Vec<Recorded>,
}

impl Witness {
    /// What `cycles`, which `derived` was made of, show.
    pub fn new(
        cycles: &[&Cycle],
        derived: &Derived,
        flags: &[Flag],
        tick: Tick,
        scheduler: Scheduler,
    ) -> Witness {
        let listed = derived.board.graph.links_known;
        let asked = |p: Phase| if listed { p == Phase::ResumeNoirq } else { p.may_be_async() };
        Witness {
            scheduler,
            listed,
            unproven: if listed { Vec::new() } else { unproven(derived, flags) },
            orphans: if listed { Vec::new() } else { orphans(derived) },
            latest: tick::latest(cycles, tick),
            tick,
            phases: recorded(cycles, derived, asked),
        }
    }
}

/// The phases of `cycles` that are `asked` for; of many cycles some.
fn recorded(cycles: &[&Cycle], derived: &Derived, asked: impl Fn(Phase) -> bool) -> Vec<Recorded> {
    let step = cycles.len().div_ceil(CYCLES_AT_MOST).max(1);
    let mut phases = Vec::new();
    for cycle in cycles.iter().step_by(step) {
        for span in cycle.phases.iter().filter(|s| asked(s.phase)) {
            phases.push(Recorded::of(cycle, span, derived));
        }
    }
    phases
}

fn unproven(derived: &Derived, flags: &[Flag]) -> Vec<u32> {
    let default = |f: &&Flag| matches!(f.proof, FlagProof::Default(_));
    let mut unproven: Vec<u32> = flags.iter().filter(default).map(|f| f.device).collect();
    let devices = derived.board.graph.devices.iter().enumerate();
    let unknown = devices.filter(|(_, d)| d.async_flag.is_none() && !d.facts.no_pm);
    unproven.extend(unknown.map(|(d, _)| d as u32));
    unproven
}

fn orphans(derived: &Derived) -> Vec<Vec<u32>> {
    let mut orphans: Vec<(Sym, Vec<u32>)> = Vec::new();
    for (d, device) in derived.board.graph.devices.iter().enumerate() {
        let name = device.parent_name;
        let named =
            device.parent.is_none() && !matches!(derived.board.names.get(name).trim(), "" | "none");
        if !named {
            continue;
        }
        match orphans.iter_mut().find(|(n, _)| *n == name) {
            Some((_, list)) => list.push(d as u32),
            None => orphans.push((name, std::vec![d as u32])),
        }
    }
    orphans.into_iter().map(|(_, list)| list).collect()
}
