//! Everything that is known about one machine's sleep: devices, cycles, losses.

use crate::cycle::Cycle;
use crate::device::DeviceGraph;
use crate::loss::Losses;
use crate::names::{Names, Sym};
use crate::power_domain::PowerDomain;
use crate::ranked::Ranking;
use crate::time::Ns;
use std::collections::BTreeMap;

/// More CPUs than any kernel is built for (`CONFIG_NR_CPUS`).
pub const MOST_CPUS: u32 = 8_192;

/// What a source says of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Host name; empty if unknown.
    pub host: Sym,
    /// Vendor and model; empty if unknown.
    pub model: Sym,
    /// Kernel command line; empty if unknown.
    pub command_line: Sym,
    /// Number of CPUs, if known.
    pub cpus: Option<u32>,
    /// `/sys/power/pm_async` at the time.
    pub pm_async: Option<bool>,
    /// Length of a tick of the kernel (CONFIG_HZ), if known.
    pub tick: Option<Ns>,
}

/// One or more cycles of one machine with the devices they refer to.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// Names that all symbols below refer to.
    pub names: Names,
    /// The machine.
    pub machine: Machine,
    /// The devices of all cycles.
    pub graph: DeviceGraph,
    /// Power domains, where the source lists them.
    pub domains: Vec<PowerDomain>,
    /// Cycles in order of the input.
    pub cycles: Vec<Cycle>,
    /// Durations without a schedule, which belong to no cycle.
    pub ranked: Vec<Ranking>,
    /// What could not be read.
    pub losses: Losses,
    /// Trace events that were read and that nothing here uses, because they are
    /// of other subjects or outside every cycle: how many, by the part of the
    /// kernel (`idle`, `block`, …). No loss.
    pub unused_events: BTreeMap<&'static str, u64>,
}

impl Capture {
    /// The host name of the machine of a cycle; empty if unknown.
    pub fn host_of(&self, cycle: &Cycle) -> Sym {
        if self.machine.host.is_empty() { cycle.host } else { self.machine.host }
    }
}
