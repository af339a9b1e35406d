//! Which properties name suppliers (drivers/of/property.c:of_supplier_bindings), and
//! how they are read.

use super::version::Rules;
use crate::tree::{Node, Tree, cells, interrupt};

/// A reference of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Whose need it is: the node itself, but for graphs.
    pub consumer: usize,
    /// The node referred to.
    pub supplier: usize,
    /// It stands in `post-init-providers`: it makes no link.
    pub ignored: bool,
}

/// How a property is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// References with as many cells behind each as its node says in this property;
    /// in 6.1 a node that does not say is an error, later it has none.
    Cells(&'static str),
    /// The same, and a node that does not say is an error.
    Strict(&'static str),
    /// References alone.
    Bare,
    /// The second cell of each four.
    Map,
    /// The other end of a graph.
    Endpoint,
    /// `interrupts` and `interrupts-extended`.
    Interrupts,
    /// `interrupt-map`.
    InterruptMap,
    /// `post-init-providers`.
    Later,
}

/// References with cells in every kernel that was read.
const WITH_CELLS: [(&str, &str); 9] = [
    ("clocks", "#clock-cells"),
    ("interconnects", "#interconnect-cells"),
    ("mboxes", "#mbox-cells"),
    ("io-channels", "#io-channel-cells"),
    ("power-domains", "#power-domain-cells"),
    ("hwlocks", "#hwlock-cells"),
    ("phys", "#phy-cells"),
    ("pwms", "#pwm-cells"),
    ("resets", "#reset-cells"),
];

/// References with cells from 6.12 on.
const WITH_CELLS_6_12: [(&str, &str); 5] = [
    ("io-backends", "#io-backend-cells"),
    ("nvmem-cells", "#nvmem-cell-cells"),
    ("msi-parent", "#msi-cells"),
    ("access-controllers", "#access-controller-cells"),
    ("pses", "#pse-cells"),
];

/// References that only count with `fw_devlink.strict=1`.
const OPTIONAL: [(&str, &str); 2] = [("iommus", "#iommu-cells"), ("dmas", "#dma-cells")];

/// References without cells in every kernel that was read.
const BARE: [&str; 5] = ["extcon", "wakeup-parent", "leds", "backlight", "panel"];

/// How a property of a node is read, if it names suppliers.
fn shape(rules: Rules, strict: bool, node: &Node<'_>, name: &str) -> Option<Shape> {
    let listed = |list: &[(&str, &'static str)]| {
        list.iter().find(|(n, _)| *n == name).map(|&(_, cells)| Shape::Cells(cells))
    };
    if let Some(found) = listed(&WITH_CELLS) {
        return Some(found);
    }
    if strict {
        if name == "iommu-map" {
            return Some(Shape::Map);
        }
        if let Some(found) = listed(&OPTIONAL) {
            return Some(found);
        }
    }
    if BARE.contains(&name) || is_pinctrl(rules, name) {
        return Some(Shape::Bare);
    }
    match rules {
        Rules::K6_1 if matches!(name, "nvmem-cells" | "interrupt-parent") => {
            return Some(Shape::Bare);
        }
        Rules::K6_1 => {}
        _ => {
            if let Some(found) = listed(&WITH_CELLS_6_12) {
                return Some(found);
            }
            match name {
                "power-supplies" => return Some(Shape::Bare),
                "interrupt-map" => return Some(Shape::InterruptMap),
                "post-init-providers" => return Some(Shape::Later),
                "mmc-pwrseq" if rules >= Rules::K7_3 => return Some(Shape::Bare),
                _ => {}
            }
        }
    }
    match name {
        "remote-endpoint" => Some(Shape::Endpoint),
        "interrupts" | "interrupts-extended" => Some(Shape::Interrupts),
        // A hog takes them of its parent.
        "gpio" | "gpios" if node.get("gpio-hog").is_some() => None,
        "gpio" | "gpios" => Some(Shape::Strict("#gpio-cells")),
        _ if is_suffix(name, "-supply") => Some(Shape::Bare),
        _ if is_suffix(name, "-gpio") => Some(Shape::Strict("#gpio-cells")),
        _ if is_suffix(name, "-gpios") && !name.ends_with(",nr-gpios") => {
            Some(Shape::Strict("#gpio-cells"))
        }
        _ => None,
    }
}

fn is_suffix(name: &str, suffix: &str) -> bool {
    name.len() > suffix.len() && name.ends_with(suffix)
}

/// `pinctrl-0` to `pinctrl-8`; from 7.3 on every state.
fn is_pinctrl(rules: Rules, name: &str) -> bool {
    let Some(state) = name.strip_prefix("pinctrl-") else { return false };
    match rules {
        Rules::K6_1 | Rules::K6_12 => matches!(state.as_bytes(), [b'0'..=b'8']),
        Rules::K7_3 => state.bytes().next().is_some_and(|b| b.is_ascii_digit()),
    }
}

/// What a node refers to, in the order of its properties. Calls `missing` for each
/// property that ends in a reference to nothing.
pub fn references(
    tree: &Tree<'_>,
    i: usize,
    rules: Rules,
    strict: bool,
    mut missing: impl FnMut(),
) -> Vec<Reference> {
    let mut found = Vec::new();
    let node = &tree.nodes[i];
    for (name, value) in &node.properties {
        let Some(shape) =
            str::from_utf8(name).ok().and_then(|name| shape(rules, strict, node, name))
        else {
            continue;
        };
        let mut add = |supplier: usize| {
            found.push(Reference { consumer: i, supplier, ignored: shape == Shape::Later });
        };
        match shape {
            Shape::Interrupts => interrupt::controllers(tree, i).into_iter().for_each(add),
            Shape::InterruptMap => interrupt::mapped(tree, i).into_iter().for_each(add),
            Shape::Map => {
                let handles = cells(value).skip(1).step_by(4);
                handles.map_while(|h| tree.by_handle(h)).for_each(add);
            }
            Shape::Endpoint => {
                let other = cells(value).next().and_then(|h| tree.by_handle(h));
                let supplier = other.and_then(|o| port_parent(tree, o));
                let consumer = match rules {
                    Rules::K6_1 => compatible_above(tree, i),
                    _ => port_parent(tree, i),
                };
                match (consumer, supplier) {
                    (Some(consumer), Some(supplier)) => {
                        found.push(Reference { consumer, supplier, ignored: false });
                    }
                    (_, None) => missing(),
                    _ => {}
                }
            }
            Shape::Bare | Shape::Later => {
                let ended = list(tree, value, |_| Some(0), &mut add);
                if ended == End::Nothing {
                    missing();
                }
            }
            Shape::Cells(cells) | Shape::Strict(cells) => {
                let must = rules == Rules::K6_1 || matches!(shape, Shape::Strict(_));
                let count = |n: usize| match tree.nodes[n].cell(cells) {
                    Some(c) => Some(c),
                    None => (!must).then_some(0),
                };
                let ended = list(tree, value, count, &mut add);
                if ended == End::Nothing {
                    missing();
                }
            }
        }
    }
    found
}

/// Why reading a list of references stopped.
#[derive(PartialEq, Eq)]
enum End {
    /// At its end, or at a place that is left empty.
    Done,
    /// A reference leads nowhere, or its cells are not there.
    Nothing,
}

/// Reads references, each followed by as many cells as `count` says of its node
/// (drivers/of/base.c:of_phandle_iterator_next).
fn list(
    tree: &Tree<'_>,
    value: &[u8],
    count: impl Fn(usize) -> Option<u32>,
    add: &mut impl FnMut(usize),
) -> End {
    let words: Vec<u32> = cells(value).collect();
    let mut rest = &words[..];
    while let Some((&handle, behind)) = rest.split_first() {
        if handle == 0 {
            return End::Done;
        }
        let Some(node) = tree.by_handle(handle) else { return End::Nothing };
        let Some(behind) = count(node).and_then(|c| behind.get(c as usize..)) else {
            return End::Nothing;
        };
        add(node);
        rest = behind;
    }
    End::Done
}

/// The device's node of an endpoint: two above it or, with a node of ports, three
/// (drivers/of/property.c:of_graph_get_port_parent).
fn port_parent(tree: &Tree<'_>, endpoint: usize) -> Option<usize> {
    let port = tree.nodes[endpoint].parent?;
    let above = tree.nodes[port].parent?;
    match tree.nodes[above].base() {
        b"ports" | b"in-ports" | b"out-ports" => tree.nodes[above].parent,
        _ => Some(above),
    }
}

/// The nearest node above with `compatible` (6.1,
/// drivers/of/property.c:of_get_compat_node_parent).
fn compatible_above(tree: &Tree<'_>, i: usize) -> Option<usize> {
    let mut above = tree.above(i).take_while(|&a| tree.nodes[a].available());
    above.find(|&a| tree.nodes[a].get("compatible").is_some())
}
