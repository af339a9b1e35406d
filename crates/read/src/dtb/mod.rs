//! Reads a device tree blob: the devices and links that a kernel makes from it, as a
//! board. Times, async flags and drivers are assumed, as the notes say. What a kernel
//! makes is decided in `dormouse_power::fw_devlink`.

pub mod blob;
pub mod drivers;
pub mod fdt;
pub mod image;
pub mod named;

use crate::udev::Imported;
use dormouse_base::device::{self, DeviceId, LinkKind};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::names::Sym;
use dormouse_base::stats::random::Random;
use dormouse_board::classes::{self, Described};
use dormouse_board::order::superiors_first;
use dormouse_board::{Board, BoardDevice, Times};
use dormouse_power::fw_devlink::machine::{Machine, Status};
use dormouse_power::fw_devlink::{AllDrivers, Wish, boot};
use dormouse_power::tree::text;
use fdt::{DtbError, Node};

pub use dormouse_power::fw_devlink::compare::{Device, Link};
pub use fdt::recognise;

/// Reads a blob as the kernel of a wish boots it; `seed` chooses among the times that
/// the classes may have.
pub fn read(bytes: &[u8], seed: u64, wish: &Wish) -> Result<Imported, DtbError> {
    let tree = fdt::tree(bytes)?;
    let booted = boot(&tree, wish, &AllDrivers(&wish.early));
    let mut out = Imported { board: board(&booted.machine, seed), ..Imported::default() };
    out.board.times = Times::Assumed;
    losses(&booted.machine, &mut out.losses);
    let broken = superiors_first(&mut out.board);
    out.notes.push(format!(
        "Links as kernel {} makes them with fw_devlink={}{}, after all drivers have come.",
        wish.rules.name(),
        wish.mode.name(),
        if wish.strict { " fw_devlink.strict=1" } else { "" }
    ));
    out.notes.push(
        "Every device is assumed to have a driver, but those that the kernel initialises early."
            .into(),
    );
    if !booted.waiting.is_empty() {
        out.notes.push(format!("{} devices wait for ever.", booted.waiting.len()));
    }
    if broken > 0 {
        out.notes.push(format!("{broken} links close a ring and became sync_state_only."));
    }
    out.notes.push(
        "Devices that drivers make (network, input, block, …) are not in a device tree.".into(),
    );
    Ok(out)
}

/// What could not be read or decided.
pub fn losses(m: &Machine<'_, '_>, losses: &mut Losses) {
    losses.add(
        "reference_unread",
        m.missing,
        Severity::Warning,
        "references of a property cannot be read: a node is not in the tree, or does not say how \
         many cells they have; kernels stop there too",
        None,
    );
    let doubled: Vec<&str> = m.doubled.iter().map(String::as_str).collect();
    losses.add(
        "device_name_twice",
        doubled.len() as u64,
        Severity::Warning,
        format!("the kernel makes no second device of a name: {}", some(&doubled)),
        None,
    );
    let given_up: Vec<String> = m.work.given_up.iter().map(|&n| m.tree.path(n)).collect();
    let given_up: Vec<&str> = given_up.iter().map(String::as_str).collect();
    losses.add(
        "search_given_up",
        given_up.len() as u64,
        Severity::Error,
        format!("too many ways to look for cycles, so links are not certain: {}", some(&given_up)),
        None,
    );
}

/// The first few names.
fn some(names: &[&str]) -> String {
    let more = if names.len() > 5 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(5)].join(", "))
}

/// Devices in the order of the list, with the links of a machine.
fn board(machine: &Machine<'_, '_>, seed: u64) -> Board {
    let mut random = Random::new(seed);
    let mut board = Board { pm_async: true, ..Board::default() };
    let mut order: Vec<usize> = (0..machine.devices.len()).collect();
    order.sort_by_key(|&d| machine.devices[d].place);
    let mut ids = vec![DeviceId(0); order.len()];
    for (n, &d) in order.iter().enumerate() {
        ids[d] = DeviceId(n as u32);
    }
    for &d in &order {
        let device = &machine.devices[d];
        let node = device.node.map(|n| &machine.tree.nodes[n]);
        let described =
            Described { subsystem: device.bus, devtype: "", name: &device.name, driver: "assumed" };
        let mut work = BoardDevice::default();
        let mut async_flag = Some(device.bus == "i2c");
        if let Some(n) = node {
            work = classes::draw(&described, &mut random);
            async_flag = Some(classes::is_async(&described));
            work.wakeup |= n.get("wakeup-source").is_some();
        }
        let parent = device.parent.map(|p| ids[p]);
        let parent_name = device.parent.map_or("", |p| machine.devices[p].name.as_str());
        let names = &mut board.names;
        let mut made = device::Device {
            name: names.add(&device.name),
            subsystem: names.add(device.bus),
            parent,
            parent_name: if parent_name.is_empty() { Sym::EMPTY } else { names.add(parent_name) },
            async_flag,
            ..device::Device::default()
        };
        if let Some(n) = device.node {
            made.facts.of_fullname = names.add(&machine.tree.path(n));
        }
        board.graph.push(made);
        board.devices.push(work);
    }
    for l in machine.links.iter().filter(|l| l.alive) {
        let bound = |d: usize| machine.devices[d].status == Status::Bound;
        let kind = match (l.sync_state_only, bound(l.supplier)) {
            (true, _) => LinkKind::SyncStateOnly,
            (false, true) => LinkKind::Active,
            (false, false) => LinkKind::Dormant,
        };
        board.graph.links.push(device::Link {
            consumer: ids[l.consumer],
            supplier: ids[l.supplier],
            kind,
            pm_runtime: l.runtime_pm,
        });
    }
    console(machine, &ids, &mut board);
    board.cpus = cpus(&machine.tree.nodes).max(1);
    board
}

/// Marks the device that `/chosen` names as console.
fn console(machine: &Machine<'_, '_>, ids: &[DeviceId], board: &mut Board) {
    let tree = machine.tree;
    let Some(value) = tree.find("/chosen").and_then(|n| tree.nodes[n].get("stdout-path")) else {
        return;
    };
    let name = text(value.split(|&b| b == 0 || b == b':').next().unwrap_or(b""));
    let alias = machine.aliases.iter().find(|(a, _)| *a == name);
    let node = tree.find(alias.map_or(name.as_str(), |(_, p)| p));
    if let Some(d) = node.and_then(|n| machine.nodes[n].device) {
        let word = board.names.add("console");
        board.graph.devices[ids[d].index()].facts.essential = word;
    }
}

fn cpus(nodes: &[Node<'_>]) -> u32 {
    let cpu = |n: &&Node<'_>| {
        n.depth == 2 && n.get("device_type") == Some(b"cpu\0") && n.base() == b"cpu"
    };
    nodes.iter().filter(cpu).count() as u32
}
