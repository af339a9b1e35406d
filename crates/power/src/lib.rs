//! What keeps power domains on, and what keeps devices from probing.
//!
//! | noun | file |
//! |---|---|
//! | a power domain with its devices, as debugfs lists it | `domain` |
//! | a clock, a regulator | `clock`, `regulator` |
//! | power resources of ACPI, and the devices that need them | `acpi` |
//! | regulators of a device tree, and what it asks of them in sleep | `rail` |
//! | idle states of a domain, and what a sleep pays for it | `state`, `cost` |
//! | a device that waits to probe, and for what | `deferral` |
//! | what became of an attempt to probe | `probe` |
//! | two nodes that need each other | `cycle` |
//! | a device link, and a device that waits for a node | `link` |
//! | a supplier that keeps resources on until its consumers have probed | `pending` |
//! | governors: which device may be suspended, which domain goes off and how deep | `governor` |
//! | a domain that took longer to switch than it said | `latency` |
//! | names of devices and of nodes of the device tree | `name` |
//! | rules, a file a noun | `rules/` |
//! | what a rule found, without words | `fact` |
//!
//! No evidence, no finding. What a text cannot show is listed with the reason.
//! Times are nanoseconds. Nothing here does I/O.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod acpi;
pub mod clock;
pub mod cost;
pub mod cycle;
pub mod deferral;
pub mod domain;
pub mod fw_devlink;
pub mod tree;

pub mod fact;
pub mod governor;
pub mod latency;
pub mod link;
pub mod name;
pub mod pending;
pub mod probe;
pub mod rail;
pub mod regulator;
mod rules;
pub mod state;

pub use dormouse_base::finding::{Confidence, Evidence, Level};
use fact::{Finding, Unchecked};

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
    pub switched: Vec<cost::Switched>,
    /// Devices that waited to probe.
    pub deferrals: Vec<deferral::Deferral>,
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
    /// What the kernel was told to leave on.
    pub ignored: Vec<(fact::Resource, Evidence)>,
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
            && self.ignored.is_empty())
    }
}

/// What is said of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worst first; of equal ones probes that failed, then what explains most.
    pub findings: Vec<Finding>,
    /// What the text cannot show.
    pub unchecked: Vec<Unchecked>,
    /// Why each domain of each dump is on.
    pub held: Vec<Vec<domain::Held>>,
    /// What holds each waiting device up, those that explain most first.
    pub roots: Vec<deferral::Root>,
    /// Cycles as a set of pairs.
    pub pairs: cycle::Pairs,
    /// Suppliers and the consumers that they wait for.
    pub suppliers: Vec<pending::Supplier>,
}

/// Judges a text.
pub fn judge(case: &Case) -> Report {
    let mut report = Report {
        held: case.dumps.iter().map(domain::Dump::held).collect(),
        roots: deferral::roots(case),
        pairs: cycle::Pairs::of(&case.cycles),
        suppliers: pending::suppliers(case),
        unchecked: rules::unchecked(case),
        ..Report::default()
    };
    let mut findings = Vec::new();
    for rule in rules::ALL {
        rule(case, &report, &mut findings);
    }
    // What a person wrote about a machine is at most a suspicion.
    for f in &mut findings {
        if f.evidence.iter().all(|e| e.doubtful) {
            f.confidence = Confidence::Guess;
        }
    }
    findings.sort_by_key(|f| {
        let weight = std::cmp::Reverse(f.fact.weight());
        (f.level, !f.fact.is_failure(), f.confidence, weight)
    });
    report.findings = findings;
    report
}
