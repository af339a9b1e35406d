//! What a plan does not offer to remove, and why.

use super::spent::{WORTH_LOOKING, spent};
use crate::simulate::change::is_needed;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// Why a device must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It carries something essential: [`dormouse_base::device::Facts::essential`] says
    /// what (the root file system, a console, …).
    Essential,
    /// It wakes the machine.
    WakeSource,
    /// The user wants to keep it.
    Kept,
    /// This device, which must stay, is a child or a consumer of it.
    NeededBy(DeviceId),
}

/// What the user says of devices, one entry a device; empty means nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Must stay.
    pub keep: Vec<bool>,
    /// May go although it is essential or a wake source.
    pub offer: Vec<bool>,
}

/// Which devices must stay: essential ones, wake sources, those that are to be
/// kept, and everything these need.
pub fn essential(board: &Board, wishes: &Wishes) -> Vec<Option<Stays>> {
    let graph = &board.graph;
    let said = |list: &[bool], i: usize| list.get(i).copied().unwrap_or(false);
    let mut stay: Vec<Option<Stays>> = graph
        .devices
        .iter()
        .enumerate()
        .map(|(i, d)| {
            if said(&wishes.keep, i) {
                Some(Stays::Kept)
            } else if said(&wishes.offer, i) {
                None
            } else if !d.facts.essential.is_empty() {
                Some(Stays::Essential)
            } else if board.devices[i].wakeup {
                Some(Stays::WakeSource)
            } else {
                None
            }
        })
        .collect();
    let mut above: Vec<Vec<u32>> = vec![Vec::new(); stay.len()];
    for (i, d) in graph.devices.iter().enumerate() {
        above[i].extend(d.parent.map(|p| p.0));
    }
    for l in graph.links.iter().filter(|l| is_needed(l.kind)) {
        above[l.consumer.index()].push(l.supplier.0);
    }
    // From the one that must stay itself, not from its nearest dependent: that
    // is what a reader wants to know.
    let mut stack: Vec<(usize, DeviceId)> =
        graph.ids().filter(|d| stay[d.index()].is_some()).map(|d| (d.index(), d)).collect();
    stack.reverse();
    while let Some((i, because)) = stack.pop() {
        for &a in &above[i] {
            if stay[a as usize].is_none() {
                stay[a as usize] = Some(Stays::NeededBy(because));
                stack.push((a as usize, because));
            }
        }
    }
    stay
}

/// A device shorter than this part of the longest one is not worth a line.
pub(super) const DECIDES: i64 = 20;

/// The `most` devices with the longest callbacks in `directions` among those
/// that must stay.
pub fn withheld(
    board: &Board,
    stay: &[Option<Stays>],
    directions: &[Direction],
    most: usize,
) -> Vec<(DeviceId, Stays, Ns)> {
    let mut list: Vec<(DeviceId, Stays, Ns)> = board
        .graph
        .ids()
        .filter_map(|d| stay[d.index()].map(|why| (d, why, spent(board, d, directions))))
        .filter(|(_, _, t)| *t >= WORTH_LOOKING)
        .collect();
    list.sort_by_key(|&(d, _, t)| (-t.0, d));
    let longest = list.first().map_or(0, |&(_, _, t)| t.0);
    list.retain(|&(_, _, t)| t.0 * DECIDES >= longest);
    list.truncate(most);
    list
}
