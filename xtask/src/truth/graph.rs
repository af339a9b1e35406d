//! The machine as the laboratory knows it: who waits for whom.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::{Device, DeviceId, LinkKind};
use dormouse_base::names::Names;
use dormouse_sleep::simulate::kernel::Kernel;
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel log says of which device it means: driver, name, parent.
pub(crate) type Key = (String, String, String);

/// The key of `device`.
pub(crate) fn key(names: &Names, device: &Device) -> Key {
    let text = |s| names.get(s).trim().to_owned();
    let parent = match names.get(device.parent_name) {
        "none" => String::new(),
        other => other.trim().to_owned(),
    };
    (text(device.driver), text(device.name), parent)
}

/// Devices by their number in the recording.
pub(crate) struct Truth {
    /// Where the device of a key is; `None` if it means several.
    pub place: BTreeMap<Key, Option<u32>>,
    /// Has a callback in the log.
    pub logged: Vec<bool>,
    /// `power/async`.
    pub asynchronous: Vec<bool>,
    /// What each needs: parent and suppliers of live links.
    superiors: Vec<Vec<u32>>,
    /// And who needs it.
    inferiors: Vec<Vec<u32>>,
}

impl Truth {
    /// The machine of `capture`, of which `used` are in the log.
    pub(crate) fn new(capture: &Capture, used: &[&Cycle]) -> Truth {
        let graph = &capture.graph;
        let n = graph.devices.len();
        let mut logged = vec![false; n];
        for c in used.iter().flat_map(|c| &c.callbacks).filter(|c| c.phase.may_be_async()) {
            logged[c.device.index()] = true;
        }
        let mut place: BTreeMap<Key, Option<u32>> = BTreeMap::new();
        for id in graph.ids().filter(|id| logged[id.index()]) {
            let of = place.entry(key(&capture.names, graph.get(id)));
            of.and_modify(|p| *p = None).or_insert(Some(id.0));
        }
        // Since 6.18 (and 6.17.8) links that only keep a driver's state do not
        // make anyone wait.
        let kernel = used.first().and_then(|c| Kernel::parse(capture.names.get(c.kernel)));
        let passes = kernel.is_some_and(|k| k.policy().name == "G4");
        let live = |kind: LinkKind| match kind {
            LinkKind::Dormant => false,
            kind if kind.is_sync_state_only() => !passes,
            _ => true,
        };
        let mut superiors: Vec<Vec<u32>> = vec![Vec::new(); n];
        for id in graph.ids() {
            superiors[id.index()].extend(graph.get(id).parent.map(|p: DeviceId| p.0));
        }
        for l in graph.links.iter().filter(|l| live(l.kind)) {
            superiors[l.consumer.index()].push(l.supplier.0);
        }
        let mut inferiors: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (d, list) in superiors.iter().enumerate() {
            for &s in list {
                inferiors[s as usize].push(d as u32);
            }
        }
        let asynchronous = graph.devices.iter().map(|d| d.async_flag == Some(true)).collect();
        Truth { place, logged, asynchronous, superiors, inferiors }
    }

    /// Everything that `device` needs.
    pub(crate) fn above(&self, device: u32) -> BTreeSet<u32> {
        walk(&self.superiors, device, |_| true)
    }

    /// Of what `device` needs those in the log that are nearest to it: the way to
    /// them leads over silent devices only.
    pub(crate) fn nearest(&self, device: u32) -> BTreeSet<u32> {
        self.first_logged(&self.superiors, device)
    }

    /// The same of what needs `device`.
    pub(crate) fn nearest_below(&self, device: u32) -> BTreeSet<u32> {
        self.first_logged(&self.inferiors, device)
    }

    fn first_logged(&self, edges: &[Vec<u32>], device: u32) -> BTreeSet<u32> {
        let mut seen = walk(edges, device, |d| !self.logged[d as usize]);
        seen.retain(|&d| self.logged[d as usize]);
        seen
    }
}

/// Everything that can be reached from `from`, going on only where `through`.
fn walk(edges: &[Vec<u32>], from: u32, through: impl Fn(u32) -> bool) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    let mut stack = vec![from];
    while let Some(d) = stack.pop() {
        for &next in &edges[d as usize] {
            if seen.insert(next) && through(next) {
                stack.push(next);
            }
        }
    }
    seen
}
