//! Dependency cycles. The kernel breaks them and says so at level info; they are a
//! fault only if both ends really need each other.

use crate::case::Case;
use crate::deferral::Source;
use crate::fact::{Fact, Finding};
use crate::name::key;
use crate::report::Report;
use crate::root::Cause;
use dormouse_base::finding::{Confidence, Level};
use std::collections::BTreeMap;

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Finding>) {
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
            let fact = Fact::BothWait { one: one.device.clone(), other: other.device.clone() };
            let evidence = [one.evidence.clone(), other.evidence.clone()].into();
            out.push(Finding::new("cycle-real", Level::Broken, Confidence::Likely, fact, evidence));
        }
    }
    if let Some((.., first)) = report.pairs.list.first() {
        let p = &report.pairs;
        let fact = Fact::Cycles { lines: p.lines, pairs: p.list.len(), gone: p.gone };
        let evidence = [case.cycles[*first].evidence.clone()].into();
        out.push(Finding::new("cycles", Level::Note, Confidence::Certain, fact, evidence));
    }
}
