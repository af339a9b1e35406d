//! Boards whose work is known because the laboratory made the machine from
//! them.

use crate::simulate::emulator::gives_turn_away;
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceGraph;
use dormouse_base::names::Names;
use dormouse_base::time::Ns;
use dormouse_board::{Board, BoardDevice, Work};
use std::collections::BTreeMap;

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

/// The callbacks of the guest's serial ports in `captures`, each as it was at
/// its shortest. Others run inside them, so this is nearest to what they take by
/// themselves.
pub fn alone(captures: &[Capture]) -> Plan {
    let mut alone = Plan::new();
    for capture in captures {
        let keys = keys(&capture.names, &capture.graph);
        for c in capture.cycles.iter().flat_map(|c| &c.callbacks).filter(|c| c.complete) {
            let Some(index) = c.phase.device_index() else { continue };
            if !gives_turn_away(capture.graph.get(c.device), &capture.names) {
                continue;
            }
            let took = c.duration();
            let work = alone.entry(keys[c.device.index()].clone()).or_default();
            let work = work[index].get_or_insert(Work { compute: took, ..Work::default() });
            work.compute = work.compute.min(took);
        }
    }
    alone
}

/// What a recording of the guest says of the devices that are not of `board`:
/// the guest's own. All that they do is computing.
pub fn guest(recorded: &Board, board: &Plan) -> Plan {
    let own = keys(&recorded.names, &recorded.graph).into_iter().zip(&recorded.devices);
    own.filter(|(key, _)| !board.contains_key(key))
        .map(|(key, b)| {
            let mut work = b.work;
            for work in work.iter_mut().flatten() {
                work.compute += std::mem::take(&mut work.sleep);
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

/// Gives `board`, which was derived from a recording, the power domains of the board
/// `from` that the laboratory built, and puts the devices of that board into them: no
/// recording says what a domain takes.
pub fn apply_domains(board: &mut Board, from: &Board) {
    board.domains = from.domains.clone();
    for d in &mut board.domains {
        d.name = board.names.add(from.names.get(d.name));
    }
    apply_states(board, from);
    for (b, planned) in alike(board, from) {
        b.domain = planned.domain;
        b.wakeup = planned.wakeup;
        b.rpm_disabled = planned.rpm_disabled;
        b.qos = planned.qos;
    }
}

/// Gives the devices of `board`, which was derived from a recording, what they are at run
/// time on the board `from` that the laboratory built: suspended, and free to be left so
/// (direct-complete). Where runtime PM is not enabled sysfs says neither.
pub fn apply_states(board: &mut Board, from: &Board) {
    for (b, planned) in alike(board, from) {
        b.runtime_suspended = planned.runtime_suspended;
        b.no_direct_complete = planned.no_direct_complete;
    }
}

/// Devices of `board` beside those of the same key on the board `from`.
fn alike<'a>(
    board: &'a mut Board,
    from: &'a Board,
) -> impl Iterator<Item = (&'a mut BoardDevice, &'a BoardDevice)> {
    let devices = keys(&from.names, &from.graph).into_iter().zip(&from.devices);
    let devices: BTreeMap<Key, &BoardDevice> = devices.collect();
    let keys = keys(&board.names, &board.graph);
    let both = keys.into_iter().zip(&mut board.devices);
    both.filter_map(move |(key, b)| Some((b, *devices.get(&key)?)))
}

/// Whether `work` only sleeps.
pub(crate) fn only_sleeps(work: &Work) -> bool {
    work.compute == Ns::ZERO && work.lock == 0 && work.sleep > Ns::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::fixture;
    use dormouse_base::phase::Phase;
    use dormouse_board::parse;

    #[test]
    fn all_that_the_guests_own_devices_do_is_computing() {
        let text = "board 1\ncpus 4\ndevice a resume=5us\ndevice mine resume=9us\n";
        let recorded = parse(text).unwrap();
        let board = plan(&parse("board 1\ndevice mine resume=9us\n").unwrap());
        let own = guest(&recorded, &board);
        let work = |name: &str| {
            own.get(&(false, name.to_string(), 1)).map(|w| {
                let sum = |of: fn(&Work) -> Ns| w.iter().flatten().map(of).sum::<Ns>();
                (sum(|w| w.sleep), sum(|w| w.compute))
            })
        };
        assert_eq!(work("a"), Some((Ns::ZERO, Ns(5_000))));
        assert_eq!(work("mine"), None);
    }

    #[test]
    fn a_serial_port_is_as_fast_as_it_was_at_its_fastest() {
        let mut capture = fixture::capture(&[("port", None), ("port", None)], 0);
        let driver = capture.names.add("serial");
        capture.graph.devices[0].facts.guest = true;
        for device in 0..2 {
            capture.graph.devices[device].driver = driver;
            for (i, took) in (0..).zip([62_000, 13_000, 24_000]) {
                let start = i * 100_000;
                fixture::callback(&mut capture, device, Phase::Resume, 0, start, start + took);
            }
        }
        let alone = alone(std::slice::from_ref(&capture));
        assert_eq!(alone.len(), 1, "no board's device");
        let index = Phase::Resume.device_index().unwrap();
        let work = alone[&(true, "port".to_string(), 1)];
        assert_eq!(work[index].map(|w| w.compute), Some(Ns(13_000)));
    }
}
