//! Reads `udevadm info --export-db`: the device list of a machine, as a board.
//!
//! A record is a block of lines, ended by an empty one: `P:` with the path below
//! `/sys`, `E:` with `KEY=VALUE`, and others that do not matter here. The dump
//! has every device that has a bus or class. What it does not have is filled in
//! or assumed, and the notes of the result say so: devices without a bus (the
//! roots `platform`, `pci0000:00`, ATA ports), the list order, the state of links, the
//! async flags, and what the callbacks do.

use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::names::Sym;
use dormouse_base::stats::random::Random;
use dormouse_board::classes::{self, Described};
use dormouse_board::order::superiors_first;
use dormouse_board::{Board, BoardDevice, Times};
use std::collections::HashMap;

/// A board made from a list of devices without times.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The board.
    pub board: Board,
    /// What could not be read.
    pub losses: Losses,
    /// What was assumed or left out, a sentence each.
    pub notes: Vec<String>,
}

/// Longest path that Linux allows; longer ones are damage.
const PATH_MAX: usize = 4096;

/// More devices than any machine has.
const MAX_DEVICES: usize = 1_000_000;

/// The fields of a record that matter.
#[derive(Clone, Copy, Default)]
struct Record<'a> {
    line: u64,
    path: &'a [u8],
    subsystem: &'a [u8],
    devtype: &'a [u8],
    driver: &'a [u8],
    of_fullname: &'a [u8],
    modalias: &'a [u8],
}

/// Whether `bytes` begins like such a dump.
pub fn recognise(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|&b| b == b'\n').filter(|l| !l.trim_ascii().is_empty()).take(64);
    lines.next().is_some_and(|l| l.starts_with(b"P: /"))
        && lines.any(|l| l.starts_with(b"E: DEVPATH=/"))
}

/// Reads a dump; `seed` chooses among the times that the classes may have.
pub fn read(bytes: &[u8], seed: u64) -> Imported {
    let mut out = Imported::default();
    let mut records = records(bytes, &mut out.losses);
    // Parents before children: a path sorts before what is below it.
    records.sort_by(|a, b| a.path.split(|&c| c == b'/').cmp(b.path.split(|&c| c == b'/')));
    let listed = records.len();
    records.dedup_by(|b, a| a.path == b.path);
    out.losses.add(
        "device_listed_twice",
        (listed - records.len()) as u64,
        Severity::Info,
        "the same device is in the dump twice; only the first counts",
        None,
    );
    let mut maker = Maker {
        random: Random::new(seed),
        board: Board { pm_async: true, times: Times::Assumed, ..Board::default() },
        by_path: HashMap::new(),
        by_bus: HashMap::new(),
        cpus: 0,
        wakeup_objects: 0,
        added: 0,
        unsure_links: 0,
    };
    for r in &records {
        maker.device(r);
    }
    for r in records.iter().filter(|r| r.subsystem == b"devlink") {
        maker.link(r, &mut out.losses);
    }
    maker.board.cpus = maker.cpus.max(1);
    if maker.cpus == 0 {
        out.notes.push("No CPU is listed: one is assumed.".into());
    }
    maker.finish(&mut out);
    out
}

/// Cuts the dump into records.
fn records<'a>(bytes: &'a [u8], losses: &mut Losses) -> Vec<Record<'a>> {
    let mut out: Vec<Record<'a>> = Vec::new();
    let mut open = false;
    for (line, number) in bytes.split(|&b| b == b'\n').zip(1u64..) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            open = false;
            continue;
        }
        let value = line.get(3..).unwrap_or(b"");
        match line {
            [b'P', b':', b' ', ..] => {
                // Other roots (/bus, /class, /module) are not devices.
                open = value.starts_with(b"/devices/") && value.len() <= PATH_MAX;
                if value.len() > PATH_MAX {
                    losses.add("path_too_long", 1, Severity::Warning, DAMAGE, Some(number));
                } else if open && out.len() >= MAX_DEVICES {
                    open = false;
                    losses.add("too_many_devices", 1, Severity::Error, DAMAGE, Some(number));
                } else if open {
                    out.push(Record { line: number, path: value, ..Record::default() });
                }
            }
            [b'E', b':', b' ', ..] => {
                let Some(r) = out.last_mut().filter(|_| open) else { continue };
                let Some(at) = value.iter().position(|&b| b == b'=') else {
                    losses.add("property_without_value", 1, Severity::Info, DAMAGE, Some(number));
                    continue;
                };
                let (key, text) = (&value[..at], &value[at + 1..]);
                match key {
                    b"SUBSYSTEM" => r.subsystem = text,
                    b"DEVTYPE" => r.devtype = text,
                    b"DRIVER" => r.driver = text,
                    b"OF_FULLNAME" => r.of_fullname = text,
                    b"MODALIAS" => r.modalias = text,
                    _ => {}
                }
            }
            [b'A'..=b'Z', b':', b' ' | b'\t', ..] => {}
            _ => losses.add("line_not_understood", 1, Severity::Info, DAMAGE, Some(number)),
        }
    }
    out
}

const DAMAGE: &str = "a line does not look like `udevadm info --export-db`; make the dump again if devices are missing";

struct Maker<'a> {
    random: Random,
    board: Board,
    by_path: HashMap<&'a [u8], DeviceId>,
    /// Bus and name, as links name devices; `None` if two devices share them.
    by_bus: HashMap<(Vec<u8>, Vec<u8>), Option<DeviceId>>,
    cpus: u32,
    wakeup_objects: u32,
    added: u32,
    unsure_links: u32,
}

impl<'a> Maker<'a> {
    fn device(&mut self, r: &Record<'a>) {
        let parent = self.parent(r.path);
        match r.subsystem {
            b"devlink" => return,
            // Objects that the PM core never visits; a board says `wakeup`.
            b"wakeup" => {
                self.wakeup_objects += 1;
                if let Some(p) = parent {
                    self.board.devices[p.index()].wakeup = true;
                }
                return;
            }
            b"cpu" if r.path.starts_with(b"/devices/system/cpu/cpu") => self.cpus += 1,
            _ => {}
        }
        let base = r.path.rsplit(|&b| b == b'/').next().unwrap_or(r.path);
        let name = device_name(base);
        let names = &mut self.board.names;
        let mut device = Device {
            name: names.add_bytes(&name),
            driver: names.add_bytes(r.driver),
            subsystem: names.add_bytes(r.subsystem),
            parent,
            ..Device::default()
        };
        device.facts.devpath = names.add_bytes(r.path);
        device.facts.of_fullname = names.add_bytes(r.of_fullname);
        device.facts.modalias = names.add_bytes(r.modalias);
        device.facts.no_pm = r.subsystem == b"faux";
        let devtype = String::from_utf8_lossy(r.devtype);
        let described = Described {
            subsystem: self.board.names.get(device.subsystem),
            devtype: &devtype,
            name: self.board.names.get(device.name),
            driver: self.board.names.get(device.driver),
        };
        device.async_flag = Some(classes::is_async(&described));
        let work = if device.facts.no_pm {
            BoardDevice::default()
        } else {
            classes::draw(&described, &mut self.random)
        };
        let id = self.push(device, work, r.path);
        self.by_bus
            .entry((r.subsystem.to_vec(), name))
            .and_modify(|known| *known = None)
            .or_insert(Some(id));
    }

    fn push(&mut self, mut device: Device, work: BoardDevice, path: &'a [u8]) -> DeviceId {
        device.parent_name = device.parent.map_or(Sym::EMPTY, |p| self.board.graph.get(p).name);
        self.board.devices.push(work);
        let id = self.board.graph.push(device);
        self.by_path.insert(path, id);
        id
    }

    /// The nearest directory above `path` that is a device. Others, such as
    /// `net` or `wakeup`, only group.
    fn parent(&mut self, path: &'a [u8]) -> Option<DeviceId> {
        let mut end = path.len();
        while let Some(at) = path[..end].iter().rposition(|&b| b == b'/') {
            end = at;
            if let Some(&id) = self.by_path.get(&path[..at]) {
                return Some(id);
            }
            if let Some(class) = without_bus(&path[..at]) {
                return Some(self.add_without_bus(&path[..at], class));
            }
        }
        None
    }

    /// Adds a device that the dump cannot list, as it has neither bus nor class.
    fn add_without_bus(&mut self, path: &'a [u8], class: WithoutBus) -> DeviceId {
        let parent = self.parent(path);
        let base = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        let name = self.board.names.add_bytes(base);
        let mut device = Device { name, parent, ..Device::default() };
        device.facts.devpath = self.board.names.add_bytes(path);
        device.async_flag = Some(class != WithoutBus::Root);
        let work = if class == WithoutBus::AtaPort {
            let port = Described { subsystem: "ata", ..Described::default() };
            classes::draw(&port, &mut self.random)
        } else {
            BoardDevice::default()
        };
        self.added += 1;
        self.push(device, work, path)
    }

    /// `SUPPLIERBUS:SUPPLIER--CONSUMERBUS:CONSUMER`; names may contain `--`.
    fn link(&mut self, r: &Record<'a>, losses: &mut Losses) {
        let text = r.path.rsplit(|&b| b == b'/').next().unwrap_or(b"");
        let pair = memchr::memmem::find_iter(text, b"--")
            .find_map(|at| Some((self.find(&text[..at])?, self.find(&text[at + 2..])?)));
        let Some((supplier, consumer)) = pair.filter(|(s, c)| s != c) else {
            losses.add(
                "link_without_devices",
                1,
                Severity::Warning,
                "a device link names a device that is not in the dump; its order is not known",
                Some(r.line),
            );
            return;
        };
        let bound = |id: DeviceId| !self.board.graph.get(id).driver.is_empty();
        // Whoever makes a link by hand has it active at once; a link that the
        // firmware implies sleeps until its supplier has a driver.
        let kind = if bound(supplier) { LinkKind::Active } else { LinkKind::Dormant };
        self.unsure_links += 1;
        self.board.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
    }

    fn find(&self, text: &[u8]) -> Option<DeviceId> {
        let at = text.iter().position(|&b| b == b':')?;
        let name = device_name(&text[at + 1..]);
        self.by_bus.get(&(text[..at].to_vec(), name)).copied().flatten()
    }

    fn finish(mut self, out: &mut Imported) {
        let broken = superiors_first(&mut self.board);
        let notes = &mut out.notes;
        notes.push("Order of devices assumed: by path, consumers after suppliers; a trace of the prepare phase shows the real one.".into());
        let mut note = |n: u32, text: &str| {
            if n > 0 {
                notes.push(format!("{n} {text}"));
            }
        };
        note(
            self.added,
            "devices have no bus or class (platform, PCI domains, ATA ports), so such dumps lack them; they were added.",
        );
        note(
            self.wakeup_objects,
            "wakeup-source objects became the word `wakeup` of their device.",
        );
        note(
            self.unsure_links,
            "links; the dump does not say their state: active where the supplier has a driver, else dormant.",
        );
        note(broken, "links close a ring and became sync_state_only.");
        if self.unsure_links == 0 {
            notes.push("No device links are listed; there may be some.".into());
        }
        out.board = self.board;
    }
}

/// sysfs writes `/` in a name as `!`.
fn device_name(base: &[u8]) -> Vec<u8> {
    base.iter().map(|&b| if b == b'!' { b'/' } else { b }).collect()
}

/// Devices without bus or class that matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithoutBus {
    /// `platform`, `pnp0`: callback-less, synchronous.
    Root,
    /// A PCI domain such as `pci0000:00`: callback-less, asynchronous.
    HostBridge,
    /// `ata1`, which waits for the disk on resume.
    AtaPort,
}

/// What kind of device without bus or class `path` is, if any.
fn without_bus(path: &[u8]) -> Option<WithoutBus> {
    let (above, name) = path.split_at(path.iter().rposition(|&b| b == b'/')?);
    let number = |prefix: &[u8]| {
        let rest = name.strip_prefix(prefix)?;
        Some(rest.first()?.is_ascii_hexdigit())
    };
    match (above == b"/devices", name) {
        (true, b"/platform") => Some(WithoutBus::Root),
        (true, _) if number(b"/pnp") == Some(true) => Some(WithoutBus::Root),
        (true, _) if number(b"/pci") == Some(true) => Some(WithoutBus::HostBridge),
        (false, _) if name.len() > 4 && name.starts_with(b"/ata") => {
            name[4..].iter().all(u8::is_ascii_digit).then_some(WithoutBus::AtaPort)
        }
        _ => None,
    }
}
