//! What stands in the way of a budget that no offered change meets.

use super::candidate::{Candidate, apply, origins};
use super::essential::DECIDES;
use super::{Goal, Plan};
use crate::simulate::predict::{Scheduler, critical_path, outlook};
use crate::simulate::{Settings, Stuck};
use alloc::vec::Vec;
use dormouse_board::Board;
use dormouse_model::device::DeviceId;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;

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
/// of `plan` made, in the directions that have a budget.
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
    let directions = goal.directions();
    let mut list: Vec<Obstacle> = Vec::new();
    for piece in critical_path(&changed, &ahead) {
        let Some(now) = piece.device else { continue };
        if !directions.contains(&piece.phase.direction()) {
            continue;
        }
        list.push(Obstacle { device: origin[now.index()], phase: piece.phase, time: piece.time });
    }
    list.sort_by_key(|o| (-o.time.0, o.device));
    let longest = list.first().map_or(0, |o| o.time.0);
    list.retain(|o| o.time.0 * DECIDES >= longest);
    list.truncate(most);
    Ok(list)
}
