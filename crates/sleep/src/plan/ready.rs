//! When a device is of use again.
//!
//! `dpm_wait_for_superior` (drivers/base/power/main.c, 6.18) lets a callback begin
//! when the parent and the suppliers are done. A device without callbacks waits for
//! nobody and is walked over at once, but whoever opens it reaches the same
//! hardware: it is ready when everything that it needs is.

use crate::simulate::change::is_needed;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// Phases after which a device is ready: `complete` only lets it sleep again.
pub(super) fn counts(phase: Phase) -> bool {
    phase.direction() == Direction::Resume && phase != Phase::Complete
}

/// `device` first, then its parents and suppliers and theirs, the nearest first.
pub fn needs(board: &Board, device: DeviceId) -> Vec<DeviceId> {
    let graph = &board.graph;
    let mut seen = vec![false; graph.devices.len()];
    seen[device.index()] = true;
    let mut list = vec![device];
    let mut at = 0;
    while let Some(&d) = list.get(at) {
        at += 1;
        let suppliers = graph.links.iter().filter(|l| l.consumer == d && is_needed(l.kind));
        let above = graph.get(d).parent.into_iter().chain(suppliers.map(|l| l.supplier));
        for a in above.filter(|a| a.index() < graph.devices.len()) {
            if !std::mem::replace(&mut seen[a.index()], true) {
                list.push(a);
            }
        }
    }
    list
}

/// The last of the callbacks on the way up for which `needs` waits, by their
/// devices in the changed board: its end, its phase and whose it is.
pub(super) fn last(
    cycle: &Cycle,
    needs: &[DeviceId],
    place: &[Option<DeviceId>],
) -> Option<(Ns, Phase, DeviceId)> {
    let now: Vec<DeviceId> =
        needs.iter().filter_map(|d| place.get(d.index()).copied().flatten()).collect();
    let of_it = cycle.callbacks.iter().filter(|c| counts(c.phase) && now.contains(&c.device));
    of_it.map(|c| (c.end, c.phase, c.device)).max()
}

/// What a device without a callback on the way up waits for: the nearest that it
/// needs and that has one. `None` if it has one itself, or nothing has.
pub fn stands_for(board: &Board, device: DeviceId) -> Option<DeviceId> {
    let works = |d: &DeviceId| {
        Phase::DEVICE
            .into_iter()
            .any(|p| counts(p) && board.devices[d.index()].in_phase(p).is_some())
    };
    needs(board, device).into_iter().find(works).filter(|&d| d != device)
}

#[cfg(test)]
mod tests {
    use super::super::{Goal, plan};
    use super::*;
    use crate::simulate::Settings;
    use crate::simulate::policy::KERNELS;
    use dormouse_board::parse;

    const BOARD: &str = "board 1\ncpus 4\ndevice soc\n\
        device phy parent=soc async resume=30ms\n\
        device bus parent=soc resume=2ms resume_noirq=1ms\n\
        device mac parent=bus async resume=20ms\n\
        device eth0 parent=mac\n\
        device led parent=soc\n\
        link mac phy stateless\n";

    fn find(board: &Board, name: &str) -> DeviceId {
        board.graph.ids().find(|d| board.names.get(board.graph.get(*d).name) == name).unwrap()
    }

    #[test]
    fn a_device_without_callbacks_is_ready_with_what_it_needs() {
        let board = parse(BOARD).unwrap();
        let [eth, mac, led] = ["eth0", "mac", "led"].map(|n| find(&board, n));
        let ms = Ns::from_ms;
        let goal = Goal {
            ready: std::vec![(eth, ms(10)), (mac, ms(10)), (led, ms(10))],
            ..Goal::default()
        };
        for policy in KERNELS {
            let p = plan(&board, policy, &Settings::zero_cost(), &goal, &[], 1).unwrap();
            // noirq of the bus, then the phy, then the mac that needs it.
            assert!(p.before.ready[0] >= ms(51), "{}: {:?}", policy.name, p.before.ready);
            assert_eq!(p.before.ready[0], p.before.ready[1], "{}", policy.name);
            assert_eq!(p.before.ready[2], Ns::ZERO, "{}: it needs nothing", policy.name);
            assert!(!p.met, "{}", policy.name);
            assert!(p.gap > Ns::ZERO, "{}: the bound knows it too", policy.name);
        }
        assert_eq!(stands_for(&board, eth), Some(mac));
        assert_eq!(stands_for(&board, mac), None);
        assert_eq!(stands_for(&board, led), None);
    }
}
