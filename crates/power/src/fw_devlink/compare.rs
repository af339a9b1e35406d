//! A prediction beside what a kernel made of the same tree.

use super::Booted;
use super::machine::{Machine, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// A link of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Name of its folder in `/sys/class/devlink`.
    pub name: String,
    /// Node of the supplier.
    pub supplier: String,
    /// Node of the consumer.
    pub consumer: String,
    /// `dormant`, `available`, …
    pub status: String,
    /// `runtime_pm`.
    pub runtime_pm: bool,
    /// `sync_state_only`.
    pub sync_state_only: bool,
}

/// A device of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its node.
    pub node: String,
    /// Its name.
    pub name: String,
    /// `waiting_for_supplier`, if it is there.
    pub waits: Option<bool>,
}

/// What a kernel shows.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Links.
    pub links: Vec<Link>,
    /// Devices that have a node.
    pub devices: Vec<Device>,
    /// Lines on cycles: both nodes.
    pub cycles: Vec<(String, String)>,
    /// Attempts to probe in order: the device, and what came of it (`initcall_debug`).
    pub attempts: Vec<(String, i32)>,
}

/// Attempts of a kernel beside those of two boots of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Of the kernel.
    pub kernel: usize,
    /// The smaller number of the two.
    pub least: usize,
    /// The larger one.
    pub most: usize,
    /// Boots.
    pub boots: usize,
    /// Boots in which every device has as many as one of the two, or between.
    pub within: usize,
    /// Boots in which all are those of one of the two, in its order, with what came of
    /// each.
    pub same: usize,
}

impl Attempts {
    fn plus(self, other: Attempts) -> Attempts {
        Attempts {
            kernel: self.kernel + other.kernel,
            least: self.least + other.least,
            most: self.most + other.most,
            boots: self.boots + other.boots,
            within: self.within + other.within,
            same: self.same + other.same,
        }
    }

    /// Of the devices below `below`.
    fn of(kernel: &[(String, i32)], a: &[(String, i32)], b: &[(String, i32)]) -> Attempts {
        let count =
            |list: &[(String, i32)], name: &str| list.iter().filter(|l| l.0 == name).count();
        let names: BTreeSet<&String> = kernel.iter().chain(a).chain(b).map(|l| &l.0).collect();
        let within = names.iter().all(|n| {
            let (x, y) = (count(a, n), count(b, n));
            (x.min(y)..=x.max(y)).contains(&count(kernel, n))
        });
        Attempts {
            kernel: kernel.len(),
            least: a.len().min(b.len()),
            most: a.len().max(b.len()),
            boots: 1,
            within: usize::from(within),
            same: usize::from(kernel == a || kernel == b),
        }
    }
}

/// How many of something a kernel has, and how the prediction compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Of the kernel.
    pub kernel: usize,
    /// Of them, predicted as they are.
    pub right: usize,
    /// Of them, predicted with another flag or state.
    pub wrong: usize,
    /// Predicted, and not there.
    pub too_many: usize,
}

impl Count {
    /// Everything is right, and nothing too many.
    pub fn exact(&self) -> bool {
        self.right == self.kernel && self.too_many == 0
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Count) -> Count {
        Count {
            kernel: self.kernel + other.kernel,
            right: self.right + other.right,
            wrong: self.wrong + other.wrong,
            too_many: self.too_many + other.too_many,
        }
    }

    /// Of what each has, and, where one can have it otherwise, how.
    fn of<K: Ord, V: PartialEq>(kernel: &BTreeMap<K, V>, predicted: &BTreeMap<K, V>) -> Count {
        let mut count = Count { kernel: kernel.len(), ..Count::default() };
        for (key, value) in kernel {
            match predicted.get(key) {
                Some(p) if p == value => count.right += 1,
                Some(_) => count.wrong += 1,
                None => {}
            }
        }
        count.too_many = predicted.keys().filter(|k| !kernel.contains_key(*k)).count();
        count
    }
}

/// A prediction beside a kernel.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Links with all their attributes.
    pub links: Count,
    /// Of the kernel's links, those for sync_state alone.
    pub sync_state_only: usize,
    /// Pairs of nodes in lines about cycles.
    pub cycles: Count,
    /// Lines about cycles, of the kernel and predicted.
    pub lines: (usize, usize),
    /// Devices with their names, and whether they wait for a node.
    pub devices: Count,
    /// Devices of the kernel that wait.
    pub waiting: usize,
    /// Attempts to probe.
    pub attempts: Attempts,
    /// What differs: what it is, the kernel's, the predicted.
    pub differences: Vec<(String, String, String)>,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn exact(&self) -> bool {
        let attempts = self.attempts.within == self.attempts.boots;
        self.differences.is_empty() && self.lines.0 == self.lines.1 && attempts
    }

    /// Everything of two boots.
    #[must_use]
    pub fn plus(&self, other: &Comparison) -> Comparison {
        Comparison {
            links: self.links.plus(other.links),
            sync_state_only: self.sync_state_only + other.sync_state_only,
            cycles: self.cycles.plus(other.cycles),
            lines: (self.lines.0 + other.lines.0, self.lines.1 + other.lines.1),
            devices: self.devices.plus(other.devices),
            waiting: self.waiting + other.waiting,
            attempts: self.attempts.plus(other.attempts),
            differences: [self.differences.clone(), other.differences.clone()].concat(),
        }
    }
}

/// A state of a link: status, runtime_pm, sync_state_only, name.
type State = (String, bool, bool, String);

/// Holds a prediction against what a kernel shows of the nodes below `below`.
/// `eager` is the same boot with the worker running at once.
pub fn compare(
    booted: &Booted<'_, '_>,
    eager: &Booted<'_, '_>,
    below: usize,
    kernel: &Observed,
) -> Comparison {
    let m = &booted.machine;
    let inside = |n: usize| m.tree.is_above(below, n);
    let at = |d: usize| m.devices[d].node;
    let path = |d: usize| at(d).map_or("-".into(), |n| m.tree.path(n));
    let observed = kernel;

    let mut predicted: BTreeMap<(String, String), State> = BTreeMap::new();
    for l in m.links.iter().filter(|l| l.alive) {
        if [l.supplier, l.consumer].into_iter().filter_map(at).any(inside) {
            let name = |d: usize| format!("{}:{}", m.devices[d].bus, m.devices[d].name);
            let name = format!("{}--{}", name(l.supplier), name(l.consumer));
            let status = status(m, l.supplier, l.consumer);
            let state = (status.to_owned(), l.runtime_pm, l.sync_state_only, name);
            predicted.insert((path(l.supplier), path(l.consumer)), state);
        }
    }
    let state = |l: &Link| (l.status.clone(), l.runtime_pm, l.sync_state_only, l.name.clone());
    let links = observed.links.iter();
    let kernel: BTreeMap<(String, String), State> =
        links.map(|l| ((l.supplier.clone(), l.consumer.clone()), state(l))).collect();

    let pairs = |list: &[(String, String)]| -> BTreeMap<(String, String), ()> {
        list.iter().map(|p| (p.clone(), ())).collect()
    };
    let own = m.cycles.iter().filter(|(a, b)| inside(*a) || inside(*b));
    let own: Vec<(String, String)> = own.map(|&(a, b)| (m.tree.path(a), m.tree.path(b))).collect();
    let lines = (observed.cycles.len(), own.len());
    let (cycles, own) = (pairs(&observed.cycles), pairs(&own));

    let waits = |d: usize| {
        let shown = m.mode.waits() && m.devices[d].status != Status::Bound;
        shown.then(|| m.awaited(d).is_some())
    };
    let devices = observed.devices.iter();
    let devices: BTreeMap<String, (String, Option<bool>)> =
        devices.map(|d| (d.node.clone(), (d.name.clone(), d.waits))).collect();
    let own_devices: BTreeMap<String, (String, Option<bool>)> = (0..m.devices.len())
        .filter(|&d| at(d).is_some_and(inside))
        .map(|d| (path(d), (m.devices[d].name.clone(), waits(d))))
        .collect();

    let own_attempts = |b: &Booted<'_, '_>| -> Vec<(String, i32)> {
        let device = |d: usize| &b.machine.devices[d];
        let all = b.attempts.iter().filter(|a| device(a.device).node.is_some_and(inside));
        all.map(|a| (device(a.device).name.clone(), a.outcome.code())).collect()
    };

    let mut out = Comparison {
        links: Count::of(&kernel, &predicted),
        sync_state_only: observed.links.iter().filter(|l| l.sync_state_only).count(),
        cycles: Count::of(&cycles, &own),
        lines,
        devices: Count::of(&devices, &own_devices),
        waiting: observed.devices.iter().filter(|d| d.waits == Some(true)).count(),
        attempts: Attempts::of(&observed.attempts, &own_attempts(booted), &own_attempts(eager)),
        differences: Vec::new(),
    };
    let of = |(s, c): &(String, String)| format!("link {c} -> {s}");
    differ(&kernel, &predicted, of, &mut out.differences);
    differ(&cycles, &own, |(a, b)| format!("cycle {a} {b}"), &mut out.differences);
    differ(&devices, &own_devices, |d| format!("device {d}"), &mut out.differences);
    out
}

/// Status of a link by its ends (drivers/base/core.c:device_link_init_status).
fn status(m: &Machine<'_, '_>, supplier: usize, consumer: usize) -> &'static str {
    match (m.devices[supplier].status, m.devices[consumer].status) {
        (Status::Bound, Status::Bound) => "active",
        (Status::Bound, _) => "available",
        _ => "dormant",
    }
}

fn differ<K: Ord, V: PartialEq + Debug>(
    kernel: &BTreeMap<K, V>,
    predicted: &BTreeMap<K, V>,
    name: impl Fn(&K) -> String,
    out: &mut Vec<(String, String, String)>,
) {
    let keys: BTreeSet<&K> = kernel.keys().chain(predicted.keys()).collect();
    for key in keys {
        let (k, p) = (kernel.get(key), predicted.get(key));
        if k != p {
            let text = |v: Option<&V>| v.map_or("none".into(), |v| format!("{v:?}"));
            out.push((name(key), text(k), text(p)));
        }
    }
}
