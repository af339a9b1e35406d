//! The devices of one cycle with the edges between them.
//!
//! A capture may hold many devices and many cycles; looking at every device in
//! every cycle would multiply the two. A cycle therefore works on the devices
//! that occur in it and on what lies above them; on all, if it shows no prepare
//! phase and there are not many more devices than callbacks.

use dormouse_base::cycle::Cycle;
use dormouse_base::device::{DeviceGraph, DeviceId, LinkKind};
use dormouse_base::phase::Phase;

const NONE: u32 = u32::MAX;

/// Kept between cycles so that nothing as large as the whole graph is cleared
/// for each of them.
#[derive(Default)]
pub struct Scratch {
    slot: Vec<u32>,
    epoch: Vec<u32>,
    now: u32,
    /// Suppliers of each device: offsets into `links`, which are indices of
    /// [`DeviceGraph::links`] sorted by consumer.
    offset: Vec<u32>,
    links: Vec<u32>,
}

impl Scratch {
    fn prepare(&mut self, graph: &DeviceGraph) {
        let n = graph.devices.len();
        if self.slot.len() != n || self.offset.len() != n + 1 {
            self.slot = std::vec![NONE; n];
            self.epoch = std::vec![0; n];
            self.now = 0;
            self.offset = std::vec![0; n + 1];
            let valid =
                |l: &dormouse_base::device::Link| l.consumer.index() < n && l.supplier.index() < n;
            for l in graph.links.iter().filter(|l| valid(l)) {
                self.offset[l.consumer.index() + 1] += 1;
            }
            for i in 0..n {
                self.offset[i + 1] += self.offset[i];
            }
            let mut at = self.offset.clone();
            self.links = std::vec![0; self.offset[n] as usize];
            for (i, l) in graph.links.iter().enumerate().filter(|(_, l)| valid(l)) {
                let a = &mut at[l.consumer.index()];
                self.links[*a as usize] = i as u32;
                *a += 1;
            }
        }
        self.now += 1;
    }

    fn find(&self, id: DeviceId) -> Option<u32> {
        let i = id.index();
        (i < self.slot.len() && self.epoch[i] == self.now).then(|| self.slot[i])
    }

    fn suppliers(&self, id: DeviceId) -> &[u32] {
        let i = id.index();
        &self.links[self.offset[i] as usize..self.offset[i + 1] as usize]
    }
}

/// What kind of edge leads from a device to its superior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// Parent and child.
    Parent,
    /// Supplier and consumer by a device link.
    Link(LinkKind),
}

/// An edge to another device of the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index into [`Local::ids`].
    pub to: u32,
    /// Parent or link.
    pub bond: Bond,
}

/// Devices of a cycle in list order.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// Devices that occur in the cycle, and their superiors, in list order.
    pub ids: Vec<DeviceId>,
    /// Which of [`Phase::DEVICE`] a device had a callback in, as bits.
    pub seen: Vec<u8>,
    /// The device or something below it was really suspended: it is not
    /// direct-complete, so on resume it waits for its superiors.
    pub active: Vec<bool>,
    /// Order in which superiors surely come before subordinates: list order
    /// where it is known, else by depth.
    pub superior_first: Vec<u32>,
    /// Position in list of every callback's device, parallel to the callbacks.
    pub of_callback: Vec<u32>,
    up_at: Vec<u32>,
    up: Vec<Edge>,
    down_at: Vec<u32>,
    down: Vec<Edge>,
}

impl Local {
    /// The devices of `cycle`.
    pub fn of(graph: &DeviceGraph, cycle: &Cycle, scratch: &mut Scratch) -> Local {
        scratch.prepare(graph);
        let n = graph.devices.len();
        let mut ids: Vec<DeviceId> = Vec::new();
        for cb in &cycle.callbacks {
            if cb.device.index() < n {
                note(cb.device, &mut ids, scratch);
            }
        }
        // A source that shows no prepare phase does not show which devices are
        // there, so all of them are, unless they are many more than callbacks.
        let prepared = cycle.callbacks.iter().any(|c| c.phase == Phase::Prepare);
        if !prepared && n <= cycle.callbacks.len() * 4 + 64 {
            for id in graph.ids() {
                note(id, &mut ids, scratch);
            }
        }
        // Superiors, transitively; a log that names more of them than it has
        // callbacks is not worth following further.
        let budget = ids.len() * 2 + 64;
        let mut at = 0;
        while at < ids.len() && ids.len() < budget {
            let id = ids[at];
            at += 1;
            if let Some(p) = graph.get(id).parent.filter(|p| p.index() < n) {
                note(p, &mut ids, scratch);
            }
            for k in 0..scratch.suppliers(id).len() {
                let l = scratch.suppliers(id)[k];
                note(graph.links[l as usize].supplier, &mut ids, scratch);
            }
        }
        ids.sort_unstable();
        for (i, id) in ids.iter().enumerate() {
            scratch.slot[id.index()] = i as u32;
        }
        let mut local = Local { ids, ..Local::default() };
        local.connect(graph, scratch);
        local.mark(cycle, scratch);
        local.order(graph.order_known);
        local
    }

    /// Edges to what the device waits for on resume.
    pub fn superiors(&self, i: u32) -> &[Edge] {
        &self.up[self.up_at[i as usize] as usize..self.up_at[i as usize + 1] as usize]
    }

    /// Edges to what the device waits for on suspend.
    pub(crate) fn subordinates(&self, i: u32) -> &[Edge] {
        &self.down[self.down_at[i as usize] as usize..self.down_at[i as usize + 1] as usize]
    }

    fn connect(&mut self, graph: &DeviceGraph, scratch: &Scratch) {
        let n = self.ids.len();
        self.up_at.push(0);
        self.down_at = std::vec![0; n + 1];
        for (i, &id) in self.ids.iter().enumerate() {
            let mut edge = |to: Option<u32>, bond| {
                if let Some(to) = to.filter(|&t| t != i as u32) {
                    self.up.push(Edge { to, bond });
                    self.down_at[to as usize + 1] += 1;
                }
            };
            edge(graph.get(id).parent.and_then(|p| scratch.find(p)), Bond::Parent);
            for &l in scratch.suppliers(id) {
                let l = &graph.links[l as usize];
                edge(scratch.find(l.supplier), Bond::Link(l.kind));
            }
            self.up_at.push(self.up.len() as u32);
        }
        for i in 0..n {
            self.down_at[i + 1] += self.down_at[i];
        }
        let mut at = self.down_at.clone();
        self.down = std::vec![Edge { to: 0, bond: Bond::Parent }; self.up.len()];
        for i in 0..n {
            for k in self.up_at[i]..self.up_at[i + 1] {
                let e = self.up[k as usize];
                let a = &mut at[e.to as usize];
                self.down[*a as usize] = Edge { to: i as u32, bond: e.bond };
                *a += 1;
            }
        }
    }

    fn mark(&mut self, cycle: &Cycle, scratch: &Scratch) {
        let n = self.ids.len();
        self.seen = std::vec![0; n];
        self.active = std::vec![false; n];
        let mut stack: Vec<u32> = Vec::new();
        self.of_callback.reserve(cycle.callbacks.len());
        for cb in &cycle.callbacks {
            let i = scratch.find(cb.device).unwrap_or(NONE);
            self.of_callback.push(i);
            let (Some(bit), true) = (cb.phase.device_index(), i != NONE) else { continue };
            self.seen[i as usize] |= 1 << bit;
            if cb.phase.may_be_async() && cb.phase != Phase::Prepare && !self.active[i as usize] {
                self.active[i as usize] = true;
                stack.push(i);
            }
        }
        while let Some(i) = stack.pop() {
            for k in self.up_at[i as usize]..self.up_at[i as usize + 1] {
                let to = self.up[k as usize].to as usize;
                if !self.active[to] {
                    self.active[to] = true;
                    stack.push(to as u32);
                }
            }
        }
    }

    fn order(&mut self, known: bool) {
        let n = self.ids.len() as u32;
        self.superior_first = (0..n).collect();
        if known {
            return;
        }
        // Depth by peeling devices whose superiors are all placed; devices on
        // a cycle of links are never peeled and come last.
        let mut missing: Vec<u32> = (0..n).map(|i| self.superiors(i).len() as u32).collect();
        let mut order: Vec<u32> = (0..n).filter(|&i| missing[i as usize] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            let i = order[at];
            at += 1;
            for k in self.down_at[i as usize]..self.down_at[i as usize + 1] {
                let to = self.down[k as usize].to;
                missing[to as usize] -= 1;
                if missing[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        order.extend((0..n).filter(|&i| missing[i as usize] > 0));
        self.superior_first = order;
    }
}

fn note(id: DeviceId, ids: &mut Vec<DeviceId>, scratch: &mut Scratch) {
    if scratch.find(id).is_none() {
        scratch.epoch[id.index()] = scratch.now;
        scratch.slot[id.index()] = ids.len() as u32;
        ids.push(id);
    }
}
