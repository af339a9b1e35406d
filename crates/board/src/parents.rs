//! Which of several devices of one name is the parent that a log names.
//!
//! A kernel log names parents, and names are not unique: a keyboard's `input0`
//! and a power button's. A parent suspends after its children and resumes before
//! them (`dpm_wait_for_subordinate`, `dpm_wait_for_superior`,
//! drivers/base/power/main.c), so one that was seen to do otherwise is another's.

use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::{DeviceGraph, DeviceId};
use dormouse_base::names::Sym;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// Time stamps of two threads may be apart by this.
const APART: Ns = Ns(50_000);

/// Gives each device of which the recorded order contradicts the parent the one
/// other of that name which it does not contradict, or none. Only where several
/// devices have the name of the parent.
pub(crate) fn settle(graph: &mut DeviceGraph, cycles: &[&Cycle]) {
    let mut named: BTreeMap<Sym, Vec<DeviceId>> = BTreeMap::new();
    for id in graph.ids() {
        named.entry(graph.get(id).name).or_default().push(id);
    }
    named.retain(|_, list| list.len() > 1);
    if named.is_empty() {
        return;
    }
    let calls: Vec<BTreeMap<(DeviceId, Phase), &Callback>> = cycles
        .iter()
        .map(|c| {
            let inside = c.callbacks.iter().filter(|c| c.phase.may_be_async() && c.complete);
            inside.map(|c| ((c.device, c.phase), c)).collect()
        })
        .collect();
    let fits = |parent: DeviceId, child: DeviceId| {
        calls.iter().all(|calls| {
            Phase::DEVICE.into_iter().all(|phase| {
                let (Some(p), Some(c)) = (calls.get(&(parent, phase)), calls.get(&(child, phase)))
                else {
                    return true;
                };
                match phase.direction() {
                    Direction::Suspend => c.end <= p.start + APART,
                    Direction::Resume => p.end <= c.start + APART,
                }
            })
        })
    };
    for id in graph.ids() {
        let Some(parent) = graph.get(id).parent else { continue };
        let Some(all) = named.get(&graph.get(parent).name) else { continue };
        if fits(parent, id) {
            continue;
        }
        let mut others = all.iter().copied().filter(|&p| p != parent && p != id && fits(p, id));
        let only = match (others.next(), others.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        };
        graph.devices[id.index()].parent = only;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::ThreadId;
    use dormouse_base::device::Device;
    use dormouse_base::names::Names;
    use dormouse_base::phase::PmEvent;

    #[test]
    fn the_parent_is_the_one_that_resumed_before() {
        let mut names = Names::default();
        let mut graph = DeviceGraph::default();
        let mut add = |name: &str, parent: Option<DeviceId>| {
            graph.push(Device { name: names.add(name), parent, ..Device::default() })
        };
        let (first, led, button) = (add("input0", None), add("led", None), add("input0", None));
        // The reader took the wrong one.
        graph.devices[led.index()].parent = Some(button);
        let call = |device, start, end| Callback {
            device,
            phase: Phase::Resume,
            event: PmEvent::Resume,
            thread: ThreadId(0),
            function: Sym::EMPTY,
            start: Ns::from_ms(start),
            end: Ns::from_ms(end),
            error: 0,
            complete: true,
        };
        let callbacks = std::vec![call(first, 0, 1), call(led, 1, 2), call(button, 2, 3)];
        let mut cycle = Cycle { callbacks, ..Cycle::default() };
        settle(&mut graph, &[&cycle]);
        assert_eq!(graph.get(led).parent, Some(first));
        // Neither fits: nobody knows.
        cycle.callbacks[0] = call(first, 4, 5);
        settle(&mut graph, &[&cycle]);
        assert_eq!(graph.get(led).parent, None);
    }
}
