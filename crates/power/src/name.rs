//! Names of devices and of nodes of the device tree: `fe2c0000.mmc` is the device
//! of `/soc/mmc@fe2c0000` (drivers/of/device.c:of_device_make_bus_id).

/// `fe2c0000.mmc` as its node is called: `mmc@fe2c0000`; other names as they are.
fn as_node(name: &str) -> String {
    match name.split_once('.') {
        Some((address, rest))
            if !rest.is_empty()
                && !address.is_empty()
                && address.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            format!("{rest}@{address}")
        }
        _ => name.to_string(),
    }
}

/// Parts of a graph below a node, which are no devices.
fn is_graph(part: &str) -> bool {
    let word = part.split('@').next().unwrap_or(part);
    matches!(word, "endpoint" | "port" | "ports" | "in-ports" | "out-ports")
}

/// What a device and its node have in common.
pub fn key(name: &str) -> String {
    if !name.contains('/') {
        let mut parts = name.rsplit(':').filter(|p| !p.is_empty());
        let last = as_node(parts.next().unwrap_or(name));
        // A node without an address is called after its parent too.
        return match parts.next() {
            Some(p) if !last.contains('@') => format!("{}/{last}", as_node(p)),
            _ => last,
        };
    }
    let mut parts = name.rsplit('/').filter(|p| !p.is_empty()).skip_while(|p| is_graph(p));
    let last = parts.next().unwrap_or(name);
    match parts.next() {
        Some(p) if !last.contains('@') => format!("{p}/{last}"),
        _ => last.to_string(),
    }
}

/// Keys of a node and of the nodes above it, nearest first.
pub fn keys_upward(path: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let here = rest.filter(|r| !r.is_empty())?;
        rest = here.rsplit_once('/').map(|(up, _)| up);
        Some(key(here))
    })
}

/// What devices of one kind have in common: the name of their node behind the address, or
/// the name without its numbers. Empty for names that say too little.
pub fn kind(name: &str) -> &str {
    let address = |a: &str| a.len() > 2 && a.bytes().all(|b| b.is_ascii_hexdigit());
    match name.split_once('.') {
        Some((a, rest)) if address(a) && !rest.is_empty() => rest,
        _ => Some(stem(name)).filter(|s| s.len() > 3 && s.len() < name.len()).unwrap_or(""),
    }
}

/// The address of a node on a bus whose devices are called `BUS-ADDRESS` or
/// `spiBUS.SELECT`: what their name has in common with the node (`pmic@8` below `i2c@…` is
/// `0-0008`).
pub fn on_bus(name: &str) -> Option<(&'static str, u64)> {
    let hex = |a: &str| u64::from_str_radix(a, 16).ok();
    if let Some((up, last)) = name.rsplit_once('/') {
        let bus = up.rsplit('/').next().unwrap_or(up).split('@').next().unwrap_or("");
        let (_, address) = last.split_once('@')?;
        return match bus {
            b if b.starts_with("i2c") => Some(("i2c", hex(address)?)),
            b if b.starts_with("spi") => Some(("spi", hex(address)?)),
            _ => None,
        };
    }
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if let Some((bus, select)) = name.strip_prefix("spi").and_then(|r| r.split_once('.')) {
        return digits(bus).then(|| hex(select)).flatten().map(|a| ("spi", a));
    }
    let (bus, address) = name.split_once('-')?;
    (digits(bus) && address.len() == 4).then(|| hex(address)).flatten().map(|a| ("i2c", a))
}

/// Kinds of nodes that others need before they can probe, as the bindings of device trees
/// name them.
const PROVIDERS: [&str; 19] = [
    "clock",
    "pinctrl",
    "iommu",
    "smmu",
    "power-controller",
    "power-domain",
    "interrupt",
    "interconnect",
    "regulator",
    "pmic",
    "gpio",
    "phy",
    "mailbox",
    "dma-controller",
    "reset",
    "syscon",
    "system-controller",
    "blk-ctrl",
    "rsc",
];

/// The kind of a device, or of what its driver drives, that others need before they can probe.
pub(crate) fn provided(name: &str) -> Option<&'static str> {
    let node = as_node(name);
    let node = node.rsplit([':', '/']).next().unwrap_or(&node);
    let node = node.split('@').next().unwrap_or(node);
    PROVIDERS.into_iter().find(|p| node.contains(p))
}

/// A name without its numbers, by which brothers are known: `imx-pgc-domain.8`.
pub fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['.', '-', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_its_node_have_one_key() {
        assert_eq!(key("fea80000.csi2"), key("/soc/csi2@fea80000/ports/port@1/endpoint@0"));
        assert_eq!(key("17a0.rsc:regulators-0"), key("/soc@0/rsc@17a0/regulators-0"));
        assert_eq!(key("hdmi0-out"), key("/hdmi0-out"));
        assert_eq!(key("dpaux@155e0000"), key("155e0000.dpaux"));
        assert_ne!(key("/a/phy@1/regulators/buck1"), key("/a/phy@1"));
        assert_eq!(key("2-0010"), "2-0010");
        for odd in ["", "/", ":", "//port", "a:", ".x", "@"] {
            let _ = key(odd);
        }
    }

    #[test]
    fn kinds_and_buses() {
        assert_eq!((kind("15700000.phy"), kind("imx-pgc-domain.8")), ("phy", "imx-pgc-domain"));
        assert_eq!((kind("sound"), kind("sd1"), kind("")), ("", "", ""));
        assert_eq!(on_bus("0-0048"), on_bus("/soc/i2c@7000/pmic@48"));
        assert_eq!(on_bus("spi2.1"), on_bus("/soc/spi@ff00/flash@1"));
        assert_eq!(on_bus("/soc/clock@48"), None);
        assert_eq!((on_bus("sound-card"), on_bus("4-1.2"), on_bus("a/b@")), (None, None, None));
        assert_eq!(provided("5a4c0000.clock-controller"), Some("clock"));
        assert!(provided("fe8c0000.mmc").is_none() && provided("sound").is_none());
    }

    #[test]
    fn upward_ends() {
        let all: std::vec::Vec<String> = keys_upward("/phy@ff7c0000/usb3-port").collect();
        assert_eq!(all, ["phy@ff7c0000/usb3-port", "phy@ff7c0000"]);
        assert_eq!(keys_upward("sd1").count(), 1);
        assert_eq!(stem("imx-pgc-domain.11"), "imx-pgc-domain");
    }
}
