//! Reads a device tree blob: the devices that a kernel makes from it, as a
//! board. Times, async flags and drivers are assumed, as the notes say.
//!
//! Which nodes become devices follows the kernel's own walk: a node with
//! `compatible` that is not disabled, below a root, a bus or a device that is
//! one itself; children of I2C, SPI and MDIO controllers become clients.

pub mod fdt;
mod suppliers;

use crate::udev::Imported;
use dormouse_board::classes::{self, Described};
use dormouse_board::order::superiors_first;
use dormouse_board::{Board, BoardDevice};
use dormouse_model::device::{Device, DeviceId, Link, LinkKind};
use dormouse_model::loss::Severity;
use dormouse_model::names::Sym;
use dormouse_stats::random::Random;
use fdt::{DtbError, Node, cells};
use std::collections::{HashMap, HashSet};

pub use fdt::recognise;

/// Reads a blob; `seed` chooses among the times that the classes may have.
pub fn read(bytes: &[u8], seed: u64) -> Result<Imported, DtbError> {
    let nodes = fdt::parse(bytes)?;
    let mut w = Walk {
        random: Random::new(seed),
        board: Board { pm_async: true, ..Board::default() },
        device_of: vec![None; nodes.len()],
        hosts: vec![None; nodes.len()],
        aliases: aliases(&nodes),
        next_bus: HashMap::new(),
        nodes: &nodes,
    };
    let platform = w.push(None, "", "platform", BoardDevice::default(), Some(false));
    for i in 1..nodes.len() {
        w.node(i, platform);
    }
    let mut out = Imported::default();
    w.links(&mut out);
    w.console();
    w.board.cpus = w.cpus().max(1);
    let broken = superiors_first(&mut w.board);
    out.notes.push("Every device is assumed to have a driver, and every link to be active.".into());
    out.notes.push("Order of devices assumed: that of the tree, consumers after suppliers.".into());
    if broken > 0 {
        out.notes.push(format!("{broken} links close a ring and became sync_state_only."));
    }
    out.notes.push(
        "Devices that drivers make (network, input, block, …) are not in a device tree.".into(),
    );
    out.board = w.board;
    Ok(out)
}

/// What the children of a node become.
#[derive(Clone)]
enum Host {
    /// Platform devices.
    Platform,
    /// Clients of an I2C adapter with this number.
    I2c(u32),
    /// Clients of an SPI controller with this number.
    Spi(u32),
    /// PHYs of an MDIO bus with this name.
    Mdio(String),
}

struct Walk<'n, 'a> {
    nodes: &'n [Node<'a>],
    random: Random,
    board: Board,
    /// The device made from each node.
    device_of: Vec<Option<DeviceId>>,
    /// For each node that can have children: who they belong to, and how.
    hosts: Vec<Option<(DeviceId, Host)>>,
    /// Node by the full name of its alias (`i2c0`), and back.
    aliases: Vec<(String, String)>,
    next_bus: HashMap<&'static str, u32>,
}

impl Walk<'_, '_> {
    fn node(&mut self, i: usize, platform: DeviceId) {
        let n = &self.nodes[i];
        let status = n.get("status").map(|s| s.split(|&b| b == 0).next().unwrap_or(b""));
        if !matches!(status, None | Some(b"okay" | b"ok")) {
            return;
        }
        let (parent, host) = match n.parent {
            Some(0) => (platform, Host::Platform),
            Some(p) => match &self.hosts[p] {
                Some((d, h)) => (*d, h.clone()),
                None => return,
            },
            None => return,
        };
        let compatible = n.strings("compatible").next().is_some();
        // Tables of operating points are compatible and still no device.
        let table = n.strings("compatible").any(|c| c == b"operating-points-v2");
        if table || (!compatible && !matches!(host, Host::Mdio(_))) {
            return;
        }
        let address = n.cell("reg").unwrap_or(0);
        let (subsystem, name) = match host {
            Host::Platform => {
                let amba = n.strings("compatible").any(|c| c == b"arm,primecell");
                (if amba { "amba" } else { "platform" }, self.bus_id(i))
            }
            // Bits above the address mark ten-bit addresses and own slaves.
            Host::I2c(bus) => ("i2c", format!("{bus}-{:04x}", address & 0x3ff)),
            Host::Spi(bus) => ("spi", format!("spi{bus}.{address}")),
            Host::Mdio(bus) => ("mdio_bus", format!("{bus}:{address:02x}")),
        };
        let described = Described { subsystem, devtype: "", name: &name, driver: "assumed" };
        let work = classes::draw(&described, &mut self.random);
        let is_async = Some(classes::is_async(&described));
        let id = self.push(Some(parent), subsystem, &name, work, is_async);
        let full_name = self.full_name(i);
        let device = &mut self.board.graph.devices[id.index()];
        device.facts.of_fullname = self.board.names.add(&full_name);
        if n.get("wakeup-source").is_some() {
            self.board.devices[id.index()].wakeup = true;
        }
        self.device_of[i] = Some(id);
        self.hosts[i] = self.host(i, id, &name);
    }

    /// What the children of the device `id`, made from node `i`, become; adds
    /// the adapter between a controller and its clients.
    fn host(&mut self, i: usize, id: DeviceId, name: &str) -> Option<(DeviceId, Host)> {
        let n = &self.nodes[i];
        let adapter = |w: &mut Self, subsystem: &str, name: &str, is_async| {
            w.push(Some(id), subsystem, name, BoardDevice::default(), Some(is_async))
        };
        match n.base() {
            b"i2c" => {
                let bus = self.bus_number(i, "i2c");
                let child = adapter(self, "i2c", &format!("i2c-{bus}"), true);
                Some((child, Host::I2c(bus)))
            }
            b"spi" | b"qspi" => {
                let bus = self.bus_number(i, "spi");
                let child = adapter(self, "spi_master", &format!("spi{bus}"), false);
                Some((child, Host::Spi(bus)))
            }
            b"mdio" => {
                let child = adapter(self, "mdio_bus", name, false);
                Some((child, Host::Mdio(name.to_string())))
            }
            // Found by asking the bus, not by the tree.
            b"pci" | b"pcie" | b"mmc" | b"sdhci" => None,
            _ => Some((id, Host::Platform)),
        }
    }

    fn push(
        &mut self,
        parent: Option<DeviceId>,
        subsystem: &str,
        name: &str,
        work: BoardDevice,
        async_flag: Option<bool>,
    ) -> DeviceId {
        let parent_name = parent.map_or(Sym::EMPTY, |p| self.board.graph.get(p).name);
        let names = &mut self.board.names;
        let (name, subsystem) = (names.add(name), names.add(subsystem));
        self.board.devices.push(work);
        let device =
            Device { name, subsystem, parent, parent_name, async_flag, ..Device::default() };
        self.board.graph.push(device)
    }

    /// The kernel's name of a platform device: its address as the CPU sees it
    /// and the node's name, or, without one, the path of names.
    fn bus_id(&self, i: usize) -> String {
        let mut name = String::new();
        let mut at = i;
        while let Some(parent) = self.nodes[at].parent {
            let tail = if name.is_empty() { name } else { format!(":{name}") };
            if let Some(address) = translate(self.nodes, at) {
                return format!("{address:x}.{}{tail}", text(self.nodes[at].base()));
            }
            name = text(self.nodes[at].name) + &tail;
            at = parent;
        }
        name
    }

    fn full_name(&self, i: usize) -> String {
        let mut parts = Vec::new();
        let mut at = Some(i);
        while let Some(n) = at.map(|a| &self.nodes[a]).filter(|n| n.parent.is_some()) {
            parts.push(text(n.name));
            at = n.parent;
        }
        parts.reverse();
        format!("/{}", parts.join("/"))
    }

    /// The number that `/aliases` gives to a bus, else the next free one.
    fn bus_number(&mut self, i: usize, kind: &'static str) -> u32 {
        let path = self.full_name(i);
        let number = |alias: &str| alias.strip_prefix(kind)?.parse::<u32>().ok();
        let own = self.aliases.iter().filter(|(_, p)| *p == path).find_map(|(a, _)| number(a));
        own.unwrap_or_else(|| {
            let highest = self.aliases.iter().filter_map(|(a, _)| number(a)).max();
            let next =
                self.next_bus.entry(kind).or_insert(highest.map_or(0, |n| n.saturating_add(1)));
            let bus = *next;
            *next = next.saturating_add(1);
            bus
        })
    }

    /// The device that node `i` belongs to: its own or that of an ancestor.
    fn owner(&self, i: usize) -> Option<DeviceId> {
        let mut at = Some(i);
        while let Some(i) = at {
            if let Some(d) = self.device_of[i] {
                return Some(d);
            }
            at = self.nodes[i].parent;
        }
        None
    }

    fn links(&mut self, out: &mut Imported) {
        let handles = suppliers::by_phandle(self.nodes);
        let mut seen: HashSet<(DeviceId, DeviceId)> = HashSet::new();
        for i in 1..self.nodes.len() {
            let Some(consumer) = self.owner(i) else { continue };
            // What a disabled node below a device refers to does not count.
            if self.device_of[i].is_none() && self.nodes[i].get("status").is_some() {
                continue;
            }
            let mut missing = 0;
            for target in suppliers::of(self.nodes, i, &handles, || missing += 1) {
                let Some(supplier) = self.owner(target) else { continue };
                let related =
                    self.is_above(supplier, consumer) || self.is_above(consumer, supplier);
                if !related && seen.insert((consumer, supplier)) {
                    let kind = LinkKind::Active;
                    self.board.graph.links.push(Link {
                        consumer,
                        supplier,
                        kind,
                        pm_runtime: false,
                    });
                }
            }
            out.losses.add(
                "reference_to_nothing",
                missing,
                Severity::Warning,
                "a property refers to a node that the tree does not have; a link may be missing",
                None,
            );
        }
    }

    /// Whether `above` is `below` or one of its ancestors.
    fn is_above(&self, above: DeviceId, below: DeviceId) -> bool {
        let mut at = Some(below);
        while let Some(d) = at {
            if d == above {
                return true;
            }
            at = self.board.graph.get(d).parent;
        }
        false
    }

    /// Marks the device that `/chosen` names as console.
    fn console(&mut self) {
        let chosen = self.nodes.iter().find(|n| n.depth == 1 && n.name == b"chosen");
        let Some(value) = chosen.and_then(|n| n.get("stdout-path")) else { return };
        let value = value.split(|&b| b == 0 || b == b':').next().unwrap_or(b"");
        let name = text(value);
        let path =
            self.aliases.iter().find(|(a, _)| *a == name).map_or(name.clone(), |(_, p)| p.clone());
        let found = (1..self.nodes.len())
            .filter(|&i| self.device_of[i].is_some())
            .find(|&i| self.full_name(i) == path);
        if let Some(id) = found.and_then(|i| self.device_of[i]) {
            let word = self.board.names.add("console");
            self.board.graph.devices[id.index()].facts.essential = word;
        }
    }

    fn cpus(&self) -> u32 {
        let cpu = |n: &&Node<'_>| {
            n.depth == 2 && n.get("device_type") == Some(b"cpu\0") && n.base() == b"cpu"
        };
        self.nodes.iter().filter(cpu).count() as u32
    }
}

/// The aliases and the paths they stand for.
fn aliases(nodes: &[Node<'_>]) -> Vec<(String, String)> {
    let node = nodes.iter().find(|n| n.depth == 1 && n.name == b"aliases");
    let path = |v: &[u8]| text(v.split(|&b| b == 0).next().unwrap_or(b""));
    // Far more than any machine has: each bus looks through all of them.
    let first =
        |n: &Node<'_>| n.properties.iter().take(1024).map(|(a, v)| (text(a), path(v))).collect();
    node.map_or(Vec::new(), first)
}

/// Names of a device tree are ASCII; anything else is damage and shown as such.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The first address of a node as the CPU sees it; `None` where a bus on the
/// way up does not map addresses (I2C, SPI, firmware).
fn translate(nodes: &[Node<'_>], i: usize) -> Option<u64> {
    let mut bus = nodes[i].parent?;
    let reg = nodes[i].get("reg")?;
    let mut address = number(reg, address_cells(nodes, bus)?)?;
    while let Some(parent) = nodes[bus].parent {
        let ranges = nodes[bus].get("ranges")?;
        if !ranges.is_empty() {
            let child = address_cells(nodes, bus)?;
            let up = address_cells(nodes, parent)?;
            let size = nodes[bus].cell("#size-cells").unwrap_or(1).min(4) as usize;
            // No bus has more windows; the bound keeps damage from costing time.
            let mut windows = ranges.chunks_exact((child + up + size) * 4).take(256);
            address = windows.find_map(|r| {
                let start = number(r, child)?;
                let target = number(&r[child * 4..], up)?;
                let length = number(&r[(child + up) * 4..], size)?;
                let offset = address.checked_sub(start).filter(|&o| o < length)?;
                target.checked_add(offset)
            })?;
        }
        bus = parent;
    }
    Some(address)
}

/// `#address-cells` of a bus, where its addresses are plain numbers.
fn address_cells(nodes: &[Node<'_>], bus: usize) -> Option<usize> {
    let mut at = Some(bus);
    while let Some(i) = at {
        if let Some(n) = nodes[i].cell("#address-cells") {
            return (n == 1 || n == 2).then_some(n as usize);
        }
        at = nodes[i].parent;
    }
    Some(1)
}

/// The number in the first `count` cells.
fn number(value: &[u8], count: usize) -> Option<u64> {
    if count == 0 || count > 2 || value.len() < count * 4 {
        return None;
    }
    Some(cells(value).take(count).fold(0, |n, c| n << 32 | u64::from(c)))
}
