//! What devices behind a host bridge said just before it failed.

use crate::case::Case;
use crate::finding::Device;
use crate::message::Message;
use crate::stage::passed;
use dormouse_base::time::Ns;

/// So long before the bridge failed, and so many messages, at most.
const JUST: Ns = Ns(2_000_000_000);
const NEAR: usize = 40;

/// Whether a device is a host bridge of PCI of a device tree: its node is named after its kind
/// (Devicetree Specification 0.4, 2.2.2: `pci`, `pcie`), its device after the node
/// (drivers/of/platform.c:of_device_make_bus_id).
fn is_a_bridge(name: &str) -> bool {
    let address = |a: &str| !a.is_empty() && a.bytes().all(|b| b.is_ascii_hexdigit());
    name.split_once('.').is_some_and(|(a, n)| address(a) && matches!(n, "pci" | "pcie"))
}

/// `0005:01:00.0`.
fn is_a_function(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hex = |p: &&str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_hexdigit());
    parts.len() == 4 && name.matches(':').count() == 2 && parts.iter().all(hex)
}

/// The last failure of a device of PCI before the bridge `device` failed in message `at`; `owner`
/// is who says a text.
pub(super) fn below<'a>(
    case: &'a Case,
    device: &Device,
    at: usize,
    owner: impl Fn(&str) -> Device,
) -> Option<&'a Message> {
    if !is_a_bridge(&device.name) {
        return None;
    }
    let failure = &case.messages[at];
    let just = |m: &&Message| passed(m, failure).is_some_and(|t| (Ns::ZERO..=JUST).contains(&t));
    let fails = |m: &&Message| m.text.to_ascii_lowercase().contains("failed");
    let own = |m: &&Message| m.trust.is_of_a_kernel() && is_a_function(&owner(&m.text).name);
    let near = case.messages[at.saturating_sub(NEAR)..at].iter().rev();
    near.filter(just).filter(fails).find(own)
}

/// What is said of it: nothing ties the two but their time.
pub(super) fn words(bridge: &Device, m: &Message) -> String {
    format!(
        " Before that a device of PCI says: \"{}\"; whether it is behind {}, no line tells.",
        m.text.trim(),
        bridge.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_has_the_failure_of_a_device_beside_it() {
        let said = |first: &str, name: &str| {
            let failed = format!("oak-pcie {name}: PM: failed to suspend noirq: error -110");
            let case = Case::of_log(&[(10, first), (310, &failed)]);
            let device = Device { name: name.into(), driver: "oak-pcie".into() };
            let owner = |text: &str| {
                let name = text.split(": ").next().and_then(|o| o.rsplit(' ').next());
                Device { name: name.unwrap_or("").into(), driver: String::new() }
            };
            below(&case, &device, 1, owner).map(|m| words(&device, m))
        };
        let elm = "elm-modem 0005:01:00.0: Recovery failed";
        let told = said(elm, "1c00000.pci").expect("it failed");
        assert!(told.contains("says: \"elm-modem 0005:01:00.0: Recovery failed\"; whether"));
        for (first, name) in [
            ("elm-modem 0005:01:00.0: ready", "1c00000.pci"),
            ("elm 4-0010: Recovery failed", "1c00000.pci"),
            (elm, "1c00000.mmc"),
        ] {
            assert_eq!(said(first, name), None, "{first} {name}");
        }
    }
}
