//! A list order for devices whose real one is not known.

use super::Board;
use dormouse_base::device::{DeviceId, LinkKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Puts superiors before subordinates and otherwise keeps the order, as the
/// kernel does when it moves the consumer of a new link to the tail of the list.
/// A ring of links is broken where the kernel would break it too: the link that
/// closes the ring becomes sync_state_only. Returns how many did.
///
/// Parents must not form a ring ([`dormouse_base::device::DeviceGraph::parent_cycle`]).
pub fn superiors_first(board: &mut Board) -> u32 {
    let count = board.graph.devices.len();
    // Subordinates of each device, and how many superiors each still waits for.
    let mut below: Vec<Vec<(u32, Option<u32>)>> = vec![Vec::new(); count];
    let mut above = vec![0u32; count];
    for (i, d) in board.graph.devices.iter().enumerate() {
        if let Some(p) = d.parent {
            below[p.index()].push((i as u32, None));
            above[i] += 1;
        }
    }
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (n, l) in board.graph.links.iter().enumerate() {
        if !l.kind.is_sync_state_only() {
            below[l.supplier.index()].push((l.consumer.0, Some(n as u32)));
            waiting[l.consumer.index()].push(n as u32);
            above[l.consumer.index()] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..count as u32).filter(|&i| above[i as usize] == 0).map(Reverse).collect();
    // Devices whose parent is placed, so that only links may hold them.
    let mut blocked: BinaryHeap<Reverse<u32>> = (0..count as u32)
        .filter(|&i| board.graph.devices[i as usize].parent.is_none())
        .map(Reverse)
        .collect();
    let ring = rings(&below);
    let mut place: Vec<Option<u32>> = vec![None; count];
    let mut order: Vec<u32> = Vec::with_capacity(count);
    let mut broken = 0;
    while order.len() < count {
        let Some(Reverse(i)) = ready.pop() else {
            // Everything left waits in a ring or behind one: release the first
            // device whose parent is placed from the links it waits for.
            let Some(Reverse(i)) = blocked.pop() else { break };
            let i = i as usize;
            if place[i].is_some() {
                continue;
            }
            for &n in &waiting[i] {
                let link = &mut board.graph.links[n as usize];
                let in_ring = ring[link.supplier.index()] == ring[i];
                let open = in_ring && place[link.supplier.index()].is_none();
                if open && !link.kind.is_sync_state_only() {
                    link.kind = LinkKind::SyncStateOnly;
                    above[i] -= 1;
                    broken += 1;
                }
            }
            if above[i] == 0 {
                ready.push(Reverse(i as u32));
            }
            continue;
        };
        if place[i as usize].is_some() {
            continue;
        }
        place[i as usize] = Some(order.len() as u32);
        order.push(i);
        for &(d, link) in &below[i as usize] {
            if link.is_none() {
                blocked.push(Reverse(d));
            }
            let demoted =
                link.is_some_and(|n| board.graph.links[n as usize].kind.is_sync_state_only());
            if !demoted {
                above[d as usize] -= 1;
                if above[d as usize] == 0 {
                    ready.push(Reverse(d));
                }
            }
        }
    }
    if order.len() == count {
        rearrange(board, &order, &place);
    }
    broken
}

/// A number for each device: devices that can reach each other along `below`
/// have the same one (strongly connected components, by Tarjan's algorithm).
fn rings(below: &[Vec<(u32, Option<u32>)>]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut index = vec![NONE; below.len()];
    let mut low = vec![0u32; below.len()];
    let mut ring = vec![NONE; below.len()];
    let mut stack: Vec<usize> = Vec::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut seen = 0;
    for start in 0..below.len() {
        if index[start] == NONE {
            path.push((start, 0));
        }
        while let Some((d, edge)) = path.pop() {
            if edge == 0 {
                index[d] = seen;
                low[d] = seen;
                seen += 1;
                stack.push(d);
            } else {
                low[d] = low[d].min(low[below[d][edge - 1].0 as usize]);
            }
            // On past edges to devices that are already numbered.
            let mut at = edge;
            let mut down = None;
            while let Some(&(next, _)) = below[d].get(at) {
                let next = next as usize;
                at += 1;
                if index[next] == NONE {
                    down = Some(next);
                    break;
                }
                if ring[next] == NONE {
                    low[d] = low[d].min(index[next]);
                }
            }
            if let Some(next) = down {
                path.push((d, at));
                path.push((next, 0));
            } else if low[d] == index[d] {
                while let Some(member) = stack.pop() {
                    ring[member] = index[d];
                    if member == d {
                        break;
                    }
                }
            }
        }
    }
    ring
}

/// Puts the devices of `board` in `order`, a permutation of their numbers.
pub fn in_order(board: &mut Board, order: &[u32]) {
    let mut place: Vec<Option<u32>> = vec![None; board.graph.devices.len()];
    for (new, &old) in order.iter().enumerate() {
        if let Some(p) = place.get_mut(old as usize) {
            *p = Some(new as u32);
        }
    }
    if order.len() == place.len() && place.iter().all(Option::is_some) {
        rearrange(board, order, &place);
    }
}

/// Moves every device to its new place and follows the references.
fn rearrange(board: &mut Board, order: &[u32], place: &[Option<u32>]) {
    let new = |id: DeviceId| DeviceId(place[id.index()].unwrap_or(id.0));
    let graph = &mut board.graph;
    let mut old: Vec<_> = std::mem::take(&mut graph.devices).into_iter().map(Some).collect();
    graph.devices = order.iter().filter_map(|&i| old[i as usize].take()).collect();
    for d in &mut graph.devices {
        d.parent = d.parent.map(new);
    }
    for l in &mut graph.links {
        l.consumer = new(l.consumer);
        l.supplier = new(l.supplier);
    }
    board.devices = order.iter().map(|&i| board.devices[i as usize]).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse, print};

    fn ordered(text: &str) -> (std::string::String, u32) {
        let mut b = parse(text).unwrap();
        let broken = superiors_first(&mut b);
        let out = print(&b, "");
        (out.lines().skip(5).collect::<Vec<_>>().join("\n"), broken)
    }

    #[test]
    fn consumers_move_behind_their_suppliers() {
        let text = "board 1\ndevice a\ndevice b parent=a\ndevice c\ndevice d\nlink a d active\n";
        let want = "device c\ndevice d\ndevice a\ndevice b parent=a\nlink a d active";
        assert_eq!(ordered(text), (want.into(), 0));
    }

    #[test]
    fn a_ring_is_broken_once() {
        // x only stands behind the ring of a and b, and keeps its link.
        let text = "board 1\ndevice x\ndevice a\ndevice b\ndevice c parent=b\n\
                    link a b active\nlink b a active\nlink c a active\nlink x b active\n";
        let want = "device a\ndevice b\ndevice x\ndevice c parent=b\n\
                    link a b sync_state_only\nlink b a active\nlink c a active\nlink x b active";
        assert_eq!(ordered(text), (want.into(), 1));
    }
}
