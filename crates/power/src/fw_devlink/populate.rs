//! Which nodes become devices, in which order, and what they are called
//! (drivers/of/platform.c:of_platform_default_populate_init; buses of clients:
//! drivers/i2c/i2c-core-of.c, drivers/spi/spi.c, drivers/net/mdio/of_mdio.c).

use super::machine::{Device, Machine};
use super::version::Rules;
use crate::tree::address;

/// Compatibles whose devices are made of nodes of reserved memory.
const RESERVED: [&str; 7] = [
    "phram",
    "qcom,rmtfs-mem",
    "qcom,cmd-db",
    "qcom,smem",
    "ramoops",
    "nvmem-rmem",
    "google,open-dice",
];

/// Buses whose children become devices with them (of_default_bus_match_table).
pub const BUSES: [&str; 4] = ["simple-bus", "simple-mfd", "isa", "arm,amba-bus"];

impl Machine<'_, '_> {
    /// Makes the devices that are there before any driver.
    pub fn populate(&mut self) {
        if self.tree.nodes.is_empty() {
            return;
        }
        let root = self.push(Device { name: "platform".into(), ..Device::default() });
        let reserved = self.tree.find("/reserved-memory");
        for i in 1..self.tree.nodes.len() {
            // 7.3 looks at this folder alone.
            let there = self.rules < Rules::K7_3 || self.tree.nodes[i].parent == reserved;
            let node = &self.tree.nodes[i];
            if there && RESERVED.iter().any(|c| node.is(c)) {
                self.platform_device(i, root);
            }
        }
        if let Some(firmware) = self.tree.find("/firmware") {
            self.populate_below(firmware, root);
        }
        if let Some(chosen) = self.tree.find("/chosen") {
            let below = &self.tree.children[chosen];
            let screen = |&&i: &&usize| self.tree.nodes[i].is("simple-framebuffer");
            if let Some(&i) = below.iter().find(screen) {
                self.platform_device(i, root);
            }
        }
        self.populate_below(0, root);
    }

    fn populate_below(&mut self, node: usize, parent: usize) {
        for i in 0..self.tree.children[node].len() {
            self.create_bus(self.tree.children[node][i], parent);
        }
    }

    /// A node becomes a device, and, if it is a bus, its children too
    /// (of_platform_bus_create).
    pub(crate) fn create_bus(&mut self, i: usize, parent: usize) {
        let node = &self.tree.nodes[i];
        if node.get("compatible").is_none() || node.is("operating-points-v2") {
            return;
        }
        if node.is("arm,primecell") {
            if node.available()
                && !self.nodes[i].populated
                && address::translate(self.tree, i).is_some()
            {
                self.nodes[i].populated = true;
                self.add(Some(i), parent, "amba", address::bus_id(self.tree, i));
            }
            return;
        }
        let Some(device) = self.platform_device(i, parent) else { return };
        if BUSES.iter().any(|c| self.tree.nodes[i].is(c)) {
            self.populate_below(i, device);
        }
    }

    fn platform_device(&mut self, i: usize, parent: usize) -> Option<usize> {
        if !self.tree.nodes[i].available() || self.nodes[i].populated {
            return None;
        }
        self.nodes[i].populated = true;
        let made = self.add(Some(i), parent, "platform", address::bus_id(self.tree, i));
        self.nodes[i].populated = made.is_some();
        made
    }

    /// Adds a device; none if its bus has one of this name.
    pub fn add(
        &mut self,
        node: Option<usize>,
        parent: usize,
        bus: &'static str,
        name: String,
    ) -> Option<usize> {
        if !self.names.insert((bus, name.clone())) {
            self.doubled.push(name);
            return None;
        }
        let d = self.push(Device { node, parent: Some(parent), bus, name, ..Device::default() });
        if let Some(n) = node
            && self.nodes[n].device.is_none()
        {
            self.nodes[n].device = Some(d);
            self.link_device(d);
        }
        self.devices[parent].children.push(d);
        Some(d)
    }

    fn push(&mut self, device: Device) -> usize {
        self.tail += 1;
        self.devices.push(Device { place: self.tail, ..device });
        self.devices.len() - 1
    }

    /// Devices that the driver of a bound device makes of the nodes below it, as far
    /// as the tree says: clients of buses, else platform devices.
    pub fn add_children(&mut self, device: usize) {
        let Some(node) = self.devices[device].node else { return };
        let base = self.tree.nodes[node].base();
        let (bus, kind): (&'static str, &'static str) = match base {
            b"i2c" => ("i2c", "i2c"),
            b"spi" | b"qspi" => ("spi", "spi_master"),
            b"mdio" => ("mdio_bus", "mdio_bus"),
            // Found by asking the bus, not by the tree.
            b"pci" | b"pcie" | b"mmc" | b"sdhci" => return,
            _ => {
                self.populate_below(node, device);
                return;
            }
        };
        let number = match bus {
            "i2c" => self.bus_number(node, "i2c"),
            "spi" => self.bus_number(node, "spi"),
            _ => 0,
        };
        let name = match bus {
            "i2c" => format!("i2c-{number}"),
            "spi" => format!("spi{number}"),
            _ => self.devices[device].name.clone(),
        };
        let Some(adapter) = self.add(None, device, kind, name.clone()) else { return };
        for i in 0..self.tree.children[node].len() {
            let child = self.tree.children[node][i];
            let n = &self.tree.nodes[child];
            let named = n.get("compatible").is_some() || bus == "mdio_bus";
            if !n.available() || !named || self.nodes[child].populated {
                continue;
            }
            let at = n.cell("reg").unwrap_or(0);
            let client = match bus {
                // Bits above the address mark ten-bit addresses and own slaves.
                "i2c" => format!("{number}-{:04x}", at & 0x3ff),
                "spi" => format!("spi{number}.{at}"),
                _ => format!("{name}:{at:02x}"),
            };
            self.nodes[child].populated = true;
            self.add(Some(child), adapter, bus, client);
        }
    }

    /// The number that `/aliases` gives to a bus, else the next free one.
    fn bus_number(&mut self, node: usize, kind: &'static str) -> u32 {
        let path = self.tree.path(node);
        let number = |alias: &str| alias.strip_prefix(kind)?.parse::<u32>().ok();
        let own = self.aliases.iter().filter(|(_, p)| *p == path).find_map(|(a, _)| number(a));
        own.unwrap_or_else(|| {
            let highest = self.aliases.iter().filter_map(|(a, _)| number(a)).max();
            let first = highest.map_or(0, |n| n.saturating_add(1));
            let next = self.next_bus.entry(kind).or_insert(first);
            let bus = *next;
            *next = next.saturating_add(1);
            bus
        })
    }
}
