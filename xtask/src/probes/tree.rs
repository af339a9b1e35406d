//! The tree of a grafted board with its drivers, as kernel/probes reads it.

use super::drivers::{self, AFTER, CHILDREN, DRIVERS, MATCH, NEEDS, PINS};
use anyhow::{Context, Result};
use dormouse_lab::graft;
use dormouse_lab::qemu::Machine;
use dormouse_power::fw_devlink::version::Rules;
use dormouse_power::tree::{Tree, cells};
use dormouse_read::dtb::blob::{GRAFT, Owned};
use dormouse_read::dtb::fdt;
use std::collections::{HashMap, HashSet};

/// In which order drivers are registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As their first devices stand in the tree.
    Tree,
    /// The other way round.
    Reverse,
    /// Shuffled.
    Seed(u64),
}

/// What drivers a grafted board has.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// Order of registration.
    pub order: Order,
    /// Compatibles whose driver is missing.
    pub without: Vec<String>,
    /// Compatibles whose driver comes last, after so many seconds.
    pub late: Vec<(String, u32)>,
    /// Pairs of nodes (paths below the graft) whose drivers need each other as well.
    pub loops: Vec<(String, String)>,
}

impl Set {
    /// All drivers in an order.
    pub(crate) fn new(order: Order) -> Set {
        Set { order, without: Vec::new(), late: Vec::new(), loops: Vec::new() }
    }
}

/// The grafted tree that is booted, with its drivers.
///
/// # Errors
/// As [`graft::tree`], and where a loop names no node that others can refer to.
pub(crate) fn tree(machine: &Machine, board: &[u8], rules: Rules, set: &Set) -> Result<Vec<u8>> {
    let grafted = graft::tree(machine, board)?;
    let tree = fdt::tree(&grafted).context("cannot read the grafted tree")?;
    let below = tree.find(GRAFT).context("the tree has no graft")?;
    let mut needs = needs(&tree, below, rules);
    for (a, b) in &set.loops {
        let node = |path: &str| {
            tree.find(&format!("{GRAFT}{path}"))
                .with_context(|| format!("the board has no node {path}"))
        };
        let (a, b) = (node(a)?, node(b)?);
        for (consumer, supplier) in [(a, b), (b, a)] {
            let handle = tree.nodes[supplier].cell("phandle");
            let handle =
                handle.with_context(|| format!("nothing refers to {}", tree.path(supplier)))?;
            needs.entry(consumer).or_default().push(handle);
        }
    }
    let pins = pins(&tree);
    let mut at = 0;
    let mut root = Owned::of(&tree, 0);
    mark(&mut root, &mut at, &tree, below, &needs, &pins);
    let mut drivers = drivers::drivers(&tree, below);
    drivers.retain(|d| !d.iter().any(|c| set.without.iter().any(|w| w.as_bytes() == *c)));
    match set.order {
        Order::Tree => {}
        Order::Reverse => drivers.reverse(),
        Order::Seed(seed) => shuffle(&mut drivers, seed),
    }
    let after = |d: &Vec<&[u8]>| {
        let late = set.late.iter().find(|(c, _)| d.contains(&c.as_bytes()));
        late.map_or(0, |&(_, seconds)| seconds)
    };
    drivers.sort_by_key(after);
    let children = drivers.iter().enumerate().map(|(n, compatibles)| {
        let mut node = Owned { name: format!("d{n}").into(), ..Owned::default() };
        let list: Vec<u8> = compatibles.iter().flat_map(|c| [*c, b"\0"].concat()).collect();
        node.set(MATCH, &list);
        if after(compatibles) > 0 {
            node.set(AFTER, &after(compatibles).to_be_bytes());
        }
        node
    });
    let children = children.collect();
    root.children.push(Owned { name: DRIVERS.into(), properties: Vec::new(), children });
    Ok(root.blob())
}

/// Nodes with a device that hold states of pins, which others refer to.
fn pins(tree: &Tree<'_>) -> HashSet<usize> {
    let refs = tree.nodes.iter().flat_map(|n| &n.properties);
    let refs = refs.filter(|(name, _)| {
        name.strip_prefix(b"pinctrl-").is_some_and(|n| n.iter().all(u8::is_ascii_digit))
    });
    refs.flat_map(|(_, value)| cells(value))
        .filter_map(|handle| tree.by_handle(handle))
        .flat_map(|state| tree.above(state))
        .filter(|&n| tree.nodes[n].get("compatible").is_some())
        .collect()
}

/// Phandles of what each node's driver needs.
fn needs(tree: &Tree<'_>, below: usize, rules: Rules) -> HashMap<usize, Vec<u32>> {
    let nodes = (0..tree.nodes.len()).filter(|&n| tree.is_above(below, n));
    let with = nodes.filter(|&n| tree.nodes[n].get("compatible").is_some());
    with.map(|n| {
        let needs = drivers::needs(tree, n, rules).into_iter();
        (n, needs.filter_map(|s| tree.nodes[s].cell("phandle")).collect())
    })
    .collect()
}

/// Says at each node what its driver needs and does; nodes are counted as the tree does.
fn mark(
    node: &mut Owned,
    at: &mut usize,
    tree: &Tree<'_>,
    below: usize,
    needs: &HashMap<usize, Vec<u32>>,
    pins: &HashSet<usize>,
) {
    let own = *at;
    *at += 1;
    if tree.is_above(below, own) && own != below && tree.nodes[own].get("compatible").is_some() {
        if let Some(list) = needs.get(&own).filter(|l| !l.is_empty()) {
            let bytes: Vec<u8> = list.iter().flat_map(|h| h.to_be_bytes()).collect();
            node.set(NEEDS, &bytes);
        }
        if pins.contains(&own) {
            node.set(PINS, b"");
        }
        // The kernel asks for these before it asks a driver, and nobody is there to
        // provide them (drivers/clk/clk-conf.c, drivers/iommu/of_iommu.c).
        node.properties.retain(|(name, _)| {
            !name.starts_with(b"assigned-clock") && !name.starts_with(b"iommu")
        });
        // Clients of these buses are made by code of their own.
        let others: [&[u8]; 8] =
            [b"i2c", b"spi", b"qspi", b"mdio", b"pci", b"pcie", b"mmc", b"sdhci"];
        if !others.contains(&tree.nodes[own].base()) && !tree.children[own].is_empty() {
            node.set(CHILDREN, b"");
        }
    }
    for child in &mut node.children {
        mark(child, at, tree, below, needs, pins);
    }
}

/// Fisher and Yates, with the multiplier of Knuth's MMIX.
fn shuffle<T>(list: &mut [T], seed: u64) {
    let mut state = seed;
    for i in (1..list.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list.swap(i, ((state >> 33) % (i as u64 + 1)) as usize);
    }
}
