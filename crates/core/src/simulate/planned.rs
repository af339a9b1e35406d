//! Boards whose work is known because the laboratory made the machine from
//! them.

use crate::board::{Board, Work};
use crate::device::DeviceGraph;
use crate::names::Names;
use crate::time::Ns;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Which device: whether it is the guest's own, its name, and which one it is of
/// that name, because names are not unique.
pub type Key = (bool, String, u32);

/// Work of the callbacks of each device.
pub type Plan = BTreeMap<Key, [Option<Work>; 8]>;

/// The key of each device, in the order of the graph.
pub fn keys(names: &Names, graph: &DeviceGraph) -> Vec<Key> {
    let mut seen: BTreeMap<(bool, &str), u32> = BTreeMap::new();
    let devices = graph.devices.iter();
    devices
        .map(|d| {
            let name = names.get(d.name);
            let count = seen.entry((d.facts.guest, name)).or_default();
            *count += 1;
            (d.facts.guest, name.to_string(), *count)
        })
        .collect()
}

/// What `board` says.
pub fn plan(board: &Board) -> Plan {
    let work = board.devices.iter().map(|b| b.work);
    keys(&board.names, &board.graph).into_iter().zip(work).collect()
}

/// What a recording of the guest says of the devices that are not of `board`:
/// the guest's own. What they do is computing.
pub fn guest(recorded: &Board, board: &Plan) -> Plan {
    let mut own = plan(recorded);
    own.retain(|key, _| !board.contains_key(key));
    for work in own.values_mut().flat_map(|w| w.iter_mut().flatten()) {
        work.compute += core::mem::take(&mut work.sleep);
    }
    own
}

/// Gives the devices of `board`, which was derived from a recording, the work
/// of the plans, the first one first, in place of the times recorded.
pub fn apply(board: &mut Board, plans: &[&Plan]) {
    let keys = keys(&board.names, &board.graph);
    for (key, b) in keys.iter().zip(&mut board.devices) {
        if let Some(work) = plans.iter().find_map(|p| p.get(key)) {
            b.work = *work;
        }
    }
}

/// Whether `work` only sleeps.
pub fn only_sleeps(work: &Work) -> bool {
    work.compute == Ns::ZERO && work.lock == 0 && work.sleep > Ns::ZERO
}
