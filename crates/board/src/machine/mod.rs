//! Machines that look like real ones: a laptop, a phone and a server. Their
//! shape (which buses, how many devices, who is whose child) is written down in
//! one file each; their times are drawn by class ([`super::classes`]) with a seed.

mod laptop;
mod pc;
mod phone;
mod server;

use super::classes::{self, Described};
use super::{Board, BoardDevice};
use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::stats::random::Random;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// About 900 devices, 8 CPUs: ACPI, PCI, USB, few links.
    Laptop,
    /// About 800 devices, 8 CPUs: platform devices of a device tree, hundreds
    /// of links.
    Phone,
    /// About 4,000 devices, 128 CPUs: memory blocks, processors, PCI.
    Server,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Laptop, Kind::Phone, Kind::Server];

    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Laptop => "laptop",
            Kind::Phone => "phone",
            Kind::Server => "server",
        }
    }

    /// Makes a machine of this kind.
    pub fn make(self, seed: u64) -> Board {
        let mut m = Machine::new(seed);
        match self {
            Kind::Laptop => laptop::build(&mut m),
            Kind::Phone => phone::build(&mut m),
            Kind::Server => server::build(&mut m),
        }
        m.board
    }
}

/// A machine in the making. Devices are added in list order.
struct Machine {
    board: Board,
    random: Random,
}

/// What a builder says of a device.
#[derive(Clone, Copy, Default)]
struct Model<'a> {
    bus: &'a str,
    driver: &'a str,
    devtype: &'a str,
}

/// A device of `bus` without a driver.
fn on(bus: &str) -> Model<'_> {
    Model { bus, ..Model::default() }
}

/// A device of `bus` with `driver`.
fn bound<'a>(bus: &'a str, driver: &'a str) -> Model<'a> {
    Model { bus, driver, ..Model::default() }
}

impl Machine {
    fn new(seed: u64) -> Machine {
        let mut board = Board { pm_async: true, ..Board::default() };
        board.graph.order_known = true;
        board.graph.links_known = true;
        Machine { board, random: Random::new(seed) }
    }

    /// Adds a device at the tail of the list.
    fn add(
        &mut self,
        parent: impl Into<Option<DeviceId>>,
        model: Model<'_>,
        name: &str,
    ) -> DeviceId {
        let parent = parent.into();
        let described =
            Described { subsystem: model.bus, devtype: model.devtype, name, driver: model.driver };
        let work = classes::draw(&described, &mut self.random);
        self.push(parent, model, name, classes::is_async(&described), work)
    }

    fn push(
        &mut self,
        parent: Option<DeviceId>,
        model: Model<'_>,
        name: &str,
        is_async: bool,
        work: BoardDevice,
    ) -> DeviceId {
        let names = &mut self.board.names;
        let device = Device {
            name: names.add(name),
            driver: names.add(model.driver),
            subsystem: names.add(model.bus),
            parent,
            parent_name: parent.map_or(Sym::EMPTY, |p| self.board.graph.get(p).name),
            async_flag: Some(is_async),
            ..Device::default()
        };
        self.board.devices.push(work);
        self.board.graph.push(device)
    }

    /// Adds `count` devices called `name0`, `name1`, …
    fn many(
        &mut self,
        parent: impl Into<Option<DeviceId>>,
        model: Model<'_>,
        name: &str,
        count: u32,
    ) {
        let parent = parent.into();
        for i in 0..count {
            self.add(parent, model, &format!("{name}{i}"));
        }
    }

    /// Gives a device a wakeup source.
    fn wakeup(&mut self, id: DeviceId) {
        self.board.devices[id.index()].wakeup = true;
    }

    /// Adds an active link.
    fn link(&mut self, consumer: DeviceId, supplier: DeviceId) {
        let link = Link { consumer, supplier, kind: LinkKind::Active, pm_runtime: false };
        self.board.graph.links.push(link);
    }

    /// Adds an input device with its class children.
    fn input(&mut self, parent: DeviceId, number: u32, mouse: bool) {
        let input = self.add(parent, on("input"), &format!("input{number}"));
        self.add(input, on("input"), &format!("event{number}"));
        if mouse {
            self.add(input, on("input"), &format!("mouse{number}"));
        }
    }

    /// Adds a disk with its queue and partitions.
    fn disk(&mut self, parent: DeviceId, name: &str, separator: &str, partitions: u32) {
        let disk = self.add(parent, on("block"), name);
        self.add(disk, on("bdi"), &format!("bdi-{name}"));
        for i in 1..=partitions {
            self.add(disk, on("block"), &format!("{name}{separator}{i}"));
        }
    }

    /// A name such as `0000:3a:00.1`.
    fn slot(bus: u32, device: u32, function: u32) -> String {
        format!("0000:{bus:02x}:{device:02x}.{function}")
    }
}
