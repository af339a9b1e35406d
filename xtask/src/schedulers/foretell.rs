//! What the simulator foretells of a recorded machine in each way to start devices.

use super::boards::Named;
use super::costs::Known;
use super::guest::Played;
use crate::accuracy::order::{Start, out_of_order};
use crate::accuracy::recorded;
use anyhow::{Context, Result};
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_lab::describe::{Description, guest_name};
use dormouse_lab::trace::Intervals;
use dormouse_sleep::simulate::kernel::{Kernel, Livepatch};
use dormouse_sleep::simulate::planned::{Key, apply_states, keys, plan};
use dormouse_sleep::simulate::policy::{DC, DCW, Policy};
use dormouse_sleep::simulate::predict::{Scheduler, draws};
use std::collections::BTreeMap;

/// A cycle as foretold.
#[derive(Default)]
pub(super) struct Foretold {
    pub phases: BTreeMap<Phase, Ns>,
    /// Starts of the board's devices, by the name that the guest gives them.
    pub starts: BTreeMap<(Phase, String), Ns>,
}

impl Foretold {
    pub(crate) fn phase(&self, phase: Phase) -> Ns {
        self.phases.get(&phase).copied().unwrap_or_default()
    }
}

/// The rules that `way` has on `kernel`; the proposals by their names.
pub(crate) fn rules(way: &str, kernel: Kernel) -> Result<Scheduler> {
    let policy: &'static Policy = match (way, Livepatch::parse(way)) {
        ("kernel", _) => kernel.policy(),
        ("DC", _) => &DC,
        ("DCw", _) => &DCW,
        (_, Some(by)) => Kernel { livepatch: Some(by), ..kernel }.policy(),
        (name, None) => Policy::find(name).with_context(|| format!("no policy {name}"))?,
    };
    Ok(Scheduler { policy, kernel: Some(kernel) })
}

/// The cold cycle and the warm one of a board that was recorded without the livepatch.
pub(crate) fn foretell(
    board: &Named,
    played: &Played,
    way: &str,
    costs: &Known,
) -> Result<[Foretold; 2]> {
    let planned = plan(&board.1);
    let names = guest_names(board, &played.description);
    let mut idle = 2;
    let mut out = Vec::new();
    for cycle in played.capture.cycles.iter().take(2) {
        let mut m = recorded::machine(
            &played.capture,
            cycle,
            &planned,
            &costs.alone,
            &costs.profile,
            idle,
        )?;
        apply_states(&mut m.derived.board, &board.1);
        let kernel = m.by.kernel.context("no kernel")?;
        let by = rules(way, kernel)?;
        let all = draws(&m.derived.board, by, &m.settings).map_err(anyhow::Error::msg)?;
        let made = median(all.iter().map(|d| Ns(d.run.tally.workers_created as i64)).collect());
        idle = idle.max(2 + made.0 as u32);
        let mut foretold = Foretold::default();
        for phase in Phase::DEVICE {
            foretold.phases.insert(phase, median(all.iter().map(|d| d.phase(phase)).collect()));
        }
        let board = &m.derived.board;
        let keys = keys(&board.names, &board.graph);
        let mut starts: BTreeMap<(Phase, String), Vec<Ns>> = BTreeMap::new();
        for draw in &all {
            for c in &draw.run.cycle.callbacks {
                let (Some(name), Some(span)) =
                    (names.get(&keys[c.device.index()]), draw.run.cycle.phase(c.phase))
                else {
                    continue;
                };
                starts.entry((c.phase, name.clone())).or_default().push(c.start - span.start);
            }
        }
        foretold.starts = starts.into_iter().map(|(k, all)| (k, median(all))).collect();
        out.push(foretold);
    }
    out.try_into().ok().context("two cycles were recorded")
}

/// The middle one; between two, their mean.
pub(crate) fn median(mut values: Vec<Ns>) -> Ns {
    middle(&mut values, Ns::mean).unwrap_or_default()
}

/// How the guest calls each device of the board.
fn guest_names(board: &Named, made: &Description) -> BTreeMap<Key, String> {
    let keys = keys(&board.1.names, &board.1.graph);
    made.devices.iter().enumerate().map(|(n, d)| (keys[d.index()].clone(), guest_name(n))).collect()
}

/// How many starts of the warm cycles were compared with what was foretold, and how
/// many devices are out of order.
pub(crate) fn order(seen: &[Intervals], foretold: &Foretold) -> (usize, usize) {
    let (mut compared, mut wrong) = (0, 0);
    for phase in Phase::ALL.into_iter().filter(|p| p.may_be_async()) {
        let of_phase = foretold.starts.iter().filter(|((p, _), _)| *p == phase);
        let starts: Vec<Start> = of_phase
            .enumerate()
            .filter_map(|(n, (key, predicted))| {
                let seen: Option<Vec<Ns>> =
                    seen.iter().map(|c| Some(c.of.get(key)?.start)).collect();
                Some(Start { device: n as u32, seen: seen?, predicted: *predicted })
            })
            .collect();
        compared += starts.len();
        wrong += out_of_order(&starts).len();
    }
    (compared, wrong)
}
