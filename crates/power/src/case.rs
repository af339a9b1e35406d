//! A text, taken apart: what rules read.

use crate::resource::Resource;
use crate::switched::Switched;
use crate::{
    acpi, clock, cycle, deferral, domain, latency, link, pending, probe, rail, regulator, state,
};
use dormouse_base::finding::Evidence;

/// One text, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Tables of domains, in order of the text.
    pub dumps: Vec<domain::Dump>,
    /// Tables of clocks.
    pub clocks: Vec<clock::Table>,
    /// Tables of regulators.
    pub regulators: Vec<regulator::Table>,
    /// Power resources of ACPI.
    pub acpi: acpi::Table,
    /// Regulators of a device tree.
    pub rails: Vec<rail::Rail>,
    /// Idle states of domains.
    pub states: Vec<state::Table>,
    /// What recorded sleeps switched.
    pub switched: Vec<Switched>,
    /// Devices that waited to probe.
    pub deferrals: Vec<deferral::Deferral>,
    /// A list of them was printed, and is empty: what waited before has probed.
    pub none_deferred: bool,
    /// Ends of attempts to probe.
    pub probes: Vec<probe::Probe>,
    /// What drivers said of those devices, and of what they wait for.
    pub lives: Vec<probe::Life>,
    /// Nodes that need each other.
    pub cycles: Vec<cycle::Cycle>,
    /// Device links.
    pub links: Vec<link::Link>,
    /// Devices with a word on whether a node holds them up.
    pub waits: Vec<link::Wait>,
    /// Suppliers with a word on whether their consumers have probed.
    pub synced: Vec<link::Synced>,
    /// Suppliers that wait for consumers.
    pub pending: Vec<pending::Pending>,
    /// Switches that took longer than known.
    pub latencies: Vec<latency::Exceeded>,
    /// Devices that could not be put into their domain.
    pub attachments: Vec<domain::AttachFailed>,
    /// Links that could not be made.
    pub unlinked: Vec<link::Unlinked>,
    /// Domains that a device keeps on because it may not sleep to be switched.
    pub unswitched: Vec<domain::Unswitched>,
    /// Domains and clocks that did not switch.
    pub stuck: Vec<domain::Stuck>,
    /// What the kernel was told to leave on.
    pub ignored: Vec<(Resource, Evidence)>,
    /// The kernel crashed here.
    pub crash: Option<Evidence>,
}

impl Case {
    /// Whether the text says anything of this subject.
    pub fn speaks(&self) -> bool {
        !(self.dumps.is_empty()
            && self.clocks.is_empty()
            && self.regulators.is_empty()
            && self.acpi.is_empty()
            && self.rails.is_empty()
            && self.states.is_empty()
            && self.switched.is_empty()
            && self.deferrals.is_empty()
            && self.probes.is_empty()
            && self.cycles.is_empty()
            && self.links.is_empty()
            && self.waits.is_empty()
            && self.synced.is_empty()
            && self.pending.is_empty()
            && self.latencies.is_empty()
            && self.attachments.is_empty()
            && self.unlinked.is_empty()
            && self.unswitched.is_empty()
            && self.stuck.is_empty()
            && self.ignored.is_empty())
    }
}
