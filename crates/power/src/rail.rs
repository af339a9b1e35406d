//! Regulators of a device tree, and what the tree asks of each while the system
//! sleeps (drivers/regulator/of_regulator.c:of_get_regulation_constraints, 6.12).
//!
//! s2idle asks nothing: drivers/regulator/core.c:regulator_get_suspend_state knows
//! these three modes alone.

use crate::tree::{Tree, cells, text};
use std::collections::BTreeMap;

/// The modes, with the node of each.
pub const MODES: [(&str, &str); 3] = [
    ("mem", "regulator-state-mem"),
    ("standby", "regulator-state-standby"),
    ("disk", "regulator-state-disk"),
];

/// What is asked of a regulator in a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// It stays on, or goes off; `None` leaves it as it is.
    pub on: Option<bool>,
    /// Its voltage meanwhile.
    pub microvolts: Option<u32>,
}

/// A regulator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rail {
    /// `regulator-name`, or the name of the node.
    pub name: String,
    /// Path of its node.
    pub path: String,
    /// `regulator-always-on`.
    pub always_on: bool,
    /// Place of the one that its own node names as supply.
    pub supply: Option<usize>,
    /// For each of [`MODES`].
    pub asked: [Asked; 3],
    /// Nodes that it feeds, regulators left out.
    pub feeds: Vec<String>,
    /// Those of them that are to wake the system.
    pub wakes: Vec<String>,
}

fn is_rail(tree: &Tree<'_>, i: usize) -> bool {
    let child = |&c: &usize| MODES.iter().any(|(_, m)| tree.nodes[c].name == m.as_bytes());
    tree.nodes[i].get("regulator-name").is_some()
        || tree.nodes[i].is("regulator-fixed")
        || tree.children[i].iter().any(child)
}

fn asked(tree: &Tree<'_>, i: usize, mode: &str) -> Asked {
    let named = |&&c: &&usize| tree.nodes[c].name == mode.as_bytes();
    let Some(node) = tree.children[i].iter().find(named).map(|&c| &tree.nodes[c]) else {
        return Asked::default();
    };
    let has = |p: &str| node.get(p).is_some();
    Asked {
        on: match (has("regulator-on-in-suspend"), has("regulator-off-in-suspend")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        microvolts: node
            .cell("regulator-suspend-microvolt")
            .or_else(|| node.cell("regulator-suspend-min-microvolt")),
    }
}

/// The regulators of a tree that are not disabled, in its order.
pub fn rails(tree: &Tree<'_>) -> Vec<Rail> {
    // A node is as unavailable as the one above it.
    let mut there = Vec::with_capacity(tree.nodes.len());
    let mut places = BTreeMap::new();
    let mut out: Vec<Rail> = Vec::new();
    for (i, n) in tree.nodes.iter().enumerate() {
        let above = n.parent.is_none_or(|p| there.get(p).copied().unwrap_or(true));
        there.push(above && n.available());
        if there[i] && is_rail(tree, i) {
            let name = n.strings("regulator-name").next().map_or_else(|| text(n.base()), text);
            places.insert(i, out.len());
            out.push(Rail {
                name,
                path: tree.path(i),
                always_on: n.get("regulator-always-on").is_some(),
                asked: MODES.map(|(_, m)| asked(tree, i, m)),
                ..Rail::default()
            });
        }
    }
    for (i, n) in tree.nodes.iter().enumerate().filter(|(i, _)| there[*i]) {
        for (_, v) in n.properties.iter().filter(|(p, _)| p.ends_with(b"-supply")) {
            let supplier = cells(v).next().and_then(|h| tree.by_handle(h));
            let Some(&rail) = supplier.and_then(|s| places.get(&s)) else { continue };
            match places.get(&i) {
                Some(&me) => out[me].supply = Some(rail),
                None => {
                    let name = text(n.name);
                    if !out[rail].feeds.contains(&name) {
                        if n.get("wakeup-source").is_some() {
                            out[rail].wakes.push(name.clone());
                        }
                        out[rail].feeds.push(name);
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Node;

    fn node<'a>(
        name: &'a str,
        parent: Option<usize>,
        depth: usize,
        properties: Vec<(&'a str, &'a [u8])>,
    ) -> Node<'a> {
        let properties = properties.into_iter().map(|(p, v)| (p.as_bytes(), v)).collect();
        Node { name: name.as_bytes(), parent, depth, properties }
    }

    #[test]
    fn what_stays_on_in_which_mode() {
        let h = |n: &'static [u8; 4]| n.as_slice();
        let (one, two) = (h(&[0, 0, 0, 1]), h(&[0, 0, 0, 2]));
        let tree = Tree::new(vec![
            node("", None, 0, vec![]),
            node("vin", Some(0), 1, vec![("regulator-name", b"vin\0"), ("phandle", one)]),
            node("regulator-state-mem", Some(1), 2, vec![("regulator-off-in-suspend", b"")]),
            node(
                "dcdc1",
                Some(0),
                1,
                vec![
                    ("regulator-name", b"vdd_ddr\0"),
                    ("vin-supply", one),
                    ("phandle", two),
                    ("regulator-always-on", b""),
                ],
            ),
            node(
                "regulator-state-mem",
                Some(3),
                2,
                vec![
                    ("regulator-on-in-suspend", b""),
                    ("regulator-suspend-microvolt", &[0, 0x10, 0xc8, 0xe0]),
                ],
            ),
            node("regulator-state-disk", Some(3), 2, vec![("regulator-off-in-suspend", b"")]),
            node("key@1", Some(0), 1, vec![("vdd-supply", two), ("wakeup-source", b"")]),
            node("off", Some(0), 1, vec![("regulator-name", b"x\0"), ("status", b"disabled\0")]),
        ]);
        let all = rails(&tree);
        let names: Vec<&str> = all.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["vin", "vdd_ddr"]);
        let [mem, standby, disk] = all[1].asked;
        assert_eq!((mem.on, mem.microvolts), (Some(true), Some(1_100_000)));
        assert_eq!((standby.on, disk.on), (None, Some(false)));
        assert_eq!((all[1].supply, all[1].always_on), (Some(0), true));
        assert_eq!((all[1].feeds.len(), all[1].wakes.len(), all[0].feeds.len()), (1, 1, 0));
    }
}
