//! What keeps power domains on, and what keeps devices from probing.
//!
//! | noun | file |
//! |---|---|
//! | a power domain with its devices, as debugfs lists it | `domain` |
//! | a clock, a regulator | `clock`, `regulator` |
//! | power resources of ACPI, and the devices that need them | `acpi` |
//! | regulators of a device tree, and what it asks of them in sleep | `rail` |
//! | idle states of a domain, and what a sleep pays for it | `state`, `switched`, `cost` |
//! | what rules read, and what is said of it | `case`, `report` |
//! | a device that waits to probe, and for what in the end | `deferral`, `root` |
//! | what became of an attempt to probe | `probe` |
//! | two nodes that need each other | `cycle` |
//! | a device link, and a device that waits for a node | `link` |
//! | a supplier that keeps resources on until its consumers have probed | `pending`, `supplier` |
//! | governors: which device may be suspended, which domain goes off and how deep | `governor` |
//! | a domain that took longer to switch than it said | `latency` |
//! | names of devices and of nodes of the device tree | `name` |
//! | rules, a file a noun, each with its sentence and advice | `rules/` |
//! | what a kernel was told to leave on | `resource` |
//! | pieces of sentences | `say` |
//! | what a text does not allow to say | `unchecked` |
//!
//! No evidence, no finding. What a text cannot show is listed with the reason.
//! Times are nanoseconds. Nothing here does I/O.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod acpi;
mod case;
pub mod clock;
pub mod cost;
pub mod cycle;
pub mod deferral;
pub mod domain;
pub mod fw_devlink;
pub mod tree;

pub mod governor;
pub mod latency;
pub mod link;
pub mod name;
pub mod pending;
pub mod probe;
pub mod rail;
pub mod regulator;
mod report;
pub mod resource;
pub mod root;
mod rules;
pub mod say;
pub mod state;
pub mod supplier;
pub mod switched;
pub mod unchecked;

pub use case::Case;
pub use dormouse_base::finding::{Confidence, Evidence, Finding, Level};
pub use report::Report;

/// Judges a text.
pub fn judge(case: &Case) -> Report {
    let mut report = Report {
        held: case.dumps.iter().map(domain::Dump::held).collect(),
        roots: root::roots(case),
        pairs: cycle::Pairs::of(&case.cycles),
        suppliers: supplier::suppliers(case),
        unchecked: rules::unchecked(case),
        ..Report::default()
    };
    let mut all = Vec::new();
    for rule in rules::ALL {
        rule(case, &report, &mut all);
    }
    // What a person wrote about a machine is at most a suspicion.
    for f in all.iter_mut().map(|f| &mut f.finding) {
        if f.evidence.iter().all(|e| e.doubtful) {
            f.confidence = Confidence::Guess;
        }
    }
    all.sort_by_key(|f| {
        (f.finding.level, !f.is_failure, f.finding.confidence, std::cmp::Reverse(f.weight))
    });
    report.findings = all.into_iter().map(|f| f.finding).collect();
    report
}
