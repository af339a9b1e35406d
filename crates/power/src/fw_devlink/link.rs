//! Links of a device that is added (drivers/base/core.c:fw_devlink_link_device,
//! fw_devlink_create_devlink, device_link_add; the same in 6.1, 6.12 and 7.3).

use super::machine::{Link, Machine, Status};
use super::property;
use super::version::Mode;

/// What became of an attempt to make a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// There is a link, or there will never be one: the nodes' link is done.
    Done,
    /// The supplier is no device yet.
    Again,
}

/// Flags of a link to be made.
#[derive(Clone, Copy)]
struct Flags {
    sync_state_only: bool,
    cycle: bool,
    proxy: bool,
    runtime_pm: bool,
    autoprobe: bool,
}

impl Link {
    /// Sync-state-only and nothing else (device_link_flag_is_sync_state_only).
    pub(crate) fn orders_nothing(&self) -> bool {
        self.sync_state_only && !self.runtime_pm && !self.autoprobe
    }

    /// Lets it order nothing (fw_devlink_relax_link); every link here is inferred.
    pub(crate) fn relax(&mut self) {
        if !self.orders_nothing() {
            self.sync_state_only = true;
            (self.runtime_pm, self.autoprobe, self.cycle) = (false, false, false);
        }
    }
}

impl Machine<'_, '_> {
    /// Makes the links of a device that is the first of its node.
    pub(crate) fn link_device(&mut self, device: usize) {
        let Some(node) = self.devices[device].node else { return };
        if self.mode == Mode::Off {
            return;
        }
        self.parse_below(node);
        self.link_to_consumers(device, node);
        self.link_to_suppliers(device, node);
    }

    /// Reads the properties of a node and of what is below it.
    fn parse_below(&mut self, node: usize) {
        if !self.nodes[node].parsed {
            self.nodes[node].parsed = true;
            let mut missing = 0;
            let found = property::references(self.tree, node, self.rules, self.strict, || {
                missing += 1;
            });
            self.missing += missing;
            for r in found {
                if self.usable(r.supplier) {
                    self.link_nodes(r.consumer, r.supplier, false, r.ignored);
                }
            }
        }
        for i in 0..self.tree.children[node].len() {
            let child = self.tree.children[node][i];
            if self.tree.nodes[child].available() {
                self.parse_below(child);
            }
        }
    }

    /// Whether a node and what is above it are not disabled, up to the first device
    /// (drivers/of/property.c:of_link_to_phandle).
    fn usable(&self, node: usize) -> bool {
        let mut up = self.tree.up(node).take_while(|&n| self.nodes[n].device.is_none());
        up.all(|n| self.tree.nodes[n].available())
    }

    /// Links those that wait for the node of a new device.
    pub(crate) fn link_to_consumers(&mut self, device: usize, node: usize) {
        for l in self.consumers_of(node) {
            let consumer = self.node_links[l].consumer;
            let own = self.nodes[consumer].device;
            let found = own.or_else(|| {
                let above = self.device_above(consumer)?;
                let n = self.devices[above].node?;
                (!self.tree.is_above(n, node)).then_some(above)
            });
            let Some(c) = found else { continue };
            let made = self.create(c, node, l);
            if own.is_some() && made == Made::Done {
                self.unlink_nodes(l);
            }
        }
        debug_assert!(device < self.devices.len());
    }

    /// Links a new device to what its node and the nodes below it need.
    fn link_to_suppliers(&mut self, device: usize, node: usize) {
        let own = self.devices[device].node == Some(node);
        for l in self.suppliers_of(node) {
            let made = self.create(device, self.node_links[l].supplier, l);
            if own && made == Made::Done {
                self.unlink_nodes(l);
            }
        }
        for i in 0..self.tree.children[node].len() {
            let child = self.tree.children[node][i];
            if self.tree.nodes[child].available() {
                self.link_to_suppliers(device, child);
            }
        }
    }

    /// Makes a link of devices from one of nodes (fw_devlink_create_devlink).
    fn create(&mut self, c: usize, supplier: usize, l: usize) -> Made {
        if self.node_links[l].ignored {
            return Made::Done;
        }
        self.relax(l, supplier);
        let link = &self.node_links[l];
        let proxy = self.devices[c].node != Some(link.consumer);
        let cycle = !proxy && link.cycle;
        let orders = !proxy && !cycle && self.mode.waits();
        let flags = Flags {
            sync_state_only: !orders,
            cycle,
            proxy,
            runtime_pm: orders && self.mode == Mode::Rpm,
            autoprobe: orders,
        };
        let device = match self.nodes[supplier].not_device {
            true => self.device_above(supplier),
            false => self.nodes[supplier].device,
        };
        if let Some(s) = device {
            // Drivers that do not bind to their device are not waited for.
            let idle = self.devices[s].status == Status::NoDriver;
            if !(idle && self.nodes[supplier].initialised) && c != s && !self.add_link(c, s, flags)
            {
                self.refused.insert((c, s));
            }
            return Made::Done;
        }
        let done = self.tree.up(supplier).any(|n| self.without_driver(n));
        if done { Made::Done } else { Made::Again }
    }

    /// Adds a link between devices; false if the kernel refuses (device_link_add).
    fn add_link(&mut self, consumer: usize, supplier: usize, f: Flags) -> bool {
        if !f.sync_state_only && self.depends(consumer, supplier) {
            return false;
        }
        if f.sync_state_only && self.devices[consumer].status == Status::Bound {
            return false;
        }
        if let Some(&l) = self.pairs.get(&(consumer, supplier)) {
            let link = &mut self.links[l];
            link.runtime_pm |= f.runtime_pm;
            if link.sync_state_only && !f.sync_state_only {
                link.sync_state_only = false;
                link.proxy = false;
                self.move_to_tail(consumer);
            }
            return true;
        }
        let l = self.links.len();
        self.links.push(Link {
            consumer,
            supplier,
            sync_state_only: f.sync_state_only,
            cycle: f.cycle,
            proxy: f.proxy,
            runtime_pm: f.runtime_pm,
            autoprobe: f.autoprobe,
            alive: true,
        });
        self.pairs.insert((consumer, supplier), l);
        self.devices[supplier].consumers.push(l);
        self.devices[consumer].suppliers.push(l);
        if !f.sync_state_only {
            self.move_to_tail(consumer);
        }
        true
    }

    /// Drops a link.
    pub(crate) fn drop_link(&mut self, l: usize) {
        let link = &mut self.links[l];
        link.alive = false;
        let (consumer, supplier) = (link.consumer, link.supplier);
        self.pairs.remove(&(consumer, supplier));
        self.devices[consumer].suppliers.retain(|&x| x != l);
        self.devices[supplier].consumers.retain(|&x| x != l);
    }

    /// Whether `target` is `device`, above it, below it, or a consumer of any of what
    /// is below it (device_is_dependent).
    fn depends(&mut self, device: usize, target: usize) -> bool {
        let mut seen = std::collections::BTreeSet::from([device]);
        let mut todo = Vec::from([device]);
        while let Some(d) = todo.pop() {
            if d == target || self.is_above(d, target) {
                return true;
            }
            let consumers = self.devices[d].consumers.iter().map(|&l| &self.links[l]);
            let consumers = consumers.filter(|l| !l.orders_nothing()).map(|l| l.consumer);
            let below: Vec<usize> =
                self.devices[d].children.iter().copied().chain(consumers).collect();
            let at = self.devices[device].node.unwrap_or(0);
            if !self.work.take(at, 1 + below.len() as u64) {
                return false;
            }
            todo.extend(below.into_iter().filter(|&b| seen.insert(b)));
        }
        false
    }

    fn is_above(&self, above: usize, below: usize) -> bool {
        let up = std::iter::successors(self.devices[below].parent, |&d| self.devices[d].parent);
        up.take(256).any(|d| d == above)
    }

    /// Moves a device and what depends on it to the tail of the list
    /// (device_reorder_to_tail): each after what moved it, the last time that it is
    /// moved counts.
    pub(crate) fn move_to_tail(&mut self, device: usize) {
        let mut todo = Vec::from([device]);
        let mut steps = 0;
        while let Some(d) = todo.pop() {
            self.tail += 1;
            self.devices[d].place = self.tail;
            let consumers = self.devices[d].consumers.iter().map(|&l| &self.links[l]);
            let consumers = consumers.filter(|l| !l.orders_nothing()).map(|l| l.consumer);
            let mut below: Vec<usize> =
                self.devices[d].children.iter().copied().chain(consumers).collect();
            below.reverse();
            steps += 1 + below.len() as u64;
            // Many ways to one device move it many times.
            if steps > 100_000 || !self.work.take(self.devices[device].node.unwrap_or(0), 1) {
                self.work.given_up.insert(self.devices[device].node.unwrap_or(0));
                return;
            }
            todo.extend(below);
        }
    }
}
