//! A machine in the making: devices are added in list order.

use crate::classes::{self, Described};
use crate::{Board, BoardDevice};
use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::stats::random::Random;

/// A machine in the making. Devices are added in list order.
pub(super) struct Machine {
    pub(super) board: Board,
    pub(super) random: Random,
}

/// What a builder says of a device.
#[derive(Clone, Copy, Default)]
pub(super) struct Model<'a> {
    pub(super) bus: &'a str,
    pub(super) driver: &'a str,
    pub(super) devtype: &'a str,
}

/// A device of `bus` without a driver.
pub(super) fn on(bus: &str) -> Model<'_> {
    Model { bus, ..Model::default() }
}

/// A device of `bus` with `driver`.
pub(super) fn bound<'a>(bus: &'a str, driver: &'a str) -> Model<'a> {
    Model { bus, driver, ..Model::default() }
}

impl Machine {
    pub(super) fn new(seed: u64) -> Machine {
        let mut board = Board { pm_async: true, ..Board::default() };
        board.graph.order_known = true;
        board.graph.links_known = true;
        Machine { board, random: Random::new(seed) }
    }

    /// Adds a device at the tail of the list.
    pub(super) fn add(
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

    pub(super) fn push(
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
    pub(super) fn many(
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
    pub(super) fn wakeup(&mut self, id: DeviceId) {
        self.board.devices[id.index()].wakeup = true;
    }

    /// Adds an active link.
    pub(super) fn link(&mut self, consumer: DeviceId, supplier: DeviceId) {
        let link = Link { consumer, supplier, kind: LinkKind::Active, pm_runtime: false };
        self.board.graph.links.push(link);
    }

    /// Adds an input device with its class children.
    pub(super) fn input(&mut self, parent: DeviceId, number: u32, mouse: bool) {
        let input = self.add(parent, on("input"), &format!("input{number}"));
        self.add(input, on("input"), &format!("event{number}"));
        if mouse {
            self.add(input, on("input"), &format!("mouse{number}"));
        }
    }

    /// Adds a disk with its queue and partitions.
    pub(super) fn disk(&mut self, parent: DeviceId, name: &str, separator: &str, partitions: u32) {
        let disk = self.add(parent, on("block"), name);
        self.add(disk, on("bdi"), &format!("bdi-{name}"));
        for i in 1..=partitions {
            self.add(disk, on("block"), &format!("{name}{separator}{i}"));
        }
    }

    /// A name such as `0000:3a:00.1`.
    pub(super) fn slot(bus: u32, device: u32, function: u32) -> String {
        format!("0000:{bus:02x}:{device:02x}.{function}")
    }
}
