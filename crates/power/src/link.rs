//! A device link as `/sys/class/devlink` shows it, and the attribute of a device
//! that waits for a node (drivers/base/core.c).

use dormouse_base::finding::Evidence;

/// A link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Line of the text, from 1.
    pub line: u64,
    /// Supplier, with its bus in front: `platform:20000.clk`.
    pub supplier: String,
    /// Consumer, likewise.
    pub consumer: String,
    /// `dormant`, `available`, `active`…; empty if the text does not say.
    pub status: String,
    /// It only matters for sync_state and orders no probe.
    pub sync_state_only: Option<bool>,
}

impl Link {
    /// Of the name of its folder: `BUS:SUPPLIER--BUS:CONSUMER`. A name may hold `--`
    /// itself, so the cut is where a bus follows.
    pub fn of(line: u64, name: &str) -> Option<Link> {
        let bus = |text: &str| {
            text.split_once(':').is_some_and(|(bus, rest)| {
                let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
                !bus.is_empty() && !rest.is_empty() && bus.bytes().all(is_name)
            })
        };
        let mut cuts = name.match_indices("--").map(|(at, _)| (&name[..at], &name[at + 2..]));
        let (supplier, consumer) = cuts.find(|(s, c)| bus(s) && bus(c))?;
        Some(Link { line, supplier: supplier.into(), consumer: consumer.into(), ..Link::default() })
    }
}

/// `waiting_for_supplier` of a device: it waits for a node that is no device yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The device.
    pub device: String,
    /// The attribute is 1.
    pub waits: bool,
    /// The line.
    pub evidence: Evidence,
}

/// `state_synced` of a device: whether it was told that all its consumers have
/// probed; until then it keeps on what was on at boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The supplier.
    pub device: String,
    /// It was told.
    pub synced: bool,
    /// The line.
    pub evidence: Evidence,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dashes_and_colons() {
        let ends = |name| Link::of(1, name).map(|l| (l.supplier, l.consumer));
        assert_eq!(
            ends("platform:a--b.clk--i2c:1-0008"),
            Some(("platform:a--b.clk".into(), "i2c:1-0008".into()))
        );
        assert_eq!(
            ends("mdio_bus:!mdio--1:00--platform:x:y"),
            Some(("mdio_bus:!mdio".into(), "1:00--platform:x:y".into()))
        );
        assert_eq!(ends("--option"), None);
        assert_eq!(ends("a--b"), None);
    }
}

/// `Failed to create device link with X` (drivers/base/core.c:
/// fw_devlink_create_devlink, 5.19 on; the flags stand before `with` from 6.12 on).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlinked {
    /// The consumer.
    pub consumer: String,
    /// The supplier, as the kernel names it.
    pub supplier: String,
    /// The line.
    pub evidence: Evidence,
}
