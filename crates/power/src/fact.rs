//! What a rule found, as facts. The sentences and the advice are made of them
//! where all words are (`crates/words/src/wording/domains.rs`).

use crate::probe::Provider;
use crate::resource::Resource;
use crate::root::{Cause, Fate, Root};
use crate::supplier::Supplier;
use dormouse_base::finding::{Confidence, Evidence, Level};
use dormouse_base::time::Ns;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it, with their variant's comment")]
pub enum Fact {
    /// A domain is on, and nothing that the table shows uses it: its devices are
    /// suspended or its children off. What a later table says of it.
    OnUnused { domain: String, devices: usize, children: Vec<String>, later_off: bool },
    /// Domains are on that have neither devices nor children.
    OnEmpty { domains: Vec<String> },
    /// Domains that devices without runtime power management alone keep on.
    NeverSuspends { domains: Vec<(String, Vec<String>)> },
    /// Runtime power management of a device failed.
    DeviceError { domain: String, device: String },
    /// Two tables of one machine differ.
    Differs { changes: Vec<(String, String, String)> },
    /// A device could not be put into its domain.
    AttachFailed { device: String, domain: String, error: String },
    /// A domain stays on for a device that is switched with interrupts off, and the
    /// domain cannot be.
    Unswitched { device: String, domain: String },
    /// Links that could not be made, consumer and supplier; of them to itself.
    Unlinked { pairs: Vec<(String, String)>, own: usize },
    /// Devices do not probe. Of how many waits in all, and the time of the list.
    Waits { root: Root, of: u64, at: Option<Ns> },
    /// A supplier was asked for while its own probe ran.
    BehindProbing { supplier: String, driver: String, devices: Vec<String>, waiting: usize },
    /// Devices were turned away once for a supplier that came later, and were never
    /// seen again.
    OneTry { devices: Vec<String>, supplier: String },
    /// Devices gave up on a provider that never came; what the stack says that it is, with
    /// the function that asked.
    GaveUp { devices: Vec<String>, failed: usize, on: Option<(Provider, String)> },
    /// The probe of a device failed, and more than that device may suffer: how many devices
    /// wait after it without a reason that the kernel gives.
    ProbeFailed {
        device: String,
        driver: String,
        error: i32,
        part_of: Option<String>,
        waiting: usize,
    },
    /// Both ends of a cycle still wait, each with its driver's own reason.
    BothWait { one: String, other: String },
    /// Dependency cycles, which the kernel broke.
    Cycles { lines: usize, pairs: usize, gone: usize },
    /// A supplier waits for consumers.
    SyncPending { supplier: Supplier },
    /// Suppliers that were not told yet that their consumers have probed, with the
    /// consumers whose link is not active.
    Unsynced { suppliers: Vec<(String, Vec<String>)> },
    /// Domains took longer to switch than known: domain, off, the last value.
    LatencyExceeded { switches: Vec<(String, bool, Ns)> },
    /// The kernel was told to leave these on.
    LeftOn { what: Resource },
    /// A domain with several idle states goes into the first alone.
    ShallowOnly { domain: String, states: usize },
    /// A power resource is on, and every device that needs it is in another state.
    ResourceUnused { resource: String, path: String, devices: Vec<String> },
    /// The kernel put devices into one state, and the firmware says another: name,
    /// path, the two states.
    StateDiffers { devices: Vec<[String; 4]> },
    /// A regulator is to stay on in a mode of sleep, and its supply to go off.
    RailFedOff { mode: &'static str, rail: String, supply: String },
    /// A regulator is to go off in a mode of sleep, and devices that it feeds are to
    /// wake the system.
    RailWakesOff { mode: &'static str, rail: String, devices: Vec<String> },
    /// A device that a driver sent back several times, and what that took.
    CostlyAttempts { device: String, attempts: usize, us: u64 },
}

impl Fact {
    /// How much it explains, among facts that are equally bad.
    pub fn weight(&self) -> u64 {
        match self {
            Fact::Waits { root, .. } => root.weight(),
            Fact::GaveUp { devices, .. } => devices.len() as u64,
            Fact::ProbeFailed { waiting, .. } => 1 + *waiting as u64,
            Fact::SyncPending { supplier } => supplier.consumers.len() as u64,
            _ => 0,
        }
    }

    /// Whether it is a probe that failed: of facts that are equally bad it comes first,
    /// since what waits may do so because of it.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Fact::ProbeFailed { .. } => true,
            Fact::GaveUp { failed, .. } => *failed > 0,
            Fact::Waits { root, .. } => matches!(
                root.cause,
                Cause::Device { fate: Fate::Failed(_), .. } | Cause::Brother { .. }
            ),
            _ => false,
        }
    }
}

/// What is known, with the lines that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule.
    pub id: &'static str,
    /// How bad.
    pub level: Level,
    /// How sure.
    pub confidence: Confidence,
    /// What it is: sentence and advice are made of it.
    pub fact: Fact,
    /// Lines that show it, at least one.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// What a rule found, with the lines that show it.
    pub(crate) fn new(
        id: &'static str,
        level: Level,
        confidence: Confidence,
        fact: Fact,
        evidence: Vec<Evidence>,
    ) -> Finding {
        Finding { id, level, confidence, fact, evidence }
    }
}

/// What the text does not allow to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// Why a domain without users is on: flags and `stay_on` stand in no table.
    Flags,
    /// What keeps devices from probing: no list and no message of deferrals.
    Probing,
    /// What keeps domains on: no table of them.
    Domains,
    /// What drivers make of what a device tree asks of regulators.
    Rails,
    /// The kernel crashed in this line, for which nothing here is a reason.
    Crash {
        /// The line, from 1.
        line: u64,
    },
}
