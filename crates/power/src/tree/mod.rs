//! A device tree as its nodes, in order of the blob.

pub mod address;
pub mod interrupt;

use std::collections::BTreeMap;

/// A node; children follow their parent in document order.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// With the unit address: `serial@44e09000`; empty for the root.
    pub name: &'a [u8],
    /// Index of the parent.
    pub parent: Option<usize>,
    /// Depth, 0 for the root.
    pub depth: usize,
    /// Names and values, in order.
    pub properties: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Node<'a> {
    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.properties.iter().find(|(n, _)| *n == name.as_bytes()).map(|&(_, v)| v)
    }

    /// The first cell of a property.
    pub fn cell(&self, name: &str) -> Option<u32> {
        self.get(name).and_then(|v| cells(v).next())
    }

    /// The strings of a property such as `compatible`.
    pub fn strings(&self, name: &str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let value = self.get(name).unwrap_or(b"");
        value.split(|&b| b == 0).filter(|s| !s.is_empty())
    }

    /// Whether `compatible` names this.
    pub fn is(&self, compatible: &str) -> bool {
        self.strings("compatible").any(|c| c == compatible.as_bytes())
    }

    /// The name without the unit address.
    pub fn base(&self) -> &'a [u8] {
        self.name.split(|&b| b == b'@').next().unwrap_or(self.name)
    }

    /// Whether its own `status` lets it be used
    /// (drivers/of/base.c:__of_device_is_available).
    pub fn available(&self) -> bool {
        let word = self.get("status").map(|s| s.split(|&b| b == 0).next().unwrap_or(b""));
        matches!(word, None | Some(b"okay" | b"ok"))
    }
}

/// The 32-bit cells of a value; an incomplete last one is left out.
pub fn cells(value: &[u8]) -> impl Iterator<Item = u32> + use<'_> {
    value.chunks_exact(4).map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]]))
}

/// The nodes, with what finds them.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    /// The root first.
    pub nodes: Vec<Node<'a>>,
    /// Of each node, in order of the blob.
    pub children: Vec<Vec<usize>>,
    handles: BTreeMap<u32, usize>,
}

impl<'a> Tree<'a> {
    /// Of nodes whose parents stand before them.
    pub fn new(nodes: Vec<Node<'a>>) -> Tree<'a> {
        let mut children = std::vec![Vec::new(); nodes.len()];
        let mut handles = BTreeMap::new();
        for (i, n) in nodes.iter().enumerate() {
            if let Some(p) = n.parent.filter(|&p| p < i) {
                children[p].push(i);
            }
            if let Some(handle) = n.cell("phandle").or_else(|| n.cell("linux,phandle")) {
                handles.entry(handle).or_insert(i);
            }
        }
        Tree { nodes, children, handles }
    }

    /// The node that references call `handle`.
    pub fn by_handle(&self, handle: u32) -> Option<usize> {
        self.handles.get(&handle).copied()
    }

    /// The node at a path such as `/soc/serial@3000`.
    pub fn find(&self, path: &str) -> Option<usize> {
        let parts = path.split('/').filter(|p| !p.is_empty());
        parts.fold((!self.nodes.is_empty()).then_some(0), |at, part| {
            let below = self.children.get(at?)?;
            below.iter().copied().find(|&c| self.nodes[c].name == part.as_bytes())
        })
    }

    /// The node itself and what is above it, the root last.
    pub fn up(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(i), |&i| self.nodes[i].parent)
    }

    /// What is above a node, the root last.
    pub fn above(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        self.up(i).skip(1)
    }

    /// Whether `above` is `below` or one of its ancestors.
    pub fn is_above(&self, above: usize, below: usize) -> bool {
        let deep = self.nodes[above].depth;
        self.up(below).take_while(|&i| self.nodes[i].depth >= deep).any(|i| i == above)
    }

    /// The path, as the kernel prints it.
    pub fn path(&self, i: usize) -> String {
        let mut parts: Vec<usize> =
            self.up(i).filter(|&i| self.nodes[i].parent.is_some()).collect();
        parts.reverse();
        let mut path = String::new();
        for i in parts {
            path.push('/');
            path.push_str(&text(self.nodes[i].name));
        }
        if path.is_empty() {
            path.push('/');
        }
        path
    }

    /// A property of a node or of the nearest ancestor that has it as a number.
    pub(crate) fn inherited(&self, i: usize, property: &str) -> Option<u32> {
        self.up(i).find_map(|i| self.nodes[i].cell(property))
    }

    /// The aliases and the paths they stand for.
    pub fn aliases(&self) -> Vec<(String, String)> {
        let node = self.nodes.iter().find(|n| n.depth == 1 && n.name == b"aliases");
        let path = |v: &[u8]| text(v.split(|&b| b == 0).next().unwrap_or(b""));
        // Far more than any machine has: each bus looks through all of them.
        let first = |n: &Node<'_>| {
            n.properties.iter().take(1024).map(|(a, v)| (text(a), path(v))).collect()
        };
        node.map_or(Vec::new(), first)
    }
}

/// Names of a device tree are ASCII; anything else is damage and shown as such.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
