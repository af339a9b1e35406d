//! Whose interrupts a node asks for (drivers/of/irq.c:of_irq_parse_one,
//! of_irq_parse_raw and of_irq_parse_imap_parent; the same in 6.1, 6.12 and 7.3).

use super::{Tree, cells};

/// Cells of a reference at most (MAX_PHANDLE_ARGS).
const MAX_CELLS: usize = 16;
/// Maps that lead from one to the next at most; a ring of maps must not cost time.
const MAX_MAPS: usize = 32;

/// Controllers whose `interrupt-map` is for themselves (of_irq_imap_abusers).
const OWN_MAP: [&str; 8] = [
    "CBEA,platform-spider-pic",
    "sti,platform-spider-pic",
    "realtek,rtl-intc",
    "fsl,ls1021a-extirq",
    "fsl,ls1043a-extirq",
    "fsl,ls1088a-extirq",
    "renesas,rza1-irqc",
    "pasemi,rootbus",
];

/// A node with the cells of a reference to it.
struct Request {
    node: usize,
    cells: Vec<u32>,
}

/// The nearest controller above a node (of_irq_find_parent).
fn parent(tree: &Tree<'_>, i: usize) -> Option<usize> {
    let mut at = i;
    // A ring of `interrupt-parent` without `#interrupt-cells` hangs a kernel.
    for _ in 0..tree.nodes.len().min(1024) {
        at = match tree.nodes[at].cell("interrupt-parent") {
            Some(handle) => tree.by_handle(handle)?,
            None => tree.nodes[at].parent?,
        };
        if tree.nodes[at].get("#interrupt-cells").is_some() {
            return Some(at);
        }
    }
    None
}

/// The controller of each interrupt of a node, up to the first that leads nowhere.
pub fn controllers(tree: &Tree<'_>, i: usize) -> Vec<usize> {
    let n = &tree.nodes[i];
    let mut address: Vec<u32> = cells(n.get("reg").unwrap_or(b"")).take(3).collect();
    address.resize(3, 0);
    let extended = n.get("interrupts-extended").map(|v| requests(tree, v));
    let mut found = Vec::new();
    for index in 0.. {
        let listed = extended.as_ref().and_then(|e| e.get(index));
        let request = match listed {
            Some(r) => Request { node: r.node, cells: r.cells.clone() },
            None => {
                let Some(at) = parent(tree, i) else { break };
                let Some(size) = tree.nodes[at].cell("#interrupt-cells") else { break };
                let size = size as usize;
                if size > MAX_CELLS {
                    break;
                }
                let wanted = cells(n.get("interrupts").unwrap_or(b"")).skip(index * size);
                let words: Vec<u32> = wanted.take(size).collect();
                // A controller without cells would have interrupts without end.
                if words.len() < size || size == 0 {
                    break;
                }
                Request { node: at, cells: words }
            }
        };
        let Some(controller) = resolve(tree, request, &address) else { break };
        found.push(controller);
    }
    found
}

/// The references of `interrupts-extended`, up to the first that cannot be read.
fn requests(tree: &Tree<'_>, value: &[u8]) -> Vec<Request> {
    let mut list = cells(value);
    let mut found = Vec::new();
    while let Some(handle) = list.next() {
        let Some(node) = tree.by_handle(handle).filter(|_| handle != 0) else { break };
        let Some(size) = tree.nodes[node].cell("#interrupt-cells") else { break };
        let words: Vec<u32> = list.by_ref().take((size as usize).min(MAX_CELLS + 1)).collect();
        if words.len() < size as usize {
            break;
        }
        found.push(Request { node, cells: words });
    }
    found
}

/// Follows `interrupt-map` to the controller that takes a request.
fn resolve(tree: &Tree<'_>, request: Request, address: &[u32]) -> Option<usize> {
    let mut at = request.node;
    let mut size = loop {
        if let Some(n) = tree.nodes[at].cell("#interrupt-cells") {
            break n as usize;
        }
        at = parent(tree, at)?;
    };
    if request.cells.len() != size {
        return None;
    }
    let mut of_address =
        tree.up(at).find_map(|i| tree.nodes[i].cell("#address-cells")).unwrap_or(2) as usize;
    if of_address + size > MAX_CELLS {
        return None;
    }
    let mut wanted: Vec<u32> = (0..of_address).map(|n| *address.get(n).unwrap_or(&0)).collect();
    wanted.extend(&request.cells);
    for _ in 0..MAX_MAPS {
        let n = &tree.nodes[at];
        let map = n.get("interrupt-map");
        if n.get("interrupt-controller").is_some()
            && (map.is_none() || OWN_MAP.iter().any(|c| n.is(c)))
        {
            return Some(at);
        }
        let Some(map) = map else {
            at = parent(tree, at)?;
            continue;
        };
        let mask: Vec<u32> = cells(n.get("interrupt-map-mask").unwrap_or(b"")).collect();
        let mask = |n: usize| mask.get(n).copied().unwrap_or(u32::MAX);
        let map: Vec<u32> = cells(map).collect();
        let mut rest = &map[..];
        let own = of_address + size;
        let hit = loop {
            if rest.len() <= own + 1 {
                return None;
            }
            let same = (0..own).all(|n| (wanted[n] ^ rest[n]) & mask(n) == 0);
            let entry = Entry::parse(tree, &rest[own..])?;
            rest = &rest[own + entry.length..];
            if same && tree.nodes[entry.node].available() {
                break entry;
            }
        };
        if hit.node == at {
            return Some(at);
        }
        (at, size, of_address, wanted) = (hit.node, hit.size, hit.address, hit.words);
    }
    None
}

/// The part of an entry of a map that names the controller above.
struct Entry {
    node: usize,
    /// Cells of its address and of its interrupt.
    address: usize,
    size: usize,
    words: Vec<u32>,
    /// Cells in all, with the reference.
    length: usize,
}

impl Entry {
    fn parse(tree: &Tree<'_>, list: &[u32]) -> Option<Entry> {
        let node = tree.by_handle(*list.first()?)?;
        let size = tree.nodes[node].cell("#interrupt-cells")? as usize;
        let address = tree.nodes[node].cell("#address-cells").unwrap_or(0) as usize;
        if address.checked_add(size)? > MAX_CELLS {
            return None;
        }
        let words = list.get(1..=address + size)?.to_vec();
        Some(Entry { node, address, size, words, length: 1 + address + size })
    }
}

/// The controllers that a node's `interrupt-map` names
/// (drivers/of/property.c:parse_interrupt_map).
pub fn mapped(tree: &Tree<'_>, i: usize) -> Vec<usize> {
    let n = &tree.nodes[i];
    let (Some(map), Some(size)) = (n.get("interrupt-map"), n.cell("#interrupt-cells")) else {
        return Vec::new();
    };
    let own =
        (tree.inherited(i, "#address-cells").unwrap_or(1) as usize).saturating_add(size as usize);
    let map: Vec<u32> = cells(map).collect();
    let mut rest = &map[..];
    let mut found = Vec::new();
    while rest.len() > own.saturating_add(1) {
        let Some(entry) = Entry::parse(tree, &rest[own..]) else { break };
        found.push(entry.node);
        rest = &rest[own + entry.length..];
    }
    found
}
