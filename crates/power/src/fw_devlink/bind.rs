//! What binding a driver does to links (drivers/base/core.c:
//! device_links_check_suppliers, device_links_driver_bound, fw_devlink_drivers_done;
//! the same in 6.1, 6.12 and 7.3).

use super::machine::{Machine, Status};

/// What holds an attempt to probe up before the driver is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    Open,
    /// A node that is no device yet.
    Node(usize),
    /// A device that is not bound.
    Device(usize),
}

impl Machine<'_, '_> {
    /// What a device has to wait for.
    pub fn gate(&self, device: usize) -> Gate {
        match (self.awaited(device), self.not_ready(device)) {
            (Some(node), _) => Gate::Node(node),
            (None, Some(supplier)) => Gate::Device(supplier),
            (None, None) => Gate::Open,
        }
    }

    /// A driver is bound to a device. Gives the consumers that are to be tried again.
    pub fn bound(&mut self, device: usize) -> Vec<usize> {
        if let Some(node) = self.devices[device].node
            && self.nodes[node].device == Some(device)
        {
            for l in self.suppliers_of(node) {
                self.unlink_nodes(l);
            }
            for i in 0..self.tree.children[node].len() {
                self.pick_up(self.tree.children[node][i], node);
            }
            self.link_to_consumers(device, node);
        }
        let links = self.devices[device].consumers.iter().map(|&l| &self.links[l]);
        let again = links.filter(|l| l.autoprobe && self.devices[l.consumer].matched);
        let again = again.map(|l| l.consumer).collect();
        for l in self.devices[device].suppliers.clone() {
            if self.links[l].sync_state_only {
                self.drop_link(l);
            }
        }
        self.devices[device].status = Status::Bound;
        again
    }

    /// A node below a bound device that is no device will never be one: those that
    /// wait for it go to the bound one (__fw_devlink_pickup_dangling_consumers).
    fn pick_up(&mut self, node: usize, to: usize) {
        if !self.tree.nodes[node].available() || self.nodes[node].device.is_some() {
            return;
        }
        self.nodes[node].not_device = true;
        for l in self.consumers_of(node) {
            let link = &self.node_links[l];
            let (consumer, cycle, ignored) = (link.consumer, link.cycle, link.ignored);
            self.link_nodes(consumer, to, cycle, ignored);
            self.unlink_nodes(l);
        }
        for i in 0..self.tree.children[node].len() {
            self.pick_up(self.tree.children[node][i], to);
        }
    }

    /// The time for drivers is over: links to what no driver ever matched order
    /// nothing any more.
    pub(crate) fn drivers_done(&mut self) {
        for l in 0..self.links.len() {
            if self.links[l].alive && !self.devices[self.links[l].supplier].matched {
                self.links[l].relax();
            }
        }
    }
}
