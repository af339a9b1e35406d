//! Dependency cycles. The kernel breaks them and says so at level info; they are a
//! fault only if both ends really need each other.

use super::found::{Found, found};
use crate::case::Case;
use crate::deferral::Source;
use crate::name::key;
use crate::report::Report;
use crate::root::Cause;
use dormouse_base::finding::{Area, Confidence, Finding, Level};
use dormouse_base::say::plural;
use std::collections::BTreeMap;

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Found>) {
    // Devices that still wait in the end and whose driver said why.
    let mut waits: BTreeMap<String, usize> = BTreeMap::new();
    let own = report.roots.iter().filter(|r| matches!(r.cause, Cause::Own { .. }));
    let own: std::collections::BTreeSet<&str> =
        own.flat_map(|r| &r.at).map(String::as_str).collect();
    for (i, d) in case.deferrals.iter().enumerate() {
        let last = matches!(d.source, Source::Pending | Source::Listed);
        if last && own.contains(d.device.as_str()) {
            waits.insert(key(&d.device), i);
        }
    }
    for (a, b, _) in report.pairs.list.iter().filter(|(a, b, _)| a != b) {
        if let (Some(&i), Some(&j)) = (waits.get(a), waits.get(b)) {
            let (one, other) = (&case.deferrals[i], &case.deferrals[j]);
            let f = Finding::new(("cycle-real", Area::Probe, Level::Broken), Confidence::Likely)
                .says(format!(
                    "{} and {} stand in one dependency cycle, and both still wait.",
                    one.device, other.device
                ))
                .look(
                    "No kernel parameter helps: make one need optional, split a provider, or name \
                     it in post-init-providers.",
                )
                .shown_by([one.evidence.clone(), other.evidence.clone()]);
            out.push(found(f));
        }
    }
    if let Some((.., first)) = report.pairs.list.first() {
        let p = &report.pairs;
        let gone = match p.gone {
            0 => String::new(),
            n => format!(" ({n} of them only in lines that the text marks as gone)"),
        };
        let f = Finding::new(("cycles", Area::Probe, Level::Note), Confidence::Certain)
            .says(format!(
                "The kernel broke dependency cycles between {}{gone}. By itself that is harmless.",
                plural(p.list.len(), "pair")
            ))
            .shown_by([case.cycles[*first].evidence.clone()]);
        out.push(found(f));
    }
}
