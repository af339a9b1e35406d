//! Whether callbacks ran in an order that the devices of a board allow. It reads
//! the board and the times alone and knows nothing of how they were scheduled.

use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_board::Board;
use dormouse_lab::describe::{Description, guest_name};
use dormouse_lab::trace::Intervals;
use std::collections::{BTreeMap, BTreeSet};

/// What was held against each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    /// Pairs of devices that must not overlap.
    pub relations: usize,
    /// Those that ran in the wrong order, as `phase: superior, subordinate`.
    pub wrong: Vec<String>,
}

/// Superiors of each device: its parent and the suppliers that every kernel waits
/// for. Devices that the kernel never visits have none and pass nothing on.
fn superiors(board: &Board) -> Vec<Vec<DeviceId>> {
    let visited = |id: DeviceId| !board.graph.get(id).facts.no_pm;
    let mut out: Vec<Vec<DeviceId>> = vec![Vec::new(); board.graph.devices.len()];
    for id in board.graph.ids().filter(|id| visited(*id)) {
        let parent = board.graph.get(id).parent.filter(|p| visited(*p));
        out[id.index()].extend(parent);
    }
    for link in &board.graph.links {
        let live = link.kind != LinkKind::Dormant && !link.kind.is_sync_state_only();
        if live && visited(link.consumer) && visited(link.supplier) {
            out[link.consumer.index()].push(link.supplier);
        }
    }
    out
}

/// Holds one cycle against the board: a superior and a subordinate, also through
/// devices that have no callback in the phase, never overlap.
pub(crate) fn check(board: &Board, made: &Description, cycle: &Intervals) -> Checked {
    let superiors = superiors(board);
    let names: BTreeMap<DeviceId, String> =
        made.devices.iter().enumerate().map(|(n, id)| (*id, guest_name(n))).collect();
    let mut out = Checked::default();
    for phase in Phase::ALL.into_iter().filter(|p| p.may_be_async()) {
        let of = |id: &DeviceId| {
            names.get(id).and_then(|n| cycle.of.get(&(phase, n.clone())).map(|i| (n, *i)))
        };
        for id in board.graph.ids() {
            let Some((name, mine)) = of(&id) else { continue };
            let mut open: Vec<DeviceId> = superiors[id.index()].clone();
            let mut seen: BTreeSet<DeviceId> = open.iter().copied().collect();
            while let Some(above) = open.pop() {
                let Some((other, its)) = of(&above) else {
                    open.extend(superiors[above.index()].iter().filter(|s| seen.insert(**s)));
                    continue;
                };
                out.relations += 1;
                let fine = match phase.direction() {
                    Direction::Suspend => mine.end <= its.start,
                    Direction::Resume => its.end <= mine.start,
                };
                if !fine {
                    out.wrong.push(format!("{}: {other}, {name}", phase.title()));
                }
            }
        }
    }
    out
}

/// Devices whose callbacks ran, by phase: the same whoever schedules them.
pub(crate) fn called(cycle: &Intervals) -> BTreeSet<(Phase, String)> {
    cycle.of.keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::time::Ns;
    use dormouse_board::parse;
    use dormouse_lab::trace::Interval;

    /// A parent, a silent child and its child, all but the middle with a callback.
    fn cycle(start: i64) -> Checked {
        let board = parse(
            "board 1\ndevice a suspend=1ms\ndevice b parent=a\ndevice c parent=b suspend=1ms\n",
        )
        .unwrap();
        let devices = board.graph.ids().collect();
        let made = Description { devices, ..Description::default() };
        let mut cycle = Intervals::default();
        let at = |start: i64, end: i64| Interval { start: Ns(start), end: Ns(end) };
        cycle.of.insert((Phase::Suspend, "d00000".into()), at(start, start + 10));
        cycle.of.insert((Phase::Suspend, "d00002".into()), at(0, 10));
        check(&board, &made, &cycle)
    }

    #[test]
    fn a_parent_waits_also_through_a_silent_device() {
        let fine = cycle(10);
        assert_eq!((fine.relations, fine.wrong.len()), (1, 0));
        let wrong = cycle(9);
        assert_eq!(wrong.wrong, ["suspend: d00000, d00002"]);
    }
}
