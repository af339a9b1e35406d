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

/// Driver of the guest's emulated serial ports. Each of their registers that is
/// written arms one of the emulator's timers, and the emulator then gives the
/// turn to another CPU: seen from the guest, others run inside the callback.
const GIVES_TURN_AWAY: &str = "serial";

/// A callback of that driver that is shorter writes no register.
const WRITES_NOTHING: Ns = Ns(20_000);

/// What a recording of the guest says of the devices that are not of `board`:
/// the guest's own. What they do is computing, but for those that leave the
/// computing thread to other CPUs meanwhile, which is what sleeping does.
pub fn guest(recorded: &Board, board: &Plan) -> Plan {
    let keys = keys(&recorded.names, &recorded.graph);
    let own = keys.into_iter().zip(&recorded.devices).zip(&recorded.graph.devices);
    own.filter(|((key, _), _)| !board.contains_key(key))
        .map(|((key, b), device)| {
            let gives = recorded.cpus > 1 && recorded.names.get(device.driver) == GIVES_TURN_AWAY;
            let mut work = b.work;
            for work in work.iter_mut().flatten() {
                if !gives || work.sleep < WRITES_NOTHING {
                    work.compute += core::mem::take(&mut work.sleep);
                }
            }
            (key, work)
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::parse;

    #[test]
    fn only_serial_ports_let_others_compute_meanwhile() {
        let text = "board 1\ncpus 4\ndevice a resume=5us\ndevice port suspend=3us resume=70us\ndevice mine resume=9us\n";
        let mut recorded = parse(text).unwrap();
        recorded.graph.devices[1].driver = recorded.names.add(GIVES_TURN_AWAY);
        let board = plan(&parse("board 1\ndevice mine resume=9us\n").unwrap());
        let own = guest(&recorded, &board);
        let work = |name: &str| {
            own.get(&(false, name.to_string(), 1)).map(|w| {
                let sum = |of: fn(&Work) -> Ns| w.iter().flatten().map(of).sum::<Ns>();
                (sum(|w| w.sleep), sum(|w| w.compute))
            })
        };
        assert_eq!(work("a"), Some((Ns::ZERO, Ns(5_000))));
        assert_eq!(work("port"), Some((Ns(70_000), Ns(3_000))));
        assert_eq!(work("mine"), None);
    }
}
