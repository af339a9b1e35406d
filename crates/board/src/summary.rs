//! What a board contains, in numbers: for `dormouse check`.

use super::Board;
use dormouse_base::device::{DeviceId, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// The callbacks of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseSummary {
    /// Devices with a callback.
    pub callbacks: u32,
    /// Sleeping time of all of them.
    pub sleep: Ns,
    /// Computing time of all of them.
    pub compute: Ns,
    /// The longest chain of callbacks that must follow each other: no schedule
    /// of the phase is shorter, unless a callback fails. Devices that may be
    /// direct-complete count as nothing, and links that are dormant,
    /// sync_state_only or against the list order as absent.
    pub bound: Ns,
}

/// A board in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All devices of the file.
    pub devices: u32,
    /// Devices that the PM core never visits.
    pub no_pm: u32,
    /// Visited devices with `async`.
    pub asynchronous: u32,
    /// Visited devices without any callback.
    pub no_callbacks: u32,
    /// Devices with a wakeup source.
    pub wakeup: u32,
    /// Devices without a parent.
    pub roots: u32,
    /// Devices in the longest chain of parents.
    pub depth: u32,
    /// Links by kind, in the order of [`LinkKind::ALL`](dormouse_base::device::LinkKind::ALL).
    pub links: [u32; 6],
    /// Devices that stand before their parent.
    pub early_children: Vec<DeviceId>,
    /// Links (by index) whose consumer stands before its supplier.
    pub early_consumers: Vec<u32>,
    /// By [`Phase::device_index`].
    pub phases: [PhaseSummary; 8],
}

/// Counts what `board` contains.
pub fn summarize(board: &Board) -> Summary {
    let graph = &board.graph;
    let mut s = Summary { devices: graph.devices.len() as u32, ..Summary::default() };
    for (id, (d, b)) in graph.ids().zip(graph.devices.iter().zip(&board.devices)) {
        let visited = !d.facts.no_pm;
        s.no_pm += u32::from(!visited);
        s.asynchronous += u32::from(visited && d.async_flag == Some(true));
        s.no_callbacks += u32::from(visited && b.no_callbacks());
        s.wakeup += u32::from(b.wakeup);
        s.roots += u32::from(d.parent.is_none());
        if d.parent.is_some_and(|p| p > id) {
            s.early_children.push(id);
        }
        for (sum, work) in s.phases.iter_mut().zip(&b.work) {
            if let Some(w) = work.filter(|_| visited) {
                sum.callbacks += 1;
                sum.sleep += w.sleep;
                sum.compute += w.compute;
            }
        }
    }
    for (i, link) in (0u32..).zip(&graph.links) {
        s.links[link.kind as usize] += 1;
        if link.supplier > link.consumer {
            s.early_consumers.push(i);
        }
    }
    s.depth = depths(board).into_iter().max().unwrap_or(0);
    for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
        if let Some(i) = phase.device_index() {
            s.phases[i].bound = bound(board, phase);
        }
    }
    s
}

/// The longest chain of callbacks of `phase`; see [`PhaseSummary::bound`].
fn bound(board: &Board, phase: Phase) -> Ns {
    let graph = &board.graph;
    let cost = |id: DeviceId| {
        let (d, b) = (graph.get(id), &board.devices[id.index()]);
        let asked = b.no_callbacks() || b.work[0].is_some_and(|w| w.ret > 0);
        let skipped = d.facts.no_pm || d.facts.syscore || (asked && !b.no_direct_complete);
        let work = if skipped { None } else { b.in_phase(phase) };
        work.map_or(Ns::ZERO, |w| w.sleep + w.compute)
    };
    // Superiors of each device, by consumer. Going through the list from the
    // head, all superiors that agree with the order are done before a device;
    // the longest chain has the same length in either direction.
    let live = |kind| matches!(kind, LinkKind::Stateless | LinkKind::Active);
    let mut edges: Vec<(DeviceId, DeviceId)> = graph
        .links
        .iter()
        .filter(|l| live(l.kind) && l.supplier < l.consumer)
        .map(|l| (l.consumer, l.supplier))
        .collect();
    edges
        .extend(graph.ids().filter_map(|d| Some((d, graph.get(d).parent?))).filter(|(d, p)| p < d));
    edges.sort_unstable();
    let mut at = 0;
    let mut end = vec![Ns::ZERO; graph.devices.len()];
    for id in graph.ids() {
        let mut ready = Ns::ZERO;
        while edges.get(at).is_some_and(|e| e.0 == id) {
            let superior = edges[at].1;
            // A device that is never visited completes nothing.
            if !graph.get(superior).facts.no_pm {
                ready = ready.max(end[superior.index()]);
            }
            at += 1;
        }
        // On the way up a syscore device is done at once, without waiting.
        if graph.get(id).facts.syscore && phase.direction() == Direction::Resume {
            ready = Ns::ZERO;
        }
        end[id.index()] = ready + cost(id);
    }
    end.into_iter().max().unwrap_or(Ns::ZERO)
}

/// The depth of each device: 1 for a root, one more than its parent's below.
pub fn depths(board: &Board) -> Vec<u32> {
    let devices = &board.graph.devices;
    let mut depth = vec![0u32; devices.len()];
    let mut path: Vec<usize> = Vec::new();
    for i in 0..devices.len() {
        let mut at = Some(i);
        while let Some(d) = at.filter(|&d| depth[d] == 0) {
            // Also ends a ring of parents, which no board file can contain.
            depth[d] = 1;
            path.push(d);
            at = devices[d].parent.map(|p| p.index());
        }
        let mut above = at.map_or(0, |d| depth[d]);
        while let Some(d) = path.pop() {
            above = above.saturating_add(1);
            depth[d] = above;
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn the_bound_follows_parents_and_live_links() {
        let b = parse(
            "board 1\n\
             device R\n\
             device X parent=R async suspend=40ms resume=1ms\n\
             device S parent=R suspend=160ms\n\
             device T parent=S suspend=80ms,ret=0 no_direct_complete\n\
             device Y parent=R async wakeup suspend=120ms\n\
             device Z parent=Y direct_complete suspend=900ms\n\
             link Y X\nlink Y T dormant\nlink X T active\n",
        )
        .unwrap();
        let s = summarize(&b);
        assert_eq!((s.devices, s.asynchronous, s.no_callbacks, s.depth), (6, 2, 1, 3));
        assert_eq!((s.links, s.early_consumers.as_slice()), ([1, 1, 1, 0, 0, 0], &[2][..]));
        // S 160, then T 80; Y 120 after X 40; X after T is against the order.
        assert_eq!(s.phases[1].bound, Ns::from_ms(240));
        assert_eq!(s.phases[6].bound, Ns::from_ms(1));
        assert_eq!((s.phases[1].callbacks, s.phases[1].sleep), (5, Ns::from_ms(1300)));
    }
}
