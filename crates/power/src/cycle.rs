//! Two nodes that need each other (drivers/base/core.c:__fw_devlink_relax_cycles).
//!
//! Kernels before 7.x print the line at each detection, later ones once a link, so
//! counts say nothing: what is compared are sets of pairs.

use crate::name::key;
use dormouse_base::finding::Evidence;
use std::collections::{BTreeMap, BTreeSet};

/// `A: Fixed dependency cycle(s) with B`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Device or node that the line is about.
    pub one: String,
    /// The other node.
    pub other: String,
    /// A patch or a comparison took the line away.
    pub gone: bool,
    /// The line.
    pub evidence: Evidence,
}

/// `bus/part` of `bus@7000/part`: a device is called after the address of its parent, which
/// the parent's node need not have in its name (drivers/of/device.c:of_device_make_bus_id).
fn bare_parent(key: &str) -> Option<String> {
    let (parent, last) = key.split_once('/')?;
    Some(format!("{}/{last}", parent.split_once('@')?.0))
}

/// Cycles as a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Lines that say so.
    pub lines: usize,
    /// Each pair once, as keys in order of the alphabet; with its first line's place.
    pub list: Vec<(String, String, usize)>,
    /// How many of them only stand in lines that were taken away.
    pub gone: usize,
}

impl Pairs {
    /// Of all lines, pairs in the order of the text.
    pub fn of(cycles: &[Cycle]) -> Pairs {
        let mut seen: BTreeMap<(String, String), (usize, bool)> = BTreeMap::new();
        let keys: BTreeSet<String> =
            cycles.iter().flat_map(|c| [key(&c.one), key(&c.other)]).collect();
        let node = |name: &str| {
            let key = key(name);
            bare_parent(&key).filter(|k| keys.contains(k)).unwrap_or(key)
        };
        for (i, c) in cycles.iter().enumerate() {
            let (a, b) = (node(&c.one), node(&c.other));
            let pair = if a <= b { (a, b) } else { (b, a) };
            seen.entry(pair).and_modify(|(_, gone)| *gone &= c.gone).or_insert((i, c.gone));
        }
        let gone = seen.values().filter(|(_, gone)| *gone).count();
        let mut list: Vec<_> = seen.into_iter().map(|((a, b), (i, _))| (a, b, i)).collect();
        list.sort_by_key(|(.., i)| *i);
        Pairs { lines: cycles.len(), list, gone }
    }
}
