//! The rules, a file a noun. Each names the tables or messages it rests on.

mod acpi;
mod cycle;
mod deferral;
mod domain;
mod found;
mod link;
mod pending;
mod probe;
mod rail;

use crate::case::Case;
use crate::report::Report;
use crate::unchecked::Unchecked;
use found::Found;

/// A rule reads the case and what was made of it, and adds what it finds.
type Rule = fn(&Case, &Report, &mut Vec<Found>);

/// All rules.
pub(crate) const ALL: [Rule; 8] = [
    domain::judge,
    deferral::judge,
    probe::judge,
    pending::judge,
    cycle::judge,
    link::judge,
    acpi::judge,
    rail::judge,
];

/// What this text cannot answer.
pub(crate) fn unchecked(case: &Case) -> Vec<Unchecked> {
    let mut out = Vec::new();
    if let Some(e) = &case.crash {
        out.push(Unchecked::Crash { line: e.line });
    }
    if !case.rails.is_empty() {
        out.push(Unchecked::Rails);
    }
    if case.dumps.is_empty() && !case.acpi.is_empty() {
        // A PC has no other domains.
    } else if case.dumps.is_empty() {
        out.push(Unchecked::Domains);
    } else {
        out.push(Unchecked::Flags);
    }
    if case.deferrals.is_empty() && case.probes.is_empty() {
        out.push(Unchecked::Probing);
    }
    out
}
