//! Devices and the graph that orders them.

use crate::names::Sym;

/// Index of a device in [`DeviceGraph::devices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u32);

impl DeviceId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One device. Names are not unique: bus, driver, parent and order tell
/// devices apart, so everything refers to a device by its [`DeviceId`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name of the device, such as `0000:00:1f.2`.
    pub name: Sym,
    /// The driver, or what a trace prints in its place (bus, class or nothing).
    pub driver: Sym,
    /// Bus or class; empty where the source does not say.
    pub subsystem: Sym,
    /// The parent, where it is a device of this graph.
    pub parent: Option<DeviceId>,
    /// The parent's name as the source gives it; empty for none.
    pub parent_name: Sym,
    /// `power/async`, where the source proves it.
    pub async_flag: Option<bool>,
    /// Facts that only a recorder knows.
    pub facts: Facts,
}

/// What sysfs says beyond a log. Empty symbols and `None` mean unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `DEVPATH` below `/sys`.
    pub devpath: Sym,
    /// Full name of the device-tree node.
    pub of_fullname: Sym,
    /// Firmware node path (ACPI).
    pub firmware_node: Sym,
    /// Module alias.
    pub modalias: Sym,
    /// Kernel module of the driver.
    pub module: Sym,
    /// `power/wakeup` is `enabled`.
    pub wakeup: Option<bool>,
    /// `power/runtime_status`.
    pub runtime_status: Sym,
    /// `power/control`.
    pub runtime_control: Sym,
    /// Why the device must not be taken away (root file system, console, wake
    /// source, …); empty if nothing is known to depend on it.
    pub essential: Sym,
    /// Belongs to a class, not to a bus. The PM core treats both alike.
    pub class: bool,
    /// Has no `power/` directory: the PM core never visits it.
    pub no_pm: bool,
    /// Registered with `dev_pm_syscore_device`.
    pub syscore: bool,
    /// A device of the lab guest itself, not of the replayed machine.
    pub guest: bool,
}

/// Kind of a device link (`enum device_link_state` and the flags in include/linux/device.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// `DL_FLAG_STATELESS`; sysfs status `not tracked`.
    Stateless,
    /// Managed and not dormant (available, probing, active, unbinding).
    Active,
    /// Managed, supplier not bound: never waited for.
    Dormant,
    /// `DL_FLAG_SYNC_STATE_ONLY`, not dormant.
    SyncStateOnly,
    /// The same, because two nodes need each other (`DL_FLAG_CYCLE`,
    /// `fw_devlink_relax_link()` in drivers/base/core.c).
    Cycle,
    /// The same, because the consumer stands for a node below it that is no device
    /// yet (`__fw_devlink_link_to_suppliers()`).
    Proxy,
}

impl LinkKind {
    /// Every kind.
    pub const ALL: [LinkKind; 6] = [
        LinkKind::Stateless,
        LinkKind::Active,
        LinkKind::Dormant,
        LinkKind::SyncStateOnly,
        LinkKind::Cycle,
        LinkKind::Proxy,
    ];

    /// Whether the kernel's link has `DL_FLAG_SYNC_STATE_ONLY`: which of the three
    /// kinds it is makes no difference to sleep.
    pub fn is_sync_state_only(self) -> bool {
        matches!(self, LinkKind::SyncStateOnly | LinkKind::Cycle | LinkKind::Proxy)
    }

    /// The word used in board files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Stateless => "stateless",
            LinkKind::Active => "active",
            LinkKind::Dormant => "dormant",
            LinkKind::SyncStateOnly => "sync_state_only",
            LinkKind::Cycle => "cycle",
            LinkKind::Proxy => "proxy",
        }
    }

    /// The kind called `name`.
    pub fn find(name: &str) -> Option<LinkKind> {
        LinkKind::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// A supplier that a consumer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Needs the supplier.
    pub consumer: DeviceId,
    /// Is needed.
    pub supplier: DeviceId,
    /// Status and flags that matter for scheduling.
    pub kind: LinkKind,
    /// `DL_FLAG_PM_RUNTIME`.
    pub pm_runtime: bool,
}

/// All devices of a machine, in the order of `dpm_list` as far as it is known
/// (superiors before subordinates), and the links in order of creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceGraph {
    /// Devices in list order.
    pub devices: Vec<Device>,
    /// Links in order of creation.
    pub links: Vec<Link>,
    /// The order of `devices` was observed (prepare phase of a trace), not
    /// guessed from names.
    pub order_known: bool,
    /// What nodes of a device tree name: the device that needs, and the one it needs.
    pub needs: Vec<(DeviceId, DeviceId)>,
    /// `links` is complete (the source lists device links).
    pub links_known: bool,
}

impl DeviceGraph {
    /// The device with this id.
    pub fn get(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }

    /// Adds a device at the tail of the list.
    pub fn push(&mut self, device: Device) -> DeviceId {
        let id = DeviceId(u32::try_from(self.devices.len()).unwrap_or(u32::MAX));
        self.devices.push(device);
        id
    }

    /// Every id in list order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = DeviceId> + use<> {
        (0..self.devices.len() as u32).map(DeviceId)
    }

    /// A device that is its own ancestor, if there is one: such a graph has no
    /// order and must not be walked.
    pub fn parent_cycle(&self) -> Option<DeviceId> {
        // 0 not seen, else the number of the walk that met the device first.
        let mut seen = std::vec![0u32; self.devices.len()];
        for (start, walk) in self.ids().zip(1u32..) {
            let mut at = Some(start);
            while let Some(id) = at {
                match seen[id.index()] {
                    0 => seen[id.index()] = walk,
                    w if w == walk => return Some(id),
                    _ => break,
                }
                at = self.get(id).parent;
            }
        }
        None
    }
}
