//! What the kernel knows while it makes links: nodes, devices, and the two kinds of
//! links between them (include/linux/fwnode.h, include/linux/device.h).

use super::version::{Mode, Rules};
use super::work::Work;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A node of the tree while links are made.
#[derive(Clone, Debug, Default)]
pub struct Firmware {
    /// Its first device.
    pub device: Option<usize>,
    /// Links to suppliers, oldest first; the kernel walks them newest first.
    pub suppliers: Vec<usize>,
    /// Links to consumers, oldest first; the kernel walks them newest first.
    pub consumers: Vec<usize>,
    /// Something initialises it without a driver (FWNODE_FLAG_INITIALIZED).
    pub initialised: bool,
    /// It never becomes a device (FWNODE_FLAG_NOT_DEVICE).
    pub not_device: bool,
    /// Its properties were read (FWNODE_FLAG_LINKS_ADDED).
    pub parsed: bool,
    /// The search for cycles is in it (FWNODE_FLAG_VISITED), so deep.
    pub visited: Option<u32>,
    /// Number of the search for cycles that has an answer for it, and the answer.
    pub known: (u32, bool),
    /// A device was made of it, or never will be (OF_POPULATED).
    pub populated: bool,
}

/// A link between two nodes (struct fwnode_link).
#[derive(Clone, Debug)]
pub struct NodeLink {
    /// Needs the supplier.
    pub consumer: usize,
    /// Is needed.
    pub supplier: usize,
    /// Part of a cycle (FWLINK_FLAG_CYCLE).
    pub cycle: bool,
    /// Taken out of consideration by `post-init-providers` (FWLINK_FLAG_IGNORE).
    pub ignored: bool,
    /// It was not dropped yet.
    pub alive: bool,
}

/// How far the binding of a device is (enum dl_dev_state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// No driver is bound.
    #[default]
    NoDriver,
    /// Its driver is asked.
    Probing,
    /// A driver is bound.
    Bound,
}

/// A device.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Its node; adapters between a controller and its clients have none.
    pub node: Option<usize>,
    /// The device above it.
    pub parent: Option<usize>,
    /// Bus or class; empty for the root of platform devices.
    pub bus: &'static str,
    /// The kernel's name.
    pub name: String,
    /// How far it is.
    pub status: Status,
    /// A driver matched it once.
    pub matched: bool,
    /// Children whose adding is complete.
    pub children: Vec<usize>,
    /// Links to suppliers, oldest first.
    pub suppliers: Vec<usize>,
    /// Links to consumers, oldest first.
    pub consumers: Vec<usize>,
    /// When it came to the tail of the list of devices.
    pub place: u64,
}

/// A link between two devices (struct device_link).
#[derive(Clone, Debug)]
pub struct Link {
    /// Needs the supplier.
    pub consumer: usize,
    /// Is needed.
    pub supplier: usize,
    /// It orders nothing and only matters for sync_state.
    pub sync_state_only: bool,
    /// Part of a cycle.
    pub cycle: bool,
    /// The consumer stands for a node below it, which is no device yet.
    pub proxy: bool,
    /// Runtime power management follows it.
    pub runtime_pm: bool,
    /// The consumer is tried again when the supplier is bound.
    pub autoprobe: bool,
    /// It was not dropped yet.
    pub alive: bool,
}

/// Everything.
pub struct Machine<'t, 'a> {
    /// The tree.
    pub tree: &'t Tree<'a>,
    /// Of which kernel.
    pub rules: Rules,
    /// `fw_devlink=`.
    pub mode: Mode,
    /// `fw_devlink.strict=1`.
    pub strict: bool,
    /// What is known of each node.
    pub nodes: Vec<Firmware>,
    /// Links between nodes, in order of making.
    pub node_links: Vec<NodeLink>,
    /// Which link two nodes have: (consumer, supplier).
    pub node_pairs: BTreeMap<(usize, usize), usize>,
    /// Devices in order of making.
    pub devices: Vec<Device>,
    /// Links between devices, in order of making.
    pub links: Vec<Link>,
    /// Which link two devices have: (consumer, supplier).
    pub pairs: BTreeMap<(usize, usize), usize>,
    /// Lines of the log about cycles: consumer and supplier.
    pub cycles: Vec<(usize, usize)>,
    /// Links that could not be made: consumer and supplier.
    pub refused: BTreeSet<(usize, usize)>,
    /// Properties that end in a reference to nothing.
    pub missing: u64,
    /// Names of devices that were there already.
    pub doubled: Vec<String>,
    /// Names that devices of a bus have.
    pub names: BTreeSet<(&'static str, String)>,
    /// Aliases and the paths they stand for.
    pub aliases: Vec<(String, String)>,
    /// Next number of buses that no alias names.
    pub next_bus: BTreeMap<&'static str, u32>,
    /// Searches for cycles so far.
    pub searches: u32,
    /// Tail of the list of devices.
    pub tail: u64,
    /// What is left of the budget.
    pub work: Work,
}

impl<'t, 'a> Machine<'t, 'a> {
    /// Before anything is made.
    pub fn new(tree: &'t Tree<'a>, rules: Rules, mode: Mode, strict: bool) -> Self {
        Machine {
            tree,
            rules,
            mode,
            strict,
            nodes: std::vec![Firmware::default(); tree.nodes.len()],
            node_links: Vec::new(),
            node_pairs: BTreeMap::new(),
            devices: Vec::new(),
            links: Vec::new(),
            pairs: BTreeMap::new(),
            cycles: Vec::new(),
            refused: BTreeSet::new(),
            missing: 0,
            doubled: Vec::new(),
            names: BTreeSet::new(),
            aliases: tree.aliases(),
            next_bus: BTreeMap::new(),
            searches: 0,
            tail: 0,
            work: Work::new(tree.nodes.len()),
        }
    }

    /// The device of the nearest node above that has one.
    pub(crate) fn device_above(&self, node: usize) -> Option<usize> {
        self.tree.above(node).find_map(|n| self.nodes[n].device)
    }

    /// Whether a node was initialised without a device, or with one without a driver
    /// (core.c:fwnode_init_without_drv).
    pub fn without_driver(&self, node: usize) -> bool {
        let n = &self.nodes[node];
        let bound = |d: usize| self.devices[d].status != Status::NoDriver;
        n.initialised && !n.device.is_some_and(bound)
    }

    /// Links to suppliers of a node as the kernel walks them.
    pub(crate) fn suppliers_of(&self, node: usize) -> Vec<usize> {
        self.walked(&self.nodes[node].suppliers)
    }

    /// Links to consumers of a node as the kernel walks them.
    pub(crate) fn consumers_of(&self, node: usize) -> Vec<usize> {
        self.walked(&self.nodes[node].consumers)
    }

    fn walked(&self, list: &[usize]) -> Vec<usize> {
        list.iter().rev().copied().filter(|&l| self.node_links[l].alive).collect()
    }

    /// Adds a link between nodes, or flags to the one that is there
    /// (core.c:__fwnode_link_add).
    pub(crate) fn link_nodes(
        &mut self,
        consumer: usize,
        supplier: usize,
        cycle: bool,
        ignored: bool,
    ) {
        if let Some(&l) = self.node_pairs.get(&(consumer, supplier)) {
            self.node_links[l].cycle |= cycle;
            self.node_links[l].ignored |= ignored;
            return;
        }
        let l = self.node_links.len();
        self.node_links.push(NodeLink { consumer, supplier, cycle, ignored, alive: true });
        self.node_pairs.insert((consumer, supplier), l);
        self.nodes[supplier].consumers.push(l);
        self.nodes[consumer].suppliers.push(l);
    }

    /// Drops a link between nodes.
    pub(crate) fn unlink_nodes(&mut self, l: usize) {
        let link = &mut self.node_links[l];
        if !link.alive {
            return;
        }
        link.alive = false;
        let (consumer, supplier) = (link.consumer, link.supplier);
        self.node_pairs.remove(&(consumer, supplier));
        let links = &self.node_links;
        // Dead ones are swept now and then: lists of hubs are long.
        let sweep = |list: &mut Vec<usize>| {
            let dead = list.iter().rev().take(16).filter(|&&l| !links[l].alive).count();
            if dead >= 8 || list.len() < 16 {
                list.retain(|&l| links[l].alive);
            }
        };
        sweep(&mut self.nodes[consumer].suppliers);
        sweep(&mut self.nodes[supplier].consumers);
    }

    /// Whether a device waits for a node that is no device yet, and for which: the
    /// first that the kernel comes to (core.c:fwnode_links_check_suppliers).
    pub fn awaited(&self, device: usize) -> Option<usize> {
        if !self.mode.waits() {
            return None;
        }
        let node = self.devices[device].node?;
        let mut links = self.nodes[node].suppliers.iter().rev().map(|&l| &self.node_links[l]);
        links.find(|l| l.alive && !l.cycle && !l.ignored).map(|l| l.supplier)
    }

    /// The first supplier that is not bound and that the device's links make it wait
    /// for (core.c:device_links_check_suppliers).
    pub(crate) fn not_ready(&self, device: usize) -> Option<usize> {
        let mut links = self.devices[device].suppliers.iter().map(|&l| &self.links[l]);
        let unbound = |d: usize| self.devices[d].status != Status::Bound;
        links.find(|l| l.alive && !l.sync_state_only && unbound(l.supplier)).map(|l| l.supplier)
    }
}
