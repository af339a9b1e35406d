//! Writes a flattened device tree (Devicetree Specification 0.4, chapter 5, version
//! 17 of the format), and puts one tree below a node of another.

use dormouse_power::tree::{Tree, text};
use std::collections::HashMap;

/// A node that owns what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// With the unit address.
    pub name: Vec<u8>,
    /// Names and values, in order.
    pub properties: Vec<(Vec<u8>, Vec<u8>)>,
    /// In order.
    pub children: Vec<Owned>,
}

impl Owned {
    /// A node of a tree with all below it.
    pub fn of(tree: &Tree<'_>, node: usize) -> Owned {
        let n = &tree.nodes[node];
        Owned {
            name: n.name.to_vec(),
            properties: n.properties.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect(),
            children: tree.children[node].iter().map(|&c| Owned::of(tree, c)).collect(),
        }
    }

    /// Sets a property; a new one comes last.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        match self.properties.iter_mut().find(|(n, _)| n == name.as_bytes()) {
            Some(p) => p.1 = value.to_vec(),
            None => self.properties.push((name.into(), value.to_vec())),
        }
    }

    /// A blob with this node as its root.
    pub fn blob(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.node(self);
        w.word(9);
        let head = 40 + 16;
        let strings = head + w.structure.len();
        let total = (strings + w.strings.len()).next_multiple_of(8);
        let mut out = Vec::with_capacity(total);
        let fields =
            [0xd00d_feed, total, head, strings, 40, 17, 16, 0, w.strings.len(), w.structure.len()];
        for f in fields {
            out.extend_from_slice(&(f as u32).to_be_bytes());
        }
        // No memory is reserved.
        out.extend_from_slice(&[0; 16]);
        out.extend_from_slice(&w.structure);
        out.extend_from_slice(&w.strings);
        out.resize(total, 0);
        out
    }
}

#[derive(Default)]
struct Writer {
    structure: Vec<u8>,
    strings: Vec<u8>,
    at: HashMap<Vec<u8>, usize>,
}

impl Writer {
    fn word(&mut self, word: u32) {
        self.structure.extend_from_slice(&word.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.structure.extend_from_slice(bytes);
        self.structure.resize(self.structure.len().next_multiple_of(4), 0);
    }

    fn node(&mut self, node: &Owned) {
        self.word(1);
        let mut name = node.name.clone();
        name.push(0);
        self.bytes(&name);
        for (name, value) in &node.properties {
            let at = *self.at.entry(name.clone()).or_insert_with(|| {
                let at = self.strings.len();
                self.strings.extend_from_slice(name);
                self.strings.push(0);
                at
            });
            self.word(3);
            self.word(value.len() as u32);
            self.word(at as u32);
            self.bytes(value);
        }
        for child in &node.children {
            self.node(child);
        }
        self.word(2);
    }
}

/// The node below which a tree is grafted.
pub const GRAFT: &str = "graft";

/// Nodes of a board that are not grafted: the machine has its own.
const LEFT_OUT: [&str; 7] = ["aliases", "chosen", "cpus", "memory", "firmware", "psci", "timer"];

/// Compatibles that stay: no driver but that of buses matches them.
const KEPT: [&[u8]; 3] = [b"simple-bus", b"simple-mfd", b"operating-points-v2"];

/// What is put before the others, so that no driver matches.
pub(crate) const PREFIX: &str = "graft,";

/// The tree of a machine with the nodes of another beside its own.
///
/// # Errors
/// When both trees use the same number for a node.
pub fn beside(machine: &Tree<'_>, other: &Tree<'_>) -> Result<Owned, String> {
    apart(machine, other)?;
    let mut root = Owned::of(machine, 0);
    root.children.extend(other.children[0].iter().map(|&child| Owned::of(other, child)));
    Ok(root)
}

fn apart(one: &Tree<'_>, other: &Tree<'_>) -> Result<(), String> {
    let handles =
        |t: &Tree<'_>| -> Vec<u32> { t.nodes.iter().filter_map(|n| n.cell("phandle")).collect() };
    let own = handles(one);
    match handles(other).into_iter().find(|h| own.contains(h)) {
        Some(h) => Err(format!("both trees call a node {h:#x}")),
        None => Ok(()),
    }
}

/// The tree of a machine with a board's tree below one bus of it.
///
/// # Errors
/// When both trees use the same number for a node.
pub fn graft(machine: &Tree<'_>, board: &Tree<'_>) -> Result<Owned, String> {
    apart(machine, board)?;
    let mut root = Owned::of(machine, 0);
    let mut bus = Owned { name: GRAFT.into(), ..Owned::default() };
    bus.set("compatible", b"simple-bus\0");
    for cells in ["#address-cells", "#size-cells"] {
        let default = 1u32.to_be_bytes();
        bus.set(cells, board.nodes[0].get(cells).unwrap_or(&default));
    }
    bus.set("ranges", b"");
    if let Some(parent) = board.nodes[0].get("interrupt-parent") {
        bus.set("interrupt-parent", parent);
    }
    for &child in &board.children[0] {
        let base = text(board.nodes[child].base());
        if !LEFT_OUT.contains(&base.as_str()) {
            let mut node = Owned::of(board, child);
            disguise(&mut node);
            bus.children.push(node);
        }
    }
    root.children.push(bus);
    Ok(root)
}

/// Puts the prefix before every compatible of a node and of those below it.
fn disguise(node: &mut Owned) {
    for (name, value) in &mut node.properties {
        if name == b"compatible" {
            let mut out = Vec::new();
            for c in value.split(|&b| b == 0).filter(|c| !c.is_empty()) {
                if !KEPT.contains(&c) {
                    out.extend_from_slice(PREFIX.as_bytes());
                }
                out.extend_from_slice(c);
                out.push(0);
            }
            *value = out;
        }
    }
    node.children.iter_mut().for_each(disguise);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtb::fdt;

    /// A blob with one node, which has this phandle.
    fn tree(name: &str, phandle: u32) -> Vec<u8> {
        let mut node = Owned { name: name.into(), ..Owned::default() };
        node.set("phandle", &phandle.to_be_bytes());
        Owned { children: vec![node], ..Owned::default() }.blob()
    }

    #[test]
    fn nodes_lie_beside_each_other_unless_they_share_a_number() {
        let (machine, chip) = (tree("uart", 0x8000), tree("soc@0", 1));
        let machine = fdt::tree(&machine).expect("a tree");
        let both = beside(&machine, &fdt::tree(&chip).expect("a tree")).expect("both").blob();
        let names: Vec<String> =
            fdt::tree(&both).expect("a tree").nodes.iter().map(|n| text(n.name)).collect();
        assert_eq!(names, ["", "uart", "soc@0"]);
        let same = tree("soc@0", 0x8000);
        let refused = beside(&machine, &fdt::tree(&same).expect("a tree"));
        assert_eq!(refused, Err("both trees call a node 0x8000".to_owned()));
    }
}
