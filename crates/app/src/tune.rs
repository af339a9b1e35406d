//! The async flags that make suspend and resume fastest.

use crate::failure::Usage;
use crate::machine::{Machine, matching};
use anyhow::Result;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::assumed::Assumed;
use dormouse_sleep::plan::handover::udev_rules;
use dormouse_sleep::simulate::Settings;
use dormouse_sleep::simulate::change::Change;
use dormouse_sleep::simulate::kernel::Kernel;
use dormouse_sleep::simulate::predict::{Question, Scheduler, hang, outlook, predict};
use dormouse_sleep::tune::{Cost, Options, Tuned, tune as search};

/// How to search.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Also propose async where only the absence of declared needs supports it.
    pub bold: bool,
    /// Only flags of devices that match one of these may change; all, if empty.
    pub only: Vec<String>,
    /// Flags of devices that match one of these stay.
    pub deny: Vec<String>,
    /// Most simulations.
    pub simulations: u64,
    /// Seed of the search.
    pub seed: u64,
}

/// What was found, and what no schedule of the board can beat.
#[derive(Debug)]
pub struct Found {
    /// The flags.
    pub tuned: Tuned,
    /// The longest chain of dependent devices.
    pub bound: Cost,
}

/// Chooses the flags of `board`.
///
/// # Errors
/// [`Usage`]: a pattern that no device matches, or a board without a schedule.
pub fn tune(board: &Board, by: Scheduler, settings: &Settings, ask: &Ask) -> Result<Found> {
    let options = Options {
        bold: ask.bold,
        keep: kept(board, &ask.only, &ask.deny)?,
        limit: ask.simulations.max(1),
        seed: ask.seed,
        ..Options::new(board)
    };
    let hangs = |e| Usage(hang(board, &e));
    let tuned = search(board, by.policy, settings, &options).map_err(hangs)?;
    let o = outlook(board, by, settings).map_err(hangs)?;
    let bound = Cost {
        suspend: o.bounds.path(Direction::Suspend),
        resume: o.bounds.path(Direction::Resume),
    };
    Ok(Found { tuned, bound })
}

/// A machine with the patches of kernel/upstream.
#[derive(Debug)]
pub struct BySeries {
    /// What it would take, its flags as they are.
    pub cost: Cost,
    /// What that takes for granted.
    pub assumed: Vec<Assumed>,
}

/// What `board` would take with them. `None` where they are not written for its kernel, are
/// in it, or `pm_async` is off.
pub fn by_series(board: &Board, by: Scheduler, settings: &Settings) -> Option<BySeries> {
    let kernel = by.kernel.filter(|k| !k.series && k.takes_series())?;
    if !settings.pm_async.unwrap_or(board.pm_async) {
        return None;
    }
    let kernel = Kernel { series: true, ..kernel };
    let by = Scheduler { policy: kernel.policy(), kernel: Some(kernel) };
    let o = outlook(board, by, settings).ok()?;
    let [suspend, resume] = [Direction::Suspend, Direction::Resume].map(|d| o.half(d));
    Some(BySeries { cost: Cost { suspend, resume }, assumed: by.cautions(board) })
}

/// What a prediction takes off or puts on a half under `by` before any flag changes:
/// it takes a phase whose change is within the model's error as it was. All of
/// `found` gets it, so that both say the same. Nothing for a machine that runs these
/// rules already.
pub fn as_predicted(found: Found, loaded: &Machine) -> Found {
    let Some((capture, shown)) = &loaded.recorded else { return found };
    if shown.scheduler.policy.name == loaded.now.by.policy.name {
        return found;
    }
    let settings = &loaded.settings;
    let doubt = shown.doubt(capture, loaded.now.by, &[], settings);
    let question = Question {
        derived: &shown.derived,
        now: shown.scheduler,
        then: loaded.now.by,
        changes: &[],
        settings,
        fidelity: &loaded.fidelity,
        doubt: &doubt,
        seed: 1,
        samples: 0,
    };
    let Ok(p) = predict(&question) else { return found };
    let off = |d| p.claimed(d).map_or(Ns::ZERO, |claimed| claimed - p.after.half(d));
    let (down, up) = (off(Direction::Suspend), off(Direction::Resume));
    let shift = |c: Cost| Cost { suspend: c.suspend + down, resume: c.resume + up };
    let Found { mut tuned, bound } = found;
    let costs = [&mut tuned.before, &mut tuned.after, &mut tuned.all_sync, &mut tuned.all_async];
    costs.into_iter().chain([&mut tuned.random]).for_each(|c| *c = shift(*c));
    tuned.if_exclusive = tuned.if_exclusive.map(shift);
    tuned.if_ordered = tuned.if_ordered.map(shift);
    Found { tuned, bound }
}

/// Which flags must stay.
fn kept(board: &Board, only: &[String], deny: &[String]) -> Result<Vec<bool>> {
    let mark = |list: &[String]| -> Result<Vec<bool>> {
        let mut mark = vec![false; board.devices.len()];
        for p in list {
            matching(board, p)?.iter().for_each(|d| mark[d.index()] = true);
        }
        Ok(mark)
    };
    let (may, must_not) = (mark(only)?, mark(deny)?);
    Ok(may.iter().zip(&must_not).map(|(m, n)| *n || (!only.is_empty() && !m)).collect())
}

/// The flags as changes that a prediction can be asked about, by name.
pub fn changes(board: &Board, tuned: &Tuned) -> Vec<Change> {
    let name = |d: DeviceId| board.names.get(board.graph.get(d).name).to_owned();
    let change = |d, on| if on { Change::Async(name(d)) } else { Change::Sync(name(d)) };
    tuned.flips.iter().map(|f| change(f.device, f.to_async)).collect()
}

/// The udev rule that makes the flags last; `None` if no flag changes.
pub fn rules(board: &Board, tuned: &Tuned) -> Option<String> {
    let flags: Vec<(DeviceId, bool)> = tuned.flips.iter().map(|f| (f.device, f.to_async)).collect();
    udev_rules(board, &flags).map(|f| f.text)
}
