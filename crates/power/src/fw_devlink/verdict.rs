//! What will become of the devices of a tree: which never probe, which probe late and
//! for what, what keeps a supplier from its sync_state, and how many attempts it takes.

use super::bind::Gate;
use super::boot::{Boot, Driver, Drivers, Outcome};
use super::machine::{Machine, Status};
use super::version::Mode;
use super::{Wish, work::Work};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// What a device waits for in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A device without a driver.
    NoDriver(usize),
    /// A node of which no device is made: nothing above it is bound.
    NoDevice(usize),
    /// Devices that wait for each other.
    Ring(Vec<usize>),
}

/// A device that waits, with the chain of devices to what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The device.
    pub device: usize,
    /// Devices between it and the root.
    pub through: Vec<usize>,
    /// The root.
    pub root: Root,
}

/// A supplier whose sync_state is held up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The supplier.
    pub supplier: usize,
    /// Consumers that are not bound, and whether each stands for a node below it.
    pub consumers: Vec<(usize, bool)>,
}

/// Everything of a boot.
pub struct Verdict<'t, 'a> {
    /// After the last attempt.
    pub machine: Machine<'t, 'a>,
    /// Devices that have a driver and are never bound.
    pub never: Vec<Wait>,
    /// Devices that are bound when the time for drivers is over, not before.
    pub late: Vec<Wait>,
    /// Devices without a driver that others need, with how many those are.
    pub driverless: Vec<(usize, usize)>,
    /// Suppliers whose sync_state is held up at the end.
    pub held: Vec<Held>,
    /// Pairs of nodes that need each other.
    pub cycles: BTreeSet<(usize, usize)>,
    /// Attempts in all: when the worker runs at once, and when it runs last.
    pub attempts: [usize; 2],
    /// Attempts of each device, the same way.
    pub each: BTreeMap<usize, [usize; 2]>,
    /// Attempts that the core put off.
    pub put_off: [usize; 2],
}

/// Boots a tree twice: with the worker that tries again running at once, and only when
/// every driver was there.
pub fn judge<'t, 'a>(tree: &'t Tree<'a>, wish: &Wish, drivers: &dyn Drivers) -> Verdict<'t, 'a> {
    let (_, eager, _) = run(tree, wish, drivers, true);
    let (machine, lazy, before) = run(tree, wish, drivers, false);
    let mut each: BTreeMap<usize, [usize; 2]> = BTreeMap::new();
    for (n, list) in [&eager, &lazy].into_iter().enumerate() {
        for a in list.iter() {
            each.entry(a.device).or_default()[n] += 1;
        }
    }
    let held = |l: &[super::boot::Attempt]| {
        l.iter().filter(|a| !matches!(a.outcome, Outcome::Bound | Outcome::Declined)).count()
    };
    let mut never = Vec::new();
    for d in 0..machine.devices.len() {
        let has = !matches!(drivers.of(&machine, d), Driver::None | Driver::Declines);
        if has && machine.devices[d].status != Status::Bound {
            never.push(wait(&machine, drivers, d));
        }
    }
    let late = before.into_iter().filter(|w| machine.devices[w.device].status == Status::Bound);
    let late = late.collect();
    let mut needed: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for l in machine.links.iter().filter(|l| l.alive && !l.proxy && !l.cycle) {
        if drivers.of(&machine, l.supplier) == Driver::None {
            needed.entry(l.supplier).or_default().insert(l.consumer);
        }
    }
    for w in &never {
        if let Root::NoDriver(d) = w.root {
            needed.entry(d).or_default().insert(w.device);
        }
    }
    let late_list: Vec<Wait> = late;
    for w in &late_list {
        if let Root::NoDriver(d) = w.root {
            needed.entry(d).or_default().insert(w.device);
        }
    }
    let mut driverless: Vec<(usize, usize)> =
        needed.into_iter().map(|(d, consumers)| (d, consumers.len())).collect();
    driverless.sort_by_key(|&(d, n)| (std::cmp::Reverse(n), d));
    let cycles = machine.cycles.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    Verdict {
        held: held_up(&machine),
        never,
        late: late_list,
        driverless,
        cycles,
        attempts: [eager.len(), lazy.len()],
        put_off: [held(&eager), held(&lazy)],
        each,
        machine,
    }
}

/// One boot, with who waited just before the time for drivers was over.
fn run<'t, 'a>(
    tree: &'t Tree<'a>,
    wish: &Wish,
    drivers: &dyn Drivers,
    eager: bool,
) -> (Machine<'t, 'a>, Vec<super::boot::Attempt>, Vec<Wait>) {
    let mut machine = Machine::new(tree, wish.rules, wish.mode, wish.strict);
    machine.initialise(&wish.early);
    machine.populate();
    let devices: Vec<usize> = (0..machine.devices.len()).collect();
    let mut boot = Boot::new(&mut machine, drivers, eager);
    if eager {
        // Modules: the kernel's own initialisation is over, the worker runs.
        boot.late();
    }
    boot.register(&devices);
    boot.late();
    let waiting = boot.waiting().to_vec();
    let before = waiting.iter().map(|&d| wait(boot.machine, drivers, d)).collect();
    if wish.timed_out {
        boot.time_out();
    }
    let attempts = std::mem::take(&mut boot.attempts);
    (machine, attempts, before)
}

/// What a device waits for.
fn wait(m: &Machine<'_, '_>, drivers: &dyn Drivers, device: usize) -> Wait {
    let mut through: Vec<usize> = Vec::new();
    let mut at = device;
    loop {
        let next = match m.gate(at) {
            Gate::Device(d) => d,
            Gate::Node(n) => match m.nodes[n].device.or_else(|| m.device_above(n)) {
                // The driver above would make it a device.
                Some(d) if m.devices[d].status != Status::Bound && d != at => d,
                _ => return Wait { device, through, root: Root::NoDevice(n) },
            },
            Gate::Open => match drivers.missing(m, at) {
                Some(d) => d,
                None => return Wait { device, through, root: Root::NoDriver(at) },
            },
        };
        if next == device || through.contains(&next) {
            let from = through.iter().position(|&d| d == next).map_or(0, |n| n);
            let mut ring = through.split_off(from);
            if next == device {
                ring.insert(0, device);
            }
            return Wait { device, through, root: Root::Ring(ring) };
        }
        if drivers.of(m, next) == Driver::None {
            return Wait { device, through, root: Root::NoDriver(next) };
        }
        through.push(next);
        at = next;
    }
}

/// Bound suppliers with links to consumers that are not (a link for sync_state alone
/// goes when its consumer is bound).
fn held_up(m: &Machine<'_, '_>) -> Vec<Held> {
    if m.mode == Mode::Off {
        return Vec::new();
    }
    let mut all: BTreeMap<usize, Vec<(usize, bool)>> = BTreeMap::new();
    for l in m.links.iter().filter(|l| l.alive) {
        let bound = |d: usize| m.devices[d].status == Status::Bound;
        if bound(l.supplier) && !bound(l.consumer) {
            all.entry(l.supplier).or_default().push((l.consumer, l.proxy));
        }
    }
    all.into_iter().map(|(supplier, consumers)| Held { supplier, consumers }).collect()
}

/// What differs between two boots of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contrast {
    /// Links (consumer, supplier) of the first alone, of the second alone, and of both
    /// with another kind.
    pub links: [Vec<(String, String)>; 3],
    /// Devices that are bound in time in the first alone, and in the second alone.
    pub in_time: [Vec<String>; 2],
    /// Pairs of nodes that need each other, by path, in the first alone and in the second
    /// alone.
    pub cycles: [Vec<(String, String)>; 2],
}

impl Contrast {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.links.iter().chain(&self.cycles).all(Vec::is_empty)
            && self.in_time.iter().all(Vec::is_empty)
    }
}

/// Compares two boots by the names of devices.
pub fn contrast(a: &Verdict<'_, '_>, b: &Verdict<'_, '_>) -> Contrast {
    let links = |v: &Verdict<'_, '_>| -> BTreeMap<(String, String), (bool, bool)> {
        let name = |d: usize| v.machine.devices[d].name.clone();
        let alive = v.machine.links.iter().filter(|l| l.alive);
        alive
            .map(|l| ((name(l.consumer), name(l.supplier)), (l.sync_state_only, l.runtime_pm)))
            .collect()
    };
    let (la, lb) = (links(a), links(b));
    let mut out = Contrast::default();
    for (key, kind) in &la {
        match lb.get(key) {
            None => out.links[0].push(key.clone()),
            Some(other) if other != kind => out.links[2].push(key.clone()),
            _ => {}
        }
    }
    out.links[1] = lb.keys().filter(|k| !la.contains_key(*k)).cloned().collect();
    let pairs = |v: &Verdict<'_, '_>| -> BTreeSet<(String, String)> {
        let path = |n: usize| v.machine.tree.path(n);
        v.cycles.iter().map(|&(a, b)| (path(a), path(b))).collect()
    };
    let (ca, cb) = (pairs(a), pairs(b));
    out.cycles = [ca.difference(&cb).cloned().collect(), cb.difference(&ca).cloned().collect()];
    let slow = |v: &Verdict<'_, '_>| -> BTreeSet<String> {
        let all = v.never.iter().chain(&v.late);
        all.map(|w| v.machine.devices[w.device].name.clone()).collect()
    };
    let (sa, sb) = (slow(a), slow(b));
    out.in_time = [sb.difference(&sa).cloned().collect(), sa.difference(&sb).cloned().collect()];
    out
}

impl Verdict<'_, '_> {
    /// Nodes whose cycles were too many to walk.
    pub fn given_up(&self) -> &Work {
        &self.machine.work
    }
}
