//! Which links, cycles and waits a kernel makes of a device tree, and in which order
//! devices probe. It reads like `drivers/base/core.c`, `drivers/of/property.c` and
//! `drivers/base/dd.c` of 6.1, 6.12 and 7.3.
//!
//! | noun | file | functions of the kernel |
//! |---|---|---|
//! | what differs between kernels and settings | `version` | fw_devlink_setup |
//! | properties that name suppliers | `property` | of_link_property |
//! | nodes, devices, both kinds of links | `machine` | struct fwnode_link, struct device_link |
//! | nodes that are initialised before devices | `early`, `tables` | of_irq_init, of_clk_init |
//! | which nodes become devices | `populate` | of_platform_default_populate_init |
//! | links of a device | `link` | fw_devlink_link_device, device_link_add |
//! | cycles | `cycle` | __fw_devlink_relax_cycles |
//! | what binding does to links | `bind` | device_links_driver_bound |
//! | attempts to probe | `boot` | driver_deferred_probe_trigger |
//! | a prediction beside a kernel | `compare` | |
//! | what becomes of devices, late and never | `verdict` | |
//! | a budget | `work` | |

pub mod bind;
pub mod boot;
pub mod compare;
mod cycle;
pub mod early;
mod link;
pub mod machine;
mod populate;
pub mod property;
mod tables;
pub mod verdict;
pub mod version;
pub mod work;

use crate::tree::Tree;
use boot::{Attempt, Boot, Driver, Drivers};
use early::Early;
use machine::Machine;
pub use populate::BUSES;
use version::{Mode, Rules};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Of which kernel.
    pub rules: Rules,
    /// `fw_devlink=`.
    pub mode: Mode,
    /// `fw_devlink.strict=1`.
    pub strict: bool,
    /// Which compatibles are initialised early.
    pub early: Early,
    /// Whether the time for drivers is over (`deferred_probe_timeout`).
    pub timed_out: bool,
}

impl Wish {
    /// What a kernel does where nothing is set.
    pub fn usual(rules: Rules) -> Wish {
        Wish {
            rules,
            mode: rules.usual_mode(),
            strict: false,
            early: Early::usual(rules),
            timed_out: true,
        }
    }
}

/// What comes of a boot.
pub struct Booted<'t, 'a> {
    /// Nodes, devices, links.
    pub machine: Machine<'t, 'a>,
    /// Attempts in order.
    pub attempts: Vec<Attempt>,
    /// Devices that still wait.
    pub waiting: Vec<usize>,
}

/// Boots a tree: devices are made, then drivers come, all at once in the order of
/// devices.
pub fn boot<'t, 'a>(tree: &'t Tree<'a>, wish: &Wish, drivers: &dyn Drivers) -> Booted<'t, 'a> {
    boot_with(tree, wish, drivers, false)
}

/// The same; an eager worker tries devices again whenever it has some.
pub fn boot_with<'t, 'a>(
    tree: &'t Tree<'a>,
    wish: &Wish,
    drivers: &dyn Drivers,
    eager: bool,
) -> Booted<'t, 'a> {
    let mut machine = Machine::new(tree, wish.rules, wish.mode, wish.strict);
    machine.initialise(&wish.early);
    machine.populate();
    let devices: Vec<usize> = (0..machine.devices.len()).collect();
    let mut boot = Boot::new(&mut machine, drivers, eager);
    if eager {
        boot.late();
    }
    boot.register(&devices);
    boot.late();
    if wish.timed_out {
        boot.time_out();
    }
    let (attempts, waiting) = (boot.attempts.clone(), boot.waiting().to_vec());
    Booted { machine, attempts, waiting }
}

/// Every device has a driver, but those of early nodes and timers, and each makes
/// devices of the nodes below.
pub struct AllDrivers<'e>(pub &'e Early);

impl Drivers for AllDrivers<'_> {
    fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Driver {
        let Some(n) = machine.devices[device].node else { return Driver::None };
        let node = &machine.tree.nodes[n];
        if self.0.is_timer(node) {
            return Driver::None;
        }
        Driver::Binds { children: true }
    }
}

/// The driver of transparent buses alone, and no other
/// (drivers/bus/simple-pm-bus.c): what a kernel has that knows none of a tree's
/// devices.
pub struct BusesAlone;

impl Drivers for BusesAlone {
    fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Driver {
        let Some(n) = machine.devices[device].node else { return Driver::None };
        let bus = |c: &[u8]| BUSES.iter().any(|b| b.as_bytes() == c);
        let mut names = machine.tree.nodes[n].strings("compatible");
        match names.next() {
            Some(first) if bus(first) => Driver::Binds { children: false },
            _ if names.any(bus) => Driver::Declines,
            _ => Driver::None,
        }
    }
}
