//! Devices.

use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_sleep::analyse::decode::decode;

/// Name of a device; the graph may have none.
pub fn name(capture: &Capture, id: DeviceId) -> &str {
    let name = capture.graph.devices.get(id.index()).map_or("", |d| capture.names.get(d.name));
    if name.is_empty() { "(no name)" } else { name }
}

/// Driver of a device, or what the source prints in its place.
pub fn driver(capture: &Capture, id: DeviceId) -> &str {
    capture.graph.devices.get(id.index()).map_or("", |d| capture.names.get(d.driver))
}

/// What the whole name means, address and all, if its form is known.
pub fn meaning(capture: &Capture, id: DeviceId) -> Option<String> {
    decode(name(capture, id), driver(capture, id)).map(|m| m.text())
}

/// `0000:00:02.0 (i915)`, `usb1 (USB root hub)`: a name with its driver, or with
/// what it is where the driver's name is only that of its bus.
pub fn device(capture: &Capture, id: DeviceId) -> String {
    named(name(capture, id), driver(capture, id))
}

/// The same for a device that is known by name and driver.
pub fn named(name: &str, driver: &str) -> String {
    if !matches!(driver, "" | "usb" | "ieee80211") {
        return format!("{name} ({driver})");
    }
    match decode(name, driver) {
        Some(m) if !m.class.is_empty() => format!("{name} ({} {})", m.bus, m.class),
        Some(_) if driver.is_empty() => name.to_string(),
        _ if driver.is_empty() => name.to_string(),
        _ => format!("{name} ({driver})"),
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_driver_or_what_it_is_but_not_the_address_again() {
        assert_eq!(named("0000:00:02.0", "i915"), "0000:00:02.0 (i915)");
        assert_eq!(named("0000:00:02.0", ""), "0000:00:02.0");
        assert_eq!(named("usb1", "usb"), "usb1 (USB root hub)");
        assert_eq!(named("whatever", ""), "whatever");
    }
}
