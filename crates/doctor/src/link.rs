//! Links of PCI Express across a sleep, in a recording with their events (`record --with rpm`;
//! include/trace/events/pci.h:pcie_link_event, drivers/pci/pci.h:__pcie_update_link_speed, 7.3).

use crate::evidence::{cycles, seen};
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use dormouse_base::capture::Capture;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// What an event says of the link below a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    /// Number of its speed (include/linux/pci.h:pci_bus_speed).
    speed: u32,
    /// Lanes.
    width: u32,
    /// Whether the port says that the link is up (`DLLLA`), which not every port does.
    up: bool,
}

/// The port and its link in `0000:00:1d.4 type:4, reason:0, cur_bus_speed:22,
/// max_bus_speed:23, width:4, flit_mode:0, status:DLLLA|LBMS`.
fn link(text: &str) -> Option<(&str, Link)> {
    let (port, rest) = text.trim().split_once(" type:")?;
    let of = |key: &str| {
        let value = rest.split_once(key)?.1.strip_prefix(':')?;
        Some(value.split([',', '\\', ' ']).next().unwrap_or(value))
    };
    let link = Link {
        speed: of("cur_bus_speed")?.parse().ok()?,
        width: of(" width")?.parse().ok()?,
        up: of("status")?.split('|').any(|flag| flag == "DLLLA"),
    };
    Some((port, link))
}

/// A speed in transfers a second.
fn transfers(speed: u32) -> &'static str {
    match speed {
        0x14 => "2.5 GT/s",
        0x15 => "5 GT/s",
        0x16 => "8 GT/s",
        0x17 => "16 GT/s",
        0x18 => "32 GT/s",
        0x19 => "64 GT/s",
        _ => "an unknown speed",
    }
}

/// Ports whose link was better earlier in the same cycle than at its end.
pub(crate) fn judge(capture: &Capture, out: &mut Vec<Finding>) {
    // Port and what is wrong.
    let mut found: BTreeMap<(String, String), Vec<Evidence>> = BTreeMap::new();
    for (at, c) in cycles(capture) {
        let mut ports: BTreeMap<&str, (Link, Link, Ns, &str)> = BTreeMap::new();
        for e in &c.events {
            let text = capture.names.get(e.text);
            let said = (capture.names.get(e.name) == "pcie_link_event").then(|| link(text));
            let Some((port, now)) = said.flatten() else { continue };
            let p = ports.entry(port).or_insert((now, now, e.time, text));
            // A link that is down has neither speed nor lanes.
            if now.up || !p.0.up {
                p.0 = Link {
                    speed: p.0.speed.max(now.speed),
                    width: p.0.width.max(now.width),
                    up: p.0.up || now.up,
                };
            }
            (p.1, p.2, p.3) = (now, e.time, text);
        }
        for (port, (best, last, time, text)) in ports {
            let wrong = if best.up && !last.up {
                "did not come back".to_string()
            } else if last.speed < best.speed {
                format!(
                    "came back at {}; it had {} before",
                    transfers(last.speed),
                    transfers(best.speed)
                )
            } else if last.width < best.width {
                format!("came back with {} of {} lanes", last.width, best.width)
            } else {
                continue;
            };
            found.entry((port.to_string(), wrong)).or_default().push(seen(capture, at, time, text));
        }
    }
    for ((port, wrong), evidence) in found {
        let level = if wrong.starts_with("did") { Level::Broken } else { Level::Slow };
        let f = Finding::new(("pci-link", Area::Phase, level), Confidence::Likely)
            .says(format!("The PCI Express link below {port} {wrong}."))
            .look("Look at what lspci -vv says of LnkSta there. If it stays so: try pcie_aspm=off or another slot or cable, and report it with the trace.")
            .of_devices([Device { name: port, driver: String::new() }])
            .times(evidence.len())
            .shown_by(evidence.into_iter().take(3));
        out.push(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::{Cycle, SideEvent, ThreadId};

    fn findings(events: &[&str]) -> Vec<String> {
        let mut c = Capture::default();
        let name = c.names.add("pcie_link_event");
        let mut cycle = Cycle::default();
        for (i, text) in events.iter().enumerate() {
            let (text, time) = (c.names.add(text), Ns(i as i64));
            cycle.events.push(SideEvent { time, name, thread: ThreadId(0), cpu: 0, text });
        }
        c.cycles.push(cycle);
        let mut out = Vec::new();
        judge(&c, &mut out);
        out.iter().map(|f| f.sentence.clone()).collect()
    }

    fn event(port: &str, speed: u32, width: u32, status: &str) -> String {
        format!(
            "{port} type:4, reason:0, cur_bus_speed:{speed}, max_bus_speed:24, width:{width}, flit_mode:0, status:{status}"
        )
    }

    #[test]
    fn a_link_that_is_worse_after_the_sleep_is_told() {
        let (good, slow) =
            (event("0000:00:06.2", 23, 4, "DLLLA"), event("0000:00:06.2", 20, 4, "DLLLA|LBMS"));
        let down = event("0000:00:06.2", 20, 0, "LT");
        let narrow = event("0000:00:06.2", 23, 1, "DLLLA");
        assert_eq!(
            findings(&[&good, &slow]),
            [
                "The PCI Express link below 0000:00:06.2 came back at 2.5 GT/s; it had 16 GT/s before."
            ]
        );
        assert_eq!(
            findings(&[&good, &down]),
            ["The PCI Express link below 0000:00:06.2 did not come back."]
        );
        assert_eq!(
            findings(&[&good, &narrow]),
            ["The PCI Express link below 0000:00:06.2 came back with 1 of 4 lanes."]
        );
        // Down and back again, trained step by step, another port, and a port that never says.
        assert_eq!(findings(&[&good, &down, &slow, &good]), [""; 0]);
        let other = event("0000:00:01.0", 20, 1, "DLLLA");
        assert_eq!(findings(&[&good, &other]), [""; 0]);
        assert_eq!(findings(&[&event("0000:00:1c.0", 21, 1, "LT"), "odd"]), [""; 0]);
    }
}
