//! What the nodes of a device tree name: clocks, regulators, pins, domains.

use super::fdt::{self, DtbError};
use dormouse_power::fw_devlink::property::references;
use dormouse_power::fw_devlink::version::Rules;
use std::collections::BTreeSet;

/// Paths of nodes that need, and of those they need, by the rules of a kernel's release.
/// Two that name each other are left out: that is a way of data, not of supply.
///
/// # Errors
/// If `bytes` are no blob.
pub fn suppliers(bytes: &[u8], release: &str) -> Result<BTreeSet<(String, String)>, DtbError> {
    let tree = fdt::tree(bytes)?;
    let rules = Rules::of(release).unwrap_or(Rules::K7_3);
    let mut found = BTreeSet::new();
    for i in (0..tree.nodes.len()).filter(|&i| tree.nodes[i].available()) {
        let all = references(&tree, i, rules, false, || {});
        found.extend(all.iter().filter(|r| !r.ignored).map(|r| (r.consumer, r.supplier)));
    }
    let one_way = found.iter().filter(|(a, b)| !found.contains(&(*b, *a)));
    Ok(one_way.map(|&(a, b)| (tree.path(a), tree.path(b))).collect())
}
