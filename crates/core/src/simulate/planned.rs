//! Boards whose work is known because the laboratory made the machine from
//! them.

use crate::board::{Board, Work};
use crate::time::Ns;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

/// Work of the callbacks of each device, by its name.
pub type Plan = BTreeMap<String, [Option<Work>; 8]>;

/// What `board` says.
pub fn plan(board: &Board) -> Plan {
    let devices = board.graph.devices.iter().zip(&board.devices);
    devices.map(|(d, b)| (board.names.get(d.name).to_string(), b.work)).collect()
}

/// What a recording of the guest says of the devices that are not of `board`:
/// the guest's own. What they do is computing.
pub fn guest(recorded: &Board, board: &Plan) -> Plan {
    let mut own = plan(recorded);
    own.retain(|name, _| !board.contains_key(name));
    for work in own.values_mut().flat_map(|w| w.iter_mut().flatten()) {
        work.compute += core::mem::take(&mut work.sleep);
    }
    own
}

/// Gives the devices of `board`, which was derived from a recording, the work
/// of the plans, the first one first, in place of the times recorded.
pub fn apply(board: &mut Board, plans: &[&Plan]) {
    for (d, b) in board.graph.devices.iter().zip(&mut board.devices) {
        let name = board.names.get(d.name);
        if let Some(work) = plans.iter().find_map(|p| p.get(name)) {
            b.work = *work;
        }
    }
}

/// Whether `work` only sleeps.
pub fn only_sleeps(work: &Work) -> bool {
    work.compute == Ns::ZERO && work.lock == 0 && work.sleep > Ns::ZERO
}
