//! Drivers that are registered one after another when the kernel's own initialisation
//! is over, as modules are. The tree itself says which, so that a kernel can be given
//! the same (kernel/probes).

use dormouse_power::fw_devlink::boot::{Boot, Driver, Drivers};
use dormouse_power::fw_devlink::machine::{Machine, Status};
use dormouse_power::fw_devlink::version::Rules;
use dormouse_power::fw_devlink::{BUSES, Booted, BusesAlone, Wish, property};
use dormouse_power::tree::{Tree, cells};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// The node with a child for each driver, in the order of their registration.
pub(crate) const DRIVERS: &str = "dormouse-drivers";
/// Property of a device's node: it provides pins.
pub(crate) const PINS: &str = "dormouse,pins";
/// For so many seconds after the last driver a kernel with modules waits for more
/// (drivers/base/dd.c:driver_deferred_probe_timeout).
const TIME_OUT: u32 = 10;
/// Property of a driver: compatibles that it matches.
pub(crate) const MATCH: &str = "match";
/// Property of a driver: seconds that pass before it is registered.
pub(crate) const AFTER: &str = "after";
/// Property of a device's node: phandles of what its driver needs.
pub(crate) const NEEDS: &str = "dormouse,needs";
/// Property of a device's node: its driver makes devices of the nodes below.
pub(crate) const CHILDREN: &str = "dormouse,children";

/// Drivers for the nodes below `below`: compatibles that stand in one node belong to one
/// driver, so that no device has two. Buses that the kernel itself has a driver for have
/// none here.
pub(crate) fn drivers<'a>(tree: &Tree<'a>, below: usize) -> Vec<Vec<&'a [u8]>> {
    let mut groups: Vec<Vec<&'a [u8]>> = Vec::new();
    let mut group: BTreeMap<&'a [u8], usize> = BTreeMap::new();
    for (i, node) in tree.nodes.iter().enumerate() {
        if i == below || !tree.is_above(below, i) {
            continue;
        }
        let own: Vec<&'a [u8]> = node.strings("compatible").collect();
        let mut known: Vec<usize> = own.iter().filter_map(|c| group.get(c).copied()).collect();
        known.sort_unstable();
        known.dedup();
        let to = known.first().copied().unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        let merged: Vec<&'a [u8]> =
            known.iter().skip(1).flat_map(|&k| core::mem::take(&mut groups[k])).collect();
        for c in merged.into_iter().chain(own) {
            if group.insert(c, to) != Some(to) {
                groups[to].push(c);
            }
        }
    }
    groups.retain(|g| !g.is_empty() && !g.iter().any(|c| BUSES.iter().any(|b| b.as_bytes() == *c)));
    groups
}

/// What the driver of a node's device needs: all that the node refers to and that is not
/// disabled.
pub(crate) fn needs(tree: &Tree<'_>, node: usize, rules: Rules) -> Vec<usize> {
    let mut all = Vec::new();
    for r in property::references(tree, node, rules, false, || {}) {
        let own = r.consumer == node && !r.ignored && r.supplier != node;
        if own && tree.up(r.supplier).all(|n| tree.nodes[n].available()) {
            all.push(r.supplier);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The drivers that a tree says there are.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// Of each node: the place of its driver.
    driver: Vec<Option<usize>>,
    /// Of each node: what its driver needs.
    needs: Vec<Vec<usize>>,
    /// Nodes whose driver makes devices of those below.
    children: BTreeSet<usize>,
    /// Of each driver: seconds that pass before.
    after: Vec<u32>,
    /// So many are registered.
    there: Cell<usize>,
}

impl Registered {
    /// Reads them.
    pub(crate) fn of(tree: &Tree<'_>) -> Registered {
        let mut place = BTreeMap::new();
        let all = tree.find(DRIVERS).map_or(&[][..], |n| &tree.children[n]);
        for (n, &driver) in all.iter().enumerate() {
            place.extend(tree.nodes[driver].strings(MATCH).map(|c| (c, n)));
        }
        let driver = |i: usize| {
            let mut names = tree.nodes[i].strings("compatible");
            names.find_map(|c| place.get(c).copied())
        };
        let needs = |i: usize| {
            let list = tree.nodes[i].get(NEEDS).unwrap_or(b"");
            cells(list).filter_map(|h| tree.by_handle(h)).collect()
        };
        let nodes = 0..tree.nodes.len();
        Registered {
            driver: nodes.clone().map(driver).collect(),
            needs: nodes.clone().map(needs).collect(),
            children: nodes.filter(|&i| tree.nodes[i].get(CHILDREN).is_some()).collect(),
            after: all.iter().map(|&d| tree.nodes[d].cell(AFTER).unwrap_or(0)).collect(),
            there: Cell::new(0),
        }
    }

    /// All are registered, or all but those that come later.
    pub(crate) fn all_there(&self, late: bool) {
        let early = self.after.iter().position(|&s| s > 0).unwrap_or(self.after.len());
        self.there.set(if late { self.after.len() } else { early });
    }

    /// Whether a node has a driver.
    pub(crate) fn drives(&self, node: usize) -> bool {
        self.driver[node].is_some()
    }

    /// Nodes that the driver of a node needs.
    pub(crate) fn needs_of(&self, node: usize) -> &[usize] {
        &self.needs[node]
    }

    fn place(&self, machine: &Machine<'_, '_>, device: usize) -> Option<usize> {
        // Clients of buses that no driver of ours makes have other drivers.
        let d = &machine.devices[device];
        self.driver[d.node.filter(|_| d.bus == "platform")?]
    }
}

impl Drivers for Registered {
    fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Driver {
        match self.place(machine, device) {
            Some(n) if n < self.there.get() => Driver::Binds {
                children: machine.devices[device].node.is_some_and(|n| self.children.contains(&n)),
            },
            Some(_) => Driver::None,
            None => BusesAlone.of(machine, device),
        }
    }

    fn missing(&self, machine: &Machine<'_, '_>, device: usize) -> Option<usize> {
        let own = machine.devices[device].node?;
        self.needs[own].iter().find_map(|&need| {
            let with = machine.tree.up(need).find(|&n| machine.nodes[n].device.is_some())?;
            let other = machine.nodes[with].device?;
            let above = machine.tree.is_above(with, own);
            (!above && machine.devices[other].status != Status::Bound).then_some(other)
        })
    }
}

/// Boots a tree: the kernel's own drivers come, then those of the tree, one at a time.
/// What was put off is tried after each attempt (`eager`), or when the last driver is
/// registered.
pub(crate) fn boot_in_order<'t, 'a>(
    tree: &'t Tree<'a>,
    wish: &Wish,
    drivers: &Registered,
    eager: bool,
) -> Booted<'t, 'a> {
    drivers.there.set(0);
    let mut machine = Machine::new(tree, wish.rules, wish.mode, wish.strict);
    machine.initialise(&wish.early);
    machine.populate();
    let devices: Vec<usize> = (0..machine.devices.len()).collect();
    let mut boot = Boot::new(&mut machine, drivers, false);
    boot.register(&devices);
    boot.late();
    boot.works_at_once(eager);
    for n in 0..drivers.after.len() {
        if drivers.after[n] > TIME_OUT {
            boot.work();
            boot.time_out();
        }
        drivers.there.set(n + 1);
        // Devices that are made on the way stand behind (bus_for_each_dev).
        let mut d = 0;
        while d < boot.machine.devices.len() {
            if drivers.place(boot.machine, d) == Some(n) {
                boot.register(&[d]);
            }
            d += 1;
        }
    }
    boot.work();
    if wish.timed_out {
        boot.time_out();
    }
    let (attempts, waiting) = (boot.attempts.clone(), boot.waiting().to_vec());
    Booted { machine, attempts, waiting }
}
