//! Which device an event means.
//!
//! A device is known by its driver, name and parent, all as the kernel prints
//! them. Even that is not unique (two `net lo` of two network namespaces), so
//! devices of the same key are told apart by order: the k-th in the prepare
//! phase is the k-th in every forward walk and the k-th from the end in every
//! backward walk.

use dormouse_base::device::{Device, DeviceGraph, DeviceId};
use dormouse_base::names::{Names, Sym};
use dormouse_base::phase::{Direction, Phase};
use std::collections::HashSet;

/// How an event names a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceKey<'a> {
    /// Driver, else bus, else class, else empty.
    pub driver: &'a [u8],
    /// Device name.
    pub device: &'a [u8],
    /// Parent's name; empty or `none` without one.
    pub parent: &'a [u8],
    /// The source tells the driver (or that there is none). The oldest kernel
    /// logs do not.
    pub driver_known: bool,
}

/// All devices of the same key.
#[derive(Debug)]
struct Group {
    /// The driver of the key; a device may change its driver, and has another
    /// group then.
    driver: Sym,
    first: DeviceId,
    /// Devices beyond the first.
    twins: Vec<DeviceId>,
    /// How many were met in the phase `epoch`.
    seen: u32,
    epoch: u32,
}

impl Group {
    fn new(driver: Sym, first: DeviceId) -> Group {
        Group { driver, first, twins: Vec::new(), seen: 0, epoch: 0 }
    }
}

/// Finds devices by key.
#[derive(Debug)]
pub(super) struct Devices {
    /// From 1 on.
    groups: Vec<Group>,
    /// The first group with each name, by symbol; 0 if there is none.
    first: Vec<u32>,
    /// Keys of further groups with that name as text, and their groups.
    keys: Names,
    of_key: Vec<u32>,
    /// The key that is looked for.
    text: Vec<u8>,
    by_name: ByName,
    /// Devices of which only the name, perhaps the parent, is known.
    vague: HashSet<u32>,
    epoch: u32,
    /// The group that was found last.
    last: u32,
    /// The walk that showed the first group went backwards.
    made_backward: bool,
}

impl Default for Devices {
    fn default() -> Devices {
        Devices {
            groups: vec![Group::new(Sym::EMPTY, DeviceId(0))],
            first: Vec::new(),
            keys: Names::default(),
            of_key: vec![0],
            text: Vec::new(),
            by_name: ByName::default(),
            vague: HashSet::new(),
            epoch: 0,
            last: 0,
            made_backward: false,
        }
    }
}

impl Devices {
    /// A phase begins: occurrences are counted from zero.
    pub(crate) fn begin_phase(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Makes a device of the graph findable.
    pub(super) fn register(&mut self, id: DeviceId, graph: &DeviceGraph, names: &Names) {
        let d = graph.get(id);
        self.by_name.add(d.name, id);
        if d.driver.is_empty() && d.parent_name.is_empty() {
            self.vague.insert(id.0);
            return;
        }
        let key = DeviceKey {
            driver: names.bytes(d.driver),
            device: names.bytes(d.name),
            parent: names.bytes(d.parent_name),
            driver_known: true,
        };
        match self.find(d.name, &key, graph, names) {
            Some(g) => self.groups[g as usize].twins.push(id),
            None => self.groups.push(Group::new(d.driver, id)),
        }
    }

    /// The device that `key` means now, in `phase`; a new one if none does. Also
    /// the driver by which the source calls it.
    pub(super) fn resolve(
        &mut self,
        key: &DeviceKey<'_>,
        phase: Phase,
        graph: &mut DeviceGraph,
        names: &mut Names,
    ) -> (DeviceId, Sym) {
        let key = &DeviceKey { parent: without_none(key.parent), ..*key };
        if !key.driver_known {
            return (self.by_name_only(key, graph, names), Sym::EMPTY);
        }
        let backward = phase == Phase::Complete
            || (phase.direction() == Direction::Suspend && phase != Phase::Prepare);
        if self.groups.len() == 1 {
            self.made_backward = backward;
        }
        let at = match self.neighbour(backward, key, graph, names) {
            Some(at) => at,
            None => {
                let name = names.add_bytes(key.device);
                match self.find(name, key, graph, names) {
                    Some(at) => at,
                    None => return self.meet(name, key, phase, graph, names),
                }
            }
        };
        self.last = at;
        let group = &mut self.groups[at as usize];
        let driver = group.driver;
        if group.epoch != self.epoch {
            group.epoch = self.epoch;
            group.seen = 0;
        }
        let k = group.seen as usize;
        group.seen += 1;
        let count = 1 + group.twins.len();
        if k >= count && phase == Phase::Prepare {
            // Prepare visits every device exactly once: this is one more.
            let twin = graph.get(group.first);
            let twin = Device {
                name: twin.name,
                driver: twin.driver,
                parent_name: twin.parent_name,
                ..Device::default()
            };
            let id = graph.push(twin);
            group.twins.push(id);
            return (id, driver);
        }
        if count == 1 {
            return (group.first, driver);
        }
        let k = k % count;
        let id = match if backward { count - 1 - k } else { k } {
            0 => group.first,
            n => group.twins[n - 1],
        };
        (id, driver)
    }

    /// A group for a key that was not seen before, and its device.
    fn meet(
        &mut self,
        name: Sym,
        key: &DeviceKey<'_>,
        phase: Phase,
        graph: &mut DeviceGraph,
        names: &mut Names,
    ) -> (DeviceId, Sym) {
        let driver = names.add_bytes(key.driver);
        let id = self.adopt(name, key, driver, phase, graph, names);
        self.last = self.groups.len() as u32;
        self.groups.push(Group { seen: 1, epoch: self.epoch, ..Group::new(driver, id) });
        (id, driver)
    }

    /// The group beside the last one, if it is that of `key`: groups stand in the
    /// order of the walk that showed them first, and walks go through the same
    /// list forwards and backwards.
    fn neighbour(
        &self,
        backward: bool,
        key: &DeviceKey<'_>,
        graph: &DeviceGraph,
        names: &Names,
    ) -> Option<u32> {
        let back = backward != self.made_backward;
        let beside = if back { self.last.checked_sub(1) } else { self.last.checked_add(1) };
        beside.filter(|&g| g > 0 && self.is(g, key, graph, names))
    }

    /// Whether `key` means the group `g`.
    fn is(&self, g: u32, key: &DeviceKey<'_>, graph: &DeviceGraph, names: &Names) -> bool {
        let Some(group) = self.groups.get(g as usize) else { return false };
        let d = graph.get(group.first);
        same_text(names.bytes(group.driver), names.bytes(d.name), key)
            && same(names.bytes(d.parent_name), key.parent)
    }

    /// The group of `key`. If there is none, the next one to be made is its. As a
    /// rule its name says which; a name with blanks may have been split elsewhere.
    fn find(
        &mut self,
        name: Sym,
        key: &DeviceKey<'_>,
        graph: &DeviceGraph,
        names: &Names,
    ) -> Option<u32> {
        let next = self.groups.len() as u32;
        if !key.driver.contains(&b' ') && !key.device.contains(&b' ') {
            let name = name.0 as usize;
            if self.first.len() <= name {
                self.first.resize(name + 1, 0);
            }
            match self.first[name] {
                0 => {
                    self.first[name] = next;
                    return None;
                }
                g if self.is(g, key, graph, names) => return Some(g),
                _ => {}
            }
        }
        self.text.clear();
        for part in [key.driver, b" ", key.device, b"\n", key.parent] {
            self.text.extend_from_slice(part);
        }
        let number = self.keys.add_bytes(&self.text).0 as usize;
        if number == self.of_key.len() {
            self.of_key.push(next);
            return None;
        }
        Some(self.of_key[number])
    }

    /// A device known by name only becomes this one. Outside prepare, which
    /// shows every device, a device of the same name and parent has only
    /// changed its driver (a USB interface that lost it in resume). Else it is
    /// a new device.
    fn adopt(
        &mut self,
        name: Sym,
        key: &DeviceKey<'_>,
        driver: Sym,
        phase: Phase,
        graph: &mut DeviceGraph,
        names: &mut Names,
    ) -> DeviceId {
        let parent_name = names.add_bytes(key.parent);
        if let Some(id) = self.by_name.only(name) {
            let d = &mut graph.devices[id.index()];
            if self.vague.contains(&id.0)
                && (d.parent_name.is_empty() || d.parent_name == parent_name)
            {
                self.vague.remove(&id.0);
                d.driver = driver;
                d.parent_name = parent_name;
                return id;
            }
            if phase != Phase::Prepare && d.parent_name == parent_name {
                return id;
            }
        }
        self.push(Device { name, driver, parent_name, ..Device::default() }, graph)
    }

    /// For sources that do not tell the driver: the only device of that name,
    /// if its parent does not contradict.
    fn by_name_only(
        &mut self,
        key: &DeviceKey<'_>,
        graph: &mut DeviceGraph,
        names: &mut Names,
    ) -> DeviceId {
        let name = names.add_bytes(key.device);
        let parent_name = names.add_bytes(key.parent);
        if let Some(id) = self.by_name.only(name) {
            let d = &mut graph.devices[id.index()];
            let vague = self.vague.contains(&id.0);
            if vague && d.parent_name.is_empty() {
                d.parent_name = parent_name;
            }
            if parent_name.is_empty() || d.parent_name == parent_name {
                return id;
            }
        }
        if let Some(at) = self.find(name, key, graph, names) {
            return self.groups[at as usize].first;
        }
        let id = self.push(Device { name, parent_name, ..Device::default() }, graph);
        self.vague.insert(id.0);
        self.groups.push(Group::new(Sym::EMPTY, id));
        id
    }

    fn push(&mut self, device: Device, graph: &mut DeviceGraph) -> DeviceId {
        let name = device.name;
        let id = graph.push(device);
        self.by_name.add(name, id);
        id
    }
}

/// The only device of a name, by symbol: symbols are small numbers, so a plain
/// array serves.
#[derive(Debug, Default)]
struct ByName(Vec<u32>);

impl ByName {
    const MANY: u32 = u32::MAX;

    fn add(&mut self, name: Sym, id: DeviceId) {
        let at = name.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = if self.0[at] == 0 { id.0 + 1 } else { ByName::MANY };
    }

    fn only(&self, name: Sym) -> Option<DeviceId> {
        let n = self.0.get(name.0 as usize).copied().unwrap_or(0);
        (n != 0 && n != ByName::MANY).then(|| DeviceId(n - 1))
    }
}

/// Whether the device `driver name` is printed as `key`. Sources that split a
/// text with several blanks at different places still mean the same device.
#[inline]
pub(crate) fn same_text(driver: &[u8], name: &[u8], key: &DeviceKey<'_>) -> bool {
    if same(name, key.device) && same(driver, key.driver) {
        return true;
    }
    let total = key.driver.len() + 1 + key.device.len();
    if driver.len() + 1 + name.len() != total || name.len() == key.device.len() {
        return false;
    }
    let left = driver.iter().copied().chain([b' ']).chain(name.iter().copied());
    let right = key.driver.iter().copied().chain([b' ']).chain(key.device.iter().copied());
    left.eq(right)
}

/// Whether interned `text` came from `bytes`.
#[inline]
fn same(text: &[u8], bytes: &[u8]) -> bool {
    text == bytes || same_escaped(text, bytes)
}

fn same_escaped(text: &[u8], bytes: &[u8]) -> bool {
    // Interning escapes what is not UTF-8; that only ever makes it longer.
    if text.len() <= bytes.len() || std::str::from_utf8(bytes).is_ok() {
        return false;
    }
    let mut scratch = Names::default();
    let sym = scratch.add_bytes(bytes);
    scratch.bytes(sym) == text
}

fn without_none(parent: &[u8]) -> &[u8] {
    if parent == b"none" { b"" } else { parent }
}
