//! What stands in the way of a budget that no offered change meets.

use super::candidate::{Candidate, apply, origins};
use super::essential::DECIDES;
use super::{Goal, Plan, ready};
use crate::simulate::predict::{Outlook, Scheduler, critical_path, outlook};
use crate::simulate::{Settings, Stuck};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// A device that decides how long a phase takes, whatever the plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Which.
    pub device: DeviceId,
    /// In which phase.
    pub phase: Phase,
    /// How long it is on the critical path there.
    pub time: Ns,
}

/// The `most` longest pieces of the critical paths that remain with all steps
/// of `plan` made, to the end of what has a budget that is not met: a half, or
/// the last callback of a device that must be ready.
///
/// # Errors
///
/// If the changed board cannot be simulated.
pub fn obstacles(
    board: &Board,
    by: Scheduler,
    settings: &Settings,
    goal: &Goal,
    plan: &Plan,
    most: usize,
) -> Result<Vec<Obstacle>, Stuck> {
    let steps: Vec<Candidate> = plan.steps.iter().map(|s| s.candidate).collect();
    let (changed, place) = apply(board, &steps);
    let origin = origins(&place, changed.devices.len());
    let ahead = outlook(&changed, by, settings)?;
    let mut list: Vec<Obstacle> = Vec::new();
    let mut add = |way: Direction, ahead: &Outlook| {
        for piece in critical_path(&changed, ahead) {
            let Some(now) = piece.device.filter(|_| piece.phase.direction() == way) else {
                continue;
            };
            let (device, phase) = (origin[now.index()], piece.phase);
            match list.iter_mut().find(|o| (o.device, o.phase) == (device, phase)) {
                Some(o) => o.time = o.time.max(piece.time),
                None => list.push(Obstacle { device, phase, time: piece.time }),
            }
        }
    };
    let over = |budget: Option<Ns>, is: Ns| budget.is_some_and(|t| is > t);
    if over(goal.suspend, plan.after.suspend) {
        add(Direction::Suspend, &ahead);
    }
    if over(goal.resume, plan.after.resume) {
        add(Direction::Resume, &ahead);
    }
    for ((device, budget), &is) in goal.ready.iter().zip(&plan.after.ready) {
        if is > *budget {
            let last = ready::last(&ahead.run.cycle, &ready::needs(board, *device), &place);
            add(Direction::Resume, &until_ready(&ahead, last));
        }
    }
    list.sort_by_key(|o| (-o.time.0, o.device));
    let longest = list.first().map_or(0, |o| o.time.0);
    list.retain(|o| o.time.0 * DECIDES >= longest);
    list.truncate(most);
    Ok(list)
}

/// The same schedule as far as the `last` callback that keeps a device from being
/// ready: what ends later, and the phases after it, keep nobody waiting.
fn until_ready(ahead: &Outlook, last: Option<(Ns, Phase, DeviceId)>) -> Outlook {
    let mut out = ahead.clone();
    let Some((end, last, _)) = last else { return out };
    let cycle = &mut out.run.cycle;
    cycle.callbacks.retain(|c| c.phase < last || c.phase == last && c.end <= end);
    cycle.phases.retain(|p| p.phase <= last);
    cycle.phases.iter_mut().filter(|p| p.phase == last).for_each(|p| p.end = end);
    out
}
