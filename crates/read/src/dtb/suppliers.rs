//! Which properties of a device-tree node name its suppliers. The list is the
//! one by which kernels 6.1 to 7.3 derive device links from firmware
//! (`fw_devlink`); `interrupt-parent` is inherited by `interrupts`.

use super::fdt::{Node, cells};
use std::collections::HashMap;

/// Properties that hold references, each followed by as many cells as the
/// named property of the referred node says; none for an empty name.
const REFERENCES: [(&str, &str); 27] = [
    ("clocks", "#clock-cells"),
    ("interconnects", "#interconnect-cells"),
    ("iommus", "#iommu-cells"),
    ("mboxes", "#mbox-cells"),
    ("io-channels", "#io-channel-cells"),
    ("io-backends", "#io-backend-cells"),
    ("interrupts-extended", "#interrupt-cells"),
    ("dmas", "#dma-cells"),
    ("power-domains", "#power-domain-cells"),
    ("hwlocks", "#hwlock-cells"),
    ("nvmem-cells", "#nvmem-cell-cells"),
    ("phys", "#phy-cells"),
    ("pwms", "#pwm-cells"),
    ("resets", "#reset-cells"),
    ("msi-parent", "#msi-cells"),
    ("extcon", ""),
    ("wakeup-parent", ""),
    ("remote-endpoint", ""),
    ("leds", ""),
    ("backlight", ""),
    ("panel", ""),
    ("pinctrl-0", ""),
    ("pinctrl-1", ""),
    ("pinctrl-2", ""),
    ("pinctrl-3", ""),
    ("gpio", "#gpio-cells"),
    ("gpios", "#gpio-cells"),
];

/// How the references of the property `name` are laid out, if it has any.
fn layout(name: &[u8]) -> Option<&'static str> {
    let name = str::from_utf8(name).ok()?;
    if let Some(&(_, cells)) = REFERENCES.iter().find(|(n, _)| *n == name) {
        return Some(cells);
    }
    let list = name.ends_with("-gpio") || (name.ends_with("-gpios") && !name.ends_with("nr-gpios"));
    if list {
        return Some("#gpio-cells");
    }
    name.ends_with("-supply").then_some("")
}

/// Finds nodes by the number that references carry.
pub(super) fn by_phandle(nodes: &[Node<'_>]) -> HashMap<u32, usize> {
    let number = |n: &Node<'_>| n.cell("phandle").or_else(|| n.cell("linux,phandle"));
    nodes.iter().enumerate().filter_map(|(i, n)| Some((number(n)?, i))).collect()
}

/// The nodes that node `at` itself refers to, in the order of its properties.
/// Calls `missing` for each reference that leads nowhere.
pub(super) fn of(
    nodes: &[Node<'_>],
    at: usize,
    handles: &HashMap<u32, usize>,
    mut missing: impl FnMut(),
) -> Vec<usize> {
    let mut found = Vec::new();
    let node = &nodes[at];
    for (name, value) in &node.properties {
        if *name == b"interrupts" {
            found.extend(interrupt_parent(nodes, at, handles));
            continue;
        }
        let Some(cells_name) = layout(name) else { continue };
        let mut list = cells(value);
        while let Some(handle) = list.next() {
            // 0 and ffffffff stand for a place left empty.
            if handle == 0 || handle == u32::MAX {
                continue;
            }
            let Some(&target) = handles.get(&handle) else {
                // What follows cannot be told apart any more.
                missing();
                break;
            };
            found.push(target);
            let skip = match cells_name {
                "" => 0,
                name => nodes[target].cell(name).unwrap_or(0).min(64),
            };
            for _ in 0..skip {
                list.next();
            }
        }
    }
    found
}

/// The interrupt controller of a node: its own or the nearest ancestor's.
fn interrupt_parent(nodes: &[Node<'_>], at: usize, handles: &HashMap<u32, usize>) -> Option<usize> {
    let mut up = Some(at);
    while let Some(i) = up {
        if let Some(handle) = nodes[i].cell("interrupt-parent") {
            return handles.get(&handle).copied();
        }
        up = nodes[i].parent;
    }
    None
}
