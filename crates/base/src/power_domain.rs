//! Power domains of the machine, as debugfs lists them (`pm_genpd_summary`).

use crate::device::DeviceId;
use crate::names::Sym;

/// A device in a power domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The device.
    pub device: DeviceId,
    /// Its driver never enabled runtime power management (`unsupported`).
    pub unsupported: bool,
}

/// A power domain before the first cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerDomain {
    /// Its name.
    pub name: Sym,
    /// It was on.
    pub on: bool,
    /// Names of the domains inside it.
    pub inside: Vec<Sym>,
    /// Devices in it that have a driver, as far as they are known.
    pub users: Vec<User>,
}
