//! Addresses as the CPU sees them (drivers/of/address.c:__of_translate_address, the
//! same in 6.1, 6.12 and 7.3) and the names of platform devices that are made of
//! them (drivers/of/device.c and platform.c:of_device_make_bus_id).

use super::{Tree, cells, text};

/// Cells of an address at most (OF_MAX_ADDR_CELLS).
const MAX_CELLS: usize = 4;
/// Windows of a bus that are looked through; no bus has more, and damage must not
/// cost time.
const MAX_WINDOWS: usize = 256;

/// How the addresses of a bus are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// PCI: three cells, the first with flags.
    Pci,
    /// ISA: two cells, the first with flags.
    Isa,
    /// Three cells, the first with flags.
    Flags,
    /// A number.
    Plain,
}

/// Kind of a bus, and the cells of its children's addresses and sizes.
fn bus(tree: &Tree<'_>, bus: usize) -> Option<(Kind, usize, usize)> {
    let n = &tree.nodes[bus];
    let kind = n.get("device_type").map(|t| t.split(|&b| b == 0).next().unwrap_or(b""));
    if matches!(kind, Some(b"pci" | b"pciex" | b"vci" | b"ht")) || n.base() == b"pcie" {
        return Some((Kind::Pci, 3, 2));
    }
    if n.base() == b"isa" {
        return Some((Kind::Isa, 2, 1));
    }
    let address = tree.inherited(bus, "#address-cells").unwrap_or(1) as usize;
    let size = tree.inherited(bus, "#size-cells").unwrap_or(1) as usize;
    let good = (1..=MAX_CELLS).contains(&address) && (1..=MAX_CELLS).contains(&size);
    let kind = if address == 3 { Kind::Flags } else { Kind::Plain };
    good.then_some((kind, address, size))
}

/// Space of a PCI address: configuration 0, ports 1, memory of 32 or 64 bits 2.
fn space(flags: u32) -> u32 {
    (flags >> 24 & 3).min(2)
}

/// The number in cells, as far as it fits.
fn number(cells: &[u32]) -> u64 {
    cells.iter().fold(0, |n, &c| n << 32 | u64::from(c))
}

/// Where an address lies in a window of a bus; none outside.
fn offset(kind: Kind, address: &[u32], range: &[u32], up: usize, size: usize) -> Option<u64> {
    let na = address.len();
    let flags = usize::from(kind != Kind::Plain);
    match kind {
        Kind::Pci if space(address[0]) != space(range[0]) => return None,
        Kind::Isa if (address[0] ^ range[0]) & 1 != 0 => return None,
        Kind::Flags if address[0] != range[0] => return None,
        _ => {}
    }
    let start = number(&range[flags..na]);
    let length = number(&range[na + up..na + up + size]);
    let at = number(&address[flags..]);
    at.checked_sub(start).filter(|&o| o < length)
}

/// The first address of a node as the CPU sees it; `None` where a bus on the way up
/// does not map addresses (I2C, SPI, firmware).
pub(crate) fn translate(tree: &Tree<'_>, i: usize) -> Option<u64> {
    let mut at = tree.nodes[i].parent?;
    let reg: Vec<u32> = cells(tree.nodes[i].get("reg")?).take(MAX_CELLS).collect();
    let (mut kind, na, mut size) = bus(tree, at)?;
    let mut address: Vec<u32> = reg.get(..na)?.to_vec();
    while let Some(parent) = tree.nodes[at].parent {
        let (up_kind, up, up_size) = bus(tree, parent)?;
        let ranges: Vec<u32> = cells(tree.nodes[at].get("ranges")?).collect();
        let one = address.len() + up + size;
        let up_flags = usize::from(up_kind != Kind::Plain);
        let (base, off): (Vec<u32>, u64) = if ranges.is_empty() {
            let flags = address.first().copied().unwrap_or(0);
            let mut base = std::vec![0; up];
            if up_flags == 1 {
                base[0] = flags;
            }
            (base, number(&address))
        } else {
            let windows = ranges.chunks_exact(one).take(MAX_WINDOWS);
            let na = address.len();
            windows
                .filter_map(|r| {
                    Some((r[na..na + up].to_vec(), offset(kind, &address, r, up, size)?))
                })
                .next()?
        };
        let sum = number(&base[up_flags..]).wrapping_add(off);
        address = base;
        let low = address.len();
        for cell in &mut address[up_flags..] {
            *cell = 0;
        }
        if low - up_flags > 1 {
            address[low - 2] = (sum >> 32) as u32;
        }
        address[low - 1] = sum as u32;
        (at, kind, size) = (parent, up_kind, up_size);
    }
    Some(number(&address))
}

/// The kernel's name of a platform device: its address as the CPU sees it and the
/// node's name, or, without one, the path of names.
pub(crate) fn bus_id(tree: &Tree<'_>, i: usize) -> String {
    let mut name = String::new();
    for at in tree.up(i).filter(|&i| tree.nodes[i].parent.is_some()) {
        let n = &tree.nodes[at];
        let tail = if name.is_empty() { name } else { format!(":{name}") };
        if let Some(address) = translate(tree, at) {
            // ffs(mask) - 1; without a bit that is -1, which prints like this.
            let mask = n.cell("mask").map_or(String::new(), |m| match m {
                0 => ".ffffffff".into(),
                m => format!(".{:x}", m.trailing_zeros()),
            });
            return format!("{address:x}{mask}.{}{tail}", text(n.base()));
        }
        name = text(n.name) + &tail;
    }
    name
}
